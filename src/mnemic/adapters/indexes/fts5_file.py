"""The file of the keyword index: connections, transactions, and starting afresh when it is damaged."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Generator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from mnemic.adapters.sql_files import named_statements
from mnemic.errors import BackendError, ConfigError, UnavailableError

SQL = named_statements("mnemic.adapters.indexes", "fts5.sql")
APPLICATION_ID = 0x4D4E4932  # "MNI2": another layout gets another number, and then the file is made anew
_SWITCH_PAUSE_S = 0.01
_DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
_LOCKED = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
_PASSING = (*_LOCKED, sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR)


class DamagedIndexError(Exception):
    """The file cannot be read, or is of another analyser or layout: `IndexFile.start_afresh` is the remedy."""


class IndexFile:
    """A derived SQLite file at `path`, made with its folder when missing, for terms of one `analyser`.

    Raises `ConfigError` when another program's database lies there, `UnavailableError` when it is locked for longer
    than `lock_wait_s` or the disk fails.
    """

    def __init__(self, path: str | Path, *, analyser: str, lock_wait_s: float) -> None:
        self.path = Path(path)
        self._analyser = analyser
        self._lock_wait_s = lock_wait_s
        self._guard = threading.Lock()
        self._idle: list[sqlite3.Connection] = []
        self._generation = 0

    @property
    def is_missing(self) -> bool:
        """True before the first transaction ever, and after somebody removed the file."""
        return not self.path.exists()

    @contextmanager
    def transaction(self, *, is_writing: bool) -> Generator[sqlite3.Connection]:
        """One transaction; it is taken back when its block raises. Raises `DamagedIndexError`."""
        if self.is_missing:
            self.close()  # whoever removed the file wants it gone, also from connections that still hold it
        with self._guard:
            generation = self._generation
            connection = self._idle.pop() if self._idle else None
        with _translated(self.path):
            connection = connection or self._connect()
            try:
                connection.execute(SQL["begin_write" if is_writing else "begin_read"])
                yield connection
                connection.execute(SQL["commit"])
            finally:
                with suppress(sqlite3.Error):  # the first error is the one to tell
                    connection.rollback()
                self._give_back(connection, generation)

    def start_afresh(self) -> None:
        """Remove the file; the next transaction makes an empty one. Whoever still reads the old one may finish."""
        with self._guard:
            self._generation += 1
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()
        for suffix in ("", "-wal", "-shm"):
            try:
                self.path.with_name(self.path.name + suffix).unlink(missing_ok=True)
            except OSError as error:
                raise UnavailableError(f"the damaged index {self.path} cannot be removed: {error}") from error

    def close(self) -> None:
        """Let go of all connections; they are made again when needed."""
        with self._guard:
            self._generation += 1
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    def _give_back(self, connection: sqlite3.Connection, generation: int) -> None:
        with self._guard:
            if generation == self._generation and not connection.in_transaction:
                self._idle.append(connection)
                return
        connection.close()

    def _connect(self) -> sqlite3.Connection:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UnavailableError(f"the folder of the index {self.path} cannot be made: {error}") from error
        connection = sqlite3.connect(
            self.path, timeout=self._lock_wait_s, isolation_level=None, check_same_thread=False
        )
        with ExitStack() as undo:
            undo.callback(connection.close)
            self._check(connection)
            self._write_ahead(connection)
            for pragma in ("synchronous", "cache_size", "secure_delete"):
                connection.execute(SQL[pragma])
            connection.execute(SQL["begin_write"])
            if connection.execute(SQL["is_new"]).fetchone()[0]:
                self._create(connection)
            connection.execute(SQL["commit"])
            if connection.execute(SQL["stamp"]).fetchone()[0] != self._analyser:
                raise DamagedIndexError("its terms are of another analyser")
            undo.pop_all()
        return connection

    def _check(self, connection: sqlite3.Connection) -> None:
        connection.execute(SQL["begin_read"])
        is_new = connection.execute(SQL["is_new"]).fetchone()[0]
        found = connection.execute(SQL["application"]).fetchone()[0]
        connection.execute(SQL["commit"])
        if is_new or found == APPLICATION_ID:
            return
        if found >> 8 == APPLICATION_ID >> 8:
            raise DamagedIndexError("it has another layout")
        raise ConfigError(f"{self.path} is another program's database; the index needs a path of its own")

    def _create(self, connection: sqlite3.Connection) -> None:
        for name, statement in SQL.items():
            if name.startswith("create_"):
                connection.execute(statement)
        connection.execute(SQL["write_stamp"], {"analyser": self._analyser})
        connection.execute(SQL["sign"].format(application_id=APPLICATION_ID))

    def _write_ahead(self, connection: sqlite3.Connection) -> None:
        """Switch to WAL, which needs the file alone for a moment and, unlike a transaction, does not wait for it."""
        deadline = time.monotonic() + self._lock_wait_s
        while True:
            try:
                connection.execute(SQL["write_ahead"])
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode & 0xFF not in _LOCKED or time.monotonic() > deadline:
                    raise
                time.sleep(_SWITCH_PAUSE_S)
            else:
                return


@contextmanager
def _translated(path: Path) -> Generator[None]:
    try:
        yield
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        if code in _DAMAGED:
            raise DamagedIndexError(str(error)) from error
        if code in (*_PASSING, sqlite3.SQLITE_CANTOPEN):
            raise UnavailableError(f"the index {path} cannot be used now: {error}; it may be deleted safely") from error
        raise BackendError(f"the index {path} failed: {error}; it may be deleted safely") from error
