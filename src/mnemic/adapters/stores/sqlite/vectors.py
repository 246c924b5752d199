"""Vectors of items."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from mnemic.adapters.stores.rows import dumps
from mnemic.adapters.stores.sqlite.rows import to_blob, to_vector
from mnemic.adapters.stores.sqlite.session import Session
from mnemic.adapters.stores.sqlite.statements import statements
from mnemic.errors import InvalidInputError
from mnemic.model.clocktime import to_microseconds
from mnemic.model.scope import Partition
from mnemic.ports.store import VectorRow


class SqliteVectors:
    """The `Vectors` port."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._sql = statements("vectors")

    def put(self, partition: Partition, rows: Sequence[VectorRow], at: datetime) -> int:
        for space, dims in {(row.space, row.vector.shape[0]) for row in rows}:
            self._check_dims(space, dims)
        if not rows or self._session.pid(partition) is None:
            return 0
        pid, changed = self._session.changed(partition)
        return sum(self._put(pid, changed, row, at) for row in rows)

    def get(self, partition: Partition, ids: Sequence[str], view: str, space: str) -> dict[str, NDArray[np.float32]]:
        key = {"pid": self._session.pid(partition), "ids": dumps(list(ids)), "view": view, "space": space}
        return {row[0]: to_vector(row[1]) for row in self._session.run(self._sql["get"], key)}

    def missing(self, partition: Partition, space: str, limit: int) -> list[tuple[str, str]]:
        key = {"pid": self._session.pid(partition), "space": space, "limit": limit}
        return [(row[0], row[1]) for row in self._session.run(self._sql["missing"], key)]

    def spaces(self) -> dict[str, int]:
        return {row[0]: row[1] for row in self._session.run(self._sql["spaces"])}

    def _check_dims(self, space: str, dims: int) -> None:
        row = self._session.run(self._sql["dims"], {"space": space}).fetchone()
        if row is None:
            self._session.write(self._sql["add_space"], {"space": space, "dims": dims})
        elif row[0] != dims:
            raise InvalidInputError(
                f"a vector of {dims} dimensions cannot be kept in space {space}, whose vectors have {row[0]}"
            )

    def _put(self, pid: int, changed: int, row: VectorRow, at: datetime) -> int:
        key = {"pid": pid, "changed": changed, "item_id": row.item_id, "at": to_microseconds(at)}
        if not any(self._session.write(self._sql[name], key).rowcount for name in ("touch_memory", "touch_message")):
            return 0
        columns = {"pid": pid, "item_id": row.item_id, "view": row.view, "space": row.space}
        self._session.advance(pid)
        self._session.write(self._sql["put"], {**columns, "vector": to_blob(row.vector)})
        return 1
