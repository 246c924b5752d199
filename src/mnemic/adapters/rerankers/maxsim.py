"""Reranks by late interaction over the offline model's token vectors: MaxSim (Khattab and Zaharia 2020). English.
Weaker than a ColBERT checkpoint, because the model was trained for one vector per text, but needs no download.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from mnemic.adapters.embedders.minilm import TokenVectors
from mnemic.adapters.rerankers.scores import scores_of
from mnemic.ports.models import Reranker, RerankerCapabilities, Scores, Vectors

THREADS = 2
"""Per run: it scores many whole texts at once."""

MAX_TEXTS = 200  # bounds the time of a recall; twice the cross-encoder's, since the model is small
WEIGHT = 0.25
"""Measured: the highest weight that harmed no test set (docs/decisions/0009-rerankers.md)."""


class MaxSimReranker:
    """The sum over the query's word pieces of the highest cosine with any word piece of the text."""

    def __init__(self, *, threads: int = THREADS) -> None:
        """Loads nothing until the first text."""
        self._tokens = TokenVectors(threads)

    @property
    def name(self) -> str:
        return "maxsim"

    @property
    def capabilities(self) -> RerankerCapabilities:
        return RerankerCapabilities(is_local=True, is_blocking=False, max_texts=MAX_TEXTS, weight=WEIGHT)

    def rerank(self, query: str, texts: Sequence[str]) -> Scores:
        return scores_of(query, texts, MAX_TEXTS, self._judge_texts, self.name)

    def close(self) -> None:
        self._tokens.close()

    def _judge_texts(self, query: str, texts: list[str]) -> list[float]:
        found = self._tokens.of([query, *texts])
        asked, *said = (each / np.linalg.norm(each, axis=1, keepdims=True) if each.size else each for each in found)
        return [max_sim(asked, each) for each in said]


def max_sim(query: Vectors, document: Vectors) -> float:
    """The sum over the query's tokens of the highest cosine with any token of the document. Both are `(tokens, dims)
    float32` with unit rows. 0 if either has no tokens.
    """
    if not query.size or not document.size:
        return 0.0
    return float((query @ document.T).max(axis=1).sum())


if TYPE_CHECKING:
    _: type[Reranker] = MaxSimReranker
