"""Partitions, and vectors of items and entities, over SQL."""

from collections.abc import Collection, Iterator, Sequence
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from mnemic.adapters.stores.sql.session import SqlPort, SqlSession
from mnemic.errors import InvalidInputError
from mnemic.model.candidates import Change
from mnemic.model.columns import Row, partition_of
from mnemic.model.item import State
from mnemic.model.recall import Counts
from mnemic.model.scope import Partition, Visibility, to_microseconds
from mnemic.ports.store import Reading, StaleTerms, VectorRow
from mnemic.ports.tables import EntityVector

_ACTIVE, _ERASED = State.ACTIVE.value, State.ERASED.value  # each access to an enum's member costs a look-up
_CHANGED = ("changed_messages", "changed_memories", "changed_chunks")


class SqlPartitions(SqlPort, topic="partitions"):
    """The `Partitions` port."""

    def versions(self, partitions: Sequence[Partition]) -> dict[Partition, int]:
        return dict.fromkeys(partitions, 0) | self._session.versions(partitions)

    def changes(self, partition: Partition, since: int, reading: Reading) -> Iterator[Change | StaleTerms]:
        pid = self._session.pid(partition)
        if pid is None:
            return
        key = {"pid": pid, "since": since, "space": reading.space, "analyser": reading.analyser}
        wanted = [name for name in _CHANGED if reading.is_of_chunks in (None, name == "changed_chunks")]
        selects, order = [self._sql[name] for name in wanted], self._sql["order_changes"]
        for row in self._session.merge_sorted(selects, order, key):
            yield self._change(row, reading.analyser)

    def count(self, partitions: Sequence[Partition]) -> dict[str, int]:
        row = self._session.run(self._sql["count"], {"pids": self._session.pids(partitions)}).fetchone()
        return dict(zip(("messages", "memories", "documents", "chunks", "vectors"), row, strict=True))

    def tally(self, visible: Visibility, now: datetime) -> Counts:
        key = self._session.visible(visible, now=to_microseconds(now))
        memories, documents = (self._session.run(self._sql[name], key) for name in ("tally", "tally_documents"))
        return Counts.of(memories, documents)

    def horizon(self, partition: Partition) -> int:
        return self._number("horizon", partition)

    def tombstones(self, partition: Partition) -> int:
        return self._number("tombstones", partition)

    def compact(self, partition: Partition, limit: int) -> int:
        self._session.check_writing()
        key = {"pid": self._session.pid(partition), "limit": limit}
        versions = [int(row[0]) for row in self._session.write(self._sql["compact"], key)]
        if versions:
            self._session.write(self._sql["raise_horizon"], {"pid": key["pid"], "changed": max(versions)})
        return len(versions)

    def all(self) -> list[Partition]:
        return [partition_of(*row) for row in self._session.run_across(self._sql["all"])]

    def _number(self, name: str, partition: Partition) -> int:
        row = self._session.run(self._sql[name], {"pid": self._session.pid(partition)}).fetchone()
        return int(row[0]) if row else 0

    def _change(self, row: Row, analyser: str) -> Change | StaleTerms:
        """The change of a row, stale if its terms are another analyser's. A first reading has a row for every item, so
        values are read by position, in the order of the statements and fields.
        """
        item_id, state, kind, made_by, terms, text, vector, private, importance, observed, expires, *rest = row
        session, position, author, role, is_question, is_flagged = rest[:6]
        if state == _ERASED:
            return Change(item_id=item_id, is_gone=True)
        change = Change(
            item_id,
            False,
            kind,
            state == _ACTIVE,
            terms,
            None if vector is None else self._session.from_vector(vector),
            private or None,
            importance,
            observed,
            expires,
            session,
            position,
            author,
            role,
            is_question == 1,
            (),
            is_flagged == 1,
        )
        return change if made_by == analyser else StaleTerms(change, text)


