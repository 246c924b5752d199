"""Vectors of items."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from mnemic.adapters.stores.postgres.rows import to_literal, to_vector
from mnemic.adapters.stores.postgres.session import Session
from mnemic.adapters.stores.postgres.statements import statements
from mnemic.errors import InvalidInputError
from mnemic.model.scope import Partition
from mnemic.model.values import to_microseconds
from mnemic.ports.store import VectorRow


class PostgresVectors:
    """The `Vectors` port."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._sql = statements("vectors")

    def put(self, partition: Partition, rows: Sequence[VectorRow], at: datetime) -> int:
        self._session.check_writing()
        pid = self._session.pid(partition)
        for space, dims in sorted({(row.space, row.vector.shape[0]) for row in rows}):
            self.check_dims(space, dims)
        if not rows or pid is None:
            return 0
        pid, changed = self._session.changed(partition)
        present = self._touched(pid, changed, [row.item_id for row in rows], at)
        columns = {
            (row.item_id, row.view, row.space): {
                "pid": pid,
                "org": partition.org,
                "item_id": row.item_id,
                "view": row.view,
                "space": row.space,
                "vector": to_literal(row.vector),
            }
            for row in rows
            if row.item_id in present
        }
        if columns:
            self._session.advance(pid)
            self._session.write_many(self._sql["put"], [*columns.values()])
        return sum(row.item_id in present for row in rows)

    def get(self, partition: Partition, ids: Sequence[str], view: str, space: str) -> dict[str, NDArray[np.float32]]:
        key = {"pid": self._session.pid(partition), "ids": list(ids), "view": view, "space": space}
        return {row[0]: to_vector(row[1]) for row in self._session.run(self._sql["get"], key)}

    def missing(self, partition: Partition, space: str, limit: int) -> list[tuple[str, str]]:
        key = {"pid": self._session.pid(partition), "space": space, "limit": limit}
        return [(row[0], row[1]) for row in self._session.run(self._sql["missing"], key)]

    def spaces(self) -> dict[str, int]:
        return {row[0]: row[1] for row in self._session.run_across(self._sql["spaces"])}

    def known(self) -> set[str]:
        return {row[0] for row in self._session.run(self._sql["known"])}

    def coverage(self, partition: Partition, space: str) -> tuple[int, int]:
        key = {"pid": self._session.pid(partition), "space": space}
        items, held = self._session.run(self._sql["coverage"], key).fetchone() or (0, 0)
        return items, held

    def alone(self, partition: Partition, space: str, others: Collection[str]) -> str | None:
        key = {"pid": self._session.pid(partition), "space": space, "others": sorted(others)}
        row = self._session.run(self._sql["alone"], key).fetchone()
        return None if row is None else row[0]

    def remove(self, partition: Partition | None, space: str) -> int:
        self._session.check_writing()
        if partition is not None:
            pid = self._session.pid(partition)
            if pid is None:
                return 0
            self._session.write(self._sql["remove_of_entities"], {"pid": pid, "space": space})
            return self._session.write(self._sql["remove"], {"pid": pid, "space": space}).rowcount
        self._session.write_across(self._sql["remove_all_of_entities"], {"space": space})
        removed = self._session.write_across(self._sql["remove_all"], {"space": space}).rowcount
        self._session.write(self._sql["remove_space"], {"space": space})
        return removed

    def check_dims(self, space: str, dims: int) -> None:
        """Note the dims of a new space. Raises `InvalidInputError` when they are not the space's."""
        key = {"space": space, "dims": dims}
        known = self._session.run(self._sql["dims"], key).fetchone()
        if known is None:
            self._session.write(self._sql["add_space"], key)
            known = self._session.run(self._sql["dims"], key).fetchone()
        if known is not None and known[0] != dims:
            raise InvalidInputError(
                f"a vector of {dims} dimensions cannot be kept in space {space}, whose vectors have {known[0]}"
            )

    def _touched(self, pid: int, changed: int, ids: Sequence[str], at: datetime) -> set[str]:
        """Mark the items that exist as changed: memories, of the rest messages, and of the rest chunks."""
        present: set[str] = set()
        for statement in ("touch_memories", "touch_messages", "touch_chunks"):
            left = [i for i in dict.fromkeys(ids) if i not in present]
            key = {"pid": pid, "changed": changed, "ids": left, "at": to_microseconds(at)}
            if left:
                present.update(row[0] for row in self._session.write(self._sql[statement], key))
        return present
