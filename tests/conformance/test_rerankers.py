"""Every reranker keeps the contract of the port: maxsim on the offline model, the cross-encoder on a tiny graph."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from mnemic.adapters.rerankers.cross_encoder import CrossEncoderReranker
from mnemic.adapters.rerankers.maxsim import MaxSimReranker
from mnemic.ports.models import Reranker, Scores
from mnemic.testing.reranker_contract import RerankerContract, closing
from tests.conformance.tiny_reranker import write_tiny_reranker


class TestMaxSim(RerankerContract):
    @pytest.fixture(scope="class")
    @classmethod
    def reranker(cls) -> Iterator[Reranker]:
        yield from closing(MaxSimReranker())

    @pytest.fixture
    def another(self) -> Callable[[], Reranker]:
        return MaxSimReranker


class TestCrossEncoder(RerankerContract):
    @pytest.fixture(scope="class")
    @classmethod
    def folder(cls, tmp_path_factory: pytest.TempPathFactory) -> str:
        return str(write_tiny_reranker(tmp_path_factory.mktemp("tiny")))

    @pytest.fixture(scope="class")
    @classmethod
    def reranker(cls, folder: str) -> Iterator[Reranker]:
        yield from closing(CrossEncoderReranker(folder))

    @pytest.fixture
    def another(self, folder: str) -> Callable[[], Reranker]:
        return lambda: CrossEncoderReranker(folder)


def test_a_reranker_that_forgets_the_order_of_the_texts_is_found_out(tmp_path: Path):
    class Sorted(CrossEncoderReranker):
        def rerank(self, query: str, texts: Sequence[str]) -> Scores:
            return super().rerank(query, sorted(texts))

    with pytest.raises(AssertionError):
        RerankerContract().test_scores_are_in_the_order_of_the_texts(Sorted(str(write_tiny_reranker(tmp_path))))
