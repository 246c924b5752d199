"""The SQLite store: one file in WAL mode, one flush per commit, a small pool of connections."""

from __future__ import annotations

import math
import os
import shutil
import sqlite3
import threading
import time
import weakref
from collections.abc import Callable, Collection, Generator, Iterator
from contextlib import closing, contextmanager, nullcontext, suppress
from pathlib import Path

from mnemic.adapters.sql_files import execute_when_unlocked
from mnemic.adapters.stores.sql.former import part_bookkeeping
from mnemic.adapters.stores.sql.moving import SqlTransfer, find_absent_orgs, list_placements
from mnemic.adapters.stores.sql.session import Erased
from mnemic.adapters.stores.sqlite import session
from mnemic.adapters.stores.sqlite.copying import SqliteRows, attach, replace_rows, write_pages
from mnemic.adapters.stores.sqlite.file import Place, StoreFile
from mnemic.adapters.stores.sqlite.rescue import find_unreadable
from mnemic.errors import BackendError, ConfigError, DamagedError, UnavailableError, UnsupportedError
from mnemic.model.health import Condition, Finding
from mnemic.model.records import Placement
from mnemic.ports.moving import MovingStore, Transfer
from mnemic.ports.store import PASSING_TABLES, PLACEMENTS, Rows, Store, StoreCapabilities, Told, UnitOfWork

LOW_ROOM_BYTES = 200_000_000  # below 200 MB of free disk a checkpoint or a reindex may no longer fit
_LOOK_S = 0.03
"""Time limit of the check on opening: a command takes 0.3 s, and this checks some 4 MB."""

_LOOK_STEPS = 2000  # SQLite instructions between two checks of the time: far less than `_LOOK_S`
_CHECK_EVERY_S = 600.0
"""A full check takes 80 ms a megabyte, too much for each of frequent exports."""
_REMEDY = "stop every process that uses it and restore a backup, or save what is left with `mnemic rescue`"

_PARTS_METADATA = 16
"""The migration that moves bookkeeping from earlier versions' metadata to its own column."""


class Connection(sqlite3.Connection):
    """A connection, and the files beside the store that it has had open since its first transaction."""

    beside: tuple[Place, ...] = ()


_open: weakref.WeakSet[SqliteStore] = weakref.WeakSet()


def rest_stores() -> None:
    """Close all connections that are not in use, as before a fork: SQLite forbids them in the child."""
    for store in [*_open]:
        store.rest()


