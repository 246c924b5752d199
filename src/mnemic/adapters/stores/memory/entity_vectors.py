"""Vectors of entities of the reference store."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from mnemic.adapters.stores.memory.transaction import Transaction
from mnemic.model.graph import said_of
from mnemic.model.scope import Partition, Visibility
from mnemic.ports.tables import AT_ONCE, EntityVector


class MemoryEntityVectors:
    """The `EntityVectors` port."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction

    def put(self, partition: Partition, rows: Sequence[EntityVector]) -> int:
        tables, count = self._transaction.writable, 0
        for row in rows:
            self._transaction.check_dims(row.space, row.vector.shape[0])
        for row in rows:
            entity = tables.entities.get((partition, row.entity_id))
            if entity is not None and said_of(entity) == row.said:
                vector = row.vector.astype(np.float32)
                vector.flags.writeable = False
                tables.entity_vectors[partition, row.entity_id, row.space] = (row.said, vector)
                count += 1
        return count

    def missing(self, partition: Partition, space: str, after: str, limit: int) -> list[tuple[str, str]]:
        tables = self._transaction.tables
        found = [
            (own, said_of(entity))
            for (place, own), entity in tables.entities.items()
            if place == partition and own > after and (place, own, space) not in tables.entity_vectors
        ]
        return sorted(found)[: max(limit, 0)]

    def nearest(
        self,
        visible: Visibility,
        space: str,
        vector: NDArray[np.float32],
        limit: int,
        between: Callable[[], None] = lambda: None,
    ) -> list[tuple[str, float]]:
        tables, best = self._transaction.tables, dict[str, float]()
        between()
        for number, ((place, own, in_space), (_, held)) in enumerate(tables.entity_vectors.items(), start=1):
            if number % AT_ONCE == 0:
                between()
            entity = tables.entities[place, own]
            if in_space == space and visible.admits(place, entity.private_agent):
                best[own] = max(best.get(own, -1.0), float(held @ vector))
        return sorted(best.items(), key=lambda found: (-found[1], found[0]))[: max(limit, 0)]

    def coverage(self, partition: Partition, space: str) -> tuple[int, int]:
        tables = self._transaction.tables
        ids = [own for place, own in tables.entities if place == partition]
        return len(ids), sum((partition, own, space) in tables.entity_vectors for own in ids)
