"""Copies all rows of the store to a file of the embedded store and back, for backup, restore and copy. Tables and
columns are read from both sides, so that a migration needs no line here.
"""

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import cache
from graphlib import TopologicalSorter
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory

from psycopg import Connection, ServerCursor, sql

from mnemic.adapters.stores.checks import new_age
from mnemic.adapters.stores.postgres.connections import query, statements, to_json
from mnemic.adapters.stores.postgres.session import Session
from mnemic.adapters.stores.sql.moving import SqlTransfer
from mnemic.adapters.stores.sqlite.copying import CopyFile, list_keys, make_empty, rows_statement
from mnemic.adapters.stores.sqlite.session import Session as SqliteSession
from mnemic.adapters.stores.sqlite.session import migrations
from mnemic.adapters.stores.sqlite.store import SqliteStore
from mnemic.errors import UnsupportedError
from mnemic.model.columns import Row, dumps
from mnemic.model.scope import Partition
from mnemic.ports.store import LOG_TABLES, PASSING_TABLES, PLACEMENTS, SHARED_TABLES, Rows, Told, UnitOfWork

_ROWS_AT_ONCE = 1000  # bounds memory: 1,000 vectors of 384 numbers are 1.5 MB
_OWN = {"org", "filterable", "filterable_bookkeeping"}
"""Columns that follow from others, if the copy lacks them."""

_See = Callable[[Connection[Row]], None]
_NUMBER = "seq"  # insertion order; each store has its own numbers
_PARTITIONS = "partitions"


@dataclass(frozen=True, slots=True)
class _Column:
    name: str
    type: str
    is_numbered: bool


@dataclass(frozen=True, slots=True)
class _Schema:
    """The tables here with their columns, referenced tables first."""

    tables: Mapping[str, Sequence[_Column]]

    def shared(self, copied: Mapping[str, Sequence[str]], table: str) -> list[_Column]:
        """The columns of both sides. Raises `UnsupportedError` if one has values that the other cannot store."""
        here, there = {column.name for column in self.tables[table]}, {*copied.get(table, ())}
        odd = sorted((here ^ there) - _OWN - {_NUMBER})
        if odd:
            raise UnsupportedError(f"the columns of table {table} differ: {', '.join(odd)}", capability="backup")
        return [column for column in self.tables[table] if column.name in there]


def write_rows(connection: Connection[Row], path: Path, told: Told) -> None:
    """Write the rows of a snapshot transaction, which must see every org, to a new file."""
    SqliteStore(path).close()
    schema = _schema(connection)
    totals = {table: _count(connection, table) for table in schema.tables if table not in PASSING_TABLES}
    done, total = 0, sum(totals.values())
    with closing(CopyFile(path)) as copy:
        for table, rows in totals.items():
            columns = schema.shared(copy.tables, table)
            copy.fill(table, [column.name for column in columns], _read(connection, schema, table, columns))
            done += rows
            told(done, total)


class PostgresRows:
    """The `Rows` port over a snapshot transaction. `see_every_org` lets its next statements see every org."""

    def __init__(
        self,
        connection: Connection[Row],
        work: UnitOfWork,
        see_every_org: _See,
        without: Collection[str],
        absent: Collection[str] = (),
    ) -> None:
        self._connection, self.work, self._see_every_org, self._absent = connection, work, see_every_org, absent
        self._schema = _schema(connection)
        copied = _copied_tables()
        self._columns = {
            table: self._schema.shared(copied, table) for table in self._schema.tables if table not in without
        }
        self._with_org = [table for table in self._columns if "org" in copied[table]]
        self.tables = {table: [column.name for column in columns] for table, columns in self._columns.items()}

    @property
    def keys(self) -> Mapping[str, Sequence[str]]:
        return list_keys()

    def orgs(self) -> list[str]:
        self._see_every_org(self._connection)
        asked = [_fill_statement("orgs", table=sql.Identifier(table)) for table in self._with_org]
        return sorted({str(row[0]) for statement in asked for row in self._connection.execute(statement)})

    def count(self) -> int:
        self._see_every_org(self._connection)
        return sum(_count(self._connection, table) for table in self.tables)

    def of(self, table: str, org: str | None) -> Iterator[Sequence[object]]:
        if org in self._absent and table not in LOG_TABLES:
            return iter(())
        columns = self._columns[table]
        statement = rows_statement(table, self.tables[table])
        asked = _fill_statement(statement, columns=_list_columns(columns), table=sql.Identifier(table))
        if _NUMBER in self.tables[table]:
            asked += sql.SQL(" ") + _fill_statement("in_order")
        self._see_every_org(self._connection)
        return _fetch_rows(self._connection, f"rows_{table}", asked, columns, {"org": org})


