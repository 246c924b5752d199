"""The connections of the PostgreSQL search index, and its HNSW indexes."""

import hashlib
import logging
import struct
import threading
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import psycopg
from psycopg import sql
from psycopg.adapt import Buffer, Dumper
from psycopg.pq import Format, TransactionStatus
from psycopg.types.string import TextBinaryLoader

from mnemic.adapters.sql_files import named_statements
from mnemic.adapters.stores.postgres.connections import (
    Connections,
    Target,
    decode_text,
    query,
    statements,
    translated_errors,
)
from mnemic.errors import MnemicError
from mnemic.model.candidates import Floats

SQL = named_statements("mnemic.adapters.indexes", "postgres.sql")
Run = Callable[..., psycopg.Cursor[Any]]
"""Executes a statement with its parameters in a transaction."""
MOST_GRAPH_DIMS = 4_000
"""The maximum dimensions of a halfvec in pgvector's HNSW."""
CANCEL_S, POLL_S = 0.1, 1.0
"""Pauses between attempts to cancel a build, and to become the building process."""
CLOSE_S = 10.0
"""The time to cancel a build. A server that has vanished never answers."""
_DOING = "searching"
_log = logging.getLogger("mnemic.index")


class Vector:
    """A vector as a parameter, in pgvector's binary form."""

    def __init__(self, values: Floats) -> None:
        self.values = values


class _VectorDumper(Dumper):
    format = Format.BINARY

    def dump(self, obj: Vector) -> Buffer | None:
        return struct.pack(">HH", len(obj.values), 0) + np.asarray(obj.values, dtype=">f4").tobytes()


class _TextLoader(TextBinaryLoader):
    def load(self, data: Buffer) -> bytes | str:
        text = super().load(data)
        return decode_text(text) if isinstance(text, str) else text


class Link:
    """Transactions on the index's own connections, so a thread with a store connection never waits for another."""

    def __init__(self, target: Target) -> None:
        self.place, self._target = target.place, target
        self._connections = Connections(target)

    @contextmanager
    def transaction(self, orgs: Sequence[str] | None, *, is_writing: bool = False) -> Generator[Run]:
        """Runs statements on the rows of these orgs, or of all orgs. Rolled back if the block raises."""
        connection = self._connections.begin(statements("connection")["begin_write" if is_writing else "begin_read"])
        connection.adapters.register_dumper(Vector, _VectorDumper)
        connection.adapters.register_loader("text", _TextLoader)
        try:
            with translated_errors(_DOING, self.place):
                connection.execute(query(SQL["see"]), {"orgs": sorted({*(orgs or ())})})
                if orgs is None:
                    connection.execute(query(SQL["see_all"]))
                yield partial(_execute, connection)
                connection.execute(query(statements("connection")["commit"]))
        finally:
            with suppress(psycopg.Error):  # the first error is the one to raise
                if connection.info.transaction_status is not TransactionStatus.IDLE:
                    connection.execute(query(statements("connection")["rollback"]))
            self._connections.give_back(connection)

    def close(self) -> None:
        """Close the connections."""
        self._connections.close()


def _execute(
    connection: psycopg.Connection[Any], statement: str | sql.Composed, values: Mapping[str, object] | None = None
) -> psycopg.Cursor[Any]:
    trusted = query(statement) if isinstance(statement, str) else statement
    return connection.cursor(binary=True).execute(trusted, values)


def graph_name(pid: int, space: str) -> str:
    """The name of a partition's HNSW index in one space."""
    return f"search_hnsw_{pid}_{hashlib.sha256(space.encode()).hexdigest()[:16]}"


