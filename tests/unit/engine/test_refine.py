"""What a second look at the best hits promises: points that add up, an answer without it, and variety on request."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from mnemic.adapters.observers.counters import CounterObserver
from mnemic.adapters.rerankers.maxsim import MaxSimReranker
from mnemic.api import Mnemic
from mnemic.engine.engine import Engine
from mnemic.errors import InvalidInputError, MnemicError, UnavailableError, UnsupportedError
from mnemic.model.recall import Recall
from mnemic.model.settings import Settings
from mnemic.ports.models import RerankerCapabilities, Scores
from tests.unit.engine.kit import ANNA, WordEmbedder


class Longest:
    """Judges by length; can fail, and can be made to wait."""

    name = "longest"

    def __init__(self, error: MnemicError | None = None, waits_for: threading.Event | None = None) -> None:
        self.capabilities = RerankerCapabilities(is_local=True, is_blocking=False, max_texts=50, weight=4.0)
        self.asked: list[str] = []
        self.asked_with = ""
        self.is_closed = False
        self._error, self._waits_for = error, waits_for

    def rerank(self, query: str, texts: Sequence[str]) -> Scores:
        self.asked_with, self.asked = query, list(texts)
        if self._waits_for is not None:
            self._waits_for.wait()
        if self._error is not None:
            raise self._error
        return np.array([len(text) for text in texts], dtype=np.float32)

    def close(self) -> None:
        self.is_closed = True


def over(parts: Engine, reranker: Longest | MaxSimReranker, settings: Settings | None = None) -> Mnemic:
    return Mnemic(replace(parts, reranker=reranker, settings=settings or parts.settings))


def texts(found: Recall) -> list[str]:
    return [hit.text for hit in found]


TEAS = ["green tea", "green tea in the morning", "green tea in the morning with Bert and Carla"]


@pytest.mark.requirement("P-13")
def test_the_rerankers_points_are_part_of_a_score_that_adds_up(parts: Engine):
    mnemic = over(parts, Longest())
    mnemic.remember_many(ANNA, TEAS)
    found = mnemic.recall(ANNA, "green tea")
    assert texts(found) == TEAS[::-1]
    judged = [[part for part in hit.contributions if part.feature == "rerank"] for hit in found]
    assert [len(each) for each in judged] == [1, 1, 0], "the lowest judgement adds nothing"
    assert all(part.points == pytest.approx(part.value * 4.0) for each in judged for part in each)
    for hit in found:
        assert hit.score == pytest.approx(sum(part.points for part in hit.contributions))
    assert [hit.score for hit in found] == sorted((hit.score for hit in found), reverse=True)
    assert "rerank" in found.timings_ms


def test_a_question_may_do_without_the_reranker(parts: Engine):
    reranker = Longest()
    mnemic = over(parts, reranker)
    mnemic.remember_many(ANNA, TEAS)
    assert texts(mnemic.recall(ANNA, "green tea", rerank=False))[0] == "green tea"
    assert reranker.asked == []
    assert texts(mnemic.recall(ANNA, "green tea", rerank=True))[0] == TEAS[-1]


def test_by_similarity_alone_means_without_the_reranker(parts: Engine):
    reranker = Longest()
    mnemic = over(parts, reranker)
    mnemic.remember_many(ANNA, TEAS)
    assert texts(mnemic.recall(ANNA, "green tea", min_similarity=0.1))[0] == "green tea"
    assert reranker.asked == []


def test_a_reranker_that_is_not_there_cannot_be_asked(mnemic: Mnemic):
    mnemic.remember(ANNA, "green tea")
    with pytest.raises(UnsupportedError, match=r"reranker\.name"):
        mnemic.recall(ANNA, "green tea", rerank=True)
    assert len(mnemic.recall(ANNA, "green tea")) == 1


@pytest.mark.parametrize("value", [1, "yes", 0.5])
def test_rerank_is_yes_no_or_unsaid(mnemic: Mnemic, value: Any):
    with pytest.raises(InvalidInputError, match="rerank"):
        mnemic.recall(ANNA, "tea", rerank=value)


@pytest.mark.requirement("P-16")
def test_a_reranker_that_is_late_is_dropped_and_named(parts: Engine, observer: CounterObserver):
    gate = threading.Event()
    mnemic = over(parts, Longest(waits_for=gate))
    mnemic.remember_many(ANNA, TEAS)
    found = mnemic.recall(ANNA, "green tea", deadline_ms=100)
    gate.set()
    assert texts(found)[0] == "green tea"
    assert [line for line in found.degraded if line.startswith("rerank: exceeded the deadline")]
    assert observer.counts["mnemic.recall.late", (("source", "rerank"),)] == 1


@pytest.mark.requirement("P-16")
def test_a_reranker_that_fails_is_dropped_and_named(parts: Engine):
    mnemic = over(parts, Longest(error=UnavailableError("away")))
    mnemic.remember_many(ANNA, TEAS)
    found = mnemic.recall(ANNA, "green tea")
    assert texts(found)[0] == "green tea"
    assert found.degraded == ("rerank: longest failed (UnavailableError)",)


def test_only_the_first_are_judged_and_none_of_them_falls_behind_the_rest(parts: Engine):
    reranker = Longest()
    mnemic = over(parts, reranker, Settings(rerank_candidates=3))
    memories = mnemic.remember_many(ANNA, [f"tea {'leaf ' * n}".strip() for n in range(1, 9)])
    before = [hit.id for hit in mnemic.recall(ANNA, "tea", limit=None, rerank=False)]
    found = mnemic.recall(ANNA, "tea", limit=None)
    assert len(reranker.asked) == 3
    assert {hit.id for hit in found.hits[:3]} == set(before[:3])
    assert [hit.id for hit in found.hits[3:]] == before[3:]
    assert len(found) == len(memories)


def test_what_is_judged_of_an_item_is_what_is_searched_of_it(parts: Engine):
    reranker = Longest()
    mnemic = over(parts, reranker)
    mnemic.remember(ANNA, "green tea", context="she asked for it")
    mnemic.capture(ANNA, [{"role": "user", "content": "tea please", "name": "Anna"}])
    mnemic.recall(ANNA, "tea")
    assert set(reranker.asked) == {"green tea\nshe asked for it", "Anna: tea please"}


@pytest.mark.requirement("P-13")
def test_why_not_sees_the_rank_that_recall_gives(parts: Engine):
    mnemic = over(parts, Longest())
    first, second, _ = mnemic.remember_many(ANNA, TEAS)
    told = mnemic.why_not(ANNA, first.id, "green tea", limit=2)
    assert (told.stage, told.rank) == ("rank", 3)
    told = mnemic.why_not(ANNA, second.id, "green tea", limit=1)
    assert (told.stage, told.rank) == ("rank", 2)
    assert "rerank" in [part.feature for part in told.contributions]
    assert mnemic.why_not(ANNA, first.id, "green tea", limit=2, rerank=False).rank == 1


def test_a_context_takes_the_rerankers_order(parts: Engine):
    mnemic = over(parts, Longest())
    mnemic.remember_many(ANNA, [{"text": text, "importance": 0.9} for text in TEAS])
    assert [hit.text for hit in mnemic.context(ANNA, "green tea").recall] == TEAS[::-1]
    assert next(hit.text for hit in mnemic.context(ANNA, "green tea", rerank=False).recall) == TEAS[0]


def test_closing_lets_go_of_the_reranker(parts: Engine):
    reranker = Longest()
    over(parts, reranker).close()
    assert reranker.is_closed


def test_the_offline_reranker_judges_real_texts(parts: Engine):
    mnemic = over(parts, MaxSimReranker(threads=1))
    mnemic.remember_many(ANNA, ["She relocated to Porto last autumn.", "She salts the soup."])
    points = {
        hit.text: part.points
        for hit in mnemic.recall(ANNA, "Which city did she move to?")
        for part in hit.contributions
        if part.feature == "rerank"
    }
    assert points == {"She relocated to Porto last autumn.": pytest.approx(0.5)}


ALIKE = ["the red car is fast", "the red car is very fast", "the red car is so fast", "a blue boat and a car"]


def test_diversity_puts_what_is_like_a_better_hit_behind(mnemic: Mnemic):
    mnemic.remember_many(ANNA, ALIKE)
    by_score = mnemic.recall(ANNA, "red car", limit=2)
    varied = mnemic.recall(ANNA, "red car", limit=2, diversity=0.9)
    assert texts(by_score)[0] == texts(varied)[0]
    assert "a blue boat and a car" not in texts(by_score)
    assert texts(varied)[1] == "a blue boat and a car"
    for hit in varied:
        assert hit.score == pytest.approx(sum(part.points for part in hit.contributions))


def test_without_diversity_the_order_is_that_of_the_score(mnemic: Mnemic):
    mnemic.remember_many(ANNA, ALIKE)
    plain, zero = mnemic.recall(ANNA, "red car"), mnemic.recall(ANNA, "red car", diversity=0)
    assert texts(plain) == texts(zero)


def test_diversity_keeps_every_hit(mnemic: Mnemic):
    mnemic.remember_many(ANNA, ALIKE)
    assert sorted(texts(mnemic.recall(ANNA, "red car", limit=None, diversity=1))) == sorted(ALIKE)


@pytest.mark.parametrize("value", [-0.1, 1.1, "much"])
def test_diversity_is_a_fraction(mnemic: Mnemic, value: float):
    with pytest.raises(InvalidInputError, match="diversity"):
        mnemic.recall(ANNA, "tea", diversity=value)


def test_diversity_without_vectors_leaves_the_order(mnemic: Mnemic, embedder: WordEmbedder):
    embedder.is_broken = True
    mnemic.remember_many(ANNA, ALIKE)
    embedder.is_broken = False
    assert texts(mnemic.recall(ANNA, "red car", diversity=0.9)) == texts(mnemic.recall(ANNA, "red car"))
