"""The answer to a question: hits that explain their score."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from mnemic.model.graph import GraphPath
from mnemic.model.item import Item


@dataclass(frozen=True, slots=True)
class Contribution:
    """One term of a linear score: `points` = `value` x `weight`."""

    feature: str
    value: float
    weight: float
    points: float


@dataclass(frozen=True, slots=True)
class Hit:
    """One recalled thing. `score` is the sum of the points of its contributions; higher is better.

    `similarity` is the cosine to the query (None where either has no vector). `relevance` is the probability, 0 to 1,
    that the hit has to do with the query at all; it means the same in every store, where scores and similarities do
    not (None where it cannot be told: by similarity alone, without a vector, or with an embedding model that it is not
    calibrated for). A fallback hit did not match the query: it is general background, and its score is its importance
    as it has faded.
    """

    item: Item
    score: float
    similarity: float | None
    contributions: tuple[Contribution, ...]
    is_fallback: bool = False
    relevance: float | None = None

    @property
    def id(self) -> str:
        """The id of the item."""
        return self.item.id

    @property
    def text(self) -> str:
        """The stored text of the item."""
        return self.item.text


@dataclass(frozen=True, slots=True)
class Recall:
    """Hits, best first; `degraded` says which sources were missing and why; `timings_ms` where the time went. `paths`:
    where the graph was asked too, the ways between what the question is about, or to hits that it reached.
    """

    query: str
    hits: tuple[Hit, ...]
    degraded: tuple[str, ...]
    timings_ms: Mapping[str, float]
    paths: tuple[GraphPath, ...] = ()

    def __iter__(self) -> Iterator[Hit]:
        return iter(self.hits)

    def __len__(self) -> int:
        return len(self.hits)

    @property
    def is_fallback(self) -> bool:
        """True when nothing matched and general background is given instead."""
        return bool(self.hits) and self.hits[0].is_fallback