class SqlVectors(SqlPort, topic="vectors"):
    """The `Vectors` port."""

    def put(self, partition: Partition, rows: Sequence[VectorRow], at: datetime) -> int:
        self._session.check_writing()
        pid = self._session.pid(partition)
        check_dims(self._session, rows)
        if not rows or pid is None:
            return 0
        pid, changed = self._session.changed(partition)
        present = self._touch(pid, changed, [row.item_id for row in rows], at)
        columns = {
            (row.item_id, row.view, row.space): {
                "pid": pid,
                "org": partition.org,
                "item_id": row.item_id,
                "view": row.view,
                "space": row.space,
                "vector": self._session.to_vector(row.vector),
            }
            for row in rows
            if row.item_id in present
        }
        if columns:
            self._session.advance(pid)
            self._session.write_many(self._sql["put"], [*columns.values()])
        return sum(row.item_id in present for row in rows)

    def get(self, partition: Partition, ids: Sequence[str], view: str, space: str) -> dict[str, NDArray[np.float32]]:
        listed = self._session.list_values(ids)
        key = {"pid": self._session.pid(partition), "ids": listed, "view": view, "space": space}
        return {row[0]: self._session.from_vector(row[1]) for row in self._session.run(self._sql["get"], key)}

    def missing(self, partition: Partition, space: str, limit: int) -> list[tuple[str, str]]:
        key = {"pid": self._session.pid(partition), "space": space, "limit": limit}
        return [(row[0], row[1]) for row in self._session.run(self._sql["missing"], key)]

    def spaces(self) -> dict[str, int]:
        return {row[0]: row[1] for row in self._session.run_across(self._sql["spaces"])}

    def known(self) -> set[str]:
        return {row[0] for row in self._session.run(self._sql["known"])}

    def coverage(self, partition: Partition, space: str) -> tuple[int, int]:
        key = {"pid": self._session.pid(partition), "space": space}
        items, held = self._session.run(self._sql["coverage"], key).fetchone()
        return items, held

    def alone(self, partition: Partition, space: str, others: Collection[str]) -> str | None:
        listed = self._session.list_values(sorted(others))
        key = {"pid": self._session.pid(partition), "space": space, "others": listed}
        row = self._session.run(self._sql["alone"], key).fetchone()
        return None if row is None else row[0]

    def remove(self, partition: Partition | None, space: str) -> int:
        self._session.check_writing()
        if partition is not None:
            key = {"pid": self._session.pid(partition), "space": space}
            self._session.write(self._sql["remove_of_entities"], key)
            return self._session.write(self._sql["remove"], key).rowcount
        self._session.write_across(self._sql["remove_all_of_entities"], {"space": space})
        removed = self._session.write_across(self._sql["remove_all"], {"space": space}).rowcount
        self._session.write(self._sql["remove_space"], {"space": space})
        return removed

    def _touch(self, pid: int, changed: int, ids: Sequence[str], at: datetime) -> set[str]:
        """Mark existing items as changed: memories, else messages, else chunks."""
        present: set[str] = set()
        for statement in ("touch_memories", "touch_messages", "touch_chunks"):
            left = [i for i in dict.fromkeys(ids) if i not in present]
            listed = self._session.list_values(left)
            key = {"pid": pid, "changed": changed, "ids": listed, "at": to_microseconds(at)}
            if left:
                present.update(row[0] for row in self._session.write(self._sql[statement], key))
        return present


class SqlEntityVectors(SqlPort, topic="entity_vectors"):
    """The `EntityVectors` port except `nearest`."""

    def put(self, partition: Partition, rows: Sequence[EntityVector]) -> int:
        self._session.check_writing()
        check_dims(self._session, rows)
        pid = self._session.pid(partition)
        if pid is None or not rows:
            return 0
        columns = [
            {
                "pid": pid,
                "org": partition.org,
                "entity_id": row.entity_id,
                "space": row.space,
                "said": row.said,
                "vector": self._session.to_vector(row.vector),
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
        entities, held = self._session.run(self._sql["coverage"], key).fetchone()
        return entities, held


def check_dims(session: SqlSession, rows: Sequence[VectorRow | EntityVector]) -> None:
    """Record the dims of new spaces. Raises `InvalidInputError` if a vector's differ from its space's."""
    sql = session.statements("vectors")
    for space, dims in sorted({(row.space, row.vector.shape[0]) for row in rows}):
        key = {"space": space, "dims": dims}
        known = session.run(sql["dims"], key).fetchone()
        if known is None:
            session.write(sql["add_space"], key)
            known = session.run(sql["dims"], key).fetchone()  # another process may have been faster
        if known is not None and known[0] != dims:
            raise InvalidInputError(
                f"a vector with {dims} dimensions does not fit space {space}, whose vectors have {known[0]}"
            )
