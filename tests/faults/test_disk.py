"""What goes wrong with files: no room, no rights, a foreign or damaged file, a connection that breaks."""

from __future__ import annotations

import json
import shutil
import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace

import pytest

from mnemic import Config, Mnemic, Scope
from mnemic.adapters.stores.sqlite import SqliteStore
from mnemic.adapters.stores.sqlite.file import StoreFile
from mnemic.adapters.stores.sqlite.store import Connection
from mnemic.errors import BackendError, ConfigError, UnavailableError
from mnemic.ports.store import UnitOfWork
from mnemic.testing.observation import state_of
from mnemic.testing.samples import HERS, NOW, a_memory, add_memories
from mnemic.testing.store_units import texts, write_everything
from tests.faults.conftest import StoreProcess

FULL_AT_BYTES = 1_000_000
WAIT_S = 1
Start = Callable[[], StoreProcess]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "memory.db"


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that others may enter too."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


class TracingStore(SqliteStore):
    """Keeps the connections it opens in sight."""

    def __init__(self, path: Path) -> None:
        self.connections: list[Connection] = []
        super().__init__(path)

    def _connect(self) -> Connection:
        self.connections.append(super()._connect())
        return self.connections[-1]


def assert_fails(store: SqliteStore, write: Callable[[UnitOfWork], object]) -> None:
    with pytest.raises(BackendError), store.write() as work:
        write(work)


@pytest.mark.requirement("P-21")
def test_a_full_disk_is_an_error_that_changes_nothing_and_is_over_when_there_is_room(path: Path, start: Start):
    there = start()
    there.ask("open", path, WAIT_S)
    count, error = json.loads(there.ask("fill", FULL_AT_BYTES))
    assert error.startswith("UnavailableError")
    assert "nothing was changed" in error
    assert count > 10
    store = SqliteStore(path)
    assert len(texts(store)) == count
    assert there.ask("add", "there is room again") == "True"
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    store.close()


