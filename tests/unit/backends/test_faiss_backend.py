"""What is particular to the backend `faiss`: the index, cosines, soft deletion, and the embedder."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import faiss
import numpy as np
import pytest

from mnemic.adapters.embedders.minilm import MinilmEmbedder
from mnemic.backends.faiss import DEFAULT_EMBEDDER, Embedder, FaissBackend, PortEmbedder, open_embedder
from mnemic.errors import BadReplyError, ConfigError
from mnemic.ports.models import Vectors


class Letters(Embedder):
    """Counts letters: two methods and nothing else."""

    def embed(self, texts: Sequence[str]) -> Vectors:
        return np.array([[text.count(letter) for letter in "abcde"] for text in texts], dtype=np.float32)

    def dim(self) -> int:
        return 5


class Broken(Letters):
    """Answers what is no row of five numbers."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer

    def embed(self, texts: Sequence[str]) -> Vectors:
        del texts
        return np.array(self.answer, dtype=np.float32)


def index_of(backend: FaissBackend) -> Any:
    return backend._index  # pyright: ignore[reportPrivateUsage] # noqa: SLF001 -- what is promised is this index


@pytest.mark.requirement("O-13")
def test_the_index_is_a_flat_inner_product_index_over_unit_vectors():
    backend = FaissBackend(Letters())
    for text in ("aaab", "abc", "eeee"):
        backend.store(text)
    index = index_of(backend)
    assert isinstance(index, faiss.IndexFlatIP)
    assert index_of(backend).metric_type == faiss.METRIC_INNER_PRODUCT
    rows: Vectors = index_of(backend).reconstruct_n(0, 3)
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1.0, rtol=1e-6)


@pytest.mark.requirement("O-13")
def test_a_score_is_the_cosine():
    backend = FaissBackend(Letters())
    for text in ("aaab", "abc", "eeee"):
        backend.store(text)
    found = {result.content: result.score for result in backend.retrieve("ab", min_score=-1)}
    assert found == pytest.approx({"aaab": 4 / (2 * 10) ** 0.5, "abc": 2 / (2 * 3) ** 0.5, "eeee": 0.0}, abs=1e-6)


@pytest.mark.requirement("O-15")
def test_deleted_vectors_stay_in_the_index_and_are_never_returned():
    backend = FaissBackend(Letters())
    ids = [backend.store("a" * number + "b") for number in range(1, 21)]
    for doc_id in ids[:18]:
        assert backend.delete(doc_id) is True
    assert (backend.indexed, index_of(backend).ntotal, len(backend)) == (20, 20, 2)
    assert len(backend.retrieve("ab", top_k=20)) == 2
    backend.clear()
    assert backend.indexed == 0


@pytest.mark.requirement("O-16", "R-13")
def test_it_is_in_memory_only_unless_saved(tmp_path: Path):
    backend = FaissBackend(Letters())
    backend.delete(backend.store("abc"))
    backend.store("abd")
    backend.save(tmp_path / "saved")
    assert FaissBackend(Letters()).retrieve("abd") == []
    again = FaissBackend(Letters())
    again.load(tmp_path / "saved")
    assert [result.content for result in again.retrieve("abd")] == ["abd"]
    assert again.indexed == 1


@pytest.mark.requirement("R-13")
def test_vectors_of_another_model_are_not_loaded(tmp_path: Path):
    backend = FaissBackend(Letters())
    backend.store("abc")
    backend.save(tmp_path / "saved")
    with pytest.raises(ConfigError, match="Letters"):
        FaissBackend().load(tmp_path / "saved")


@pytest.mark.requirement("O-14", "O-43", "O-44")
def test_the_default_embedder_is_the_offline_minilm_of_384_dims():
    assert DEFAULT_EMBEDDER == "minilm"
    embedder = open_embedder()
    assert (embedder.dim(), embedder.model.partition(":")[0]) == (384, "all-MiniLM-L6-v2")
    rows = embedder.embed(["a flat in Lisbon", "an apartment in Portugal", "linker errors"])
    assert rows.shape == (3, 384)
    assert rows[0] @ rows[1] > rows[0] @ rows[2]
    embedder.close()


@pytest.mark.requirement("O-14")
def test_the_default_finds_by_meaning():
    backend = FaissBackend()
    for text in ("The cat sleeps on the sofa", "Interest rates were raised again", "She plays the piano every day"):
        backend.store(text)
    assert backend.retrieve("a musician at her instrument")[0].content == "She plays the piano every day"
    backend.close()


@pytest.mark.requirement("O-43")
def test_an_embedder_is_an_abstract_class_of_two_methods():
    assert Embedder.__abstractmethods__ == {"embed", "dim"}
    assert Letters().embed(["ab", "c"]).shape == (2, Letters().dim())


@pytest.mark.requirement("O-43")
def test_every_embedder_of_the_port_is_one_with_its_query_call():
    port = MinilmEmbedder()
    adapted = PortEmbedder(port)
    assert adapted.dim() == port.space.dims
    np.testing.assert_allclose(adapted.embed(["tea"]), port.embed_documents(["tea"]))
    np.testing.assert_allclose(adapted.embed_queries(["tea"]), port.embed_queries(["tea"]))
    adapted.close()


def test_sentence_transformers_is_chosen_by_name(monkeypatch: pytest.MonkeyPatch):
    import sys

    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(ConfigError, match=r"pip install 'mnemic\[sentence-transformers\]'"):
        FaissBackend("sentence-transformers:all-MiniLM-L6-v2")


@pytest.mark.parametrize("answer", [[[1, 2, 3]], [[1, 2, 3, 4, 5]] * 2, [[1, 2, 3, 4, float("nan")]]])
def test_a_wrong_answer_of_an_embedder_stores_nothing(answer: list[list[float]]):
    backend = FaissBackend(Broken(answer))
    with pytest.raises(BadReplyError):
        backend.store("abc")
    assert (len(backend), backend.indexed) == (0, 0)


def test_a_text_without_direction_is_kept_and_a_query_without_finds_nothing():
    backend = FaissBackend(Letters())
    doc_id = backend.store("xyz")
    backend.store("abc")
    assert backend.retrieve("xyz") == []
    assert backend.delete(doc_id) is True
