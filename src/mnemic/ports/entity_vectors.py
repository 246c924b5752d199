"""The port of the vectors of entities, one of those that a unit of work exposes (see `ports.store`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from mnemic.model.scope import Partition, Visibility

AT_ONCE = 2048
"""So many vectors are compared at a time: some milliseconds of work."""


@dataclass(frozen=True, slots=True)
class EntityVector:
    """The vector (L2-normalised) of what an entity says (`model.graph.said_of`) in a space."""

    entity_id: str
    space: str
    said: str
    vector: NDArray[np.float32]


class EntityVectors(Protocol):
    """Vectors of entities, one per (partition, entity, space). Nothing here moves a partition's version.

    They are derived: the graph removes those of an entity that goes, or that says something else, in the same unit of
    work, and `Vectors.remove` those of a space.
    """

    def put(self, partition: Partition, rows: Sequence[EntityVector]) -> int:
        """Store vectors, replacing older ones; returns how many were stored: one of an entity that is gone, or says
        something else by now, is left out. Raises `InvalidInputError` when the dims are not the space's.
        """
        ...

    def missing(self, partition: Partition, space: str, after: str, limit: int) -> list[tuple[str, str]]:
        """(id, what it says) of entities without a vector in `space`, by id behind `after`; private ones too."""
        ...

    def nearest(
        self,
        visible: Visibility,
        space: str,
        vector: NDArray[np.float32],
        limit: int,
        between: Callable[[], None] = lambda: None,
    ) -> list[tuple[str, float]]:
        """(id, cosine) of the visible entities nearest to a vector (L2-normalised) of `space`; each once, the nearest
        first. `between` is called before the first and, where this process compares, before every `AT_ONCE` more of
        them; what it raises ends the search.
        """
        ...

    def coverage(self, partition: Partition, space: str) -> tuple[int, int]:
        """How many entities there are, and how many of them have a vector in `space`."""
        ...
