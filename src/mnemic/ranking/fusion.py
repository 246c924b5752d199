"""The arithmetic of ranking: standard scores, reciprocal rank fusion, linear sums, maximal marginal relevance, decay of
importance, and fit to dates. Features, weights, vectors and half-lives come from the caller.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mnemic.errors import InvalidInputError
from mnemic.ranking.bm25 import products
from mnemic.text.asking import Date, Span

Floats = NDArray[np.float32]
Item = TypeVar("Item", bound=Hashable)

RRF_K = 60.0  # constant of reciprocal rank fusion (Cormack, Clarke and Büttcher 2009)


@dataclass(frozen=True, slots=True)
class Population:
    """Reference values of a score: their number, mean and (population) standard deviation."""

    items: int
    mean: float
    deviation: float

    @classmethod
    def of(cls, values: ArrayLike) -> Population:
        """The population of these finite values; (0, 0, 0) for none. A spread from rounding alone counts as 0."""
        array = np.asarray(values, dtype=np.float64).reshape(-1)
        if array.size == 0:
            return cls(0, 0.0, 0.0)
        mean, deviation = float(array.mean()), float(array.std())
        is_rounding = deviation <= float(np.abs(array).max()) * float(np.finfo(np.float64).eps) * array.size
        return cls(int(array.size), mean, 0.0 if is_rounding else deviation)


def zscores(values: ArrayLike, population: Population) -> Floats:
    """Standard deviations above the population's mean, float32 in the shape of `values`; zeros without a spread."""
    array = np.asarray(values, dtype=np.float64)
    if population.deviation <= 0.0:
        return np.zeros(array.shape, dtype=np.float32)
    return ((array - population.mean) / population.deviation).astype(np.float32)


def reciprocal_rank_fusion(
    rankings: Sequence[Sequence[Item]], k: float = RRF_K, weights: Sequence[float] | None = None
) -> list[tuple[Item, float]]:
    """Items of all rankings with their fused score, best first: the sum of weight / (k + rank), rank from 1. An item
    missing in a ranking gets nothing from it; of a repeated item the first place counts. Ties keep the order of first
    occurrence, ranking by ranking. Without `weights` all rankings weigh 1. Raises `InvalidInputError` unless there is
    one weight per ranking, and for a negative weight or `k`.
    """
    factors = [1.0] * len(rankings) if weights is None else list(weights)
    if len(factors) != len(rankings) or any(factor < 0 for factor in factors) or k < 0:
        raise InvalidInputError("fusion requires one weight per ranking, and weights and k must not be negative")
    fused: dict[Item, float] = {}
    for ranking, factor in zip(rankings, factors, strict=True):
        for rank, item in enumerate(dict.fromkeys(ranking), start=1):
            fused[item] = fused.get(item, 0.0) + factor / (k + rank)
    return sorted(fused.items(), key=lambda entry: -entry[1])


def linear(features: Mapping[str, ArrayLike], weights: Mapping[str, float]) -> tuple[Floats, dict[str, Floats]]:
    """The weighted sum of features, `(n,) float32`, and each feature's contribution to it, `(n,) float32` by name. A
    feature without a weight contributes zeros; a weight without a feature is ignored. Raises `InvalidInputError` for
    features of different lengths.
    """
    columns = {name: np.asarray(values, dtype=np.float32) for name, values in features.items()}
    if len({column.shape for column in columns.values()}) > 1 or any(column.ndim != 1 for column in columns.values()):
        raise InvalidInputError("every feature must have one number per candidate")
    contributions = {name: column * np.float32(weights.get(name, 0.0)) for name, column in columns.items()}
    if not contributions:
        return np.zeros(0, dtype=np.float32), {}
    total = np.stack(list(contributions.values())).sum(axis=0, dtype=np.float32)
    return np.asarray(total, dtype=np.float32), contributions