@pytest.mark.requirement("P-21")
def test_a_database_that_may_not_grow_is_unavailable_and_keeps_its_old_state(path: Path):
    store = TracingStore(path)
    add_memories(store, a_memory("tea"))
    old = state_of(store)
    for connection in store.connections:
        pages = connection.execute("PRAGMA page_count").fetchone()[0]
        connection.execute(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(UnavailableError, match="the disk is full"):
        add_memories(store, a_memory("small"), a_memory("large " * 10_000))
    assert state_of(store) == old
    store.close()


class Disk:
    """How much a disk has free, as the store is told."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.free = 0
        monkeypatch.setattr(shutil, "disk_usage", self.usage)

    def usage(self, _path: Path) -> SimpleNamespace:
        return SimpleNamespace(free=self.free)


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Disk:
    return Disk(monkeypatch)


@pytest.mark.requirement("P-21")
def test_room_is_kept_back_for_erasing_when_the_disk_fills_up(path: Path, disk: Disk):
    reserve = Path(f"{path}-reserve")
    disk.free = 100_000_000
    with closing(SqliteStore(path)) as store:
        add_memories(store, a_memory("tea"))
        reserved = reserve.stat().st_size
        assert reserved >= path.stat().st_size
        assert reserve.stat().st_blocks * 512 >= reserved
        assert reserve.stat().st_mode & 0o077 == 0
        disk.free = 0
        add_memories(store, a_memory("coffee"))
        assert reserve.stat().st_size == reserved  # a write leaves it alone
        with store.write(is_erasing=True) as work:
            assert reserve.stat().st_size == 0
            work.erasure.wipe(HERS)
        assert store.scrub() == ()
        assert reserve.stat().st_size == 0
        disk.free = reserved
        assert store.scrub() == ()
        assert reserve.stat().st_size > 0


def test_no_room_is_kept_back_on_a_disk_with_plenty(path: Path, disk: Disk):
    disk.free = 100_000_000
    with closing(SqliteStore(path)) as store:
        add_memories(store, a_memory("tea"))
        assert Path(f"{path}-reserve").exists()
        disk.free = 100_000_000_000
        add_memories(store, a_memory("coffee"))
        assert not Path(f"{path}-reserve").exists()


def test_an_erasure_gives_up_only_as_much_as_the_disk_lacks(path: Path, disk: Disk):
    disk.free = 100_000_000
    with closing(SqliteStore(path)) as store:
        add_memories(store, a_memory("tea"))
        with store.write(is_erasing=True):
            assert Path(f"{path}-reserve").stat().st_size > 0


def test_every_verb_that_erases_may_use_the_reserve(path: Path, monkeypatch: pytest.MonkeyPatch):
    used: list[StoreFile] = []

    def use(file: StoreFile) -> None:
        used.append(file)

    anna = Scope(user="anna", session="s")
    with Mnemic.open(Config(store=str(path), embedder="none"), has_worker=False) as mnemic:
        memory = mnemic.remember(anna, "Anna likes tea")
        mnemic.ingest(anna, b"It opens at nine.", name="a.md")
        monkeypatch.setattr(StoreFile, "use_reserve", use)
        mnemic.remember(anna, "Anna likes coffee")
        assert not used
        erasing: list[Callable[[], object]] = [
            lambda: mnemic.delete(anna, memory.id),
            lambda: mnemic.documents.delete(anna, "a.md"),
            lambda: mnemic.clear(anna),
            lambda: mnemic.erase(anna),
        ]
        for number, erase in enumerate(erasing, 1):
            erase()
            assert len(used) == number


def test_a_connection_that_breaks_in_the_middle_of_a_unit_of_work_leaves_no_trace(path: Path):
    store = TracingStore(path)
    add_memories(store, a_memory("tea"))
    old = state_of(store)

    def write(work: UnitOfWork) -> None:
        write_everything(work)
        store.connections[-1].close()
        work.memories.touch(HERS, {"m1": 1}, NOW)

    assert_fails(store, write)
    assert state_of(store) == old
    assert add_memories(store, a_memory("coffee")) == [True]
    store.close()


def test_a_connection_that_breaks_before_the_commit_leaves_no_trace(path: Path):
    store = TracingStore(path)

    def write(work: UnitOfWork) -> None:
        write_everything(work)
        store.connections[-1].close()

    assert_fails(store, write)
    assert texts(store) == []
    store.close()


def test_a_statement_that_is_interrupted_leaves_the_old_state(path: Path):
    store = TracingStore(path)
    add_memories(store, a_memory("tea"))
    old = state_of(store)
    steps = 0

    def interrupt_at_the_third() -> int:
        nonlocal steps
        steps += 1
        return steps >= 3

    def write(work: UnitOfWork) -> None:
        store.connections[-1].set_progress_handler(interrupt_at_the_third, 50)
        write_everything(work)

    assert_fails(store, write)
    store.connections[-1].set_progress_handler(None, 0)
    assert state_of(store) == old
    store.close()


def test_another_programs_database_is_refused_and_not_touched(path: Path):
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE theirs (x)")
        connection.commit()
    before = path.read_bytes()
    with pytest.raises(ConfigError, match="another program's database"):
        SqliteStore(path)
    assert path.read_bytes() == before
    assert [file.name for file in path.parent.iterdir()] == [path.name]


def test_a_file_that_is_no_database_is_refused_and_not_touched(path: Path):
    path.write_text("Dear diary, " * 100, encoding="utf-8")
    with pytest.raises(BackendError, match="damaged or not a Mnemic store"):
        SqliteStore(path)
    assert path.read_text(encoding="utf-8") == "Dear diary, " * 100


def test_a_folder_in_place_of_the_file_or_a_file_in_place_of_the_folder_is_told(path: Path):
    path.mkdir()
    with pytest.raises(UnavailableError, match=str(path)):
        SqliteStore(path)
    (path / "file").touch()
    with pytest.raises(ConfigError, match="cannot be created"):
        SqliteStore(path / "file" / "memory.db")


def test_an_empty_file_becomes_a_store(path: Path):
    path.touch()
    store = SqliteStore(path)
    assert add_memories(store, a_memory("tea")) == [True]
    store.close()


@pytest.mark.requirement("P-21")
def test_a_folder_without_the_right_to_write_is_told(open_folder: Path, start: Start):
    path = open_folder / "memory.db"
    SqliteStore(path).close()
    there = start()
    there.ask("open", open_folder / "another.db", WAIT_S)
    open_folder.chmod(0o555)
    there.ask("drop")
    for place in (path, open_folder / "new.db"):
        answer = there.ask("open", place, WAIT_S)
        assert answer.startswith(("BackendError", "UnavailableError"))
        assert str(place) in answer
    path.chmod(0o644)
    assert there.ask("open", path, WAIT_S) == "ok"
    assert there.texts() == []
    assert "check the permissions" in there.ask("add", "coffee")
    open_folder.chmod(0o755)


@pytest.mark.requirement("P-21")
def test_a_file_without_the_right_to_write_can_be_read_and_tells_who_writes(open_folder: Path, start: Start):
    path = open_folder / "memory.db"
    store = SqliteStore(path)
    add_memories(store, a_memory("tea"))
    store.close()
    there = start()
    there.ask("open", open_folder / "another.db", WAIT_S)
    path.chmod(0o444)
    open_folder.chmod(0o777)
    there.ask("drop")
    assert there.ask("open", path, WAIT_S) == "ok"
    assert there.texts() == ["tea"]
    assert "check the permissions of its file and folder" in there.ask("add", "coffee")
    assert there.texts() == ["tea"]
