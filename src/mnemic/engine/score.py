"""The one linear score: features of candidates, their weights, and what each added.

Features, each normalised over the rows that the question may see:
    keyword     BM25, as standard deviations above the mean
    dense       cosine to the question, as standard deviations above the mean; 0 for a row without a vector
    importance  as stored, around 0.5
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mnemic.model.candidates import Candidates, Floats
from mnemic.model.recall import Contribution
from mnemic.model.settings import Weights
from mnemic.ranking.bm25 import Bm25, CollectionStatistics
from mnemic.ranking.fusion import Population, linear, zscores

NEUTRAL_IMPORTANCE = 0.5


@dataclass(frozen=True, slots=True)
class Scored:
    """Candidates with scores; `order` lists their places, best first; ties go to the more important, then to the newer,
    then to the one written first.
    """

    candidates: Candidates
    scores: Floats
    order: NDArray[np.intp]
    features: dict[str, Floats]
    weights: dict[str, float]

    def contributions(self, place: int) -> tuple[Contribution, ...]:
        """What each feature added to the score at `place`; their points add up to it."""
        return tuple(
            Contribution(name, float(values[place]), self.weights[name], float(values[place]) * self.weights[name])
            for name, values in self.features.items()
        )

    def score(self, place: int) -> float:
        """The sum of the points of the contributions."""
        return sum(contribution.points for contribution in self.contributions(place))


def by_relevance(candidates: Candidates, weights: Weights) -> Scored:
    """Scores from all features."""
    features = {
        "keyword": _keyword(candidates),
        "dense": _dense(candidates),
        "importance": candidates.importances - np.float32(NEUTRAL_IMPORTANCE),
    }
    return _scored(
        candidates,
        features,
        {"keyword": weights.keyword, "dense": weights.dense, "importance": weights.importance},
    )


def by_similarity(candidates: Candidates, min_similarity: float) -> Scored:
    """Scores from the cosine alone: rows without a vector, or below the (inclusive) threshold, are left out."""
    scored = _scored(candidates, {"similarity": np.nan_to_num(candidates.cosines, nan=-np.inf)}, {"similarity": 1.0})
    threshold = np.float32(min_similarity) - np.float32(1e-6)  # float32 rounding must not push an exact match below
    return Scored(
        scored.candidates,
        scored.scores,
        scored.order[candidates.cosines[scored.order] >= threshold],
        scored.features,
        scored.weights,
    )


def _scored(candidates: Candidates, features: dict[str, Floats], weights: dict[str, float]) -> Scored:
    scores, _ = linear(features, weights)
    order = np.lexsort((-candidates.observed, -candidates.importances, -scores))
    return Scored(candidates, scores, order, features, weights)


def _keyword(candidates: Candidates) -> Floats:
    statistics = CollectionStatistics.of(candidates.items, candidates.total_length, candidates.document_frequencies)
    scores = Bm25().scores(candidates.counts, candidates.lengths, statistics)
    if candidates.items == 0:
        return scores
    mean = float(scores.sum(dtype=np.float64)) / candidates.items
    square = float(np.square(scores, dtype=np.float64).sum()) / candidates.items
    return zscores(scores, Population(candidates.items, mean, max(square - mean * mean, 0.0) ** 0.5))


def _dense(candidates: Candidates) -> Floats:
    population = Population(candidates.vectors, candidates.cosine_mean, candidates.cosine_deviation)
    return np.nan_to_num(zscores(candidates.cosines, population), nan=0.0)
