"""A changed embedder over each real store: its space is filled beside the one before, under questions and writes."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from mnemic.adapters.indexes.scan import ScanIndex
from mnemic.adapters.indexes.tiered import SpacesIndex
from mnemic.adapters.observers.counters import CounterObserver
from mnemic.adapters.stores.postgres import PostgresStore
from mnemic.adapters.stores.sqlite import SqliteStore
from mnemic.api import Mnemic
from mnemic.engine.engine import Engine, RetiredSpace
from mnemic.engine.indexing import fill_vectors
from mnemic.errors import ConfigError, UnavailableError
from mnemic.model.health import Condition, Finding
from mnemic.model.recall import Recall
from mnemic.ports.models import Vectors
from mnemic.ports.store import MAIN_VIEW, Store
from tests.unit.engine.ingest_kit import put, reading
from tests.unit.engine.kit import ANNA, BERT, Clock, WordEmbedder

HERS = ANNA.partition(ANNA.default_level)
THINGS = ["a blue mug", "the cat sleeps", "rain in Lisbon", "a boat of oak", "bread with salt", "seven red kites"]


class Synonyms(WordEmbedder):
    """To it, a cup is a mug: what only it finds tells that its space was searched. `meanwhile` runs in every call."""

    meanwhile: Callable[[], object] | None = None

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        if self.meanwhile is not None:
            self.meanwhile()
        return super().embed_documents([text.replace("mug", "cup") for text in texts])


@pytest.fixture(params=["sqlite", "postgres"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    if request.param == "sqlite":
        opened: Store = SqliteStore(tmp_path / "memory.db")
    else:
        make_postgres: Callable[[], PostgresStore] = request.getfixturevalue("make_postgres")
        opened = make_postgres()
    yield opened
    opened.close()


@pytest.fixture
def before() -> Synonyms:
    return Synonyms()


@pytest.fixture
def now() -> WordEmbedder:
    return WordEmbedder(revision="2")


def over(store: Store, embedder: WordEmbedder, retired: WordEmbedder | None = None) -> Mnemic:
    """An open memory of this embedder, in which that of before is known."""
    return Mnemic(parts_over(store, embedder, retired))


def parts_over(store: Store, embedder: WordEmbedder, retired: WordEmbedder | None = None) -> Engine:
    space = None if retired is None else RetiredSpace(retired)
    index = ScanIndex() if space is None else SpacesIndex(ScanIndex(), [ScanIndex()])
    return Engine(store, index, embedder, Clock(), CounterObserver(), retired=space)


def nearest(found: Recall) -> list[str]:
    """The texts of the hits with points for their vectors above the mean."""
    return [hit.text for hit in found for part in hit.contributions if part.feature == "dense" and part.points > 0]


def about(mnemic: Mnemic, part: str) -> list[Finding]:
    return [finding for finding in mnemic.doctor().findings if finding.part == part]


@pytest.mark.requirement("P-14", "N-33")
def test_the_space_before_is_searched_until_a_partition_is_filled_and_then_the_new_one_alone(
    store: Store, before: Synonyms, now: WordEmbedder
):
    over(store, before).remember_many(ANNA, THINGS)
    mnemic = over(store, now, before)
    assert nearest(mnemic.recall(ANNA, "cup"))[0] == "a blue mug"
    report = mnemic.reembed()
    assert (report.filled, report.refused, report.spaces[0].share) == (len(THINGS), (), 1.0)
    assert report.kept == {before.space.id: len(THINGS)}
    before.calls.clear()
    alone = over(store, now).recall(ANNA, "cup")
    assert [(hit.text, hit.score) for hit in mnemic.recall(ANNA, "cup")] == [(hit.text, hit.score) for hit in alone]
    assert nearest(mnemic.recall(ANNA, "kites"))[0] == "seven red kites"
    assert before.calls == []
    assert mnemic.reembed().filled == 0


@pytest.mark.requirement("P-14", "N-30")
def test_half_filled_every_text_is_found_by_its_vector_and_no_two_spaces_meet(
    store: Store, before: Synonyms, now: WordEmbedder
):
    over(store, before).remember_many(ANNA, THINGS)
    parts = parts_over(store, now, before)
    assert fill_vectors(parts, HERS, limit=3).filled == 3
    mnemic = Mnemic(parts)
    for text in THINGS:
        exact = mnemic.recall(ANNA, text, min_similarity=0.99)
        assert [hit.text for hit in exact] == [text]
        assert exact.hits[0].similarity == pytest.approx(1.0, abs=1e-5)
        assert nearest(mnemic.recall(ANNA, text))[0] == text
    mnemic.reembed()
    assert [hit.text for hit in mnemic.recall(ANNA, THINGS[4], min_similarity=0.99)] == [THINGS[4]]


@pytest.mark.requirement("P-14")
def test_questions_and_writes_go_on_while_another_thread_fills(store: Store, before: Synonyms, now: WordEmbedder):
    texts = [f"{number} {text}" for number in range(40) for text in THINGS]
    over(store, before).remember_many(ANNA, texts)
    by_keyword = {
        text: len(Mnemic(parts_over(store, WordEmbedder(is_broken=True))).recall(ANNA, text)) for text in THINGS
    }
    mnemic, other = over(store, now, before), over(store, WordEmbedder(revision="2"), Synonyms())
    reached: list[int] = []
    filling = threading.Thread(target=lambda: other.reembed(progress=lambda done, _: reached.append(done)))
    filling.start()
    late: list[str] = []
    while filling.is_alive() or not late:
        late.append(mnemic.remember(ANNA, f"late {len(late)}").id)
        for text in THINGS:
            found = mnemic.recall(ANNA, text)
            assert len(found) >= by_keyword[text]
            assert found.hits[0].text.endswith(text)
            assert not found.degraded
    filling.join()
    assert reached[0] < reached[-1] == max(reached)
    assert mnemic.reembed().spaces[0].share == 1.0
    with store.read() as work:
        for embedder in (before, now):
            assert len(work.vectors.get(HERS, late, MAIN_VIEW, embedder.space.id)) == len(late)


@pytest.mark.requirement("P-14")
def test_going_back_costs_nothing_also_for_what_was_written_since(store: Store, before: Synonyms, now: WordEmbedder):
    over(store, before).remember_many(ANNA, THINGS)
    changed = over(store, now, before)
    changed.reembed()
    changed.remember(ANNA, "a green mug")
    before.calls.clear()
    back = over(store, before, now)
    assert back.reembed().filled == 0
    assert before.calls == []
    assert nearest(back.recall(ANNA, "cup"))[0] in ("a blue mug", "a green mug")
    assert [finding.condition for finding in about(back, "vectors")] == [Condition.OK]


@pytest.mark.requirement("P-14")
def test_the_vectors_of_before_are_kept_until_they_are_pruned_and_do_not_come_back(
    store: Store, before: Synonyms, now: WordEmbedder
):
    over(store, before).remember_many(ANNA, THINGS)
    over(store, before).remember(BERT, "a boat of pine")
    beside, mnemic = over(store, now, before), over(store, now, before)
    assert mnemic.reembed(is_pruning=True, is_dry_run=True).removed == {before.space.id: len(THINGS) + 1}
    assert about(mnemic, "spaces")[0].message.startswith(f"{len(THINGS) + 1} vectors are from words, the previous")
    report = mnemic.reembed(is_pruning=True)
    assert (report.filled, report.removed, report.kept) == (len(THINGS) + 1, {before.space.id: len(THINGS) + 1}, {})
    for each in (mnemic, beside):
        each.remember(ANNA, f"written later by {id(each)}")
        assert nearest(each.recall(ANNA, "kites"))[0] == "seven red kites"
    with store.read() as work:
        assert work.vectors.known() == {now.space.id}
    assert about(mnemic, "spaces") == []


@pytest.mark.requirement("P-14")
def test_nothing_is_pruned_when_the_new_embedder_fails(store: Store, before: Synonyms):
    over(store, before).remember_many(ANNA, THINGS)
    broken = over(store, WordEmbedder(revision="2", is_broken=True), before)
    with pytest.raises(UnavailableError):
        broken.reembed(is_pruning=True)
    with store.read() as work:
        assert work.vectors.spaces() == {before.space.id: len(THINGS)}
    assert nearest(broken.recall(ANNA, "cup"))[0] == "a blue mug"


@pytest.mark.requirement("P-14")
def test_a_dry_run_tells_how_much_there_is_and_writes_nothing(store: Store, before: Synonyms, now: WordEmbedder):
    over(store, before).remember_many(ANNA, THINGS)
    mnemic = over(store, now, before)
    report = mnemic.reembed(is_dry_run=True)
    assert report.estimate is not None
    assert (report.estimate.texts, report.estimate.characters) == (len(THINGS), sum(map(len, THINGS)))
    assert report.estimate.seconds > 0
    assert (report.filled, report.spaces[0].items, report.spaces[0].vectors) == (0, len(THINGS), 0)
    with store.read() as work:
        assert work.vectors.spaces() == {before.space.id: len(THINGS)}
    finding = about(mnemic, "vectors")[0]
    assert (finding.condition, finding.remedy) == (Condition.DEGRADED, "run `mnemic reembed`")
    assert f"(0 of {len(THINGS)} items have a vector, 0%)" in finding.message
    mnemic.reembed()
    assert mnemic.reembed(is_dry_run=True).estimate == type(report.estimate)(0, 0, 0.0)


@pytest.mark.requirement("P-14")
def test_a_text_that_is_changed_while_it_is_embedded_gets_no_vector_of_what_it_was(store: Store, before: Synonyms):
    old = over(store, before)
    changed, erased, *_ = old.remember_many(ANNA, THINGS)
    now = Synonyms(revision="2")
    mnemic = over(store, now, before)

    def meanwhile() -> None:
        now.meanwhile = None
        old.update(ANNA, changed.id, text="a yellow plate")  # by a process that does not know the new embedder
        old.delete(ANNA, erased.id)

    now.meanwhile = meanwhile
    assert mnemic.reembed().spaces[0].share == 1.0
    with store.read() as work:
        vectors = work.vectors.get(HERS, [changed.id, erased.id], MAIN_VIEW, now.space.id)
    assert list(vectors) == [changed.id]
    assert vectors[changed.id] == pytest.approx(now.embed_documents(["a yellow plate"])[0])


@pytest.mark.requirement("P-14")
def test_passages_of_documents_are_embedded_with_their_titles(
    store: Store, before: Synonyms, now: WordEmbedder, tmp_path: Path
):
    papers = {"contract.md": "# Lease of the mill\n\n## Notice\n\nThree months.\n", "tea.md": "# Tea\n\nHot.\n"}
    put(tmp_path / "papers", papers)
    Mnemic(reading(parts_over(store, before))).ingest(ANNA, tmp_path / "papers")
    mnemic = over(store, now, before)
    assert mnemic.reembed().filled == 2
    assert [text for text in now.calls if "Lease of the mill" in text and "Three months." in text]
    assert "Three months." in nearest(mnemic.recall(ANNA, "lease of the mill"))[0]


@pytest.mark.requirement("P-14", "P-33")
def test_an_interrupted_fill_keeps_what_it_has_and_goes_on_from_there(
    store: Store, before: Synonyms, now: WordEmbedder
):
    texts = [f"{number} {text}" for number in range(40) for text in THINGS]
    over(store, before).remember_many(ANNA, texts)

    def interrupt(done: int, _total: int) -> None:
        if done >= 64:
            raise KeyboardInterrupt

    mnemic = over(store, now, before)
    with pytest.raises(KeyboardInterrupt):
        mnemic.reembed(progress=interrupt)
    now.calls.clear()
    seen: list[tuple[int, int]] = []

    def reached(done: int, total: int) -> None:
        seen.append((done, total))

    again = over(store, now, before)
    assert again.reembed(progress=reached).filled == len(texts) - 64
    assert len(now.calls) == len(texts) - 64
    assert (seen[0], seen[-1]) == ((64, len(texts)), (len(texts), len(texts)))


def test_without_an_embedder_there_is_nothing_to_fill(store: Store):
    parts = Engine(store, ScanIndex(), None, Clock(), CounterObserver())
    with pytest.raises(ConfigError, match=r"embedder\.name"):
        Mnemic(parts).reembed()
