"""What is particular to the backend `colbert`: MaxSim, lazy loading, and the token vectors of the offline model."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import onnx
import pytest

import mnemic_minilm
from mnemic.adapters.embedders.minilm import TOKENS, MinilmEmbedder
from mnemic.backends.colbert import (
    DEFAULT_CHECKPOINT,
    CheckpointTokenEmbedder,
    ColbertBackend,
    MinilmTokenEmbedder,
    TokenEmbedder,
    choose_token_embedder,
    max_sim,
)
from mnemic.errors import BadReplyError, ConfigError
from mnemic.ports.models import Vectors


class OneVectorPerWord(TokenEmbedder):
    """A random vector for each word, the same for the same word, and never of length 1."""

    def __init__(self, dims: int = 16) -> None:
        self.dims = dims

    @property
    def model(self) -> str:
        return "words"

    def embed_document(self, text: str) -> Vectors:
        rows = [np.random.default_rng(sum(map(ord, word))).standard_normal(self.dims) for word in text.split()]
        return np.array(rows, dtype=np.float32).reshape(len(rows), self.dims)

    def embed_query(self, text: str) -> Vectors:
        return self.embed_document(text)


class Flat(OneVectorPerWord):
    """Answers one row instead of a table."""

    def embed_document(self, text: str) -> Vectors:
        return super().embed_document(text)[0]


@pytest.mark.requirement("O-17")
def test_max_sim_is_the_sum_over_query_tokens_of_the_best_cosine():
    query = np.array([[1, 0, 0], [0, 1, 0]], dtype=np.float32)
    document = np.array([[0.6, 0.8, 0], [1, 0, 0], [0, 0, 1]], dtype=np.float32)
    assert max_sim(query, document) == pytest.approx(1.0 + 0.8)
    assert max_sim(query, document[2:]) == 0.0
    assert max_sim(query, document[:0]) == 0.0


@pytest.mark.requirement("O-17")
def test_a_score_is_max_sim_over_cosines():
    backend, embedder = ColbertBackend(OneVectorPerWord()), OneVectorPerWord()
    texts = ("green tea with honey", "black coffee", "tea and coffee and milk")
    for text in texts:
        backend.store(text)
    for query in ("tea", "coffee with honey", "milk milk"):
        wanted: dict[str, float] = {}
        for text in texts:
            asked, kept = embedder.embed_query(query), embedder.embed_document(text)
            cosines = asked @ kept.T / np.outer(np.linalg.norm(asked, axis=1), np.linalg.norm(kept, axis=1))
            wanted[text] = sum(max(row) for row in cosines)
        found = {result.content: result.score for result in backend.retrieve(query, min_score=-100)}
        assert found == pytest.approx(wanted, abs=1e-5)


@pytest.mark.requirement("O-18")
def test_the_default_checkpoint_is_loaded_by_the_first_text_and_not_before(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    backend = ColbertBackend()
    assert DEFAULT_CHECKPOINT == "colbert-ir/colbertv2.0"
    assert backend.retrieve("") == []
    with pytest.raises(ConfigError, match="memory-colbert"):
        backend.store("text")
    assert len(backend) == 0
    chosen = choose_token_embedder(None)
    assert isinstance(chosen, CheckpointTokenEmbedder)
    assert (chosen.model, chosen.is_loaded) == (DEFAULT_CHECKPOINT, False)


@pytest.mark.requirement("O-19", "R-13")
def test_it_is_in_memory_only_unless_saved(tmp_path: Path):
    backend = ColbertBackend(OneVectorPerWord())
    for text in ("green tea", "\u200b", "black coffee"):
        backend.store(text)
    backend.save(tmp_path / "saved")
    assert ColbertBackend(OneVectorPerWord()).retrieve("tea") == []
    again = ColbertBackend(OneVectorPerWord())
    again.load(tmp_path / "saved")
    assert again.retrieve("tea") == backend.retrieve("tea")
    with pytest.raises(ConfigError, match="model words"):
        ColbertBackend("minilm").load(tmp_path / "saved")


def test_the_offline_token_vectors_are_those_that_the_offline_embedder_pools():
    tokens = MinilmTokenEmbedder()
    text = "Anna rents a flat near the river"
    rows = tokens.embed_document(text)
    assert rows.shape == (7, 384)
    np.testing.assert_array_equal(rows, tokens.embed_query(text))
    pooled = MinilmEmbedder().embed_documents([text])[0]
    mean = rows.mean(axis=0)
    assert mean @ pooled / np.linalg.norm(mean) > 0.95  # [CLS] and [SEP] are pooled there, and are no words here
    assert tokens.embed_document("\u200b").size == 0
    tokens.close()


def test_the_token_vectors_are_a_value_of_the_shipped_graph_before_it_pools():
    loaded = onnx.ModelProto()
    loaded.ParseFromString(mnemic_minilm.model_path().read_bytes())
    graph = loaded.graph
    makers = [node for node in graph.node if TOKENS in node.output]
    assert [node.op_type for node in makers] == ["SkipLayerNormalization"]
    users = [node.op_type for node in graph.node if TOKENS in node.input]
    assert users == ["MatMul"]


def test_a_wrong_answer_of_a_token_embedder_stores_nothing():
    backend = ColbertBackend(Flat())
    with pytest.raises(BadReplyError):
        backend.store("tea")
    assert len(backend) == 0
