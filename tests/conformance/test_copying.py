"""Both real stores keep the contract of copying, and take each other's copies."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from itertools import count
from pathlib import Path

import pytest

from mnemic.adapters.stores.postgres import PostgresStore
from mnemic.adapters.stores.sqlite import SqliteStore
from mnemic.errors import UnavailableError, UnsupportedError
from mnemic.ports.store import PASSING_TABLES, Store
from mnemic.testing.samples import a_memory, add_memories
from mnemic.testing.store_copying import CopyingContract, copier, nothing_kept, rows_of, unheard, used, written

MakePostgres = Callable[..., PostgresStore]


@pytest.fixture
def make_sqlite(tmp_path: Path) -> Callable[[], SqliteStore]:
    numbers = count(1)
    return lambda: SqliteStore(tmp_path / f"{next(numbers)}.db", lock_wait_s=0.2)


@pytest.mark.requirement("P-30")
class TestSqliteCopying(CopyingContract):
    @pytest.fixture
    def make_store(self, make_sqlite: Callable[[], SqliteStore]) -> Callable[[], SqliteStore]:
        return make_sqlite

    @pytest.fixture
    def store(self, make_sqlite: Callable[[], SqliteStore]) -> Iterator[SqliteStore]:
        store = make_sqlite()
        yield store
        store.close()


@pytest.mark.requirement("P-30")
class TestPostgresCopying(CopyingContract):
    @pytest.fixture
    def make_store(self, make_postgres: MakePostgres) -> MakePostgres:
        return make_postgres

    @pytest.fixture
    def store(self, make_postgres: MakePostgres) -> Iterator[PostgresStore]:
        store = make_postgres()
        yield store
        store.close()


@pytest.mark.requirement("P-30")
def test_rows_go_from_sqlite_to_postgres_and_back_unchanged(
    make_sqlite: Callable[[], SqliteStore], make_postgres: MakePostgres, tmp_path: Path
):
    first, server, last = make_sqlite(), make_postgres(), make_sqlite()
    used(first)
    copier(server).take_copy(written(first, tmp_path / "out.db"), nothing_kept, unheard)
    copier(last).take_copy(written(server, tmp_path / "back.db"), nothing_kept, unheard)
    assert rows_of(server) == rows_of(first)
    assert rows_of(last) == rows_of(first)
    for store in (first, server, last):
        store.close()


@pytest.mark.requirement("P-30")
def test_every_table_of_either_store_is_carried(
    make_sqlite: Callable[[], SqliteStore], make_postgres: MakePostgres, tmp_path: Path
):
    first, server, last = make_sqlite(), make_postgres(), make_sqlite()
    used(first)
    first.close()
    write_a_row_where_there_is_none(first.path)
    assert all(count_rows(first.path).values())
    first = SqliteStore(first.path)
    copier(server).take_copy(written(first, tmp_path / "out.db"), nothing_kept, unheard)
    copier(last).take_copy(written(server, tmp_path / "back.db"), nothing_kept, unheard)
    counts = count_rows(first.path)
    assert count_rows(last.path) == {**counts, **dict.fromkeys(PASSING_TABLES, 0)}
    for store in (first, server, last):
        store.close()


def write_a_row_where_there_is_none(path: Path) -> None:
    """Into every empty table of a store, referring to rows that are there."""
    values = {"TEXT": "x", "INTEGER": 1, "REAL": 0.5, "BLOB": b"\0\0\0\0"}
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("INSERT OR IGNORE INTO spaces VALUES ('x', 1)")
        for table in [table for table, number in count_rows(path).items() if not number]:
            columns = connection.execute(f"PRAGMA table_info({table})").fetchall()
            row = {name: values[kind] for _, name, kind, *_ in columns}
            references = connection.execute(f"PRAGMA foreign_key_list({table})").fetchall()
            for _, _, other, name, to, *_ in sorted(references, key=lambda each: (each[2] != "partitions", each[:2])):
                known = to or ("pid" if other == "partitions" else name)
                row[name] = connection.execute(f"SELECT {known} FROM {other}").fetchone()[0]  # noqa: S608 -- ours too
            marks = ", ".join("?" for _ in row)
            connection.execute(f"INSERT INTO {table} VALUES ({marks})", [*row.values()])  # noqa: S608 -- our own names
        connection.commit()


def count_rows(path: Path) -> dict[str, int]:
    """The rows of every table."""
    with closing(sqlite3.connect(path)) as connection:
        found = connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%'")
        names = [row[0] for row in found]
        count_of = "SELECT count(*) FROM {}"
        return {name: connection.execute(count_of.format(name)).fetchone()[0] for name in names}


def test_who_writes_while_rows_are_replaced_waits_and_then_writes_into_the_new_ones(
    make_postgres: MakePostgres, tmp_path: Path
):
    store = make_postgres()
    add_memories(store, a_memory("tea"))
    path = written(store, tmp_path / "copy.db")
    other = make_postgres(store.schema, lock_wait_s=0.1)
    refused: list[str] = []

    def write(_done: int, _total: int) -> None:
        if not refused:
            with pytest.raises(UnavailableError) as raised:
                add_memories(other, a_memory("coffee"))
            refused.append(str(raised.value))
            with other.read() as work:  # who reads is not kept waiting
                assert work.partitions.all()

    copier(store).take_copy(path, nothing_kept, write)
    assert "try again" in refused[0]
    assert add_memories(other, a_memory("coffee")) == [True]
    other.close()
    store.close()


def test_a_copy_with_rows_that_a_store_has_no_place_for_is_refused(
    make_sqlite: Callable[[], SqliteStore], make_postgres: MakePostgres, tmp_path: Path
):
    path = written(make_sqlite(), tmp_path / "copy.db")
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript("CREATE TABLE strange (x INTEGER) STRICT; INSERT INTO strange VALUES (1);")
    store: Store = make_postgres()
    with pytest.raises(UnsupportedError, match="strange"):
        copier(store).take_copy(path, nothing_kept, unheard)
    store.close()
