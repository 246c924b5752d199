"""Every memory backend keeps one contract: Mnemic's five, hybrids of several kinds, and one of a third party."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from mnemic.backends.bm25 import Bm25Backend
from mnemic.backends.colbert import ColbertBackend, MinilmTokenEmbedder
from mnemic.backends.faiss import FaissBackend, open_embedder
from mnemic.backends.hybrid import HybridBackend
from mnemic.backends.primitive import MemoryBackend, MemoryRegistry, RetrievalResult, check_document, check_request
from mnemic.backends.sqlite import SqliteBackend
from mnemic.testing.backend_contract import (
    BackendContract,
    DurableBackendContract,
    MakeBackend,
    Reopen,
    SavingBackendContract,
    rejections,
)

# One model for all tests of a worker: closing it only makes the next text load it again.
EMBEDDER = open_embedder("minilm")
TOKEN_EMBEDDER = MinilmTokenEmbedder()


def dense() -> FaissBackend:
    return FaissBackend(EMBEDDER)


def new_path(folder: Path) -> Path:
    return folder / f"{uuid.uuid4().hex}.db"


@pytest.mark.requirement("O-01", "O-02", "O-03", "O-04", "O-05", "O-06", "O-07", "R-06", "R-25")
class TestSqlite(DurableBackendContract):
    @pytest.fixture
    def make_backend(self, tmp_path: Path) -> MakeBackend:
        return lambda: SqliteBackend(new_path(tmp_path))

    @pytest.fixture
    def reopen(self) -> Reopen:
        def again(backend: MemoryBackend) -> MemoryBackend:
            assert isinstance(backend, SqliteBackend)
            return SqliteBackend(backend.path)

        return again


@pytest.mark.requirement("O-01", "O-02", "O-03", "O-04", "O-05", "O-06", "O-07", "R-06", "R-13")
class TestBm25(SavingBackendContract):
    @pytest.fixture
    def make_backend(self) -> MakeBackend:
        return Bm25Backend


@pytest.mark.requirement("O-01", "O-02", "O-03", "O-04", "O-05", "O-06", "O-07", "R-06", "R-13")
class TestFaiss(SavingBackendContract):
    @pytest.fixture
    def make_backend(self) -> MakeBackend:
        return dense


@pytest.mark.requirement("O-01", "O-02", "O-03", "O-04", "O-05", "O-06", "O-07", "R-06", "R-13")
class TestColbert(SavingBackendContract):
    """Over the token vectors of the offline model; a real ColBERT checkpoint is a drill, because it needs torch."""

    @pytest.fixture
    def make_backend(self) -> MakeBackend:
        return lambda: ColbertBackend(TOKEN_EMBEDDER)


@pytest.mark.requirement("O-01", "O-02", "O-03", "O-04", "O-05", "O-06", "O-07", "R-06", "R-13")
class TestHybrid(SavingBackendContract):
    @pytest.fixture
    def make_backend(self) -> MakeBackend:
        return lambda: HybridBackend(Bm25Backend(), dense())


@pytest.mark.requirement("O-27", "O-60")
class TestHybridOfTwoDurableBackends(DurableBackendContract):
    """Both parts are files, so the hybrid is durable too, ids included."""

    @pytest.fixture
    def make_backend(self, tmp_path: Path) -> MakeBackend:
        return lambda: HybridBackend(SqliteBackend(new_path(tmp_path)), SqliteBackend(new_path(tmp_path)))

    @pytest.fixture
    def reopen(self) -> Reopen:
        def again(backend: MemoryBackend) -> MemoryBackend:
            assert isinstance(backend, HybridBackend)
            assert isinstance(backend.sparse, SqliteBackend)
            assert isinstance(backend.dense, SqliteBackend)
            return HybridBackend(SqliteBackend(backend.sparse.path), SqliteBackend(backend.dense.path))

        return again


@MemoryRegistry.register("word-list")
class WordListBackend(MemoryBackend):
    """As a third party writes it."""

    def __init__(self) -> None:
        self.kept: dict[str, RetrievalResult] = {}

    def store(self, content: str, *, source: str = "", metadata: Mapping[str, Any] | None = None) -> str:
        doc_id = uuid.uuid4().hex
        text, line, given = check_document(content, source, metadata)
        self.kept[doc_id] = RetrievalResult(text, 0.0, line, given)
        return doc_id

    def retrieve(self, query: str, *, top_k: int = 5, **kwargs: Any) -> list[RetrievalResult]:
        query, top_k, min_score = check_request(query, top_k, kwargs)
        found = [self.scored(result, set(query.split())) for result in list(self.kept.values())]
        found = [result for result in found if result.score > 0 and result.score >= min_score]
        return sorted(found, key=lambda result: -result.score)[:top_k]

    def delete(self, doc_id: str) -> bool:
        return self.kept.pop(doc_id, None) is not None

    def clear(self) -> None:
        self.kept.clear()

    def scored(self, kept: RetrievalResult, words: set[str]) -> RetrievalResult:
        _, _, copied = check_document("x", "", kept.metadata)
        return RetrievalResult(kept.content, float(len(words & set(kept.content.split()))), kept.source, copied)


@pytest.mark.requirement("O-50", "O-51")
class TestThirdParty(BackendContract):
    @pytest.fixture
    def make_backend(self) -> MakeBackend:
        return lambda: MemoryRegistry.create("word-list")


@pytest.mark.requirement("O-27", "O-51")
class TestHybridOfThirdParties(BackendContract):
    @pytest.fixture
    def make_backend(self) -> MakeBackend:
        return lambda: HybridBackend("word-list", WordListBackend(), sparse_weight=0.5)


class ForgetsToDelete(WordListBackend):
    def delete(self, doc_id: str) -> bool:
        return doc_id in self.kept


class DeletesTwice(WordListBackend):
    def delete(self, doc_id: str) -> bool:
        super().delete(doc_id)
        return True


class LosesMetadata(WordListBackend):
    def scored(self, kept: RetrievalResult, words: set[str]) -> RetrievalResult:
        result = super().scored(kept, words)
        return RetrievalResult(result.content, result.score, result.source)


class SharesMetadata(WordListBackend):
    def scored(self, kept: RetrievalResult, words: set[str]) -> RetrievalResult:
        return RetrievalResult(kept.content, super().scored(kept, words).score, kept.source, kept.metadata)


class WorstFirst(WordListBackend):
    def retrieve(self, query: str, *, top_k: int = 5, **kwargs: Any) -> list[RetrievalResult]:
        return super().retrieve(query, top_k=top_k, **kwargs)[::-1]


class OneTooMany(WordListBackend):
    def retrieve(self, query: str, *, top_k: int = 5, **kwargs: Any) -> list[RetrievalResult]:
        return super().retrieve(query, top_k=top_k + 1, **kwargs)


class IgnoresMinimum(WordListBackend):
    def retrieve(self, query: str, *, top_k: int = 5, **kwargs: Any) -> list[RetrievalResult]:
        return super().retrieve(query, top_k=top_k, **{key: 0.0 for key in kwargs if key == "min_score"})


class KeepsAfterClear(WordListBackend):
    def clear(self) -> None:
        """Clears nothing."""


class ReusesIds(WordListBackend):
    def store(self, content: str, *, source: str = "", metadata: Mapping[str, Any] | None = None) -> str:
        doc_id = super().store(content, source=source, metadata=metadata)
        self.kept[str(len(self.kept))] = self.kept.pop(doc_id)
        return str(len(self.kept))


class ReadsQueriesAsSyntax(WordListBackend):
    def retrieve(self, query: str, *, top_k: int = 5, **kwargs: Any) -> list[RetrievalResult]:
        if query.count('"') % 2:
            raise ValueError("unterminated string")
        return super().retrieve(query, top_k=top_k, **kwargs)


def test_the_unbroken_backend_passes_the_same_call():
    assert rejections(BackendContract, WordListBackend) == {}


@pytest.mark.parametrize(
    "broken, caught_by",
    [
        (ForgetsToDelete, "test_a_deleted_text_is_gone"),
        (DeletesTwice, "test_delete_answers_false_for_what_is_not_there"),
        (LosesMetadata, "test_a_text_is_found_with_its_source_and_metadata"),
        (SharesMetadata, "test_changing_metadata_outside_changes_nothing_inside"),
        (WorstFirst, "test_the_best_result_comes_first"),
        (OneTooMany, "test_there_are_at_most_top_k_results"),
        (IgnoresMinimum, "test_results_below_the_minimum_score_are_left_out"),
        (KeepsAfterClear, "test_clear_removes_everything"),
        (ReusesIds, "test_the_id_of_a_deleted_text_is_not_given_again"),
        (ReadsQueriesAsSyntax, "test_no_query_raises"),
    ],
)
def test_a_broken_backend_is_rejected(broken: Callable[[], MemoryBackend], caught_by: str):
    assert caught_by in rejections(BackendContract, broken)
