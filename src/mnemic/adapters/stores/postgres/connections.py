"""Connections to PostgreSQL: text encoding, errors, statements and pool.

PostgreSQL refuses NUL, but texts must stay unchanged. So U+0000 to U+0003 are stored as U+0001 followed by two
characters of U+0002 and U+0003. This keeps code point order and substring search. `jsonb` is only for conditions; JSON
is read back as text. In `jsonb`, floats from 2**53 on are written digit by digit, so that SQL compares them like
Python.

The thread that needs a connection opens it, so that it gets the error at once, which a pool with its own threads would
hide. No error shows a password.
"""

import json
import re
import threading
from collections.abc import Generator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any, LiteralString, cast

import psycopg
from psycopg import Connection, errors
from psycopg.abc import Buffer
from psycopg.conninfo import conninfo_to_dict
from psycopg.pq import TransactionStatus
from psycopg.types.string import StrDumperUnknown, TextLoader

from mnemic import errors as failures
from mnemic.adapters.sql_files import named_statements, numbered_scripts
from mnemic.adapters.stores.sql import dialect
from mnemic.model.columns import Row

_LEAD = "\x01"
_CODES = {"\x00": "\x01\x02\x02", "\x01": "\x01\x02\x03", "\x02": "\x01\x03\x02", "\x03": "\x01\x03\x03"}
_CHARACTERS = {code: character for character, code in _CODES.items()}
_RARE, _CODE = re.compile("[\x00-\x03]"), re.compile("\x01[\x02\x03]{2}")
_EXACT_INTEGERS = 2.0**53  # from there a 64-bit float cannot represent every whole number


def encode_text(text: str) -> str:
    """The stored form of a text."""
    if any(character in text for character in _CODES):
        return _RARE.sub(lambda found: _CODES[found[0]], text)
    return text


def decode_text(text: str) -> str:
    """The inverse of `encode_text`."""
    return _CODE.sub(lambda found: _CHARACTERS[found[0]], text) if _LEAD in text else text


def to_json(value: object) -> str:
    """JSON text for a `jsonb` column or parameter. The keys of mappings must be texts."""
    if isinstance(value, str):
        return json.dumps(encode_text(value), ensure_ascii=False)
    if isinstance(value, float) and abs(value) >= _EXACT_INTEGERS:
        return f"{value:.1f}"
    if isinstance(value, Mapping):
        items = cast("Mapping[str, object]", value).items()
        return "{" + ",".join(f"{to_json(key)}:{to_json(inner)}" for key, inner in items) + "}"
    if isinstance(value, list | tuple):
        return "[" + ",".join(to_json(inner) for inner in cast("Sequence[object]", value)) + "]"
    return json.dumps(value)


class _TextDumper(StrDumperUnknown):
    def dump(self, obj: str) -> Buffer | None:
        return super().dump(encode_text(obj))


class _TextLoader(TextLoader):
    def load(self, data: Buffer) -> bytes | str:
        text = super().load(data)
        return decode_text(text) if isinstance(text, str) else text


def register(connection: Connection[Any]) -> None:
    """Make a connection encode and decode every text."""
    connection.adapters.register_dumper(str, _TextDumper)
    connection.adapters.register_loader("text", _TextLoader)


_IN_THE_WAY = "the transaction conflicted with another one and was rolled back; try again"
# The first match counts: specific ones come before general ones.
_MEANINGS: Mapping[type[psycopg.Error], tuple[type[failures.MnemicError], str]] = {
    errors.UniqueViolation: (failures.ConflictError, "another process has already stored this"),
    errors.SerializationFailure: (failures.UnavailableError, _IN_THE_WAY),
    errors.DeadlockDetected: (failures.UnavailableError, _IN_THE_WAY),
    errors.LockNotAvailable: (failures.UnavailableError, "locked by another transaction; try again later"),
    errors.QueryCanceled: (failures.TimedOutError, "the statement timed out and was rolled back"),
    errors.DiskFull: (
        failures.UnavailableError,
        "the server's disk is full; nothing was changed. Free some space and try again",
    ),
    errors.InsufficientPrivilege: (
        failures.ConfigError,
        "this role lacks a permission; grant it, or connect as another role",
    ),
    psycopg.OperationalError: (failures.UnavailableError, "the server is not responding"),
    psycopg.InterfaceError: (failures.UnavailableError, "the connection was lost"),
}
_ROW_SECURITY = "ExecWithCheckOptions"
_SET_UP_IS_WRONG = ("authentication failed", "no password supplied", "pg_hba.conf", "does not exist")


@contextmanager
def translated_errors(doing: str, place: str) -> Generator[None]:
    """Translate errors of the block. `place`: server and database."""
    try:
        yield
    except psycopg.Error as error:
        raise _translate_error(error, doing, place) from error


def _translate_error(error: psycopg.Error, doing: str, place: str) -> failures.MnemicError:
    said = f"{place} ({doing}): {error.diag.message_primary or _one_line(error)}"
    if error.diag.source_function == _ROW_SECURITY:  # the same SQLSTATE as a missing permission
        return failures.BackendError(f"a row was rejected because this unit of work does not include its org: {said}")
    for cause, (kind, meaning) in _MEANINGS.items():
        if isinstance(error, cause):
            return kind(f"{meaning}: {said}")
    return failures.BackendError(f"the store failed: {said}")


