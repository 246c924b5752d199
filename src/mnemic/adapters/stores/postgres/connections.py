"""A bounded number of connections to one database, kept for reuse. The thread that needs one makes it, so that it
learns at once, and exactly, why a server is unreachable, which a pool with its own threads would hide.
"""

from __future__ import annotations

import threading
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property
from typing import LiteralString, cast

import psycopg
from psycopg import Connection
from psycopg.conninfo import conninfo_to_dict
from psycopg.pq import TransactionStatus

from mnemic.adapters.stores.postgres.failures import refused, translated_errors
from mnemic.adapters.stores.postgres.statements import statements
from mnemic.adapters.stores.postgres.texts import register
from mnemic.errors import ConfigError, UnavailableError
from mnemic.model.columns import Row


@dataclass(frozen=True, kw_only=True)
class Target:
    """Where and how to connect. Times are seconds; `statement_timeout_s` 0 means none."""

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
            raise ConfigError(
                "the address of the PostgreSQL store is not valid; write postgresql://user:password@host:5432/database"
            ) from None
        host, port = parts.get("host") or "localhost", parts.get("port") or 5432
        return f"PostgreSQL at {host}:{port}/{parts.get('dbname') or parts.get('user') or ''}"


def query(sql: str) -> LiteralString:
    """A statement from a `.sql` file as what psycopg's types ask for: a text that is no user's."""
    return cast("LiteralString", sql)


class Connections:
    """Lends connections; safe to use from several threads."""

    def __init__(self, target: Target) -> None:
        self._target = target
        self._place = target.place
        self._idle: list[Connection[Row]] = []
        self._guard = threading.Lock()
        self._free = threading.BoundedSemaphore(target.pool_size)
        self._is_closed = False

    def begin(self, sql: str) -> Connection[Row]:
        """A connection on which `sql` has begun a transaction. Kept ones that died meanwhile (the server was
        restarted) are replaced: nothing was asked of them yet. Raises `UnavailableError` or `ConfigError`.
        """
        if not self._free.acquire(timeout=self._target.lock_wait_s):
            raise UnavailableError(
                f"all {self._target.pool_size} connections to {self._place} are in use; raise pool_size or try again"
            )
        with ExitStack() as if_it_fails:
            if_it_fails.callback(self._free.release)
            connection = self._begin_on_kept(sql)
            if_it_fails.pop_all()
        return connection

    def give_back(self, connection: Connection[Row]) -> None:
        """End a loan; a connection that is not idle any more is closed."""
        is_idle = not connection.closed and connection.info.transaction_status is TransactionStatus.IDLE
        with self._guard:
            is_kept = is_idle and not self._is_closed
            if is_kept:
                self._idle.append(connection)
        if not is_kept:
            connection.close()
        self._free.release()

    def close(self) -> None:
        """Close those not lent, and each lent one when it comes back."""
        with self._guard:
            self._is_closed = True
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    def _begin_on_kept(self, sql: str) -> Connection[Row]:
        while True:
            with self._guard:
                if self._is_closed:
                    raise UnavailableError("the store is closed; open it again")
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
