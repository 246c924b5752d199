"""Questions about the past, deadlines, caps and where a memory was lost."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from datetime import timedelta

import pytest

from mnemic.api import Mnemic
from mnemic.engine.engine import Engine
from mnemic.errors import InvalidInputError, NotFoundError
from mnemic.model.item import State
from mnemic.model.scope import Level, Scope
from mnemic.ports.models import EmbedderCapabilities, Vectors
from tests.unit.engine.kit import START, Clock, WordEmbedder

ANNA = Scope(user="anna", agent="jarvis", session="s1")


def found(mnemic: Mnemic, query: str, **fields: object) -> list[str]:
    return [hit.text for hit in mnemic.recall(ANNA, query, **fields)]  # pyright: ignore[reportArgumentType] -- fields by name


@pytest.mark.requirement("P-04")
def test_yesterdays_truth_is_found_as_of_yesterday_and_not_today(mnemic: Mnemic):
    mnemic.remember(ANNA, "Anna lives in Paris", valid_from="2026-01-01", valid_to="2026-04-01")
    mnemic.remember(ANNA, "Anna lives in Berlin", valid_from="2026-04-01")
    assert found(mnemic, "where does Anna live") == ["Anna lives in Berlin"]
    assert found(mnemic, "where does Anna live", as_of="2026-03-31T23:59:59") == ["Anna lives in Paris"]


@pytest.mark.requirement("P-04")
def test_validity_is_half_open(mnemic: Mnemic):
    mnemic.remember(ANNA, "Anna lives in Paris", valid_from="2026-01-01", valid_to="2026-04-01")
    assert found(mnemic, "Paris", as_of="2026-01-01") == ["Anna lives in Paris"]
    assert found(mnemic, "Paris", as_of="2025-12-31T23:59:59.999999") == []
    assert found(mnemic, "Paris", as_of="2026-03-31T23:59:59.999999") == ["Anna lives in Paris"]
    assert found(mnemic, "Paris", as_of="2026-04-01") == []


@pytest.mark.requirement("P-04")
def test_known_at_shows_what_was_held_then_also_what_is_superseded_now(mnemic: Mnemic, clock: Clock):
    first = mnemic.remember(ANNA, "Anna likes tea")
    clock.turn(days=1)
    second = mnemic.remember(ANNA, "Anna likes green tea")
    clock.turn(days=1)
    mnemic.merge(ANNA, [second.id, first.id])
    clock.turn(days=1)
    assert found(mnemic, "tea") == ["Anna likes green tea"]
    assert sorted(found(mnemic, "tea", known_at=START + timedelta(days=1.5))) == [
        "Anna likes green tea",
        "Anna likes tea",
    ]
    assert found(mnemic, "tea", known_at=START + timedelta(hours=1)) == ["Anna likes tea"]
    assert found(mnemic, "tea", known_at=START - timedelta(hours=1)) == []


@pytest.mark.requirement("P-04")
def test_list_asks_about_the_past_too(mnemic: Mnemic):
    mnemic.remember(ANNA, "Anna lives in Paris", valid_from="2026-01-01", valid_to="2026-04-01")
    assert [m.text for m in mnemic.list(ANNA, as_of="2026-02-01").memories] == ["Anna lives in Paris"]
    assert mnemic.list(ANNA, as_of="2026-04-01").memories == ()


@pytest.mark.requirement("P-04")
def test_list_finds_what_was_true_then_whatever_became_of_it(mnemic: Mnemic, clock: Clock):
    old = mnemic.remember(ANNA, "User lives in Lyon")
    clock.turn(days=30)
    mnemic.remember(ANNA, "User lives in Lille")
    clock.turn(days=30)
    assert [m.text for m in mnemic.list(ANNA).memories] == ["User lives in Lille"]
    assert [m.text for m in mnemic.list(ANNA, as_of=START + timedelta(days=10)).memories] == ["User lives in Lyon"]
    assert mnemic.list(ANNA, as_of=START + timedelta(days=10), states=["active"]).memories == ()
    assert mnemic.get(ANNA, old.id).state is State.SUPERSEDED


@pytest.mark.requirement("P-04")
def test_known_at_shows_the_words_of_then(mnemic: Mnemic, clock: Clock):
    memory = mnemic.remember(ANNA, "Anna has a red boat")
    clock.turn(days=10)
    mnemic.update(ANNA, memory.id, text="Anna has a blue boat", importance=0.9)
    clock.turn(days=10)
    then = START + timedelta(days=5)
    (known,) = mnemic.list(ANNA, known_at=then).memories
    assert (known.text, known.importance) == ("Anna has a red boat", 0.8)
    assert found(mnemic, "boat", known_at=then) == ["Anna has a red boat"]
    assert found(mnemic, "boat") == ["Anna has a blue boat"]


@pytest.mark.requirement("P-04")
def test_an_attribute_of_the_future_is_not_told_as_present(mnemic: Mnemic):
    mnemic.remember(ANNA, "User lives in Berlin", valid_from="2027-01-01")
    mnemic.remember(ANNA, "User marries in Berlin on 3 May 2027", valid_from="2027-05-03")
    assert found(mnemic, "Berlin") == ["User marries in Berlin on 3 May 2027"]
    assert "User lives in Berlin" in found(mnemic, "Berlin", as_of="2027-02-01")
    assert "User lives in Berlin" not in {each.text for each in mnemic.profile.all(ANNA).dynamic}


def test_messages_said_later_are_not_part_of_the_past(mnemic: Mnemic, clock: Clock):
    mnemic.capture(ANNA, user="I bought a kayak")
    clock.turn(days=10)
    mnemic.capture(ANNA, user="I sold the kayak")
    assert found(mnemic, "kayak", as_of=START + timedelta(days=5)) == ["I bought a kayak"]
    assert sorted(found(mnemic, "kayak")) == ["I bought a kayak", "I sold the kayak"]


@pytest.mark.requirement("N-16", "R-07", "R-33")
def test_caps_hold_per_level_and_the_merged_list_is_cut_only_by_the_callers_limit(mnemic: Mnemic):
    for level in ("session", "user", "agent", "org"):
        mnemic.remember_many(ANNA, [{"text": f"tea {level} {n}", "level": level} for n in range(6)])
    caps = {"session": 4, "user": 3, "agent": 2, "org": 1}
    hits = mnemic.recall(ANNA, "tea", limit=None, limits=caps).hits
    by_level = [hit.item.partition.level.value for hit in hits]
    assert {level: by_level.count(level) for level in caps} == caps
    assert len(mnemic.recall(ANNA, "tea", limit=None).hits) == 24
    assert len(mnemic.recall(ANNA, "tea", limit=7, limits=caps).hits) == 7


class StuckEmbedder(WordEmbedder):
    """Answers a question only when it is let go."""

    def __init__(self) -> None:
        super().__init__()
        self.gate = threading.Event()

    @property
    def capabilities(self) -> EmbedderCapabilities:
        return EmbedderCapabilities(is_local=True, is_blocking=True, batch_size=64)

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        self.gate.wait()
        return self.embed_documents(texts)


@pytest.mark.requirement("P-16")
def test_a_source_that_is_too_slow_is_left_out_and_named(make_parts: Callable[..., Engine]):
    embedder = StuckEmbedder()
    mnemic = Mnemic(make_parts(embedder))
    mnemic.remember(ANNA, "Anna likes tea")
    answer = mnemic.recall(ANNA, "tea", deadline_ms=20)
    embedder.gate.set()
    assert [hit.text for hit in answer] == ["Anna likes tea"]
    assert answer.degraded == ("dense: exceeded the deadline of 20 ms",)
    assert mnemic.recall(ANNA, "tea", deadline_ms=60_000).degraded == ()
    with pytest.raises(InvalidInputError, match="deadline_ms"):
        mnemic.recall(ANNA, "tea", deadline_ms=-1)


@pytest.mark.requirement("P-13")
def test_why_not_names_the_stage_at_which_a_memory_was_lost(mnemic: Mnemic, clock: Clock):
    tea = mnemic.remember(ANNA, "Anna likes tea", kind="preference")
    mnemic.remember(ANNA, "tea tea tea")
    short = mnemic.remember(ANNA, "tea for now", level=Level.SESSION)
    ended = mnemic.remember(ANNA, "tea was rationed", valid_to="2026-05-02")
    assert mnemic.why_not(ANNA, tea.id, "tea", limit=1).stage == "rank"
    assert mnemic.why_not(ANNA, tea.id, "tea").stage == "found"
    assert mnemic.why_not(ANNA, tea.id, "tea", kinds=["fact"]).stage == "filter"
    assert mnemic.why_not(ANNA, tea.id, "tea", levels=["agent"]).stage == "level"
    assert mnemic.why_not(ANNA, tea.id, "Anna", min_similarity=0.99).stage == "threshold"
    assert mnemic.why_not(ANNA, tea.id, " ").stage == "rank"
    clock.turn(days=2)
    assert mnemic.why_not(ANNA, ended.id, "tea").stage == "time"
    assert mnemic.why_not(ANNA, short.id, "tea").stage == "time"
    mnemic.merge(ANNA, [ended.id, tea.id])
    lost = mnemic.why_not(ANNA, tea.id, "tea")
    assert lost.stage == "state"
    assert ended.id in lost.reason
    with pytest.raises(NotFoundError):
        mnemic.why_not(Scope(user="bert"), tea.id, "tea")


@pytest.mark.requirement("P-13")
def test_why_not_explains_the_score_with_the_same_contributions_as_the_hit(mnemic: Mnemic):
    memory = mnemic.remember(ANNA, "Anna likes tea")
    mnemic.remember(ANNA, "Anna has a cat")
    hit = mnemic.recall(ANNA, "tea").hits[0]
    told = mnemic.why_not(ANNA, memory.id, "tea")
    assert (told.rank, told.contributions) == (1, hit.contributions)
    assert told.score == pytest.approx(sum(c.points for c in hit.contributions))


@pytest.mark.requirement("J-32", "R-36")
def test_what_is_no_longer_valid_is_no_background_either(mnemic: Mnemic):
    mnemic.remember(ANNA, "Anna lives in Paris", importance=1.0, valid_to="2026-01-01", valid_from="2025-01-01")
    mnemic.remember(ANNA, "Anna likes tea", importance=0.4)
    assert [(hit.text, hit.is_fallback) for hit in mnemic.recall(ANNA, "")] == [("Anna likes tea", True)]