class Graphs:
    """The HNSW indexes of large partitions. A thread builds requested indexes without blocking writers. It drops those
    that are damaged, whose space or partition is gone, or whose partition has at most `least_rows` rows. It has its own
    connection, and ends when no work is left. Only one process does this at a time, because two builds in one table
    wait for each other.
    """

    def __init__(self, target: Target, least_rows: int) -> None:
        self._connections = Connections(replace(target, pool_size=1))
        self._place, self._least_rows = target.place, least_rows
        self._asked: set[str] = set()
        self._queue: list[tuple[str, int, str, int]] = []
        self._is_due = False
        self._thread: threading.Thread | None = None
        self._connection: psycopg.Connection[Any] | None = None
        self._guard, self._closing = threading.Lock(), threading.Event()

    def ask(self, pid: int, space: str, dims: int) -> None:
        """Build a partition's index in one space, unless it was already requested or has failed."""
        name = graph_name(pid, space)
        with self._guard:
            if name not in self._asked and dims <= MOST_GRAPH_DIMS:
                self._asked.add(name)
                self._queue.append((name, pid, space, dims))
                self._start()

    def sweep(self, run: Run) -> None:
        """Drop the indexes that are no longer needed. `run` sees every org."""
        if run(SQL["idle_graphs"], {"least_rows": self._least_rows}).fetchone():
            with self._guard:
                self._is_due = True
                self._start()

    def wait(self) -> None:
        """Wait until nothing is left to do."""
        while (thread := self._thread) is not None and thread.is_alive():
            thread.join()

    def close(self) -> None:
        """Cancel the build, but wait at most `CLOSE_S`. The next building process drops the incomplete index."""
        self._closing.set()
        end = time.monotonic() + CLOSE_S
        while (thread := self._thread) is not None and thread.is_alive() and time.monotonic() < end:
            connection = self._connection
            if connection is not None:
                with suppress(psycopg.Error):  # the statement has just ended
                    connection.cancel_safe(timeout=1.0)
            thread.join(CANCEL_S)  # repeated, because the next statement may have just begun
        self._connections.close()

    def _start(self) -> None:
        if not (self._closing.is_set() or (self._thread is not None and self._thread.is_alive())):
            thread = threading.Thread(target=self._run, name="mnemic-graph", daemon=True)
            thread.start()
            self._thread = thread

    def _run(self) -> None:
        while True:
            try:
                self._work()
            except MnemicError as error:  # exact comparison works without the index
                if not self._closing.is_set():
                    _log.warning("cannot build or drop the HNSW indexes of large partitions: %s", error)
                with self._guard:  # the next search requests the others again
                    self._asked -= {name for name, *_ in self._queue}
                    self._queue, self._is_due = [], False
            with self._guard:
                if self._closing.is_set() or not (self._queue or self._is_due):
                    self._thread = None
                    return

    def _work(self) -> None:
        """Work until nothing is left, or a statement fails. Closing the connection ends its settings and locks."""
        connection = self._connections.begin(statements("connection")["begin_read"])
        try:
            with translated_errors("building an index", self._place):
                connection.execute(query(statements("connection")["commit"]))
                connection.execute(query(SQL["room"]))
                self._connection = connection
                # The lock is polled: a statement that waits for it would hold up the build that it waits for.
                while not _rows(connection, "claim_graphs")[0][0]:
                    if self._closing.wait(POLL_S):
                        return
                while (step := self._next()) is not None and not self._closing.is_set():
                    self._do(connection, *step)
        finally:
            self._connection = None
            connection.close()
            self._connections.give_back(connection)

    def _next(self) -> tuple[str, int, str, int] | tuple[()] | None:
        """The next index to build, after dropping what is not needed. Empty: only drop. None: nothing is left."""
        with self._guard:
            if self._is_due:
                self._is_due = False
                return ()
            return self._queue.pop(0) if self._queue else None

    def _do(self, connection: psycopg.Connection[Any], *step: Any) -> None:
        for (name,) in _rows(connection, "idle_graphs", {"least_rows": self._least_rows}):
            connection.execute(sql.SQL(query(SQL["remove_graph"])).format(name=sql.Identifier(name)))
        if step:
            name, pid, space, dims = step
            parts = {"pid": sql.Literal(pid), "space": sql.Literal(space), "dims": sql.Literal(dims)}
            connection.execute(sql.SQL(query(SQL["make_graph"])).format(name=sql.Identifier(name), **parts))
            with self._guard:
                self._asked.discard(name)  # it may be dropped, and requested again
                self._is_due = True  # the partition may have been erased during the build


def _rows(connection: psycopg.Connection[Any], statement: str, values: Mapping[str, object] | None = None) -> list[Any]:
    return connection.execute(query(SQL[statement]), values).fetchall()
