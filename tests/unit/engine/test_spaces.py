"""What several embedders side by side promise: every item in every space, a question in each, and no mixing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from mnemic.adapters.indexes.scan import ScanIndex
from mnemic.adapters.indexes.tiered import SpacesIndex
from mnemic.adapters.observers.counters import CounterObserver
from mnemic.adapters.stores.memory import MemoryStore
from mnemic.api import Mnemic
from mnemic.engine.engine import Engine, RetiredSpace
from mnemic.engine.indexing import fill_vectors
from mnemic.engine.jobs import list_jobs
from mnemic.engine.kinds import EMBED
from mnemic.errors import UnavailableError
from mnemic.model.health import Condition, Finding
from mnemic.model.scope import Partition
from mnemic.ports.models import Vectors
from mnemic.ports.store import Store
from mnemic.testing.faults import Fault, FaultyStore
from mnemic.text.normalise import Writing
from tests.unit.engine.kit import ANNA, Clock, WordEmbedder

HERS: Partition = ANNA.partition(ANNA.default_level)


class Synonyms(WordEmbedder):
    """To it, a cup is a mug."""

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        return super().embed_documents([text.replace("mug", "cup") for text in texts])


@pytest.fixture
def second() -> Synonyms:
    return Synonyms(revision="2", dims=32)


@pytest.fixture
def parts(store: Store, clock: Clock, embedder: WordEmbedder, second: Synonyms) -> Engine:
    index = SpacesIndex(ScanIndex(), [ScanIndex()])
    return Engine(store, index, embedder, clock, CounterObserver(), further_embedders=(second,))


def alone(parts: Engine, embedder: WordEmbedder) -> Mnemic:
    return Mnemic(replace(parts, index=ScanIndex(), embedder=embedder, further_embedders=()))


def spaces_of(parts: Engine, item_id: str) -> list[bool]:
    with parts.store.read() as work:
        return [bool(work.vectors.get(HERS, [item_id], "item", each.space.id)) for each in parts.embedders]


def about_vectors(mnemic: Mnemic) -> list[Finding]:
    return [finding for finding in mnemic.doctor().findings if finding.part == "vectors"]


@pytest.mark.requirement("N-30", "N-31")
def test_every_item_has_a_vector_of_each_model_and_a_question_is_asked_in_each(
    parts: Engine, embedder: WordEmbedder, second: Synonyms
):
    mnemic = Mnemic(parts)
    memory, _ = mnemic.remember_many(ANNA, ["a blue mug", "the cat sleeps"])
    assert spaces_of(parts, memory.id) == [True, True]
    found = mnemic.recall(ANNA, "cup")
    assert found.hits[0].text == "a blue mug"
    assert found.hits[0].score > found.hits[1].score
    assert (embedder.calls[-1], second.calls[-1]) == ("cup", "cup")
    for hit in found:
        assert hit.score == pytest.approx(sum(part.points for part in hit.contributions))


def test_a_change_of_text_changes_the_vectors_of_each_model(parts: Engine):
    mnemic = Mnemic(parts)
    memory = mnemic.remember(ANNA, "a blue mug")
    mnemic.update(ANNA, memory.id, text="a red plate")
    assert spaces_of(parts, memory.id) == [True, True]
    assert mnemic.recall(ANNA, "red plate").hits[0].similarity == pytest.approx(0.8, abs=0.1)
    mnemic.delete(ANNA, memory.id)
    assert spaces_of(parts, memory.id) == [False, False]


def test_the_similarity_of_a_hit_is_always_of_the_first_space(parts: Engine):
    mnemic = Mnemic(parts)
    mnemic.remember_many(ANNA, ["blue cup", "blue mug"])
    assert [hit.text for hit in mnemic.recall(ANNA, "blue cup", min_similarity=0.9)] == ["blue cup"]


@pytest.mark.requirement("P-16")
def test_when_one_model_fails_the_other_answers_and_the_missing_one_is_named(parts: Engine, embedder: WordEmbedder):
    mnemic = Mnemic(parts)
    mnemic.remember_many(ANNA, ["a blue mug", "the cat sleeps"])
    embedder.is_broken = True
    found = mnemic.recall(ANNA, "cup", deadline_ms=60_000)
    assert found.hits[0].text == "a blue mug"
    assert found.degraded == ("dense: words failed (UnavailableError)",)


def test_what_one_model_could_not_embed_follows_by_a_job_and_the_other_is_there_at_once(
    parts: Engine, second: Synonyms
):
    mnemic = Mnemic(parts)
    second.is_broken = True
    memory = mnemic.remember(ANNA, "a blue mug")
    second.is_broken = False
    assert spaces_of(parts, memory.id) == [True, False]
    assert mnemic.work().done == 1
    assert spaces_of(parts, memory.id) == [True, True]


def test_a_model_that_is_down_does_not_keep_the_job_from_filling_the_other(
    parts: Engine, embedder: WordEmbedder, second: Synonyms
):
    mnemic = Mnemic(parts)
    embedder.is_broken = second.is_broken = True
    memory = mnemic.remember(ANNA, "a blue mug")
    second.is_broken = False
    assert mnemic.work().retried == 1
    assert spaces_of(parts, memory.id) == [False, True]


@pytest.mark.requirement("N-33", "N-34")
def test_a_model_that_is_added_later_is_filled_by_work_and_the_doctor_shows_how_far_it_is(
    parts: Engine, embedder: WordEmbedder
):
    before = alone(parts, embedder)
    memory, _ = before.remember_many(ANNA, ["a blue mug", "the cat sleeps"])
    mnemic = Mnemic(parts)
    first, second = about_vectors(mnemic)
    assert (first.condition, second.condition) == (Condition.OK, Condition.DEGRADED)
    assert second.message.startswith("messages or memories without a vector of words: 2.")
    assert mnemic.work().done == 1
    assert [finding.condition for finding in about_vectors(mnemic)] == [Condition.OK] * 2
    assert spaces_of(parts, memory.id) == [True, True]
    assert mnemic.recall(ANNA, "cup").hits[0].text == "a blue mug"


@pytest.mark.requirement("N-33")
def test_a_model_in_the_place_of_another_is_filled_by_work(parts: Engine, embedder: WordEmbedder, second: Synonyms):
    memory = alone(parts, embedder).remember(ANNA, "a blue mug")
    changed = alone(parts, second)
    assert changed.recall(ANNA, "mug").hits[0].similarity is None
    assert changed.work().done == 1
    assert changed.recall(ANNA, "mug").hits[0].similarity is not None
    assert changed.work().done == 0
    assert spaces_of(parts, memory.id) == [True, True]


def test_a_model_that_is_removed_leaves_its_vectors_unused(parts: Engine, embedder: WordEmbedder):
    mnemic = Mnemic(parts)
    mnemic.remember_many(ANNA, ["a blue mug", "the cat sleeps"])
    left = alone(parts, embedder)
    (hit,) = left.recall(ANNA, "mug").hits[:1]
    assert hit.text == "a blue mug"
    (unused,) = [finding for finding in left.doctor().findings if finding.part == "spaces"]
    assert (unused.condition, unused.message.split()[0]) == (Condition.OK, "2")


def test_work_does_not_revive_what_gave_up(parts: Engine, second: Synonyms, clock: Clock):
    mnemic = Mnemic(parts)
    second.is_broken = True
    mnemic.remember(ANNA, "a blue mug")
    for _ in range(8):
        mnemic.work()
        clock.turn(hours=2)
    Mnemic(parts).work()
    (dead,) = (job for job in list_jobs(parts, ANNA) if job.kind == EMBED)
    assert dead.state.value == "dead"


@pytest.fixture
def routed(parts: Engine, embedder: WordEmbedder) -> Engine:
    return replace(parts, writings={embedder.space.id: frozenset({Writing.LATIN})})


@pytest.mark.requirement("N-31", "N-34")
def test_a_model_for_latin_letters_is_not_given_others(routed: Engine, embedder: WordEmbedder, second: Synonyms):
    mnemic = Mnemic(routed)
    chinese, english, numbers = mnemic.remember_many(ANNA, ["她喜欢喝绿茶", "she likes tea", "12 : 30"])
    assert embedder.calls == ["she likes tea", "12 : 30"]
    assert second.calls == ["她喜欢喝绿茶", "she likes tea", "12 : 30"]
    assert [spaces_of(routed, item.id) for item in (chinese, english, numbers)] == [[False, True]] + [[True, True]] * 2
    found = mnemic.recall(ANNA, "她喜欢喝绿茶")
    assert "她喜欢喝绿茶" not in embedder.calls
    assert found.hits[0].id == chinese.id
    assert found.hits[0].similarity == pytest.approx(1.0)


def test_texts_that_a_model_is_not_given_are_no_lag_and_no_work(routed: Engine, embedder: WordEmbedder):
    mnemic = Mnemic(routed)
    mnemic.capture(ANNA, [{"role": "user", "content": "你好吗"}, {"role": "assistant", "content": "我很好，谢谢"}])
    assert (mnemic.work().done, embedder.calls) == (0, [])
    assert [finding.condition for finding in about_vectors(mnemic)] == [Condition.OK] * 2


def test_filling_passes_by_more_texts_of_others_than_it_may_embed(routed: Engine, embedder: WordEmbedder):
    mnemic = Mnemic(routed)
    embedder.is_broken = True
    mnemic.remember_many(ANNA, [*(f"第{n}杯茶很好喝" for n in range(40)), "green tea", "black tea"])
    embedder.is_broken = False
    report = fill_vectors(routed, HERS, limit=2)
    assert (report.filled, report.is_complete) == (2, True)
    assert sorted(embedder.calls) == ["black tea", "green tea"]


def test_diversity_compares_each_space_with_itself(parts: Engine):
    mnemic = Mnemic(parts)
    mnemic.remember_many(ANNA, ["blue mug one", "blue mug two", "blue plate with a rim"])
    found = mnemic.recall(ANNA, "blue mug", limit=2, diversity=0.9)
    assert "blue plate with a rim" in [hit.text for hit in found]


def test_why_not_says_whether_any_space_has_a_vector(parts: Engine, embedder: WordEmbedder, second: Synonyms):
    mnemic = Mnemic(parts)
    embedder.is_broken = second.is_broken = True
    memory = mnemic.remember(ANNA, "a blue mug")
    embedder.is_broken = second.is_broken = False
    assert "no vector yet" in mnemic.why_not(ANNA, memory.id, "plate").reason
    mnemic.work()
    assert mnemic.why_not(ANNA, memory.id, "plate").stage == "found"


@pytest.mark.requirement("P-14")
def test_a_store_that_fails_at_any_step_of_a_fill_is_filled_by_the_next_one(embedder: WordEmbedder):
    failed = 0
    for nth in range(1, 40):
        store, now = MemoryStore(), WordEmbedder(revision="new")
        before = Engine(store, ScanIndex(), embedder, Clock(), CounterObserver())
        Mnemic(before).remember_many(ANNA, ["a blue mug", "the cat sleeps"])
        retired = RetiredSpace(embedder)
        index = SpacesIndex(ScanIndex(), [ScanIndex()])
        parts = Engine(FaultyStore(store, Fault(nth)), index, now, Clock(), CounterObserver(), retired=retired)
        try:
            Mnemic(parts).reembed(is_pruning=True)
        except UnavailableError:
            failed += 1
        mended = Mnemic(replace(parts, store=store))
        assert mended.recall(ANNA, "blue mug").hits[0].text == "a blue mug"
        assert mended.reembed(is_pruning=True).spaces[0].share == 1.0
        with store.read() as work:
            assert work.vectors.spaces() == {now.space.id: 2}
    assert failed > 5  # every step of every writing unit of work