def _unit(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.divide(vectors, norms, out=np.zeros_like(vectors), where=norms > 0)


def mmr_order(relevance: ArrayLike, vectors: ArrayLike, lambda_: float, limit: int) -> list[int]:
    """Positions of at most `limit` candidates by maximal marginal relevance (Carbonell & Goldstein 1998).

    Each step takes the candidate with the highest lambda * relevance - (1 - lambda) * (highest cosine to a taken one; 0
    for the first). `relevance` `(n,)` should be on the scale of a cosine. `vectors` `(n, dims)` need not be normalised;
    a zero row is similar to nothing. `lambda_` 1: relevance alone, 0: diversity alone. Ties: the earlier first. Raises
    `InvalidInputError` for a `lambda_` outside 0..1, a negative limit, or shapes that do not fit.
    """
    scores = np.asarray(relevance, dtype=np.float32)
    rows = np.asarray(vectors, dtype=np.float32)
    if scores.ndim != 1 or rows.ndim != 2 or rows.shape[0] != scores.shape[0]:  # noqa: PLR2004 -- a matrix
        raise InvalidInputError(
            f"relevance and vectors must have the shapes (n,) and (n, dims), not {scores.shape} and {rows.shape}"
        )
    if not 0.0 <= lambda_ <= 1.0 or limit < 0:
        raise InvalidInputError(f"lambda must be from 0 to 1 and limit at least 0, not {lambda_} and {limit}")
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


HALF_LIFE_DAYS = 30.0
FLOOR = 0.05


def decayed(
    importance: ArrayLike, age_days: ArrayLike, half_life_days: ArrayLike = HALF_LIFE_DAYS, floor: ArrayLike = FLOOR
) -> NDArray[np.float32]:
    """Importance after `age_days` without access, `float32` in the shape to which the arguments broadcast. importance *
    0.5 ** (age_days / half_life_days), never below `floor`. Importance below the floor stays unchanged. Negative ages
    (a clock set back) count as 0. Half-life and floor may differ per item. Raises `InvalidInputError` for a half-life
    that is not positive, and for an age that is not a number.
    """
    start = np.asarray(importance, dtype=np.float64)
    age = np.asarray(age_days, dtype=np.float64)
    half_life = np.asarray(half_life_days, dtype=np.float64)
    if not (half_life > 0).all():
        raise InvalidInputError("a half-life must be more than 0 days")
    if np.isnan(age).any():
        raise InvalidInputError("an age must be a number of days")
    faded = start * np.exp2(-np.maximum(age, 0.0) / half_life)
    return np.maximum(faded, np.minimum(start, floor)).astype(np.float32)


TOLD_WITHIN_DAYS = 10  # events are reported on their day or soon after
SAME_MONTH = 0.5


def fitting(observed: NDArray[np.int64], dates: Sequence[Date], spans: Sequence[Span] = ()) -> Floats:
    """For each time (microseconds since 1970, UTC) the best fit to one of the dates or spans, `(n,) float32`, 0..1. A
    month fits by 1, in any year if it names none. A day fits by 1 from the day before it (time zones) to
    `TOLD_WITHIN_DAYS` after it, and by `SAME_MONTH` for the rest of its month. A span fits by 1.
    """
    best = np.zeros(observed.shape, dtype=np.float32)
    days = observed.astype("datetime64[us]").astype("datetime64[D]")
    months = days.astype("datetime64[M]").astype(np.int64)
    for date in dates:
        fits = months % 12 == date.month - 1
        if date.year is not None:
            fits &= months // 12 == date.year - 1970
        fit = fits.astype(np.float32)
        if date.day is not None:
            fit = np.where(_match_date(days, date), np.float32(1), fit * np.float32(SAME_MONTH))
        best = np.maximum(best, fit)
    for span in spans:
        best[(days >= np.datetime64(span.first, "D")) & (days <= np.datetime64(span.last, "D"))] = 1.0
    return best


def _match_date(days: NDArray[np.datetime64], date: Date) -> NDArray[np.bool_]:
    """The days that match the date, in any year if it names none."""
    years = (
        days.astype("datetime64[Y]") if date.year is None else np.full(days.shape, date.year - 1970, "datetime64[Y]")
    )
    start = years.astype("datetime64[M]") + (date.month - 1)
    begun = start.astype("datetime64[D]") + ((date.day or 1) - 1)
    after = (days - begun).astype(np.int64)
    return (after >= -1) & (after <= TOLD_WITHIN_DAYS)
