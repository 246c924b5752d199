"""Maximal marginal relevance: what is relevant, but not the same thing twice.

Answers for the order only, over vectors that others made.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mnemic.errors import InvalidInputError
from mnemic.ranking.products import products


def _unit(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.divide(vectors, norms, out=np.zeros_like(vectors), where=norms > 0)


def mmr_order(relevance: ArrayLike, vectors: ArrayLike, lambda_: float, limit: int) -> list[int]:
    """Positions of at most `limit` candidates, in the order of maximal marginal relevance (Carbonell & Goldstein 1998).

    Each step takes the candidate with the highest lambda * relevance - (1 - lambda) * (highest cosine to one taken
    already; 0 for the first). `relevance` `(n,)` should be on the scale of a cosine; `vectors` `(n, dims)` need not be
    normalised, a zero row is similar to nothing. `lambda_` 1 is the order of relevance, 0 is diversity alone. Of equal
    candidates the earlier comes first. Raises `InvalidInputError` for a `lambda_` outside 0..1, a negative limit, or
    shapes that do not fit.
    """
    scores = np.asarray(relevance, dtype=np.float32)
    rows = np.asarray(vectors, dtype=np.float32)
    if scores.ndim != 1 or rows.ndim != 2 or rows.shape[0] != scores.shape[0]:  # noqa: PLR2004 -- a matrix
        raise InvalidInputError(f"relevance {scores.shape} and vectors {rows.shape} must be (n,) and (n, dims)")
    if not 0.0 <= lambda_ <= 1.0 or limit < 0:
        raise InvalidInputError(f"lambda must be within 0..1 and the limit not negative, not {lambda_} and {limit}")
    unit = _unit(rows)
    nearest = np.zeros_like(scores)
    is_left = np.ones(scores.shape, dtype=np.bool_)
    order: list[int] = []
    while len(order) < min(limit, scores.shape[0]):
        marginal = np.float32(lambda_) * scores - np.float32(1.0 - lambda_) * nearest
        best = int(np.argmax(np.where(is_left, marginal, -np.inf)))
        similarity = products(unit, unit[best])
        nearest = similarity if not order else np.maximum(nearest, similarity)
        is_left[best] = False
        order.append(best)
    return order
