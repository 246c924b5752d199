"""The backend `colbert`: late interaction over one vector per token (Khattab and Zaharia 2020), in this process.

With a ColBERT checkpoint it needs the extra `memory-colbert`; with `checkpoint="minilm"` it needs nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mnemic.backends.archive import Arrays, Document
from mnemic.backends.extras import FACTS
from mnemic.backends.in_memory import InMemoryBackend, Scored
from mnemic.backends.registry import MemoryRegistry
from mnemic.backends.token_embedders import TokenEmbedder, chosen_token_embedder
from mnemic.errors import BadReplyError
from mnemic.ports.models import Vectors


def max_sim(query: Vectors, document: Vectors) -> float:
    """The sum, over the query's tokens, of the best cosine with any token of the document.

    Both are `(tokens, dims) float32` with rows of length 1; 0 where either has no tokens.
    """
    if not query.size or not document.size:
        return 0.0
    return float((query @ document.T).max(axis=1).sum())


@MemoryRegistry.register("colbert")
class ColbertBackend(InMemoryBackend[Vectors]):
    """Scores are MaxSim: at most the number of the query's tokens.

    `checkpoint`: the name of one (default `colbert-ir/colbertv2.0`, fetched from its hub), its folder, "minilm" for
    the token vectors of the offline model, or a `TokenEmbedder`. It is loaded by the first text.
    """

    facts = FACTS["colbert"]

    def __init__(self, checkpoint: TokenEmbedder | str | None = None) -> None:
        """Loads nothing; the first text raises `ConfigError` when a package or the model is missing."""
        super().__init__()
        self._embedder = chosen_token_embedder(checkpoint)
        self._matrices: dict[str, Vectors] = {}

    def close(self) -> None:
        """Close the embedder, and forget everything."""
        self.clear()
        self._embedder.close()

    def _read(self, content: str) -> Vectors:
        return _unit(self._embedder.embed_document(content))

    def _ask(self, query: str) -> Vectors:
        return _unit(self._embedder.embed_query(query))

    def _best(self, evidence: Vectors, limit: int) -> Sequence[Scored]:
        if not evidence.size:
            return []
        scored = [(doc_id, max_sim(evidence, matrix)) for doc_id, matrix in self._matrices.items()]
        return sorted(scored, key=lambda entry: -entry[1])[:limit]

    def _add(self, doc_id: str, evidence: Vectors) -> None:
        self._matrices[doc_id] = evidence

    def _remove(self, doc_id: str) -> None:
        del self._matrices[doc_id]

    def _replace(self, documents: Sequence[tuple[str, Document]], arrays: Arrays) -> None:
        if not documents:
            self._matrices = {}
            return
        pieces = np.split(arrays["tokens"].astype(np.float32), np.cumsum(arrays["lengths"])[:-1])
        self._matrices = {doc_id: piece for (doc_id, _), piece in zip(documents, pieces, strict=True)}

    def _arrays(self) -> Arrays:
        matrices = [matrix for matrix in self._matrices.values() if matrix.size]
        lengths = [len(matrix) for matrix in self._matrices.values()]
        tokens = np.concatenate(matrices) if matrices else np.zeros((0, 0), dtype=np.float32)
        return {"tokens": tokens, "lengths": np.array(lengths, dtype=np.int64)}

    def _model(self) -> str:
        return self._embedder.model


def _unit(rows: Vectors) -> Vectors:
    """Rows of length 1; zero rows stay as they are. Raises `BadReplyError` for what is no finite table."""
    matrix = np.asarray(rows, dtype=np.float32)
    if matrix.ndim != 2 or not np.isfinite(matrix).all():  # noqa: PLR2004 -- a table has two
        raise BadReplyError(f"the token embedder answered an array of shape {matrix.shape}; expected (tokens, dims)")
    lengths = np.linalg.norm(matrix, axis=1, keepdims=True)
    return np.divide(matrix, lengths, out=np.zeros_like(matrix), where=lengths > 0)
