"""The port of a second judge: how well does each of a few texts answer a query?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Scores = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class RerankerCapabilities:
    """What the engine must know of a reranker to use it well.

    `is_local`: it answers in this process. `is_blocking`: it waits for somebody else, so it runs on the pool.
    `max_texts`: the most texts of one call. `weight`: what a standard deviation of its scores is worth beside one of
    BM25; a judge that is better than the whole first ranking has a large one.
    """

    is_local: bool
    is_blocking: bool
    max_texts: int
    weight: float = 1.0


class Reranker(Protocol):
    """Reads query and text together, which is better than comparing two vectors, and too slow for more than a few.

    `rerank` promises: one finite score per text in the same order, `(n,) float32`, higher is better, on a scale of its
    own; no texts give shape `(0,)`; the score of a text does not depend on the other texts of the call (up to
    rounding), except that a blank text gets the lowest of them; a blank query gives zeros; neither costs a model call;
    long texts are cut, never refused; it may be called from several threads at once.
    """

    @property
    def name(self) -> str:
        """What it is called in messages."""
        ...

    @property
    def capabilities(self) -> RerankerCapabilities:
        """Declared facts, constant for the life of the object."""
        ...

    def rerank(self, query: str, texts: Sequence[str]) -> Scores:
        """A score per text. Raises `InvalidInputError` for more than `max_texts` texts, `ConfigError` when the model
        cannot be loaded, `BackendError` and its children when it or its server fails.
        """
        ...

    def close(self) -> None:
        """Let go of the model or the connection; closing twice is harmless."""
        ...
