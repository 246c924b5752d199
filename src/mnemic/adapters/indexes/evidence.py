"""What an index found in one partition, and how the evidence of several becomes one answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mnemic.model.candidates import Candidates, Floats, Surroundings


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """The rows and the statistics of one partition at `version`: parts of `Candidates`."""

    ids: NDArray[np.object_]
    counts: Floats
    lengths: Floats
    cosines: Floats
    importances: Floats
    observed: NDArray[np.int64]
    items: int
    total_length: float
    document_frequencies: NDArray[np.int64]
    population: tuple[int, float, float]
    """Vectors, sum of their cosines, sum of the squares."""
    version: int
    flagged: NDArray[np.bool_]
    surroundings: Surroundings | None = None
    keyword_sums: tuple[float, float] | None = None
    """As in `Candidates`."""


def nothing(terms: int) -> Evidence:
    """The evidence of a partition that the index knows nothing of, for a query of so many terms."""
    floats = np.zeros(0, dtype=np.float32)
    return Evidence(
        ids=np.zeros(0, dtype=np.object_),
        counts=np.zeros((0, terms), dtype=np.float32),
        lengths=floats,
        cosines=floats,
        importances=floats,
        observed=np.zeros(0, dtype=np.int64),
        items=0,
        total_length=0.0,
        document_frequencies=np.zeros(terms, dtype=np.int64),
        population=(0, 0.0, 0.0),
        version=0,
        flagged=np.zeros(0, dtype=np.bool_),
    )


def joined(found: Sequence[Evidence], terms: int) -> Candidates:
    """The evidence of the partitions of a query, in its order, as if their rows lay in one."""
    parts = [nothing(terms), *found]
    vectors = sum(part.population[0] for part in parts)
    mean = sum(part.population[1] for part in parts) / vectors if vectors else 0.0
    square = sum(part.population[2] for part in parts) / vectors if vectors else 0.0
    flagged = np.concatenate([part.flagged for part in parts])
    sums = [part.keyword_sums for part in found if part.keyword_sums is not None]
    return Candidates(
        ids=np.concatenate([part.ids for part in parts]),
        counts=np.concatenate([part.counts for part in parts]),
        lengths=np.concatenate([part.lengths for part in parts]),
        cosines=np.concatenate([part.cosines for part in parts]),
        importances=np.concatenate([part.importances for part in parts]),
        observed=np.concatenate([part.observed for part in parts]),
        items=sum(part.items for part in parts),
        total_length=sum(part.total_length for part in parts),
        document_frequencies=np.stack([part.document_frequencies for part in parts]).sum(axis=0).astype(np.int64),
        vectors=vectors,
        cosine_mean=mean,
        cosine_deviation=max(square - mean * mean, 0.0) ** 0.5,
        versions=tuple(part.version for part in found),
        flagged=flagged if flagged.any() else None,
        surroundings=Surroundings.joined(
            [part.surroundings or Surroundings.nowhere(part.ids.shape[0]) for part in parts]
        ),
        keyword_sums=(sum(one for one, _ in sums), sum(square for _, square in sums)) if sums else None,
    )
