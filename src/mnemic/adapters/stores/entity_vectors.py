"""Vectors of entities over SQL: what the SQL stores do alike. How a vector is written and compared is each store's."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from mnemic.adapters.stores.sql_session import SqlSession
from mnemic.model.scope import Partition
from mnemic.ports.tables import EntityVector


class Spaces(Protocol):
    """Who knows the dims of each space."""

    def check_dims(self, space: str, dims: int) -> None:
        """Note those of a new space; raises `InvalidInputError` when they are not the space's."""
        ...


class SqlEntityVectors:
    """All of the `EntityVectors` port but `nearest`; `sql` are the statements of `entity_vectors.sql`."""

    def __init__(
        self,
        session: SqlSession,
        sql: Mapping[str, str],
        spaces: Spaces,
        written: Callable[[NDArray[np.float32]], object],
    ) -> None:
        self._session, self._sql = session, sql
        self._spaces, self._written = spaces, written

    def put(self, partition: Partition, rows: Sequence[EntityVector]) -> int:
        self._session.check_writing()
        for space, dims in sorted({(row.space, row.vector.shape[0]) for row in rows}):
            self._spaces.check_dims(space, dims)
        pid = self._session.pid(partition)
        if pid is None or not rows:
            return 0
        columns: list[Mapping[str, object]] = [
            {
                "pid": pid,
                "org": partition.org,
                "entity_id": row.entity_id,
                "space": row.space,
                "said": row.said,
                "vector": self._written(row.vector),
            }
            for row in rows
        ]
        return sum(self._session.write_each(self._sql["put"], columns))

    def missing(self, partition: Partition, space: str, after: str, limit: int) -> list[tuple[str, str]]:
        pid = self._session.pid(partition)
        key = {"pid": pid, "space": space, "after": after, "limit": max(limit, 0)}
        return [(row[0], row[1]) for row in self._session.run(self._sql["missing"], key)]

    def coverage(self, partition: Partition, space: str) -> tuple[int, int]:
        key = {"pid": self._session.pid(partition), "space": space}
        for entities, held in self._session.run(self._sql["coverage"], key):
            return entities, held
        return 0, 0
