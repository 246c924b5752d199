"""What every reranker promises, as tests: subclass `RerankerContract` and say in fixtures how yours is made.

    class TestMine(RerankerContract):
        @pytest.fixture(scope="class")
        @classmethod
        def reranker(cls): yield from closing(MyReranker())

        @pytest.fixture
        def another(self): return MyReranker

`reranker` may serve all tests of the class. `another` is a callable that makes one more, which the suite may close.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from mnemic.errors import InvalidInputError
from mnemic.ports.models import Reranker, Scores

QUERY = "Where does Anna live?"
TEXTS = (
    "Anna moved to Lisbon in March and rents a flat near the river.",
    "ok",
    "The linker cannot find the maths library since the compiler was updated.",
    "明天下午三点开会",
    "Мой кот боится грозы 🙂",
)
ROUNDING = 1e-2
"""The most that a score may move, as a share of the spread of the scores, when other texts share its call."""

Make = Callable[[], Reranker]


class RerankerContract:
    """Every promise of the reranker port. A subclass gives the fixtures `reranker` and `another`."""

    def test_there_is_one_finite_score_per_text(self, reranker: Reranker):
        scores = reranker.rerank(QUERY, list(TEXTS))
        assert (scores.shape, scores.dtype) == ((len(TEXTS),), np.float32)
        assert np.isfinite(scores).all()

    def test_scores_are_in_the_order_of_the_texts(self, reranker: Reranker):
        _same(reranker.rerank(QUERY, list(TEXTS)), reranker.rerank(QUERY, list(reversed(TEXTS)))[::-1])

    def test_texts_have_different_scores(self, reranker: Reranker):
        assert np.unique(reranker.rerank(QUERY, list(TEXTS))).size > 1

    def test_another_query_has_other_scores(self, reranker: Reranker):
        one, other = (reranker.rerank(query, list(TEXTS)) for query in (QUERY, "library compiler linker"))
        assert not np.allclose(one, other)

    def test_no_texts_have_no_scores(self, reranker: Reranker):
        scores = reranker.rerank(QUERY, [])
        assert (scores.shape, scores.dtype) == ((0,), np.float32)

    def test_the_score_of_a_text_does_not_depend_on_the_other_texts(self, reranker: Reranker):
        together = reranker.rerank(QUERY, list(TEXTS))
        alone = np.concatenate([reranker.rerank(QUERY, [text]) for text in TEXTS])
        _same(together, alone)

    def test_a_blank_text_gets_the_lowest_score(self, reranker: Reranker):
        scores = reranker.rerank(QUERY, ["", TEXTS[0], " \n", TEXTS[2]])
        assert scores[0] == scores[2] == scores[[1, 3]].min()

    def test_a_blank_query_gives_zeros(self, reranker: Reranker):
        assert not reranker.rerank(" \t", list(TEXTS)).any()

    def test_a_long_text_and_a_long_query_are_cut_and_not_refused(self, reranker: Reranker):
        long = "one two three four five six seven eight nine ten " * 400
        assert np.isfinite(reranker.rerank(QUERY, [long, TEXTS[0]])).all()
        assert np.isfinite(reranker.rerank(long, [TEXTS[0]])).all()

    def test_more_texts_than_it_takes_are_refused(self, reranker: Reranker):
        with pytest.raises(InvalidInputError):
            reranker.rerank(QUERY, ["tea"] * (reranker.capabilities.max_texts + 1))

    def test_several_threads_at_once_get_the_scores_of_their_own_texts(self, reranker: Reranker):
        expected = reranker.rerank(QUERY, list(TEXTS))
        ready = threading.Barrier(4)

        def judged(place: int) -> Scores:
            ready.wait()
            return reranker.rerank(QUERY, [TEXTS[place], *TEXTS[1:]])

        with ThreadPoolExecutor(4) as pool:
            for place, scores in enumerate(pool.map(judged, range(4))):
                _same(scores, np.array([expected[place], *expected[1:]]))

    def test_the_name_and_the_capabilities_stay_what_they_are(self, reranker: Reranker):
        name, capabilities = reranker.name, reranker.capabilities
        reranker.rerank(QUERY, [TEXTS[0]])
        assert (reranker.name, reranker.capabilities) == (name, capabilities)
        assert capabilities.max_texts >= 1

    def test_closing_twice_is_harmless(self, another: Make):
        reranker = another()
        reranker.rerank(QUERY, [TEXTS[0]])
        reranker.close()
        reranker.close()


def closing(reranker: Reranker) -> Iterator[Reranker]:
    """The body of a fixture: the reranker, closed at the end."""
    yield reranker
    reranker.close()


def _same(scores: Scores, expected: Scores) -> None:
    spread = float(np.ptp(expected)) or 1.0
    assert np.abs(scores - expected).max() <= ROUNDING * spread
