"""The port through which text becomes vectors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from mnemic.model.space import Space

Vectors = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class EmbedderCapabilities:
    """What the engine must know of an embedder to use it well.

    `is_local`: it answers in this process within milliseconds, so a write embeds before it is acknowledged;
    otherwise the write leaves a job. `is_blocking`: it waits for somebody else, so it runs on the pool.
    `batch_size`: texts per call that use it best.
    """

    is_local: bool
    is_blocking: bool
    batch_size: int


class Embedder(Protocol):
    """Turns texts into unit vectors of one space. Query and document calls differ, and prefixes belong here.

    Both calls promise: one row per text in the same order, `(n, dims) float32`, L2-normalised; no texts give
    shape `(0, dims)`; the vector of a text does not depend on the other texts of the call (up to rounding);
    texts beyond `space.max_tokens` are cut, never refused; they may be called from several threads at once.
    A text with nothing in it (blank) has the zero row, and costs no model call.
    Raises `BackendError` and its children when the model or its server fails.
    """

    @property
    def space(self) -> Space:
        """The space these vectors live in; vectors of two spaces are never compared."""
        ...

    @property
    def capabilities(self) -> EmbedderCapabilities:
        """Declared facts, constant for the life of the object."""
        ...

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """Vectors of texts that are kept."""
        ...

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """Vectors of texts that are searched with (the model's query prefix, if it has one, is added here)."""
        ...

    def close(self) -> None:
        """Let go of the model or the connection; closing twice is harmless."""
        ...
