"""The connections of the PostgreSQL search index, and its HNSW indexes."""

import hashlib
import logging
import struct
import threading
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
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

    @contextmanager
    def alone(self) -> Generator[psycopg.Connection[Any]]:
        """A connection outside transactions. It is closed afterwards, which ends its settings and locks."""
        connection = self._connections.begin(statements("connection")["begin_read"])
        try:
            with translated_errors("building a graph", self.place):
                connection.execute(query(statements("connection")["commit"]))
                connection.execute(query(SQL["room"]))
                yield connection
        finally:
            connection.close()
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
    """Builds the HNSW indexes of large partitions in a thread, without blocking writers. One process builds each."""

    def __init__(self, link: Link) -> None:
        self._link = link
        self._asked: set[str] = set()
        self._threads: list[threading.Thread] = []
        self._guard = threading.Lock()

    def ask(self, pid: int, space: str, dims: int) -> None:
        """Build a partition's index in one space, unless this was requested before."""
        name = graph_name(pid, space)
        with self._guard:
            if name in self._asked or dims > MOST_GRAPH_DIMS:
                return
            self._asked.add(name)
            thread = threading.Thread(
                target=self._build, args=(name, pid, space, dims), name="mnemic-graph", daemon=True
            )
            self._threads = [*(each for each in self._threads if each.is_alive()), thread]
            thread.start()

    def wait(self) -> None:
        """Wait until all indexes are built."""
        for thread in self._threads:
            thread.join()

    def _build(self, name: str, pid: int, space: str, dims: int) -> None:
        parts = {"name": sql.Identifier(name), "pid": sql.Literal(pid), "space": sql.Literal(space)}
        try:
            with self._link.alone() as connection:
                if not _value(connection, "claim_graph", name):
                    return
                if _value(connection, "is_damaged", name):
                    connection.execute(sql.SQL(query(SQL["remove_graph"])).format(**parts))
                connection.execute(sql.SQL(query(SQL["make_graph"])).format(dims=sql.Literal(dims), **parts))
        except MnemicError as error:  # exact comparison works without the index
            _log.warning("cannot build an HNSW index of a large partition: %s", error)


def _value(connection: psycopg.Connection[Any], statement: str, name: str) -> object:
    row = connection.execute(query(SQL[statement]), {"name": name}).fetchone()
    return None if row is None else row[0]
