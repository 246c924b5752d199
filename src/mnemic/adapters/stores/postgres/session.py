"""One transaction on one connection: what the ports of a unit of work share.

A unit of work that writes locks the row of a partition when it first writes there, or first reads that partition by
name, until its end; a call on several partitions locks them in their order. Reads of all that is visible lock nothing.

Row security shows a transaction the rows of the orgs that were named in it, and no others (see the migration
`row_security`): a statement that forgets its partition finds nothing of another org.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import count

from psycopg import Connection, Cursor, ServerCursor

from mnemic.adapters.stores.postgres.connections import Row, query
from mnemic.adapters.stores.postgres.failures import translated_errors
from mnemic.adapters.stores.postgres.statements import statements
from mnemic.adapters.stores.rows import partition_of
from mnemic.errors import UnsupportedError
from mnemic.model.scope import Partition

Parameters = Mapping[str, object]
_STREAMED_ROWS = 1000
_ROWS_AT_ONCE = 2000
_DOING = "reading or writing rows"


class Session:
    """Runs named statements, and keeps the partition numbers and versions of its transaction."""

    def __init__(self, connection: Connection[Row], place: str, *, is_writing: bool) -> None:
        self._connection = connection
        self._place = place
        self._is_writing = is_writing
        self._sql = statements("partitions")
        self._numbers = count()
        self._pids: dict[Partition, int] = {}
        self._absent: set[Partition] = set()  # in a transaction that only reads, what is not there stays so
        self._locked: dict[int, int] = {}  # version by pid, before this transaction
        self._advanced: set[int] = set()
        self._guard = statements("connection")
        self._orgs: set[str] = set()
        self._is_told = True  # the server knows of all of `_orgs`

    def see(self, *orgs: str) -> None:
        """Rows of these orgs too are shown and taken by row security from the next statement on, until the end of this
        transaction; rows of others do not exist for it, whatever a statement says.
        """
        if not self._orgs.issuperset(orgs):
            self._orgs.update(orgs)
            self._is_told = False

    def run(self, sql: str, parameters: Parameters | None = None) -> Cursor[Row]:
        """Execute one statement."""
        with translated_errors(_DOING, self._place):
            if self._is_told:
                return self._connection.execute(query(sql), parameters)
            with self._connection.pipeline():  # one journey for both
                self._tell()
                return self._connection.execute(query(sql), parameters)

    def run_across(self, sql: str, parameters: Parameters | None = None) -> Cursor[Row]:
        """Execute one statement over the rows of every org: for maintenance, and for who presents a key."""
        with translated_errors(_DOING, self._place), self._connection.pipeline():
            self._connection.execute(query(self._guard["see_every_org"]), {"is_on": "on"})
            cursor = self._connection.execute(query(sql), parameters)
            self._connection.execute(query(self._guard["see_every_org"]), {"is_on": "off"})
        return cursor

    def write_across(self, sql: str, parameters: Parameters) -> Cursor[Row]:
        """As `run_across`, for a statement that changes rows."""
        self.check_writing()
        return self.run_across(sql, parameters)

    def stream(self, sql: str, parameters: Parameters) -> Iterator[Row]:
        """The rows of a statement, fetched as they are used."""
        with (
            translated_errors(_DOING, self._place),
            ServerCursor(self._connection, f"stream_{next(self._numbers)}") as cursor,
        ):
            self._tell()
            cursor.itersize = _STREAMED_ROWS
            cursor.execute(query(sql), parameters)
            yield from cursor

    def write(self, sql: str, parameters: Parameters) -> Cursor[Row]:
        """Execute one statement that changes rows. Raises `UnsupportedError` in a transaction that only reads."""
        self.check_writing()
        return self.run(sql, parameters)

    def write_each(self, sql: str, rows: Sequence[Parameters]) -> list[bool]:
        """Execute a statement that ends in RETURNING for each row, in one journey: whether it returned anything."""
        self.check_writing()
        if not rows:
            return []
        with translated_errors(_DOING, self._place), self._connection.cursor() as cursor:
            self._tell()
            cursor.executemany(query(sql), rows, returning=True)
            return [result.fetchone() is not None for result in cursor.results()]

    def write_many(self, sql: str, rows: Sequence[Parameters]) -> None:
        """Execute a statement over arrays, one of each column, for all rows: some thousand in each journey."""
        self.check_writing()
        for start in range(0, len(rows), _ROWS_AT_ONCE):
            part = rows[start : start + _ROWS_AT_ONCE]
            self.run(sql, {name: [row[name] for row in part] for name in part[0]})

    @property
    def is_writing(self) -> bool:
        """False in a transaction that only reads."""
        return self._is_writing

    def forget(self, partition: Partition) -> None:
        """The partition is no more; who names it again in this transaction makes it anew."""
        pid = self._pids.pop(partition, None)
        if pid is not None:
            self._locked.pop(pid, None)
            self._advanced.discard(pid)

    def check_writing(self) -> None:
        """Raises `UnsupportedError` in a transaction that only reads."""
        if not self._is_writing:
            raise UnsupportedError("this unit of work only reads; open one with write()", capability="write")

    def pid(self, partition: Partition) -> int | None:
        """The number of a partition, None when it was never written."""
        if self._is_writing:
            return self._lock(partition)
        self.pids([partition])
        return self._pids.get(partition)

    def pids(self, partitions: Collection[Partition]) -> list[int]:
        """The numbers of those that exist."""
        unknown = [
            partition for partition in partitions if partition not in self._pids and partition not in self._absent
        ]
        if unknown:
            self.versions(unknown)
        return [self._pids[partition] for partition in partitions if partition in self._pids]

    def listed(self, values: Sequence[str]) -> list[str]:
        """A parameter for `ANY`."""
        return [*values]

    def versions(self, partitions: Collection[Partition]) -> dict[Partition, int]:
        """The versions of those that exist."""
        self.see(*(partition.org for partition in partitions))
        asked = {
            "orgs": [partition.org for partition in partitions],
            "levels": [partition.level.value for partition in partitions],
            "owners": [partition.owner for partition in partitions],
        }
        versions: dict[Partition, int] = {}
        for org, level, owner, pid, version in self.run(self._sql["pids"], asked):
            partition = partition_of(org, level, owner)
            self._pids[partition] = pid
            versions[partition] = version
        if not self._is_writing:
            self._absent.update(partition for partition in partitions if partition not in versions)
        return versions

    def lock(self, partitions: Iterable[Partition]) -> dict[Partition, int]:
        """The numbers of these partitions, made now if they are new, and locked in order."""
        self.check_writing()
        return {partition: self.writable_pid(partition) for partition in sorted(set(partitions))}

    def writable_pid(self, partition: Partition) -> int:
        """The number of a partition, made now if it is new, and locked."""
        self.check_writing()
        pid = self._lock(partition)
        while pid is None:
            row = self.run(self._sql["create"], _key(partition)).fetchone()
            pid = self._lock(partition) if row is None else self._known(partition, row)
        return pid

    def changed(self, partition: Partition) -> tuple[int, int]:
        """(number, version) to write rows with; `advance` must follow when a row was written."""
        pid = self.writable_pid(partition)
        return pid, self._locked[pid] + 1

    def advance(self, pid: int) -> None:
        """Make the version that `changed` named the partition's own; only the first call in a transaction does."""
        if pid not in self._advanced:
            self.write(self._sql["advance"], {"pid": pid, "version": self._locked[pid] + 1})
            self._advanced.add(pid)

    def _lock(self, partition: Partition) -> int | None:
        pid = self._pids.get(partition)
        if pid is None or pid not in self._locked:
            self.see(partition.org)
            row = self.run(self._sql["lock"], _key(partition)).fetchone()
            pid = None if row is None else self._known(partition, row)
        return pid

    def _tell(self) -> None:
        if not self._is_told:
            self._connection.execute(query(self._guard["see_orgs"]), {"orgs": sorted(self._orgs)})
            self._is_told = True

    def _known(self, partition: Partition, row: Row) -> int:
        pid, version = row
        self._pids[partition] = pid
        self._locked[pid] = version
        return pid


def _key(partition: Partition) -> Parameters:
    return {"org": partition.org, "level": partition.level.value, "owner": partition.owner}
