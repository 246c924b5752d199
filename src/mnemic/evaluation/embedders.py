"""Embedders for evaluation: one that caches vectors, one without a model, and one that measures time."""

import hashlib
import time
from collections.abc import Callable, MutableMapping, Sequence

import numpy as np

from mnemic.model.candidates import Space
from mnemic.ports.models import Embedder, EmbedderCapabilities, Vectors

SYNTHETIC_DIMS = 384  # of the default embedder, so that timings compare
KeptVectors = MutableMapping[str, MutableMapping[str, Vectors]]
"""Document vectors by the id of their space and by text."""


class _Wrapper:
    """Wraps an embedder. Subclasses change some methods."""

    def __init__(self, inner: Embedder) -> None:
        self._inner = inner

    @property
    def space(self) -> Space:
        return self._inner.space

    @property
    def capabilities(self) -> EmbedderCapabilities:
        return self._inner.capabilities

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        return self._inner.embed_queries(texts)

    def close(self) -> None:
        self._inner.close()


class CachingEmbedder(_Wrapper):
    """Caches document vectors by text, so that a text in many haystacks is embedded once. Pass `vectors` to share them
    between runs. Queries are not cached, because the time of a question includes its embedding.
    """

    def __init__(self, inner: Embedder, vectors: KeptVectors | None = None) -> None:
        super().__init__(inner)
        kept: KeptVectors = {} if vectors is None else vectors
        self._documents = kept.setdefault(inner.space.id, {})

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """Vectors of texts. A cached text costs nothing."""
        missing = [text for text in dict.fromkeys(texts) if text not in self._documents]
        if missing:
            self._documents.update(zip(missing, self._inner.embed_documents(missing), strict=True))
        if not texts:
            return np.zeros((0, self.space.dims), dtype=np.float32)
        return np.stack([self._documents[text] for text in texts])


class SyntheticEmbedder:
    """Random unit vectors seeded by the text, for speed tests at sizes that would take a real model hours."""

    space = Space(
        model="synthetic",
        revision="1",
        precision="fp32",
        dims=SYNTHETIC_DIMS,
        pooling="none",
        query_prefix="",
        document_prefix="",
        max_tokens=1_000_000,
    )
    capabilities = EmbedderCapabilities(is_local=True, is_blocking=False, batch_size=256)

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """One seeded random direction per text. A blank text has a zero row."""
        vectors = np.zeros((len(texts), SYNTHETIC_DIMS), dtype=np.float32)
        for row, text in enumerate(texts):
            if text.strip():
                seed = int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest())
                vectors[row] = np.random.Generator(np.random.SFC64(seed)).standard_normal(SYNTHETIC_DIMS, np.float32)
                vectors[row] /= np.linalg.norm(vectors[row])
        return vectors

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """Like `embed_documents`."""
        return self.embed_documents(texts)

    def close(self) -> None:
        """Does nothing."""


class TimedEmbedder(_Wrapper):
    """Measures an embedder: `document_s` in total, and `query_ms` of each call."""

    def __init__(self, inner: Embedder) -> None:
        super().__init__(inner)
        self.document_s = 0.0
        self.query_ms: list[float] = []

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """Like the wrapped embedder's."""
        start = time.perf_counter()
        vectors = self._inner.embed_documents(texts)
        self.document_s += time.perf_counter() - start
        return vectors

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """Like the wrapped embedder's."""
        start = time.perf_counter()
        vectors = self._inner.embed_queries(texts)
        self.query_ms.append((time.perf_counter() - start) * 1e3)
        return vectors


_: tuple[Callable[[Embedder], Embedder], Callable[[Embedder], Embedder], type[Embedder]] = (
    CachingEmbedder,
    TimedEmbedder,
    SyntheticEmbedder,
)