def refused(error: psycopg.Error, place: str) -> failures.MnemicError:
    """The error for a failed connection."""
    said = _one_line(error)
    if any(sign in said for sign in _SET_UP_IS_WRONG):
        return failures.ConfigError(f"{place} refused the connection; check the user, password and database: {said}")
    return failures.UnavailableError(f"{place} cannot be reached: {said}")


def _one_line(error: psycopg.Error) -> str:
    return " ".join(str(error).split())


_OWN = {"connection", "copying", "filters"}


def statements(topic: str) -> dict[str, str]:
    """The statements of a topic by name, without a closing semicolon: this store's own or the shared ones."""
    if topic in _OWN:
        return named_statements(__package__ or __name__, f"queries/{topic}.sql")
    return dialect.statements("postgres", topic)


def migrations() -> list[tuple[int, str]]:
    """(version, script) of every migration, in order."""
    return numbered_scripts(__package__ or __name__, "migrations")


@dataclass(frozen=True, kw_only=True)
class Target:
    """Where and how to connect. Times are in seconds; `statement_timeout_s` 0: no limit."""

    url: str
    schema: str
    pool_size: int
    connect_timeout_s: float
    lock_wait_s: float
    statement_timeout_s: float

    @cached_property
    def place(self) -> str:
        """Host, port and database for messages, without user and password. Raises `ConfigError` for a broken URL."""
        try:
            parts = conninfo_to_dict(self.url)
        except psycopg.ProgrammingError:  # its message may quote the password, so it is not passed on
            raise failures.ConfigError(
                "the address of the PostgreSQL store is invalid; use postgresql://user:password@host:5432/database"
            ) from None
        host, port = parts.get("host") or "localhost", parts.get("port") or 5432
        return f"PostgreSQL at {host}:{port}/{parts.get('dbname') or parts.get('user') or ''}"


def query(sql: str) -> LiteralString:
    """A statement from a `.sql` file with psycopg's type for trusted text."""
    return cast("LiteralString", sql)


class Connections:
    """A thread-safe pool of connections."""

    def __init__(self, target: Target) -> None:
        self._target = target
        self._place = target.place
        self._idle: list[Connection[Row]] = []
        self._guard = threading.Lock()
        self._free = threading.BoundedSemaphore(target.pool_size)
        self._is_closed = False

    def begin(self, sql: str) -> Connection[Row]:
        """A connection on which `sql` has begun a transaction. Replaces idle ones that died (the server was restarted),
        since nothing was sent on them yet. Raises `UnavailableError` or `ConfigError`.
        """
        if not self._free.acquire(timeout=self._target.lock_wait_s):
            raise failures.UnavailableError(
                f"all {self._target.pool_size} connections to {self._place} are busy; try again or raise pool_size"
            )
        with ExitStack() as if_it_fails:
            if_it_fails.callback(self._free.release)
            connection = self._begin_on_kept(sql)
            if_it_fails.pop_all()
        return connection

    def give_back(self, connection: Connection[Row]) -> None:
        """Return a connection. Closes one that is not idle."""
        is_idle = not connection.closed and connection.info.transaction_status is TransactionStatus.IDLE
        with self._guard:
            is_kept = is_idle and not self._is_closed
            if is_kept:
                self._idle.append(connection)
        if not is_kept:
            connection.close()
        self._free.release()

    def close(self) -> None:
        """Close idle connections now and others when they are returned."""
        with self._guard:
            self._is_closed = True
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    def _begin_on_kept(self, sql: str) -> Connection[Row]:
        while True:
            with self._guard:
                if self._is_closed:
                    raise failures.UnavailableError("the store is closed; open it again")
                connection = self._idle.pop() if self._idle else None
            if connection is None:
                break
            try:
                connection.execute(query(sql))
                return connection
            except psycopg.OperationalError:
                connection.close()
        return self._connect_and_begin(sql)

    def _connect_and_begin(self, sql: str) -> Connection[Row]:
        target = self._target
        settings = {
            "schema": target.schema,
            "lock_wait_ms": str(round(target.lock_wait_s * 1000)),
            "statement_timeout_ms": str(round(target.statement_timeout_s * 1000)),
        }
        with ExitStack() as if_it_fails:
            connection = self._connect()
            if_it_fails.callback(connection.close)
            register(connection)
            with translated_errors("starting a transaction", self._place):
                connection.execute(query(statements("connection")["set_up"]), settings)
                connection.execute(query(sql))
            if_it_fails.pop_all()
        return connection

    def _connect(self) -> Connection[Row]:
        try:
            return psycopg.connect(
                self._target.url,
                autocommit=True,
                connect_timeout=max(round(self._target.connect_timeout_s), 1),
                client_encoding="utf8",
                fallback_application_name="mnemic",
            )
        except psycopg.Error as error:
            raise refused(error, self._place) from error
