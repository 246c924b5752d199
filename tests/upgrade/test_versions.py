"""Files of every earlier version, with a row in every table they had: opened, brought up to date, and answering."""

from __future__ import annotations

import shutil
import sqlite3
import struct
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from mnemic import Mnemic
from mnemic.adapters.stores.sqlite import SqliteStore
from mnemic.adapters.stores.sqlite.session import APPLICATION_ID, migrations
from mnemic.config import Config
from mnemic.errors import ConfigError
from tests.upgrade.old_backup import pack
from tests.upgrade.old_rows import ANNA, KNOWN, READ, ROWS, SAID

VERSIONS = [number for number, _ in migrations()]
NEWEST = VERSIONS[-1]
LAST_PAGES = 15
CHILD = """
import sys
from mnemic.adapters.stores.sqlite import store

whole = store._split

def broken_off(script):
    for statement in whole(script):
        yield statement
    print("in the middle", flush=True)
    if script == store.session.migrations()[-1][1]:
        sys.stdin.read()

store._split = broken_off
store.SqliteStore(sys.argv[1])
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "memory.db"


def make_old(path: Path, version: int) -> None:
    """A file as this version left it, with its rows."""
    with closing(sqlite3.connect(path)) as connection:
        for number, script in migrations():
            if number <= version:
                connection.executescript(script)
        for table, since, row in ROWS:
            if since <= version:
                values = [struct.pack("<2f", *value) if isinstance(value, tuple) else value for value in row.values()]
                marks = ", ".join("?" for _ in values)
                connection.execute(f"INSERT INTO {table} ({', '.join(row)}) VALUES ({marks})", values)  # noqa: S608 -- ours
        connection.execute(f"PRAGMA user_version = {version}")
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute("PRAGMA journal_mode = WAL")
        connection.commit()


def rows_of(path: Path, version: int) -> dict[str, list[object]]:
    """What the rows of a version hold, in the columns that it wrote."""
    with closing(sqlite3.connect(path)) as connection:
        return {
            table: connection.execute(f"SELECT {', '.join(row)} FROM {table}").fetchall()  # noqa: S608 -- ours
            for table, since, row in ROWS
            if since <= version
        }


def schema_of(path: Path) -> tuple[int, set[str]]:
    """The version and what there is."""
    with closing(sqlite3.connect(path)) as connection:
        names = {row[0] for row in connection.execute("SELECT name FROM sqlite_schema")}
        return connection.execute("PRAGMA user_version").fetchone()[0], names


def assert_answers(memory: Mnemic, version: int) -> None:
    """What was kept is found, and more can be kept."""
    found = {hit.text for hit in memory.recall(ANNA, "who keeps a lighthouse of oak?", limit=10)}
    assert found == {SAID, KNOWN} | ({READ} if version >= 4 else set())
    if 4 <= version < LAST_PAGES:
        assert [each.last_page for each in memory.documents.passages(ANNA, "d1")] == [3]
    assert memory.profile.all(ANNA).static == {"name": "Anna"} or memory.profile.format(ANNA)
    assert [entry.id for entry in memory.history(ANNA, "known")] == ["h1"]
    memory.capture(ANNA, user="And a later word")
    assert [message.text for message in memory.window(ANNA)][-1] == "And a later word"
    memory.remember(ANNA, "Anna sails")
    assert memory.erase(ANNA).counts["messages"] == 2


@pytest.mark.requirement("P-30")
@pytest.mark.parametrize("version", VERSIONS)
def test_a_store_of_each_version_opens_keeps_every_row_and_answers(path: Path, version: int):
    make_old(path, version)
    before = rows_of(path, version)
    assert all(before.values())
    SqliteStore(path).close()
    assert rows_of(path, version) == before
    fresh = path.with_name("fresh.db")
    SqliteStore(fresh).close()
    assert schema_of(path) == schema_of(fresh)
    with Mnemic.open(Config(store=str(path), embedder="none")) as memory:
        assert_answers(memory, version)


@pytest.mark.requirement("P-30")
@pytest.mark.parametrize("version", VERSIONS[:-1])
def test_an_upgrade_that_is_killed_in_the_middle_leaves_the_old_version_and_is_done_by_the_next(
    path: Path, version: int
):
    make_old(path, version)
    before, old = rows_of(path, version), schema_of(path)
    process = subprocess.Popen(
        [sys.executable, "-c", CHILD, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    for _ in range(NEWEST - version):
        assert process.stdout.readline() == "in the middle\n"
    process.kill()
    process.communicate()
    assert (schema_of(path), rows_of(path, version)) == (old, before)
    SqliteStore(path).close()
    assert schema_of(path)[0] == NEWEST
    assert rows_of(path, version) == before


@pytest.mark.requirement("P-30")
@pytest.mark.parametrize("version", VERSIONS)
def test_a_backup_with_the_rows_of_each_version_restores(path: Path, version: int, tmp_path: Path):
    make_old(path, version)
    old = tmp_path / "old.zip"
    pack(path, old, version)
    with Mnemic.open(Config(store=str(tmp_path / "new.db"), embedder="none")) as memory:
        assert memory.restore(old).counts["memories"] == 1
        assert_answers(memory, version)


@pytest.mark.requirement("P-30")
def test_a_store_of_a_newer_version_is_refused_and_left_byte_for_byte(path: Path):
    make_old(path, NEWEST)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"PRAGMA user_version = {NEWEST + 1}")
    before = {each.name: each.read_bytes() for each in path.parent.iterdir()}
    with pytest.raises(ConfigError, match=r"newer version of Mnemic .*pip install --upgrade mnemic"):
        Mnemic.open(Config(store=str(path), embedder="none"))
    assert {each.name: each.read_bytes() for each in path.parent.iterdir()} == before


def test_an_old_file_may_be_copied_by_hand_and_opened_twice(path: Path):
    make_old(path, 1)
    shutil.copy(path, path.with_name("copy.db"))
    for each in (path, path.with_name("copy.db")):
        SqliteStore(each).close()
    assert rows_of(path, 1) == rows_of(path.with_name("copy.db"), 1)
