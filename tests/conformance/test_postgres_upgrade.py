"""Schemas of every earlier version, with a row in every table they had: opened, brought up to date, and answering."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import psycopg
import pytest
from psycopg import sql

from mnemic.adapters.stores.postgres import PostgresStore
from mnemic.adapters.stores.postgres.connections import migrations, query
from mnemic.errors import ConfigError
from mnemic.testing.store_copying import rows_of
from tests.upgrade.old_rows import KNOWN, ROWS

NEWEST = migrations()[-1][0]
LAST_PAGES = 18
SINCE = {1: 2, 2: 4, 4: 5, 5: 6, 6: 7}
"""The version of a schema that has what came with a version of the file."""
VERSIONS = range(2, NEWEST + 1)

CHILD = """
import sys
from mnemic.adapters.stores.postgres import migration, store

run = migration._run

def broken_off(connection, number, script, place):
    run(connection, number, script, place)
    print("in the middle", flush=True)
    if number == migration.migrations()[-1][0]:
        sys.stdin.read()

migration._run = broken_off
store.PostgresStore(sys.argv[1], schema=sys.argv[2])
"""


@pytest.fixture
def schema(ordinary_url: str) -> Iterator[str]:
    """The name of a schema that is gone after the test."""
    name = f"old_{os.getpid()}"
    yield name
    with psycopg.connect(ordinary_url, autocommit=True) as connection:
        connection.execute(sql.SQL("DROP SCHEMA IF EXISTS {} CASCADE").format(sql.Identifier(name)))


def connected(url: str, schema: str) -> psycopg.Connection:
    """A connection that sees the schema, and the rows of every org in it."""
    return psycopg.connect(url, options=f"-c search_path={schema},public -c mnemic.every_org=on")


def make_old(url: str, schema: str, version: int) -> None:
    """A schema as this version left it, with its rows."""
    with connected(url, schema) as connection:
        connection.execute(sql.SQL("CREATE SCHEMA {}").format(sql.Identifier(schema)))
        connection.execute("CREATE TABLE schema_version (version integer PRIMARY KEY, at timestamptz DEFAULT now())")
        for number, script in migrations():
            if number <= version:
                connection.execute(query(script))
                connection.execute("INSERT INTO schema_version (version) VALUES (%s)", [number])
        for table, row in rows_since(version).items():
            columns = sql.SQL(", ").join(map(sql.Identifier, row))
            marks = sql.SQL(", ").join(sql.Placeholder() for _ in row)
            statement = sql.SQL("INSERT INTO {} ({}) OVERRIDING SYSTEM VALUE VALUES ({})")
            connection.execute(statement.format(sql.Identifier(table), columns, marks), [*row.values()])
        connection.execute("SELECT setval(pg_get_serial_sequence('partitions', 'pid'), 1)")


def rows_since(version: int) -> dict[str, Mapping[str, object]]:
    """The rows of a version, in PostgreSQL's own forms."""
    found: dict[str, Mapping[str, object]] = {}
    for table, since, row in ROWS:
        if SINCE[since] <= version:
            own = {name: json.dumps(value) if isinstance(value, tuple) else value for name, value in row.items()}
            if "pid" in own:
                own["org"] = "acme"
            if table == "memories":
                own |= {"categories": json.loads(str(own["categories"])), "filterable": own["metadata"]}
            found[table] = own
    return found


def kept(url: str, schema: str, version: int) -> dict[str, list[tuple[object, ...]]]:
    """What the rows of a version hold, in the columns that it wrote."""
    with connected(url, schema) as connection:
        statement = sql.SQL("SELECT {} FROM {}")
        return {
            table: connection.execute(
                statement.format(sql.SQL(", ").join(map(sql.Identifier, row)), sql.Identifier(table))
            ).fetchall()
            for table, row in rows_since(version).items()
        }


def number_of(url: str, schema: str) -> int:
    with connected(url, schema) as connection:
        row = connection.execute("SELECT max(version) FROM schema_version").fetchone()
        return 0 if row is None else row[0]


def fields_in(value: Any) -> list[tuple[str, object]]:
    """The fields of every noun in a value, however deep, by name."""
    if is_dataclass(value):
        own = [(each.name, getattr(value, each.name)) for each in fields(value)]
        return own + [deeper for _, inner in own for deeper in fields_in(inner)]
    inside: Any = [*value.keys(), *value.values()] if isinstance(value, Mapping) else value
    many: list[Any] = list(inside) if isinstance(inside, list | tuple) else []  # pyright: ignore[reportUnknownArgumentType]
    return [deeper for inner in many for deeper in fields_in(inner)]


@pytest.mark.requirement("P-30")
@pytest.mark.parametrize("version", VERSIONS)
def test_a_schema_of_each_version_opens_keeps_every_row_and_answers(ordinary_url: str, schema: str, version: int):
    make_old(ordinary_url, schema, version)
    before = kept(ordinary_url, schema, version)
    assert all(before.values())
    store = PostgresStore(ordinary_url, schema=schema)
    assert (number_of(ordinary_url, schema), kept(ordinary_url, schema, version)) == (NEWEST, before)
    state = rows_of(store)
    assert KNOWN in repr(state)
    assert (("last_page", 3) in fields_in(state)) == (SINCE[4] <= version < LAST_PAGES)
    with store.write() as work:
        (partition,) = work.partitions.all()
        assert work.erasure.wipe(partition)["memories"] == 1
    store.close()


@pytest.mark.requirement("P-30")
@pytest.mark.parametrize("version", [2, NEWEST - 1])
def test_an_upgrade_that_is_killed_in_the_middle_leaves_the_old_version_and_is_done_by_the_next(
    ordinary_url: str, schema: str, version: int
):
    make_old(ordinary_url, schema, version)
    before = kept(ordinary_url, schema, version)
    command = [sys.executable, "-c", CHILD, ordinary_url, schema]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    for _ in range(NEWEST - version):
        assert process.stdout.readline() == "in the middle\n"
    process.kill()
    process.communicate()
    assert number_of(ordinary_url, schema) == version
    PostgresStore(ordinary_url, schema=schema).close()
    assert (number_of(ordinary_url, schema), kept(ordinary_url, schema, version)) == (NEWEST, before)


@pytest.mark.requirement("P-30")
def test_a_schema_of_a_newer_version_is_refused_and_its_rows_are_left(ordinary_url: str, schema: str):
    make_old(ordinary_url, schema, NEWEST)
    before = kept(ordinary_url, schema, NEWEST)
    with connected(ordinary_url, schema) as connection:
        connection.execute("INSERT INTO schema_version (version) VALUES (9999)")
    with pytest.raises(ConfigError, match=r"newer version of Mnemic .*pip install --upgrade mnemic"):
        PostgresStore(ordinary_url, schema=schema)
    assert kept(ordinary_url, schema, NEWEST) == before
