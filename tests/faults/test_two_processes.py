"""Several processes use one SQLite file at once."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from mnemic.adapters.stores.sqlite import SqliteStore
from mnemic.errors import UnavailableError
from mnemic.testing.samples import a_memory, add_memories, version_of
from mnemic.testing.store_units import texts
from tests.faults.conftest import StoreProcess

PROCESSES = 8
WAIT_S = 10
Start = Callable[[], StoreProcess]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "memory.db"


@pytest.mark.requirement("P-21")
def test_two_processes_read_each_others_writes_at_once(path: Path, start: Start):
    here, there = SqliteStore(path), start()
    there.ask("open", path, WAIT_S)
    for number in range(20):
        add_memories(here, a_memory(f"here {number}", id=f"here-{number}"))
        assert f"here {number}" in there.texts()
        assert there.ask("add", "there", number) == "True"
        assert f"there {number}" in texts(here)
    assert version_of(here) == 40
    here.close()


@pytest.mark.requirement("J-51", "J-52", "P-21")
def test_processes_that_add_one_dedup_key_at_once_leave_one_row_and_get_no_error(path: Path, start: Start):
    SqliteStore(path).close()
    processes = [start() for _ in range(2)]
    for process in processes:
        process.ask("open", path, WAIT_S)
    for number in range(50):
        for process in processes:
            process.tell("add", "tea", number)
        assert sorted(process.hear() for process in processes) == ["False", "True"]
    assert len(processes[0].texts()) == 50


@pytest.mark.parametrize("command", ["move", "run"])
def test_of_processes_that_move_one_cursor_or_start_one_run_at_once_exactly_one_does(
    path: Path, start: Start, command: str
):
    SqliteStore(path).close()
    processes = [start() for _ in range(2)]
    for process in processes:
        process.ask("open", path, WAIT_S)
    for number in range(25):
        for process in processes:
            process.tell(command, number, *([number + 1] if command == "move" else []))
        assert sorted(process.hear() for process in processes) == ["False", "True"]


@pytest.mark.requirement("P-21")
def test_a_writer_waits_for_the_lock_of_another_process(path: Path, start: Start):
    holder, waiting = start(), start()
    holder.ask("open", path, WAIT_S)
    waiting.ask("open", path, WAIT_S)
    assert holder.ask("hold", "first") == "ok"
    waiting.tell("add", "second")
    assert holder.ask("release") == "ok"
    assert waiting.hear() == "True"
    assert sorted(holder.texts()) == ["first", "second"]


@pytest.mark.requirement("P-21")
def test_a_writer_that_has_waited_long_enough_is_told_that_the_store_is_locked(path: Path, start: Start):
    here, holder = SqliteStore(path, lock_wait_s=0.01), start()
    holder.ask("open", path, WAIT_S)
    holder.ask("hold", "first")
    with pytest.raises(UnavailableError, match="locked by another process"):
        add_memories(here, a_memory("second"))
    assert texts(here) == []  # readers never wait
    holder.ask("release")
    assert texts(here) == ["first"]
    assert add_memories(here, a_memory("second")) == [True]
    here.close()


@pytest.mark.requirement("P-21")
def test_processes_that_open_a_new_file_at_the_same_moment_all_get_a_working_store(tmp_path: Path, start: Start):
    processes = [start() for _ in range(PROCESSES)]
    for attempt in range(10):
        path = tmp_path / f"{attempt}.db"
        for process in processes:
            process.tell("open", path, WAIT_S)
        assert [process.hear() for process in processes] == ["ok"] * PROCESSES
        for number, process in enumerate(processes):
            assert process.ask("add", "note", number) == "True"
        assert len(processes[0].texts()) == PROCESSES
        with closing(sqlite3.connect(path)) as connection:
            assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
            assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
