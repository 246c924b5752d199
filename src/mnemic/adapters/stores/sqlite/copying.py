"""Copies all rows to a file of the store's own kind and back, for backup, restore and copy."""

import sqlite3
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path
from tempfile import TemporaryDirectory

from mnemic.adapters.stores.checks import new_age
from mnemic.adapters.stores.sqlite.session import APPLICATION_ID, migrations, statements, translated_errors
from mnemic.errors import InvalidInputError, UnsupportedError
from mnemic.ports.store import LOG_TABLES, PASSING_TABLES, PLACEMENTS, SHARED_TABLES, Rows, Told, UnitOfWork

_PAGES_AT_ONCE = 1024  # 4 MiB of 4 KiB pages between two reports of progress


def write_pages(connection: sqlite3.Connection, path: Path, told: Told) -> None:
    """Copy a store's pages to a new file. `connection` reads in a transaction, so it sees one moment."""
    connection.execute(statements("copying")["snapshot"])
    with closing(sqlite3.connect(path)) as copy:

        def reached(_status: int, left: int, total: int) -> None:
            told(total - left, total)

        connection.backup(copy, pages=_PAGES_AT_ONCE, progress=reached)
        copy.executescript(statements("copying")["settled"])
        tables = {name: columns for name, columns in list_tables(copy).items() if name not in LOG_TABLES}
        for name in sorted({*tables} - {*PASSING_TABLES, *SHARED_TABLES}, key=lambda name: name == "partitions"):
            drop = statements("copying")[f"drop_absent_{rows_statement(name, tables[name])}"]
            copy.execute(drop.format(table=_quote_name(name)))
        for name in PASSING_TABLES:
            copy.execute(statements("copying")["empty"].format(table=_quote_name(name)))
        copy.commit()


def check_copy(path: Path) -> None:
    """Raise `InvalidInputError` for a file with dangling references, triggers and the like: we never write these."""
    sql = statements("copying")
    with translated_errors("checking a copy"), closing(sqlite3.connect(path)) as connection:
        foreign = connection.execute(sql["foreign_objects"]).fetchone()
        if foreign is not None:
            raise InvalidInputError(f"the copy contains the {foreign[0]} {foreign[1]}, which does not belong to Mnemic")
        broken = connection.execute(sql["broken_references"]).fetchone()
        if broken is not None:
            raise InvalidInputError(f"{broken[1]} rows in {broken[0]} refer to missing rows")


def attach(connection: sqlite3.Connection, path: Path) -> None:
    """Attach the copy at `path` to a connection without an open transaction."""
    connection.execute(statements("copying")["references_unchecked"])  # the copy's were checked, and order would matter
    connection.execute(statements("copying")["attach"], {"path": str(path)})


def replace_rows(connection: sqlite3.Connection, kept: Collection[str], told: Told) -> None:
    """Replace all rows with the attached copy's, except tables to keep, in the open transaction."""
    sql = statements("copying")
    tables = list_tables(connection, "main")
    if tables != list_tables(connection, "taken"):
        raise InvalidInputError("the copy's tables differ from this store's; upgrade the older one first")
    version = new_age(int(connection.execute(sql["newest"]).fetchone()[0]))
    names = [name for name in tables if name not in (*kept, PLACEMENTS)]
    sizes = {name: int(connection.execute(name_table("count", "taken", name)).fetchone()[0]) for name in names}
    done, total = 0, sum(sizes.values())
    for name in names:
        connection.execute(sql["empty"].format(table=_quote_name(name)))
        connection.execute(sql["fill"].format(table=_quote_name(name)))
        done += sizes[name]
        told(done, total)
    connection.execute(sql["new_versions"], {"version": version})
    connection.execute(sql["new_floor"], {"version": version})


