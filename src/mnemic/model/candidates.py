"""What an index is asked, and what it answers: rows with their raw evidence, never a score of its own."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mnemic.model.scope import Partition

MESSAGE = "message"
Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexQuery:
    """A search in some partitions, on behalf of `agent` (whose private rows count), at `now` (microseconds).

    `terms` are distinct. `vector` is `(dims,) float32`, L2-normalised, or None. `kinds` empty means every kind.
    `allowed`, when given, names the only ids that may be answered. `dense_limit` bounds the rows that come in by vector
    alone.
    """

    partitions: tuple[Partition, ...]
    agent: str | None
    now: int
    terms: tuple[str, ...]
    vector: Floats | None
    dense_limit: int
    kinds: frozenset[str] = frozenset()
    allowed: frozenset[str] | None = None
    messages_until: int | None = None
    include_inactive: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidates:
    """`n` rows that share a term with the query or are near its vector, in no order, and the statistics to score them.

    `ids (n,) object`; `counts (n, t) float32`: occurrences of each query term; `lengths (n,) float32`: terms in the
    row; `cosines (n,) float32`: NaN without a vector; `importances (n,) float32`; `observed (n,) int64` microseconds.
    Over all rows that the query may see: `items`, `total_length`, `document_frequencies (t,)`, and, over those with a
    vector, `vectors`, `cosine_mean`, `cosine_deviation`. `versions`: of each partition of the query, at the search.
    """

    ids: NDArray[np.object_]
    counts: Floats
    lengths: Floats
    cosines: Floats
    importances: Floats
    observed: NDArray[np.int64]
    items: int
    total_length: float
    document_frequencies: NDArray[np.int64]
    vectors: int
    cosine_mean: float
    cosine_deviation: float
    versions: tuple[int, ...]
