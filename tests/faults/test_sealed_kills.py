"""Processes that die at each step on the keyring: what was acknowledged holds, and nothing is left half."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from mnemic import Mnemic, Scope, check_backup
from mnemic.adapters.archives.keyring import FileKeyring
from mnemic.config import Config

ACME, GLOBEX = Scope(org="acme", user="ana"), Scope(org="globex", user="boris")
DIED, MOST_STEPS = 9, 40


@pytest.fixture
def ring(tmp_path: Path) -> Path:
    (tmp_path / "keys").mkdir()
    return tmp_path / "keys" / "keyring.json"


@pytest.fixture
def config(tmp_path: Path, ring: Path) -> Config:
    return Config(store=str(tmp_path / "memory.db"), embedder="none", backup_keyring=ring)


def dies_at(step: int, folder: Path, work: Callable[[], object]) -> bool:
    """Do the work in a process that dies before its step of that number on files of a folder; False when it was done
    before that.
    """
    pid = os.fork()
    if not pid:
        left = step

        def watch(event: str, arguments: tuple[object, ...]) -> None:
            nonlocal left
            if event in ("open", "os.link", "os.rename", "os.remove") and str(folder) in str(arguments[0]):
                left -= 1
                if left < 0:
                    os._exit(DIED)

        sys.addaudithook(watch)
        code = 1
        try:
            work()
            code = 0
        finally:
            os._exit(code)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    assert code in (0, DIED)
    return code == DIED


def fill(config: Config) -> None:
    with Mnemic.open(config) as memory:
        memory.remember(ACME, "Saw a greenfinch")
        memory.remember(GLOBEX, "Saw a goldcrest")


@pytest.mark.requirement("P-37", "P-07")
def test_an_erasure_that_dies_anywhere_is_done_with_its_key_or_not_done_and_its_repetition_ends_it(
    config: Config, ring: Path, tmp_path: Path
):
    fill(config)

    def erase() -> None:
        with Mnemic.open(config) as memory:
            memory.erase(ACME, level="org")

    for step in range(MOST_STEPS):
        with Mnemic.open(config) as memory:
            if not memory.list(ACME).memories:
                memory.remember(ACME, "Saw a greenfinch")
            backup = tmp_path / f"{step}.zip"
            memory.backup(backup)
        old = FileKeyring(ring).of([ACME.org])[ACME.org][-1]
        has_died = dies_at(step, ring.parent, erase)
        with Mnemic.open(config) as memory:
            is_alive = bool(FileKeyring(ring).find([old.id])[old.id].secret)
            if not memory.list(ACME).memories:
                assert memory.receipts(ACME)[-1].counts["data_keys"] == 1
                assert not is_alive
            assert memory.list(GLOBEX).memories
            memory.erase(ACME, level="org")
        assert [each.key for each in check_backup(backup, config=config).lost] == [old.id]
        assert sorted(each.name for each in ring.parent.iterdir()) == ["keyring.json", "keyring.json.lock"]
        if not has_died:
            assert step > 5
            return
    pytest.fail("it never came to its end")


@pytest.mark.requirement("P-37", "P-21")
def test_a_backup_that_dies_while_its_keys_are_made_leaves_a_whole_file_that_opens_or_none(
    config: Config, ring: Path, tmp_path: Path
):
    fill(config)
    backup = tmp_path / "b.zip"

    def seal() -> None:
        with Mnemic.open(config) as memory:
            memory.backup(backup, is_replacing=True)

    for step in range(MOST_STEPS):
        ring.unlink(missing_ok=True)
        backup.unlink(missing_ok=True)
        has_died = dies_at(step, ring.parent, seal)
        if backup.exists():
            assert check_backup(backup, config=config).lost == ()
        seal()
        assert check_backup(backup, config=config).lost == ()
        assert sorted(each.name for each in ring.parent.iterdir()) == ["keyring.json", "keyring.json.lock"]
        if not has_died:
            assert step > 3
            return
    pytest.fail("it never came to its end")


@pytest.mark.requirement("P-37", "P-21")
@pytest.mark.parametrize("doing", ["sealing", "opening"])
def test_a_backup_that_dies_while_it_is_sealed_or_read_again_leaves_nothing_readable_and_what_was_there(
    config: Config, tmp_path: Path, doing: str
):
    fill(config)
    folder = tmp_path / "backups"
    folder.mkdir()
    with Mnemic.open(config) as memory:
        before = memory.backup(folder / "b.zip").manifest
        memory.remember(ACME, "Saw another greenfinch")

    def die(what: str, _done: int, _total: int) -> None:
        if what == doing:
            os._exit(DIED)

    def seal() -> None:
        with Mnemic.open(config) as memory:
            memory.backup(folder / "b.zip", is_replacing=True, progress=die)

    assert dies_at(10_000, folder, seal)
    assert len([*folder.iterdir()]) == 2
    left = [path.read_bytes() for path in folder.rglob("*") if path.is_file()]
    assert not any(word in content for word in (b"greenfinch", b"goldcrest", b"acme") for content in left)
    assert check_backup(folder / "b.zip", config=config).manifest == before
    with Mnemic.open(config) as memory:
        assert memory.backup(folder / "b.zip", is_replacing=True).manifest.counts["memories"] == 3
    assert [path.name for path in folder.iterdir()] == ["b.zip"]
