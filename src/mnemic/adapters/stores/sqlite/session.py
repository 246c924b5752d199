"""One transaction on one connection: what the ports of a unit of work share."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager

from mnemic.adapters.stores.sqlite.statements import statements
from mnemic.errors import BackendError, UnavailableError, UnsupportedError
from mnemic.model.scope import Partition

Parameters = Mapping[str, object]


@contextmanager
def translated_errors(doing: str) -> Generator[None]:
    """Turns errors of SQLite into Mnemic's, telling what was being done and what may help."""
    try:
        yield
    except (sqlite3.Error, sqlite3.Warning) as error:
        raise _translated(error, doing) from error


def _translated(error: Exception, doing: str) -> BackendError:
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return UnavailableError(f"the store is locked by another process ({doing}); try again when it is done writing")
    if code == sqlite3.SQLITE_FULL:
        return UnavailableError(
            f"no room left on the disk ({doing}); nothing was changed: free some space and try again"
        )
    if code in (sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN):
        return UnavailableError(f"the disk cannot be read or written ({doing}): {error}; nothing was changed")
    if code == sqlite3.SQLITE_READONLY:
        return BackendError(f"the store cannot be written ({doing}): check the rights of its file and folder")
    if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
        return BackendError(f"the store's file is damaged or no Mnemic store ({doing}): {error}; restore a backup")
    return BackendError(f"the store failed ({doing}): {error}")


class Session:
    """Runs named statements, and keeps the partition numbers and versions of its transaction."""

    def __init__(self, connection: sqlite3.Connection, *, is_writing: bool) -> None:
        self._connection = connection
        self._is_writing = is_writing
        self._pids: dict[Partition, int] = {}
        self._versions: dict[int, int] = {}
        self._advanced: set[int] = set()

    def run(self, sql: str, parameters: Parameters | Sequence[object] = ()) -> sqlite3.Cursor:
        """Execute one statement. An `sqlite3.IntegrityError` comes as it is, for the port to say what it means."""
        try:
            return self._connection.execute(sql, parameters)
        except sqlite3.IntegrityError:
            raise
        except (sqlite3.Error, sqlite3.Warning) as error:
            raise _translated(error, "reading or writing rows") from error

    def write(self, sql: str, parameters: Parameters | Sequence[object] = ()) -> sqlite3.Cursor:
        """Execute one statement that changes rows. Raises `UnsupportedError` in a transaction that only reads."""
        self.check_writing()
        return self.run(sql, parameters)

    def write_each(self, sql: str, rows: Sequence[Parameters]) -> list[bool]:
        """Execute a statement for each row: whether it wrote one."""
        return [self.write(sql, row).rowcount == 1 for row in rows]

    def write_many(self, sql: str, rows: Sequence[Parameters]) -> None:
        """Execute a statement for all rows in one call."""
        self.check_writing()
        try:
            self._connection.executemany(sql, rows)
        except (sqlite3.Error, sqlite3.Warning) as error:
            raise _translated(error, "writing rows") from error

    @property
    def is_writing(self) -> bool:
        """False in a transaction that only reads."""
        return self._is_writing

    def forget(self, partition: Partition) -> None:
        """The partition is no more; who names it again in this transaction makes it anew."""
        pid = self._pids.pop(partition, None)
        if pid is not None:
            self._versions.pop(pid, None)
            self._advanced.discard(pid)

    def check_writing(self) -> None:
        """Raises `UnsupportedError` in a transaction that only reads."""
        if not self._is_writing:
            raise UnsupportedError("this unit of work only reads; open one with write()", capability="write")

    def pid(self, partition: Partition) -> int | None:
        """The number of a partition, None when it was never written."""
        known = self._pids.get(partition)
        if known is None:
            row = self.run(statements("partitions")["pid"], _key(partition)).fetchone()
            if row is None:
                return None
            known = self._pids[partition] = int(row[0])
        return known

    def pids(self, partitions: Collection[Partition]) -> str:
        """The numbers of those that exist, as a JSON list for `json_each`."""
        found = (self.pid(partition) for partition in partitions)
        return json.dumps([pid for pid in found if pid is not None])

    def listed(self, values: Sequence[str]) -> str:
        """A parameter for `json_each`. That ends each value at a character U+0000."""
        return json.dumps(list(values), ensure_ascii=False)

    def lock(self, partitions: Iterable[Partition]) -> dict[Partition, int]:
        """The numbers of these partitions, made now if they are new; one writer at a time has all of the file."""
        return {partition: self.writable_pid(partition) for partition in sorted(set(partitions))}

    def writable_pid(self, partition: Partition) -> int:
        """The number of a partition, made now if it is new."""
        pid = self.pid(partition)
        if pid is None:
            row = self.write(statements("partitions")["create"], _key(partition)).fetchone()
            pid = self._pids[partition] = int(row[0])
        return pid

    def changed(self, partition: Partition) -> tuple[int, int]:
        """(number, version) to write rows with; `advance` must follow when a row was written."""
        pid = self.writable_pid(partition)
        version = self._versions.get(pid)
        if version is None:
            row = self.write(statements("partitions")["next_version"], {"pid": pid}).fetchone()
            version = self._versions[pid] = int(row[0])
        return pid, version

    def advance(self, pid: int) -> None:
        """Make the version that `changed` named the partition's own; only the first call in a transaction does."""
        if pid not in self._advanced:
            self.write(statements("partitions")["advance"], {"pid": pid, "version": self._versions[pid]})
            self._advanced.add(pid)


def _key(partition: Partition) -> Parameters:
    return {"org": partition.org, "level": partition.level.value, "owner": partition.owner}
