"""The backend `faiss`: exact semantic search in a flat inner-product FAISS index, in this process. Needs the extra
`memory-faiss`. An `Embedder`, a small version of the port in `mnemic.ports.models`, turns texts into vectors. Write two
methods to use your own model. `PortEmbedder` wraps every embedder that Mnemic knows by name.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from mnemic.adapters.embedders import registry
from mnemic.adapters.extras import import_extra
from mnemic.backends.in_memory import Arrays, Document, InMemoryBackend, Scored
from mnemic.backends.primitive import FACTS, MemoryRegistry
from mnemic.errors import BadReplyError
from mnemic.ports import models as port
from mnemic.ports.models import Vectors

DEFAULT_EMBEDDER = "minilm"
"""all-MiniLM-L6-v2 with 384 dims in 8 bits, included with Mnemic: about 22 MB, no download."""


class Embedder(ABC):
    """Turns texts into vectors. Two methods are enough. The defaults of the others fit a model without prefixes."""

    @abstractmethod
    def embed(self, texts: Sequence[str]) -> Vectors:
        """One row per text in the same order, `(n, dim) float32`. They need not be normalised."""

    @abstractmethod
    def dim(self) -> int:
        """The number of components of a vector."""

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """Vectors of search queries. Default: `embed`."""
        return self.embed(texts)

    @property
    def model(self) -> str:
        """Identifies the model in saved files. Vectors of two models are never compared."""
        return f"{type(self).__module__}.{type(self).__qualname__}:{self.dim()}"

    def close(self) -> None:  # noqa: B027 -- most models need no closing
        """Release the model. Idempotent."""


class PortEmbedder(Embedder):
    """Wraps an embedder of the port, which adds its own prefixes."""

    def __init__(self, embedder: port.Embedder) -> None:
        self._embedder = embedder

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Unit vectors of texts to store. Raises `BackendError` if the model or its server fails."""
        return self._embedder.embed_documents(texts)

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """Unit vectors of search queries."""
        return self._embedder.embed_queries(texts)

    def dim(self) -> int:
        """The number of components of a vector. May load the model."""
        return self._embedder.space.dims

    @property
    def model(self) -> str:
        """The name of the model and the id of its space."""
        return f"{self._embedder.space.model}:{self._embedder.space.id}"

    def close(self) -> None:
        """Close the embedder of the port."""
        self._embedder.close()


EmbedderChoice: TypeAlias = Embedder | str | None


class SentenceTransformerEmbedder(PortEmbedder):
    """A sentence-transformers model, by name or folder. Needs the extra `sentence-transformers`."""

    def __init__(self, model_name: str = "all-MiniLM-L6-v2", *, device: str | None = None) -> None:
        """`device`: "cpu", "cuda", …. Default: the package's choice. Raises `ConfigError` without the extra."""
        options = {} if device is None else {"device": device}
        super().__init__(registry.open_embedder(f"sentence-transformers:{model_name}", options))


def open_embedder(choice: EmbedderChoice = None) -> Embedder:
    """Open an embedder: the given one, one by name such as "ollama:nomic-embed-text", or the default, all-MiniLM-L6-v2
    with 384 dimensions, offline. Raises `ConfigError` for an unknown name or a missing package.
    """
    if isinstance(choice, Embedder):
        return choice
    return PortEmbedder(registry.open_embedder(choice or DEFAULT_EMBEDDER))


@MemoryRegistry.register("faiss")
class FaissBackend(InMemoryBackend[Vectors]):
    """Scores are cosines, from -1 to 1. A deleted document's vector stays in the index, where searches skip it, until
    `clear`, or `save` and `load`. `embedder`: an `Embedder`, or a name such as "minilm" (the default: all-MiniLM-L6-v2,
    offline), "sentence-transformers:all-MiniLM-L6-v2" or "ollama:nomic-embed-text".
    """

    facts = FACTS["faiss"]

    def __init__(self, embedder: EmbedderChoice = None) -> None:
        """Raises `ConfigError` if faiss is not installed or the embedder is unknown."""
        super().__init__()
        self._faiss: Any = import_extra("faiss", "memory-faiss")
        self._embedder = open_embedder(embedder)
        self._start_afresh()

    @property
    def indexed(self) -> int:
        """The number of vectors in the index, those of deleted documents included."""
        return int(self._index.ntotal)

    def close(self) -> None:
        """Close the embedder and drop all documents."""
        self.clear()
        self._embedder.close()

    def _start_afresh(self) -> None:
        self._index: Any = self._faiss.IndexFlatIP(self._embedder.dim())
        self._ids: list[str] = []
        self._rows: dict[str, int] = {}

    def _read(self, content: str) -> Vectors:
        return self._unit(self._embedder.embed([content]))

    def _ask(self, query: str) -> Vectors:
        return self._unit(self._embedder.embed_queries([query]))

    def _unit(self, rows: Vectors) -> Vectors:
        """One row of unit length. The zero row of a blank text stays."""
        vector = np.array(rows, dtype=np.float32, order="C")
        if vector.shape != (1, self._embedder.dim()) or not np.isfinite(vector).all():
            raise BadReplyError(f"the embedder returned shape {vector.shape}; expected (1, {self._embedder.dim()})")
        self._faiss.normalize_L2(vector)
        return vector

    def _best(self, evidence: Vectors, limit: int) -> Sequence[Scored]:
        if not self._rows or not evidence.any():
            return []
        kept = np.zeros(len(self._ids), dtype=np.bool_)
        kept[list(self._rows.values())] = True
        selector = self._faiss.IDSelectorBitmap(np.packbits(kept, bitorder="little"))
        parameters = self._faiss.SearchParameters(sel=selector)
        scores, rows = self._index.search(evidence, min(limit, len(self._rows)), params=parameters)
        found: list[tuple[float, int]] = list(zip(scores[0].tolist(), rows[0].tolist(), strict=True))
        found.sort(key=lambda entry: (-entry[0], entry[1]))
        return [(self._ids[row], score) for score, row in found if row >= 0]

    def _add(self, doc_id: str, evidence: Vectors) -> None:
        self._index.add(evidence)
        self._rows[doc_id] = len(self._ids)
        self._ids.append(doc_id)

    def _remove(self, doc_id: str) -> None:
        del self._rows[doc_id]

    def _replace(self, documents: Sequence[tuple[str, Document]], arrays: Arrays) -> None:
        self._start_afresh()
        if documents:
            self._index.add(np.ascontiguousarray(arrays["vectors"], dtype=np.float32))
            self._ids = [doc_id for doc_id, _ in documents]
            self._rows = {doc_id: row for row, doc_id in enumerate(self._ids)}

    def _arrays(self) -> Arrays:
        rows = [self._rows[doc_id] for doc_id in self._documents]
        every = self._index.reconstruct_n(0, self.indexed) if rows else np.zeros((0, self._embedder.dim()))
        return {"vectors": np.asarray(every, dtype=np.float32)[rows]}

    def _model(self) -> str:
        return self._embedder.model
