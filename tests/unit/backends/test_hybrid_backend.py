"""What is particular to the backend `hybrid`: fusion, over-fetching, and that no document is ever in one part alone."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from mnemic.backends.bm25 import Bm25Backend
from mnemic.backends.hybrid import HybridBackend
from mnemic.backends.primitive import RetrievalResult
from mnemic.backends.sqlite import SqliteBackend
from mnemic.errors import BackendError, ConfigError, NotFoundError, UnavailableError, UnsupportedError

TEXTS = ("green tea with honey", "black tea", "coffee with milk", "honey cake and coffee")


class Flaky(Bm25Backend):
    """Fails at the verbs that are named, and remembers how many results it was asked for."""

    def __init__(self, *failing: str) -> None:
        super().__init__()
        self.failing = set(failing)
        self.asked: list[int] = []

    def store(self, content: str, *, source: str = "", metadata: Mapping[str, Any] | None = None) -> str:
        self.fail("store")
        return super().store(content, source=source, metadata=metadata)

    def retrieve(self, query: str, *, top_k: int = 5, **kwargs: Any) -> list[RetrievalResult]:
        self.asked.append(top_k)
        return super().retrieve(query, top_k=top_k, **kwargs)

    def delete(self, doc_id: str) -> bool:
        self.fail("delete")
        return super().delete(doc_id)

    def fail(self, verb: str) -> None:
        if verb in self.failing:
            raise UnavailableError(f"{verb} failed")


class Reversed(Bm25Backend):
    """The same documents, worst first."""

    def retrieve(self, query: str, *, top_k: int = 5, **kwargs: Any) -> list[RetrievalResult]:
        return super().retrieve(query, top_k=1000, **kwargs)[::-1][:top_k]


@pytest.mark.requirement("O-24", "O-25")
@pytest.mark.parametrize(
    "sparse_weight, dense_weight, k", [(1.0, 1.5, 60), (1.0, 1.0, 60), (0.2, 3.0, 1), (1.0, 0.0, 0)]
)
def test_a_score_is_the_sum_of_weight_over_constant_plus_rank(sparse_weight: float, dense_weight: float, k: float):
    hybrid = HybridBackend(Bm25Backend(), Reversed(), sparse_weight=sparse_weight, dense_weight=dense_weight, rrf_k=k)
    for text in TEXTS:
        hybrid.store(text)
    query = "honey tea cake"
    orders = [[result.content for result in part.retrieve(query)] for part in (hybrid.sparse, hybrid.dense)]
    assert orders[0] == orders[1][::-1]
    wanted: dict[str, float] = {}
    for order, weight in zip(orders, (sparse_weight, dense_weight), strict=True):
        for rank, text in enumerate(order, start=1):
            wanted[text] = wanted.get(text, 0.0) + weight / (k + rank)
    found = hybrid.retrieve(query)
    assert {result.content: result.score for result in found} == pytest.approx(wanted)
    assert [result.score for result in found] == sorted(wanted.values(), reverse=True)


@pytest.mark.requirement("O-25")
def test_the_constant_is_60_and_the_weights_are_1_unless_said():
    hybrid = HybridBackend(Bm25Backend(), Bm25Backend())
    hybrid.store("green tea")
    assert hybrid.retrieve("tea")[0].score == pytest.approx(2 / 61)


@pytest.mark.requirement("O-26")
def test_each_part_is_asked_for_three_times_as_many():
    sparse, dense = Flaky(), Flaky()
    HybridBackend(sparse, dense).retrieve("tea", top_k=7)
    assert (sparse.asked, dense.asked) == ([21], [21])


@pytest.mark.requirement("O-24")
def test_what_only_one_part_finds_is_found():
    hybrid = HybridBackend("bm25", "faiss")
    for text in ("The cat sleeps on the sofa", "She plays the piano", "Ticket XK-4711 is open"):
        hybrid.store(text)
    assert hybrid.retrieve("XK-4711")[0].content == "Ticket XK-4711 is open"
    assert hybrid.retrieve("a musician")[0].content == "She plays the piano"
    hybrid.close()


@pytest.mark.requirement("O-27")
def test_any_two_backends_are_parts_by_object_or_by_name(tmp_path: Path):
    hybrid = HybridBackend(sparse=SqliteBackend(tmp_path / "a.db"), dense="bm25", sparse_weight=1, dense_weight=2)
    hybrid.store("green tea", metadata={"cup": 1})
    (found,) = hybrid.retrieve("tea")
    assert (found.metadata, found.score) == ({"cup": 1}, pytest.approx(3 / 61))
    hybrid.close()


def test_a_store_that_fails_in_one_part_leaves_nothing_in_the_other():
    for sparse, dense in ((Flaky(), Flaky("store")), (Flaky("store"), Flaky())):
        hybrid = HybridBackend(sparse, dense)
        with pytest.raises(UnavailableError):
            hybrid.store("green tea")
        assert (len(sparse), len(dense), hybrid.retrieve("tea")) == (0, 0, [])
        sparse.failing.clear()
        dense.failing.clear()
        hybrid.store("green tea")
        assert len(hybrid.retrieve("tea")) == 1


def test_half_a_store_that_cannot_be_taken_back_is_never_returned():
    sparse, dense = Flaky("delete"), Flaky("store")
    hybrid = HybridBackend(sparse, dense)
    with pytest.raises(UnavailableError, match="store failed"):
        hybrid.store("green tea")
    assert (len(sparse), hybrid.retrieve("tea")) == (1, [])


def test_a_delete_that_fails_in_one_part_hides_the_document_and_is_finished_by_the_next():
    for sparse, dense in ((Flaky(), Flaky("delete")), (Flaky("delete"), Flaky())):
        hybrid = HybridBackend(sparse, dense)
        doc_id = hybrid.store("green tea")
        hybrid.store("black tea")
        with pytest.raises(UnavailableError):
            hybrid.delete(doc_id)
        assert [result.content for result in hybrid.retrieve("tea")] == ["black tea"]
        sparse.failing.clear()
        dense.failing.clear()
        assert hybrid.delete(doc_id) is True
        assert hybrid.delete(doc_id) is False
        assert (len(sparse), len(dense)) == (1, 1)


def test_what_a_part_held_before_is_found_too():
    sparse = Bm25Backend()
    sparse.store("green tea", source="before")
    hybrid = HybridBackend(sparse, Bm25Backend())
    assert [(each.content, each.source) for each in hybrid.retrieve("tea")] == [("green tea", "before")]


@pytest.mark.parametrize(
    "options", [{"sparse_weight": -1}, {"rrf_k": float("nan")}, {"sparse_weight": 0, "dense_weight": 0}]
)
def test_impossible_weights_are_refused(options: dict[str, float]):
    with pytest.raises(ConfigError, match="weights"):
        HybridBackend("bm25", "bm25", **options)


def test_one_backend_cannot_be_both_parts():
    part = Bm25Backend()
    with pytest.raises(ConfigError, match="two different backends"):
        HybridBackend(part, part)


@pytest.mark.requirement("R-13")
def test_a_load_that_fails_in_one_part_changes_neither(tmp_path: Path):
    hybrid = HybridBackend("bm25", "bm25")
    hybrid.store("green tea")
    hybrid.save(tmp_path / "saved")
    hybrid.clear()
    doc_id = hybrid.store("black coffee")
    (dense,) = (tmp_path / "saved").glob("dense-*")
    dense.write_bytes(b"damaged")
    with pytest.raises(BackendError):
        hybrid.load(tmp_path / "saved")
    assert [result.content for result in hybrid.retrieve("tea coffee")] == ["black coffee"]
    assert hybrid.delete(doc_id) is True


def test_a_folder_that_is_no_saved_hybrid_is_refused(tmp_path: Path):
    hybrid = HybridBackend("bm25", "bm25")
    with pytest.raises(NotFoundError):
        hybrid.load(tmp_path)
    for content in ("not json", "[]", '{"sparse": "x"}', '{"sparse": "../x", "dense": "y"}'):
        (tmp_path / "parts.json").write_text(content, encoding="utf-8")
        with pytest.raises((BackendError, NotFoundError)):
            hybrid.load(tmp_path)


def test_a_hybrid_of_files_needs_no_saving(tmp_path: Path):
    hybrid = HybridBackend(SqliteBackend(tmp_path / "a.db"), SqliteBackend(tmp_path / "b.db"))
    with pytest.raises(UnsupportedError):
        hybrid.save(tmp_path / "saved")
    hybrid.close()
