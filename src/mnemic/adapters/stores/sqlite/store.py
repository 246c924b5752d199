"""The SQLite store: one file in WAL mode, one flush per commit, a small pool of connections."""

from __future__ import annotations

import os
import shutil
import sqlite3
import threading
import time
from collections.abc import Callable, Collection, Generator, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from mnemic.adapters.stores.sql.former import part_bookkeeping
from mnemic.adapters.stores.sqlite import session
from mnemic.adapters.stores.sqlite.copying import SqliteRows, attach, replace_rows, write_pages
from mnemic.errors import BackendError, ConfigError, UnavailableError, UnsupportedError
from mnemic.model.health import Condition, Finding
from mnemic.ports.store import CopyingStore, Rows, Store, StoreCapabilities, Told, UnitOfWork

LOW_ROOM_BYTES = 200_000_000  # below 200 MB of free disk a checkpoint or a reindex may no longer fit
_SWITCH_PAUSE_S = 0.01  # between two tries: the other process switches within milliseconds
_PARTS_METADATA = 16
"""The migration with which bookkeeping in the metadata of earlier versions becomes a column of its own."""


class SqliteStore:
    """The `Store` port over a file at `path` (made if missing). A write waits up to `lock_wait_s` for another process,
    then raises `UnavailableError`. Raises `ConfigError` for another program's file or a newer Mnemic's.
    """

    capabilities = StoreCapabilities(is_durable=True, is_shared=True)
    kind = "sqlite"

    def __init__(self, path: str | Path, *, lock_wait_s: float = 10.0) -> None:
        self.path = Path(path)
        self._lock_wait_s = lock_wait_s
        self._idle: list[sqlite3.Connection] = []
        self._guard = threading.Lock()
        self._is_closed = False
        self._migrate()

    @contextmanager
    def read(self) -> Generator[UnitOfWork]:
        with self._transaction("begin_read", is_writing=False) as work:
            yield work

    @contextmanager
    def write(self) -> Generator[UnitOfWork]:
        with self._transaction("begin_write", is_writing=True) as work:
            yield work

    def diagnose(self, *, is_quick: bool = False) -> list[Finding]:
        if not self.path.exists():
            remedy = "bring the file back, or stop every process that uses it and restore a backup"
            return [
                Finding("store", Condition.BROKEN, f"{self.path} is gone; what is written now goes with it", remedy)
            ]
        try:
            connection = self._borrow()
            try:
                self._schema_version(connection)
                with session.translated_errors("checking"):
                    sql = session.statements("connection")["glance" if is_quick else "check"]
                    answers = [row[0] for row in connection.execute(sql)]
            finally:
                self._give_back(connection)
            free = shutil.disk_usage(self.path.parent).free
        except (BackendError, ConfigError, OSError) as error:
            remedy = f"check {self.path} and its folder"
            return [Finding("store", Condition.BROKEN, str(error), remedy)]
        sound = Finding("store", Condition.OK, "the store answers") if is_quick else _integrity(answers, self.path)
        return [sound, *self._writing(is_quick=is_quick), _room(free, self.path)]

    def _writing(self, *, is_quick: bool) -> list[Finding]:
        """Why nothing can be written, where that is so; only a look at the rights when it must be quick."""
        rights = f"let this user write {self.path} and its folder"
        if not (os.access(self.path, os.W_OK) and os.access(self.path.parent, os.W_OK)):
            return [Finding("writing", Condition.DEGRADED, f"{self.path} or its folder is read-only", rights)]
        if is_quick:
            return []
        try:
            self._try_to_write()
        except UnavailableError as error:
            return [Finding("writing", Condition.DEGRADED, str(error), "wait, or end the process that holds the file")]
        except BackendError as error:
            return [Finding("writing", Condition.DEGRADED, str(error), rights)]
        return []

    def _try_to_write(self) -> None:
        """Write the schema's version over itself, and roll that back: taking the lock alone would not tell."""
        sql, connection = session.statements("connection"), self._borrow()
        try:
            with session.translated_errors("trying to write"):
                connection.execute(sql["begin_write"])
                connection.execute(sql["mark"].format(version=self._schema_version(connection)))
        finally:
            with suppress(sqlite3.Error):
                connection.rollback()
            self._give_back(connection)

    def scrub(self) -> tuple[str, ...]:
        """Deleted rows are overwritten where they stood; this empties the write-ahead file, which holds them too."""
        connection = self._borrow()
        try:
            with session.translated_errors("emptying the write-ahead file"):
                is_busy = connection.execute(session.statements("connection")["truncate_write_ahead"]).fetchone()[0]
        except UnavailableError:
            is_busy = True
        finally:
            self._give_back(connection)
        if not is_busy:
            return ()
        return (f"{self.path}-wal is in use and holds what was deleted until its readers are done and it is closed",)

    @property
    def room(self) -> Path:
        return self.path.parent

    def write_copy(self, path: Path, told: Told) -> None:
        connection = self._borrow()
        try:
            with session.translated_errors(f"copying {self.path}"):
                connection.execute(session.statements("connection")["begin_read"])
                write_pages(connection, path, told)
        finally:
            with suppress(sqlite3.Error):
                connection.rollback()
            self._give_back(connection)

    @contextmanager
    def rows(self) -> Generator[Rows]:
        connection = self._borrow()
        try:
            with session.translated_errors(f"reading all of {self.path}"):
                connection.execute(session.statements("connection")["begin_read"])
                yield SqliteRows(connection, session.SqliteUnitOfWork(session.Session(connection, is_writing=False)))
        finally:
            with suppress(sqlite3.Error):
                connection.rollback()
            self._give_back(connection)

    def take_copy(self, path: Path, ready: Callable[[UnitOfWork], Collection[str]], told: Told) -> None:
        with closing(self._connect()) as connection, session.translated_errors(f"restoring {self.path}"):
            connection.execute(session.statements("connection")["cache_to_write"])
            attach(connection, path)
            connection.execute(session.statements("connection")["begin_write"])
            kept = ready(session.SqliteUnitOfWork(session.Session(connection, is_writing=True)))
            replace_rows(connection, kept, told)
            connection.execute(session.statements("connection")["commit"])

    def close(self) -> None:
        with self._guard:
            self._is_closed = True
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    @contextmanager
    def _transaction(self, begin: str, *, is_writing: bool) -> Generator[UnitOfWork]:
        sql = session.statements("connection")
        connection = self._borrow()
        try:
            with session.translated_errors("starting a transaction"):
                if is_writing:  # who reads a whole partition once has no use for its pages
                    connection.execute(sql["cache_to_write"])
                connection.execute(sql[begin])
            with session.translated_errors("reading or writing rows"):
                yield session.SqliteUnitOfWork(session.Session(connection, is_writing=is_writing))
            with session.translated_errors("committing"):
                connection.execute(sql["commit"])
        finally:
            with suppress(sqlite3.Error):  # the first error is the one to tell; a lost connection rolls back by itself
                connection.rollback()
            self._give_back(connection)

    def _borrow(self) -> sqlite3.Connection:
        with self._guard:
            if self._is_closed:
                raise UnavailableError("the store is closed; open it again")
            if self._idle:
                return self._idle.pop()
        return self._connect()

    def _give_back(self, connection: sqlite3.Connection) -> None:
        with self._guard:
            if not self._is_closed and _is_usable(connection):
                self._idle.append(connection)
                return
        connection.close()

    def _open(self) -> sqlite3.Connection:
        with session.translated_errors(f"opening {self.path}"):
            return sqlite3.connect(self.path, timeout=self._lock_wait_s, isolation_level=None, check_same_thread=False)

    def _connect(self) -> sqlite3.Connection:
        connection = self._open()
        try:
            with session.translated_errors(f"opening {self.path}"):
                connection.executescript(session.statements("connection")["set_up"])
        except BackendError:
            connection.close()
            raise
        return connection

    def _migrate(self) -> None:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ConfigError(f"the folder of the store {self.path} cannot be made: {error}") from error
        with closing(self._open()) as connection:
            if self._schema_version(connection) < session.migrations()[-1][0]:
                with session.translated_errors("setting up the store"):
                    self._run_migrations(connection)
            self._write_ahead(connection)

    def _run_migrations(self, connection: sqlite3.Connection) -> None:
        sql = session.statements("connection")
        connection.execute(sql["begin_write"])
        current = self._schema_version(connection)  # again, under the lock: another process may have been quicker
        for version, script in session.migrations():
            if version > current:
                for statement in _split(script):
                    connection.execute(statement)
                if version == _PARTS_METADATA:
                    part_bookkeeping(connection.execute, session.statements("former"), lambda _: {})
                connection.execute(sql["mark"].format(version=version))
        connection.execute(sql["sign"].format(application_id=session.APPLICATION_ID))
        connection.execute(sql["commit"])

    def _write_ahead(self, connection: sqlite3.Connection) -> None:
        """Switch the file to WAL, which needs it alone for a moment and, unlike a transaction, does not wait for it."""
        deadline = time.monotonic() + self._lock_wait_s
        while True:
            try:
                with session.translated_errors(f"opening {self.path}"):
                    connection.execute(session.statements("connection")["write_ahead"])
            except UnavailableError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(_SWITCH_PAUSE_S)
            else:
                return

    def _schema_version(self, connection: sqlite3.Connection) -> int:
        """Tables are looked at first, so that a store that is being made meanwhile is not taken for a foreign file."""
        sql = session.statements("connection")
        with session.translated_errors(f"opening {self.path}"):
            tables = int(connection.execute(sql["tables"]).fetchone()[0])
            signature = int(connection.execute(sql["signature"]).fetchone()[0])
            version = int(connection.execute(sql["schema_version"]).fetchone()[0])
        if tables and signature != session.APPLICATION_ID:
            raise ConfigError(f"{self.path} is another program's database; choose another path")
        newest = session.migrations()[-1][0]
        if version > newest:
            raise ConfigError(
                f"{self.path} was written by a newer Mnemic (schema {version}, this one knows {newest}): "
                "run `pip install --upgrade mnemic`"
            )
        return version


def _is_usable(connection: sqlite3.Connection) -> bool:
    try:
        return not connection.in_transaction
    except sqlite3.Error:
        return False  # it was closed while in use


def _integrity(answers: list[str], path: Path) -> Finding:
    if answers == ["ok"]:
        return Finding("store", Condition.OK, f"{path} is sound")
    remedy = "stop every process that uses it and restore a backup"
    return Finding("store", Condition.BROKEN, f"{path} is damaged: {'; '.join(answers[:3])}", remedy)


def _room(free: int, path: Path) -> Finding:
    message = f"{free / 1e9:.1f} GB free on the disk of {path}"
    if free >= LOW_ROOM_BYTES:
        return Finding("disk", Condition.OK, message)
    return Finding("disk", Condition.DEGRADED, message, "free some space: writes are refused when none is left")


def _split(script: str) -> Iterator[str]:
    """Statements of a migration one by one, so that all of it runs in one transaction."""
    statement = ""
    for line in script.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""
    if statement.strip():
        raise UnsupportedError("a migration ends within a statement", capability="migration")


_: type[Store] = SqliteStore
__: type[CopyingStore] = SqliteStore
