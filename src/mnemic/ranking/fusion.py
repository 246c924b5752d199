"""From several scores or rankings to one: standard scores, reciprocal rank fusion, and the explained linear sum.

Answers for the arithmetic only; which features there are, and their weights, is decided elsewhere.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mnemic.errors import InvalidInputError

Floats = NDArray[np.float32]
Item = TypeVar("Item", bound=Hashable)

RRF_K = 60.0
"""The constant of reciprocal rank fusion (Cormack, Clarke and Büttcher 2009)."""


@dataclass(frozen=True, slots=True)
class Population:
    """The values that a score is compared with: how many, their mean, and their (population) standard deviation."""

    items: int
    mean: float
    deviation: float

    @classmethod
    def of(cls, values: ArrayLike) -> Population:
        """The population of these finite values; none give (0, 0, 0). A spread that is rounding only counts as 0."""
        array = np.asarray(values, dtype=np.float64).reshape(-1)
        if array.size == 0:
            return cls(0, 0.0, 0.0)
        mean, deviation = float(array.mean()), float(array.std())
        is_rounding = deviation <= float(np.abs(array).max()) * float(np.finfo(np.float64).eps) * array.size
        return cls(int(array.size), mean, 0.0 if is_rounding else deviation)


def zscores(values: ArrayLike, population: Population) -> Floats:
    """Standard deviations above the population's mean, in the shape of `values`, float32; zeros without a spread."""
    array = np.asarray(values, dtype=np.float64)
    if population.deviation <= 0.0:
        return np.zeros(array.shape, dtype=np.float32)
    return ((array - population.mean) / population.deviation).astype(np.float32)


def reciprocal_rank_fusion(
    rankings: Sequence[Sequence[Item]], k: float = RRF_K, weights: Sequence[float] | None = None
) -> list[tuple[Item, float]]:
    """Items of all rankings with their fused score, best first: the sum of weight / (k + rank), rank from 1.

    An item that a ranking lacks gets nothing from it; of a repeated item the first place counts. Items of equal score
    keep the order in which they are first met, ranking by ranking. Without `weights` all rankings weigh 1.
    Raises `InvalidInputError` when the weights are not one per ranking, one is negative, or `k` is negative.
    """
    factors = [1.0] * len(rankings) if weights is None else list(weights)
    if len(factors) != len(rankings) or any(factor < 0 for factor in factors) or k < 0:
        raise InvalidInputError("fusion takes one weight per ranking, and neither weights nor k may be negative")
    fused: dict[Item, float] = {}
    for ranking, factor in zip(rankings, factors, strict=True):
        for rank, item in enumerate(dict.fromkeys(ranking), start=1):
            fused[item] = fused.get(item, 0.0) + factor / (k + rank)
    return sorted(fused.items(), key=lambda entry: -entry[1])


def linear(features: Mapping[str, ArrayLike], weights: Mapping[str, float]) -> tuple[Floats, dict[str, Floats]]:
    """The weighted sum of features, `(n,) float32`, and what each feature added to it, by name, `(n,) float32` each.

    The contributions of an item add up to its score. A feature without a weight contributes zeros; a weight without
    its feature is ignored. Raises `InvalidInputError` when the features are not of one length.
    """
    columns = {name: np.asarray(values, dtype=np.float32) for name, values in features.items()}
    if len({column.shape for column in columns.values()}) > 1 or any(column.ndim != 1 for column in columns.values()):
        raise InvalidInputError("features must be one number per candidate, all of the same length")
    contributions = {name: column * np.float32(weights.get(name, 0.0)) for name, column in columns.items()}
    if not contributions:
        return np.zeros(0, dtype=np.float32), {}
    total = np.stack(list(contributions.values())).sum(axis=0, dtype=np.float32)
    return np.asarray(total, dtype=np.float32), contributions