class SqliteStore:
    """The `Store` port over a file at `path` (created if missing). A write waits up to `lock_wait_s` for another
    process, then raises `UnavailableError`. Raises `ConfigError` for another program's file or a newer Mnemic's.
    """

    capabilities = StoreCapabilities(is_durable=True, is_shared=True)
    kind = "sqlite"

    def __init__(self, path: str | Path, *, lock_wait_s: float = 10.0) -> None:
        self.path = Path(path)
        self.on_erased: Callable[[Collection[Erased]], object] = len
        """Called after the commit of an erasure, before it is acknowledged, to remove files that copy rows."""
        self._lock_wait_s = lock_wait_s
        self._idle: list[Connection] = []
        self._guard = threading.Lock()
        self._writing = threading.Lock()
        self._is_closed = False
        self._damage = self._lost_tail = ""
        self._checked_at = -math.inf
        self._file = StoreFile(self.path)
        self._migrate()
        _open.add(self)

    @contextmanager
    def read(self) -> Generator[UnitOfWork]:
        with self._transaction(is_writing=False) as work:
            yield work

    @contextmanager
    def write(self, *, is_erasing: bool = False) -> Generator[UnitOfWork]:
        if is_erasing:
            self._file.use_reserve()
        with self._transaction(is_writing=True) as work:
            yield work

    def diagnose(self, *, is_quick: bool = False) -> list[Finding]:
        try:
            self._file.check()
            answers = self._find_damage(is_quick=is_quick)
            free = shutil.disk_usage(self.path.parent).free
        except (BackendError, ConfigError, OSError) as error:
            message, _, remedy = str(error).partition("; ")
            return [Finding("store", Condition.BROKEN, message, remedy or f"check {self.path} and its folder")]
        if not is_quick:
            self._note_answers(answers)
        if self._damage:
            message = f"{self.path} is damaged: {self._damage}; reading continues, but writing has stopped"
            return [Finding("store", Condition.BROKEN, message, _REMEDY)]
        sound = "the store is responding" if is_quick else f"{self.path} is sound"
        rights = [] if is_quick else self._file.mend_rights()
        if self._lost_tail:
            remedy = "restore a backup if you need them; this message is shown until the store is closed"
            rights.append(Finding("log", Condition.DEGRADED, f"{self._lost_tail}; all older writes are intact", remedy))
        return [
            Finding("store", Condition.OK, sound),
            *rights,
            *self._check_writing(is_quick=is_quick),
            _room(free, self.path),
        ]

    def check(self) -> None:
        self._file.check()
        if time.monotonic() - self._checked_at > _CHECK_EVERY_S:
            self._note_answers(self._find_damage(is_quick=False))
        if self._damage:
            raise DamagedError(f"{self.path} is damaged: {self._damage}; {_REMEDY}")

    def _note_answers(self, answers: list[str]) -> None:
        self._damage = "" if answers == ["ok"] else "; ".join(answers[:3])
        self._checked_at = time.monotonic()

    def _find_damage(self, *, is_quick: bool) -> list[str]:
        """The problems that SQLite finds in the file. A full check compares indexes with tables and reads all texts."""
        sql = session.statements("connection")
        with self._borrow_connection() as connection:
            self._schema_version(connection)
            with session.translated_errors("checking"):
                connection.execute(sql["begin_read"])
                if connection.beside:
                    self._file.check_beside(connection.beside)
                answers = [str(row[0]) for row in connection.execute(sql["glance" if is_quick else "check"])]
            return answers if is_quick or answers != ["ok"] else find_unreadable(connection) or answers

    def _check_writing(self, *, is_quick: bool) -> list[Finding]:
        """Why nothing can be written, if so. A quick check only looks at permissions."""
        rights = f"give this user write access to {self.path} and its folder"
        if self._file.is_read_only or not (os.access(self.path, os.W_OK) and os.access(self.path.parent, os.W_OK)):
            return [Finding("writing", Condition.DEGRADED, f"{self.path} or its folder is read-only", rights)]
        if is_quick:
            return []
        try:
            self._try_to_write()
        except UnavailableError as error:
            return [Finding("writing", Condition.DEGRADED, str(error), "wait, or stop the process that uses the file")]
        except BackendError as error:
            return [Finding("writing", Condition.DEGRADED, str(error), rights)]
        return []

    def _try_to_write(self) -> None:
        """Rewrite the schema's version and roll back: taking the lock alone would not detect problems."""
        sql = session.statements("connection")
        translated = session.translated_errors("trying to write")
        with self._turn() as until, self._borrow_connection() as connection, translated:
            self._begin_write(connection, until)
            connection.execute(sql["mark"].format(version=self._schema_version(connection)))

    def scrub(self) -> tuple[str, ...]:
        """Empty the write-ahead file, which holds deleted rows too. In the store they were overwritten already."""
        sql = session.statements("connection")["truncate_write_ahead"]
        with self._borrow_connection() as connection:
            try:
                with session.translated_errors("emptying the write-ahead file"):
                    is_busy = connection.execute(sql).fetchone()[0]
            except UnavailableError:
                is_busy = True
        if not is_busy:
            self._file.reserve()
            return ()
        return (f"{self.path}-wal is in use and keeps deleted data until its readers finish and it is closed",)

    @property
    def room(self) -> Path:
        return self.path.parent

    def write_copy(self, path: Path, told: Told) -> None:
        with self._borrow_connection() as connection, session.translated_errors(f"copying {self.path}"):
            connection.execute(session.statements("connection")["begin_read"])
            write_pages(connection, path, told)

    @contextmanager
    def rows(self, *, is_whole: bool = False) -> Generator[Rows]:
        with self._borrow_connection() as connection, session.translated_errors(f"reading all of {self.path}"):
            connection.execute(session.statements("connection")["begin_read"])
            work = session.SqliteUnitOfWork(session.Session(connection, is_writing=False))
            absent = set[str]() if is_whole else find_absent_orgs(work.transaction)
            yield SqliteRows(connection, work, (PLACEMENTS,) if is_whole else PASSING_TABLES, absent)

    @property
    def address(self) -> str:
        return str(self.path.resolve())

    def placements(self) -> list[Placement]:
        with self._transaction(is_writing=False) as work:
            return list_placements(work.transaction)

    @contextmanager
    def transfer(self, org: str) -> Generator[Transfer]:
        with self._transaction(is_writing=True) as work:
            yield SqlTransfer(work, work.transaction, org)

    def take_copy(self, path: Path, ready: Callable[[UnitOfWork], Collection[str]], told: Told) -> None:
        with closing(self._connect()) as connection, session.translated_errors(f"restoring {self.path}"):
            connection.execute(session.statements("connection")["cache_to_write"])
            attach(connection, path)
            connection.execute(session.statements("connection")["begin_write"])
            kept = ready(session.SqliteUnitOfWork(session.Session(connection, is_writing=True)))
            replace_rows(connection, kept, told)
            connection.execute(session.statements("connection")["commit"])

    def close(self) -> None:
        self._is_closed = True
        self._file.release()
        self.rest()
        self._file.settle()

    def rest(self) -> None:
        """Close the connections that are not in use."""
        with self._guard:
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    @contextmanager
    def _transaction(self, *, is_writing: bool) -> Generator[session.SqliteUnitOfWork]:
        sql = session.statements("connection")
        if is_writing and self._damage:
            raise DamagedError(f"{self.path} is damaged, so writing has stopped: {self._damage}; {_REMEDY}")
        turn = self._turn() if is_writing else nullcontext(0.0)
        with turn as until, self._borrow_connection() as connection:
            try:
                with session.translated_errors("starting a transaction"):
                    if is_writing:
                        connection.execute(sql["cache_to_write"])  # a reader of a partition needs no page twice
                        self._begin_write(connection, until)
                    else:
                        connection.execute(sql["begin_read"])
                with session.translated_errors("reading or writing rows"):
                    opened = session.Session(connection, is_writing=is_writing)
                    yield session.SqliteUnitOfWork(opened)
                self._commit(connection, is_writing=is_writing)
                if opened.erased:
                    self.on_erased(opened.erased)
            except DamagedError as error:
                self._note_damage(error)
                raise
            except UnavailableError:
                if is_writing:  # a truncated log looks like a failing disk
                    self._file.check()
                    self._file.check_beside(connection.beside)
                raise

    @contextmanager
    def _turn(self) -> Generator[float]:
        """Let one thread of this process write at a time, so that the others do not look for the lock. Yields the
        moment at which the wait for that and for the lock ends.
        """
        until = time.monotonic() + self._lock_wait_s
        if not self._writing.acquire(timeout=self._lock_wait_s):
            raise UnavailableError("another write of this process has not ended; try again later")
        try:
            yield until
        finally:
            self._writing.release()

    def _begin_write(self, connection: Connection, until: float) -> None:
        sql = session.statements("connection")
        connection.execute(sql["wait"].format(ms=0))
        try:
            execute_when_unlocked(connection, sql["begin_write"], until - time.monotonic())
        finally:
            connection.execute(sql["wait"].format(ms=round(self._lock_wait_s * 1e3)))

    def _commit(self, connection: Connection, *, is_writing: bool) -> None:
        """Commit, and raise if the store's files were replaced: a write to an unlinked file would be lost."""
        if is_writing:
            self._file.check()
            connection.beside = connection.beside or self._file.look_beside()
            self._file.check_beside(connection.beside)
        with session.translated_errors("committing"):
            connection.execute(session.statements("connection")["commit"])
        if is_writing:
            connection.execute(session.statements("connection")["cache_to_read"])  # else each connection keeps 32 MB
            self._file.note_commit()
            self._file.reserve()

    def _note_damage(self, error: DamagedError) -> None:
        """Unreadable pages stop all writing, which would be lost. A write checks again: a file may be restored."""
        if isinstance(error.__cause__, sqlite3.Error | UnicodeDecodeError):
            self._damage = str(error)

    @contextmanager
    def _borrow_connection(self) -> Generator[Connection]:
        """A pooled or new connection. Uncommitted changes are rolled back."""
        with self._guard:
            if self._is_closed:
                raise UnavailableError("the store is closed; open it again")
            idle = self._idle.pop() if self._idle else None
        connection = idle or self._connect()
        try:
            yield connection
        finally:
            with suppress(sqlite3.Error):  # the first error is the one to raise; a lost connection rolls back by itself
                connection.rollback()
            with self._guard:
                is_kept = not self._is_closed and _is_usable(connection)
                if is_kept:
                    self._idle.append(connection)
            if not is_kept:
                connection.close()

    def _open(self) -> Connection:
        self._file.check()
        with session.translated_errors(f"opening {self.path}"):
            return sqlite3.connect(
                self._file.uri(),
                uri=True,
                timeout=self._lock_wait_s,
                isolation_level=None,
                check_same_thread=False,
                factory=Connection,
            )

    def _connect(self) -> Connection:
        connection = self._open()
        try:
            self._file.check()  # SQLite opened the path a moment after the first check
            with session.translated_errors(f"opening {self.path}"):
                connection.executescript(session.statements("connection")["set_up"])
        except BackendError:
            connection.close()
            raise
        return connection

    def _migrate(self) -> None:
        self._file.make()
        with closing(self._open()) as connection:
            is_old = self._schema_version(connection) < session.migrations()[-1][0]
            if self._file.is_read_only:
                if is_old:
                    raise ConfigError(f"{self.path} needs an upgrade but is read-only; make it writable once")
                return
            count = session.statements("connection")["write_back"]
            self._lost_tail = self._file.find_lost_tail(lambda: int(connection.execute(count).fetchone()[1]))
            if is_old:
                with session.translated_errors("setting up the store"):
                    self._run_migrations(connection)
            with session.translated_errors(f"opening {self.path}"):
                statement = session.statements("connection")["write_ahead"]
                execute_when_unlocked(connection, statement, self._lock_wait_s)
            self._check_while_opening(connection)

    def _check_while_opening(self, connection: sqlite3.Connection) -> None:
        """Find damage before a write: checks all of a small file, and as much of a large one as the time allows."""
        deadline = time.monotonic() + _LOOK_S
        connection.set_progress_handler(lambda: int(time.monotonic() > deadline), _LOOK_STEPS)
        try:
            answers = [str(row[0]) for row in connection.execute(session.statements("connection")["brief_check"])]
        except sqlite3.OperationalError:
            return  # the time is up
        except sqlite3.DatabaseError as error:
            answers = [str(error)]
        finally:
            connection.set_progress_handler(None, 0)
        self._damage = "" if answers == ["ok"] else answers[0]

    def _run_migrations(self, connection: sqlite3.Connection) -> None:
        sql = session.statements("connection")
        connection.execute(sql["begin_write"])
        current = self._schema_version(connection)  # again, under the lock: another process may have been faster
        for version, script in session.migrations():
            if version > current:
                for statement in _split(script):
                    connection.execute(statement)
                if version == _PARTS_METADATA:
                    part_bookkeeping(connection.execute, session.statements("former"), lambda _: {})
                connection.execute(sql["mark"].format(version=version))
        connection.execute(sql["sign"].format(application_id=session.APPLICATION_ID))
        connection.execute(sql["commit"])

    def _schema_version(self, connection: sqlite3.Connection) -> int:
        """Looks at tables first, so that a store that is just being created is not taken for a foreign file."""
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
                f"{self.path} was written by a newer version of Mnemic (schema {version}; this one supports up to "
                f"{newest}): run `pip install --upgrade mnemic`"
            )
        return version


def _is_usable(connection: sqlite3.Connection) -> bool:
    try:
        return not connection.in_transaction
    except sqlite3.Error:
        return False  # it was closed while in use


def _room(free: int, path: Path) -> Finding:
    message = f"{free / 1e9:.1f} GB free on the disk of {path}"
    if free >= LOW_ROOM_BYTES:
        return Finding("disk", Condition.OK, message)
    return Finding("disk", Condition.DEGRADED, message, "free some space; writes fail when the disk is full")


def _split(script: str) -> Iterator[str]:
    """Split a migration into statements, so that all of it runs in one transaction."""
    statement = ""
    for line in script.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""
    if statement.strip():
        raise UnsupportedError("a migration has an incomplete statement", capability="migration")


_: type[Store] = SqliteStore
__: type[MovingStore] = SqliteStore