def lock_all(connection: Connection[Row]) -> None:
    """Block other writers until the end of the transaction; readers continue. Writers lock partitions first, so this
    does too: otherwise each could wait for the other.
    """
    names = sorted(_schema(connection).tables, key=lambda name: name != _PARTITIONS)
    tables = sql.SQL(", ").join(sql.Identifier(name) for name in names)
    connection.execute(_fill_statement("lock", tables=tables))


def replace_rows(connection: Connection[Row], path: Path, kept: Collection[str], told: Told) -> None:
    """Replace all rows with a copy's, except tables to keep. The open transaction must see every org."""
    with closing(CopyFile(path)) as copy:
        _Taking(connection, copy, _schema(connection)).run(kept, told)


class _Taking:
    """Imports a copy. Partitions get numbers of this store, and their rows use them."""

    def __init__(self, connection: Connection[Row], copy: CopyFile, schema: _Schema) -> None:
        self._connection, self._copy, self._schema = connection, copy, schema
        owned = connection.execute(query(statements("copying")["owned"]))
        self._owned = {(str(table), str(column)) for table, column in owned}
        self._pids: dict[object, int] = {}
        self._orgs: dict[object, object] = {}

    def run(self, kept: Collection[str], told: Told) -> None:
        homeless = sorted(name for name in {*self._copy.tables} - {*self._schema.tables} if self._copy.count(name))
        if homeless:
            raise UnsupportedError(f"the PostgreSQL store has no table for {', '.join(homeless)}", capability="backup")
        names = [name for name in self._schema.tables if name not in (*kept, PLACEMENTS)]
        sizes = {name: self._copy.count(name) for name in names}
        version = new_age(self._newest())
        for name in reversed(names):
            self._connection.execute(_fill_statement("empty", table=sql.Identifier(name)))
        done, total = 0, sum(sizes.values())
        for name in names:
            if name == _PARTITIONS:
                self._add_partitions(version)
            else:
                self._fill(name)
            done += sizes[name]
            told(done, total)
        self._connection.execute(query(statements("copying")["new_floor"]), {"version": version})

    def _newest(self) -> int:
        copied = [*self._copy.rows(_PARTITIONS, ["version"]), *self._copy.rows("erasing", ["floor"])]
        asked = {"copied": max((int(str(row[0])) for row in copied), default=0)}
        row = self._connection.execute(query(statements("copying")["newest"]), asked).fetchone()
        return int(row[0]) if row else 0

    def _add_partitions(self, version: int) -> None:
        rows = self._copy.rows(_PARTITIONS, ["pid", "org", "level", "owner"])
        while some := [*islice(rows, _ROWS_AT_ONCE)]:
            asked = [{"org": org, "level": level, "owner": owner, "version": version} for _, org, level, owner in some]
            with self._connection.cursor() as cursor:
                cursor.executemany(query(statements("copying")["add_partition"]), asked, returning=True)
                made = [result.fetchone() for result in cursor.results()]
            for (pid, org, *_), row in zip(some, made, strict=True):
                self._pids[pid], self._orgs[pid] = int(row[0]) if row else 0, org

    def _fill(self, name: str) -> None:
        shared = [column for column in self._schema.shared(self._copy.tables, name) if not column.is_numbered]
        here = {column.name: column for column in self._schema.tables[name]}
        added = [here[extra] for extra in sorted(_OWN) if extra in here and extra not in self._copy.tables[name]]
        columns = [*shared, *added]
        statement = _fill_statement(
            "fill",
            table=sql.Identifier(name),
            columns=_list_columns(columns),
            values=sql.SQL(", ").join(sql.SQL("%s::") + sql.SQL(query(column.type)) for column in columns),
        )
        rows = self._copy.rows(name, [column.name for column in shared])
        while some := [*islice(rows, _ROWS_AT_ONCE)]:
            given = [dict(zip((column.name for column in shared), row, strict=True)) for row in some]
            values = [self._values(name, row, columns) for row in given]
            with self._connection.cursor() as cursor:
                cursor.executemany(statement, values)

    def _values(self, table: str, row: dict[str, object], columns: Sequence[_Column]) -> list[object]:
        if "pid" in row:
            row["org"] = self._orgs[row["pid"]]
        for name, value in row.items():
            if (table, name) in self._owned and value is not None:
                row[name] = self._pids[value]
        row.update(_to_filterable(row))
        return [_to_column(column.type, row[column.name]) for column in columns]


