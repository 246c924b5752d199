"""A store that is lost or damaged while in use: told before a write is acknowledged, and saved as far as it goes."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from mnemic import Config, Mnemic, Scope
from mnemic.adapters.stores.sqlite import SqliteStore
from mnemic.adapters.stores.sqlite.rescue import rescue
from mnemic.errors import ConflictError, DamagedError, InvalidInputError
from mnemic.model.health import Condition
from mnemic.testing.samples import a_memory, add_memories
from mnemic.testing.store_units import texts

ANNA = Scope(user="anna")
PAGE = 4096


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "home" / "memory.db"


@pytest.fixture
def store(path: Path) -> Iterator[SqliteStore]:
    with closing(SqliteStore(path)) as store:
        add_memories(store, *(a_memory(f"tea {number}") for number in range(40)))
        yield store


def opened(path: Path) -> Mnemic:
    """A memory without an embedder, which no test here needs."""
    return Mnemic.open(Config(store=str(path), embedder="none"))


def _delete(path: Path) -> None:
    path.unlink()


def _rename(path: Path) -> None:
    path.rename(path.with_suffix(".old"))


def _replace(path: Path) -> None:
    shutil.copy(path, path.with_suffix(".copy"))
    path.with_suffix(".copy").replace(path)


def _truncate(path: Path) -> None:
    os.truncate(path, 0)


def _move_folder(path: Path) -> None:
    path.parent.rename(path.parent.with_name("moved"))


def _delete_log(path: Path) -> None:
    Path(f"{path}-wal").unlink()


def _replace_log(path: Path) -> None:
    shutil.copy(f"{path}-wal", f"{path}.copy")
    Path(f"{path}.copy").replace(f"{path}-wal")


def _cut_log(path: Path) -> None:
    os.truncate(f"{path}-wal", Path(f"{path}-wal").stat().st_size // 2)


def _empty_log(path: Path) -> None:
    os.truncate(f"{path}-wal", 0)


LOSSES = [_delete, _rename, _replace, _truncate, _move_folder, _delete_log, _replace_log, _cut_log, _empty_log]


@pytest.mark.requirement("P-20", "P-21", "P-45")
@pytest.mark.parametrize("lose", LOSSES, ids=lambda lose: lose.__name__)
def test_no_write_to_a_lost_file_is_acknowledged(store: SqliteStore, path: Path, lose: Callable[[Path], None]):
    lose(path)
    for _ in range(2):
        with pytest.raises(DamagedError, match=r"stop every process"):
            add_memories(store, a_memory("lost"))


@pytest.mark.requirement("P-20")
@pytest.mark.parametrize("lose", LOSSES[:7], ids=lambda lose: lose.__name__)
def test_doctor_and_readiness_tell_of_a_lost_file(path: Path, lose: Callable[[Path], None]):
    with opened(path) as mnemic:
        mnemic.remember(ANNA, "User keeps bees")
        lose(path)
        for told in (mnemic.doctor(), mnemic.doctor(is_quick=True)):
            assert told.condition is Condition.BROKEN
        with pytest.raises(DamagedError):
            mnemic.remember(ANNA, "User keeps hens")


def test_writing_goes_on_when_the_file_is_brought_back(store: SqliteStore, path: Path):
    _rename(path)
    with pytest.raises(DamagedError, match="deleted or renamed"):
        add_memories(store, a_memory("lost"))
    path.with_suffix(".old").rename(path)
    add_memories(store, a_memory("back"))
    assert "back" in texts(store)
    assert "lost" not in texts(store)


def test_a_second_file_is_not_opened_beside_the_first(store: SqliteStore, path: Path):
    _rename(path)
    with pytest.raises(DamagedError, match="deleted or renamed"):
        SqliteStore(path)
    assert not path.exists()
    store.close()
    SqliteStore(path).close()


def _damage(path: Path, offset: int) -> None:
    content = bytearray(path.read_bytes())
    content[offset : offset + 64] = b"\xff" * 64
    path.write_bytes(content)


@pytest.fixture
def damaged(path: Path) -> Path:
    """A store with a page of an index or a table that cannot be read."""
    with opened(path) as mnemic:
        for number in range(300):
            mnemic.remember(ANNA, f"User keeps {number} bees in a hive of its own")
    content = path.read_bytes()
    for page in range(2, len(content) // PAGE):
        if content[page * PAGE] in (2, 10):  # of an index
            _damage(path, page * PAGE)
    return path


@pytest.mark.requirement("P-20")
def test_damage_is_seen_before_a_write_hits_it(damaged: Path, tmp_path: Path):
    with opened(damaged) as mnemic:
        assert mnemic.doctor(is_quick=True).condition is Condition.BROKEN
        assert mnemic.doctor().condition is Condition.BROKEN
        with pytest.raises(DamagedError):
            mnemic.remember(ANNA, "User keeps hens")
        with pytest.raises(DamagedError):
            mnemic.backup(tmp_path / "b.zip")
        with pytest.raises(DamagedError):
            list(mnemic.export(ANNA))
    assert not (tmp_path / "b.zip").exists()


@pytest.mark.requirement("P-20")
def test_a_text_that_is_no_text_any_more_is_told_as_damage(path: Path, tmp_path: Path):
    with opened(path) as mnemic:
        mnemic.remember(ANNA, "User keeps bees and nothing else")
    content = path.read_bytes()
    path.write_bytes(content.replace(b"User keeps bees", b"User k\xff\xfe\xfds bees"))
    with opened(path) as mnemic:
        assert mnemic.doctor().condition is Condition.BROKEN
        with pytest.raises(DamagedError):
            list(mnemic.export(ANNA))
        with pytest.raises(DamagedError):
            mnemic.list(ANNA)
    report = rescue(path, tmp_path / "new.db")
    assert any("cannot be read" in loss for loss in report.lost)


@pytest.mark.requirement("P-20", "P-45")
def test_rescue_saves_the_rows_behind_damaged_indexes(damaged: Path, tmp_path: Path):
    before = damaged.read_bytes()
    report = rescue(damaged, tmp_path / "new.db")
    assert report.rows["memories"] == 300
    with opened(tmp_path / "new.db") as mnemic:
        assert mnemic.doctor().condition is not Condition.BROKEN
        assert sum('"type":"memory"' in line.replace(" ", "") for line in mnemic.export(ANNA)) == 300
        mnemic.remember(ANNA, "User keeps hens")
    assert damaged.read_bytes() == before


def test_rescue_refuses_what_is_no_store_and_what_exists(store: SqliteStore, path: Path, tmp_path: Path):
    del store
    (tmp_path / "text.db").write_text("Dear diary, " * 1000)
    with pytest.raises(InvalidInputError):
        rescue(tmp_path / "nothing.db", tmp_path / "new.db")
    with pytest.raises(DamagedError):
        rescue(tmp_path / "text.db", tmp_path / "new.db")
    with pytest.raises(ConflictError):
        rescue(path, tmp_path / "text.db")


@pytest.mark.parametrize("mask", [0o000, 0o022, 0o077])
def test_a_store_is_for_its_own_account_whatever_the_umask(path: Path, mask: int):
    former = os.umask(mask)
    try:
        with closing(SqliteStore(path)) as store:
            add_memories(store, a_memory("tea"))
            modes = {each.name: stat.S_IMODE(each.stat().st_mode) for each in path.parent.iterdir()}
    finally:
        os.umask(former)
    assert set(modes.values()) == {0o600}
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


@pytest.mark.requirement("P-20")
def test_doctor_closes_files_that_were_open_to_others(path: Path):
    with opened(path) as mnemic:
        mnemic.remember(ANNA, "User keeps bees")
        path.chmod(0o644)
        told = [finding.message for finding in mnemic.doctor().findings if finding.part == "rights"]
        assert len(told) == 1
        assert "could read" in told[0]
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert not [finding for finding in mnemic.doctor().findings if finding.part == "rights"]


def _keep(log: bytes) -> bytes:
    return log


def _cut(log: bytes) -> bytes:
    return log[: len(log) // 2]


def _flip(log: bytes) -> bytes:
    return log[: len(log) // 2] + bytes([log[len(log) // 2] ^ 1]) + log[len(log) // 2 + 1 :]


def _empty(log: bytes) -> bytes:
    return log[:0]


@pytest.mark.parametrize("harm, is_told", [(_keep, False), (_cut, True), (_flip, True), (_empty, True)])
def test_a_log_that_lost_its_end_at_rest_is_told(
    store: SqliteStore, tmp_path: Path, *, harm: Callable[[bytes], bytes], is_told: bool
):
    left = tmp_path / "left.db"
    for suffix in ("", "-wal", "-acks"):  # as a process that was killed leaves them
        content = Path(f"{store.path}{suffix}").read_bytes()
        Path(f"{left}{suffix}").write_bytes(harm(content) if suffix == "-wal" else content)
    with opened(left) as memory:
        told = [finding.message for finding in memory.doctor().findings if finding.part == "log"]
        assert [("acknowledged writes" in message) for message in told] == [True] * is_told
    assert not Path(f"{left}-acks").exists()