class CopyFile:
    """The rows of a copy by table, for stores of another kind. The file must be a store of this version."""

    def __init__(self, path: Path) -> None:
        self._connection = sqlite3.connect(path, isolation_level=None)
        self._connection.executescript(statements("copying")["quick"])
        self.tables: Mapping[str, Sequence[str]] = list_tables(self._connection, "main")
        self._ordered = {str(row[0]) for row in self._connection.execute(statements("copying")["by_key"])}

    def count(self, table: str) -> int:
        return int(self._connection.execute(name_table("count", "main", table)).fetchone()[0])

    def rows(self, table: str, columns: Sequence[str]) -> Iterator[tuple[object, ...]]:
        """The rows of a table in insertion order."""
        order = (
            "seq" if "seq" in self.tables[table] else _list_names(columns[:1]) if table in self._ordered else "rowid"
        )
        sql = statements("copying")["read"].format(table=_quote_name(table), columns=_list_names(columns), order=order)
        return iter(self._connection.execute(sql))

    def fill(self, table: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
        """Replace a table's rows."""
        with translated_errors("writing a copy"):
            self._connection.execute(statements("connection")["begin_write"])
            self._connection.execute(statements("copying")["empty"].format(table=_quote_name(table)))
            self._add(table, columns, rows)
            self._connection.execute(statements("connection")["commit"])

    def take(self, pieces: Iterable[tuple[str, Sequence[str], Sequence[Sequence[object]]]]) -> None:
        """Replace all rows, given as blocks of a table's rows."""
        with translated_errors("writing a copy"):
            self._connection.execute(statements("connection")["begin_write"])
            for table in self.tables:
                self._connection.execute(statements("copying")["empty"].format(table=_quote_name(table)))
            for table, columns, rows in pieces:
                if not {*columns} <= {*self.tables.get(table, ())}:
                    raise InvalidInputError(f"the store has no table {table} with these columns")
                self._add(table, columns, rows)
            self._connection.execute(statements("connection")["commit"])

    def _add(self, table: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
        self._connection.executemany(add_statement(table, columns), rows)

    def close(self) -> None:
        self._connection.close()


class SqliteRows:
    """The `Rows` port over a transaction that reads."""

    def __init__(
        self, connection: sqlite3.Connection, work: UnitOfWork, without: Collection[str], absent: Collection[str] = ()
    ) -> None:
        self._connection, self.work, self._absent = connection, work, absent
        tables = list_tables(connection, "main")
        self.tables = {name: columns for name, columns in tables.items() if name not in without}

    @property
    def keys(self) -> Mapping[str, Sequence[str]]:
        return list_keys()

    def orgs(self) -> list[str]:
        sql = statements("copying")["orgs"]
        named = [table for table, columns in self.tables.items() if "org" in columns]
        return sorted({str(row[0]) for name in named for row in self._connection.execute(sql.format(table=name))})

    def count(self) -> int:
        counting = (self._connection.execute(name_table("count", "main", table)).fetchone() for table in self.tables)
        return sum(int(row[0]) for row in counting)

    def of(self, table: str, org: str | None) -> Iterator[Sequence[object]]:
        if org in self._absent and table not in LOG_TABLES:
            return
        columns = self.tables[table]
        sql = statements("copying")[rows_statement(table, columns)]
        if "seq" in columns:
            sql += " " + statements("copying")["in_order"]
        yield from self._connection.execute(
            sql.format(columns=_list_names(columns), table=_quote_name(table)), {"org": org}
        )


def rows_statement(table: str, columns: Collection[str]) -> str:
    """The name of the statement that reads the rows of one org, in both kinds of stores. Raises `UnsupportedError` for
    a table whose rows cannot be assigned to orgs.
    """
    if table in SHARED_TABLES:
        return "all_rows"
    found = [name for name in ("pid", "org") if name in columns and (name, table) != ("pid", "partitions")]
    if not found:
        raise UnsupportedError(f"cannot determine which org owns the rows in {table}", capability="sealed backup")
    return f"rows_by_{found[0]}"


def make_empty(path: str | Path, version: int) -> None:
    """Create an empty store at `path`, as of the migration `version`."""
    sql = statements("connection")
    with translated_errors(f"making {path}"), closing(sqlite3.connect(path)) as connection:
        connection.executescript(statements("copying")["quick"])
        for number, script in migrations():
            if number <= version:
                connection.executescript(script)
        connection.execute(sql["mark"].format(version=version))
        connection.execute(sql["sign"].format(application_id=APPLICATION_ID))
        connection.commit()


def list_tables(connection: sqlite3.Connection, schema: str = "main") -> dict[str, tuple[str, ...]]:
    """The columns of every table, in order."""
    sql = statements("copying")
    names = [str(row[0]) for row in connection.execute(sql["tables"].format(schema=schema))]
    return {
        name: tuple(str(row[0]) for row in connection.execute(sql["columns"], {"table": name, "schema": schema}))
        for name in names
    }


@cache
def list_keys() -> Mapping[str, Sequence[str]]:
    """The columns that identify an org's row, by table, referenced tables first. Row numbers are not keys, because
    each store has its own.
    """
    sql, keys = statements("copying"), dict[str, Sequence[str]]()
    with TemporaryDirectory() as folder:
        make_empty(path := Path(folder) / "empty.db", migrations()[-1][0])
        with closing(sqlite3.connect(path)) as connection:
            order = TopologicalSorter[str]()
            for table in list_tables(connection):
                order.add(table, *(row[0] for row in connection.execute(sql["referenced"], {"table": table})))
            for table in order.static_order():
                key = [str(row[0]) for row in connection.execute(sql["primary_key"], {"table": table})]
                if key in (["seq"], ["pid"]):
                    key = [str(row[0]) for row in connection.execute(sql["first_unique"], {"table": table})]
                keys[table] = key
    return {table: key for table, key in keys.items() if table not in (*SHARED_TABLES, PLACEMENTS)}


def name_table(statement: str, schema: str, table: str) -> str:
    """A statement about one table of a schema."""
    return statements("copying")[statement].format(schema=schema, table=_quote_name(table))


def add_statement(table: str, columns: Sequence[str]) -> str:
    """The statement that inserts one row."""
    values = ", ".join("?" for _ in columns)
    return statements("copying")["add"].format(table=_quote_name(table), columns=_list_names(columns), values=values)


def _list_names(names: Iterable[str]) -> str:
    return ", ".join(_quote_name(name) for name in names)


def _quote_name(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


_: type[Rows] = SqliteRows