class PostgresTransfer(SqlTransfer):
    """The `Transfer` port with the columns that only this store has."""

    def __init__(self, work: UnitOfWork, session: Session, org: str, connection: Connection[Row]) -> None:
        super().__init__(work, session, org)
        tables = _schema(connection).tables
        self._types = {table: {each.name: each.type for each in columns} for table, columns in tables.items()}

    def mark(self, table: str, column: str) -> str:
        return f"%({column})s::{self._types[table][column]}"

    def to_row(self, table: str, values: Mapping[str, object]) -> dict[str, object]:
        own = {"org": self._org} if any(isinstance(value, Partition) for value in values.values()) else {}
        row, types = super().to_row(table, {**values, **own, **_to_filterable(values)}), self._types[table]
        return {name: _to_column(types[name], value) for name, value in row.items() if name in types}


def _to_filterable(row: Mapping[str, object]) -> dict[str, object]:
    if "metadata" not in row:
        return {}
    return {
        "filterable": to_json(json.loads(str(row["metadata"]))),
        "filterable_bookkeeping": to_json(json.loads(str(row["bookkeeping"]))),
    }


def _to_column(kind: str, value: object) -> object:
    """A value of the embedded store for PostgreSQL."""
    if value is None:
        return None
    if kind == "vector" and isinstance(value, bytes):
        return Session.to_vector(SqliteSession.from_vector(value))
    if kind == "text[]":
        return json.loads(str(value))
    return bool(value) if kind == "boolean" else value


def _to_copy(kind: str, value: object) -> object:
    """The inverse of `_to_column`."""
    if value is None:
        return None
    if kind == "vector":
        return SqliteSession.to_vector(Session.from_vector(str(value)))
    if kind == "text[]":
        return dumps(value)
    return int(bool(value)) if kind == "boolean" else value


def _read(
    connection: Connection[Row], schema: _Schema, table: str, columns: Sequence[_Column]
) -> Iterator[Sequence[object]]:
    """The rows of a table in insertion order, fetched lazily, without those of absent orgs."""
    statement = _fill_statement("read", table=sql.Identifier(table), columns=_list_columns(columns))
    if table not in (*SHARED_TABLES, *LOG_TABLES):
        statement += sql.SQL(" ") + _fill_statement("without_absent")
    if any(column.name == _NUMBER for column in schema.tables[table]):
        statement += sql.SQL(" ") + _fill_statement("in_order")
    return _fetch_rows(connection, f"copy_{table}", statement, columns)


def _fetch_rows(
    connection: Connection[Row],
    name: str,
    statement: sql.Composed,
    columns: Sequence[_Column],
    asked: Mapping[str, object] | None = None,
) -> Iterator[Sequence[object]]:
    with ServerCursor(connection, name) as cursor:
        cursor.itersize = _ROWS_AT_ONCE
        cursor.execute(statement, asked)
        for row in cursor:
            yield [_to_copy(column.type, value) for column, value in zip(columns, row, strict=True)]


@cache
def _copied_tables() -> Mapping[str, Sequence[str]]:
    """The columns of every table of the embedded store."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "empty.db"
        make_empty(path, migrations()[-1][0])
        with closing(CopyFile(path)) as copy:
            return copy.tables


def _schema(connection: Connection[Row]) -> _Schema:
    named = statements("copying")
    tables: dict[str, list[_Column]] = {}
    for table, name, kind, is_numbered in connection.execute(query(named["columns"])):
        tables.setdefault(table, []).append(_Column(name, kind, is_numbered))
    order = TopologicalSorter[str](dict.fromkeys(tables, ()))
    for table, needed in connection.execute(query(named["references"])):
        order.add(table, needed)
    return _Schema({table: tables[table] for table in order.static_order()})


def _count(connection: Connection[Row], table: str) -> int:
    row = connection.execute(_fill_statement("count", table=sql.Identifier(table))).fetchone()
    return int(row[0]) if row else 0


def _fill_statement(statement: str, **parts: sql.Composable) -> sql.Composed:
    return sql.SQL(query(statements("copying")[statement])).format(**parts)


def _list_columns(columns: Iterable[_Column]) -> sql.Composed:
    return sql.SQL(", ").join(sql.Identifier(column.name) for column in columns)


_: type[Rows] = PostgresRows
