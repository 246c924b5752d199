"""What was made of what, over SQL: what the SQL stores do alike. The statements are each store's own.

The table `sources` holds a row for each memory and each id that it was made of; it is written with the memory.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Protocol

from mnemic.adapters.stores.rows import Row, partition_of
from mnemic.model.item import Memory
from mnemic.model.scope import Partition
from mnemic.ports.store import SourceText


class SqlSession(Protocol):
    """What is needed of the session of a store; `Session` of each says what its methods promise."""

    @property
    def is_writing(self) -> bool: ...
    def run(self, sql: str, parameters: Mapping[str, object], /) -> Iterable[Row]: ...
    def write(self, sql: str, parameters: Mapping[str, object], /) -> Iterable[Row]: ...
    def write_many(self, sql: str, rows: Sequence[Mapping[str, object]], /) -> None: ...
    def listed(self, values: Sequence[str], /) -> object: ...
    def pid(self, partition: Partition, /) -> int | None: ...


class SqlDependants:
    """The `Dependants` port; `sql` are the statements of `dependants.sql`, `select` that of `memories.sql`."""

    def __init__(
        self, session: SqlSession, sql: Mapping[str, str], select: str, to_memory: Callable[[Row], Memory]
    ) -> None:
        self._session, self._sql, self._select, self._to_memory = session, sql, select, to_memory

    def of(self, partition: Partition, ids: Collection[str]) -> list[Memory]:
        pid = self._session.pid(partition)
        if pid is None or not ids:
            return []
        asked = {"pid": pid, "org": partition.org, "ids": self._session.listed(sorted(ids))}
        return self._found("where_made_of", asked, partition)

    def flagged(self, org: str, source_id: str) -> list[Memory]:
        return self._found("where_flagged", {"org": org, "source_id": source_id}, None)

    def sources(self, memory: Memory) -> list[SourceText]:
        pid = self._session.pid(memory.partition)
        if pid is None or not memory.source_ids:
            return []
        ids = self._session.listed(sorted(memory.source_ids))
        held = {row[0] for row in self._session.run(self._sql["held"], {"pid": pid, "ids": ids})}
        asked = {"pid": pid, "org": memory.partition.org}
        found = self._texts({**asked, "ids": ids, "is_own": True})
        if elsewhere := memory.source_ids - held:
            found += self._texts({**asked, "ids": self._session.listed(sorted(elsewhere)), "is_own": False})
        return sorted(found, key=lambda source: (source.id, source.partition))

    def _texts(self, asked: Mapping[str, object]) -> list[SourceText]:
        rows = self._session.run(self._sql["texts"], asked)
        return [SourceText(partition_of(*row[:3]), row[3], row[4]) for row in rows]

    def _found(self, where: str, asked: Mapping[str, object], locked: Partition | None) -> list[Memory]:
        """In a unit of work that writes, all partitions of what is found are locked: read again after they were."""
        sql = f"{self._select}\n{self._sql[where]}"
        found = [self._to_memory(row) for row in self._session.run(sql, asked)]
        others = {memory.partition for memory in found} - {locked}
        if not others or not self._session.is_writing:
            return found
        for partition in sorted(others):
            self._session.pid(partition)
        return [m for m in map(self._to_memory, self._session.run(sql, asked)) if m.partition in {*others, locked}]


def link(session: SqlSession, sql: Mapping[str, str], rows: Sequence[tuple[int, Memory]]) -> None:
    """Write down what new memories, in the partitions of these numbers, were made of."""
    columns = [
        {"pid": pid, "org": memory.partition.org, "memory_id": memory.id, "source_id": source_id}
        for pid, memory in rows
        for source_id in sorted(memory.source_ids)
    ]
    if columns:
        session.write_many(sql["link"], columns)


def relink(session: SqlSession, sql: Mapping[str, str], pid: int, memory: Memory) -> None:
    """The same for a memory that takes the place of an older form of it."""
    session.write(sql["unlink"], {"pid": pid, "ids": session.listed([memory.id])})
    link(session, sql, [(pid, memory)])
