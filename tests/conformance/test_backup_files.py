"""Backups that cannot be used, and folders of unfinished work: refused and removed, with all else as it was."""

from __future__ import annotations

import json
import sqlite3
import zipfile
from contextlib import closing
from hashlib import sha256
from pathlib import Path

import pytest

from mnemic import check_backup
from mnemic.adapters.archives.parts import scratch_folder
from mnemic.errors import BackendError, ConfigError, InvalidInputError, UnavailableError, UnsupportedError
from tests.conformance.backup_kit import ANA, fill, opened, texts


@pytest.mark.requirement("P-30")
class TestAFileThatCannotBeUsed:
    @pytest.fixture
    def backup(self, tmp_path: Path) -> Path:
        with opened(tmp_path / "source.db") as source:
            fill(source)
            source.backup(tmp_path / "b.zip")
        return tmp_path / "b.zip"

    def refused(self, backup: Path, error: type[Exception], match: str) -> None:
        """It is refused with the error, and everything is as it was."""
        with opened(backup.parent / "memory.db") as memory:
            memory.remember(ANA, "Drinks tea")
            before = sorted(backup.parent.iterdir())
            with pytest.raises(error, match=match):
                memory.restore(backup, is_replacing=True)
            assert texts(memory) == ["Drinks tea"]
            assert sorted(backup.parent.iterdir()) == before
        with pytest.raises(error, match=match):
            check_backup(backup)

    def test_because_it_is_missing(self, tmp_path: Path):
        self.refused(tmp_path / "none.zip", InvalidInputError, "does not exist")

    @pytest.mark.parametrize("share", [0.0, 0.3, 0.9, 0.999])
    def test_because_it_is_cut_short(self, backup: Path, share: float):
        backup.write_bytes(backup.read_bytes()[: int(backup.stat().st_size * share)])
        self.refused(backup, InvalidInputError, "damaged or not a backup")

    @pytest.mark.parametrize("share", [0.05, 0.2, 0.5, 0.8])
    def test_because_a_byte_of_it_is_another(self, backup: Path, share: float):
        content = bytearray(backup.read_bytes())
        content[int(len(content) * share)] ^= 0xFF
        backup.write_bytes(content)
        self.refused(backup, InvalidInputError, "damaged or not a backup")

    def test_because_it_is_something_else(self, backup: Path):
        backup.write_text("Dear diary", encoding="utf-8")
        self.refused(backup, InvalidInputError, "not a complete zip file")
        with zipfile.ZipFile(backup, "w") as packed:
            packed.writestr("manifest.json", '{"format": "a game"}')
        self.refused(backup, InvalidInputError, "not a Mnemic backup")
        with zipfile.ZipFile(backup, "w") as packed:
            packed.writestr("manifest.json", "[" * 100_000)
        self.refused(backup, InvalidInputError, "manifest cannot be read")

    @pytest.mark.parametrize("change", [{"version": 3}, {"schema": 10_000}])
    def test_because_it_is_of_a_newer_mnemic(self, backup: Path, change: dict[str, int]):
        repacked(backup, change)
        self.refused(backup, ConfigError, r"newer .*pip install --upgrade mnemic")

    @pytest.mark.parametrize("change", [{"sha256": "ab" * 32}, {"size": 4096}, {"counts": {"memories": 7}}])
    def test_because_it_is_not_what_it_says(self, backup: Path, change: dict[str, object]):
        repacked(backup, change)
        self.refused(backup, InvalidInputError, "size does not match|wrong number of rows|checksum does not match")

    def test_because_there_is_no_room_to_unpack_it(self, backup: Path):
        repacked(backup, {"size": 10**18})
        self.refused(backup, UnavailableError, "free")

    def test_because_somebody_put_a_trigger_into_its_rows(self, backup: Path, tmp_path: Path):
        rows = tmp_path / "rows.db"
        with zipfile.ZipFile(backup) as packed:
            rows.write_bytes(packed.read("rows.db"))
        with closing(sqlite3.connect(rows)) as connection:
            connection.execute("CREATE TRIGGER evil AFTER INSERT ON memories BEGIN DELETE FROM messages; END")
            connection.commit()
        content = rows.read_bytes()
        rows.unlink()
        repacked(backup, {"size": len(content), "sha256": sha256(content).hexdigest()}, content)
        self.refused(backup, InvalidInputError, "trigger evil")


def repacked(backup: Path, change: dict[str, object] | dict[str, int], rows: bytes | None = None) -> None:
    """The same backup with another manifest, and perhaps other rows."""
    with zipfile.ZipFile(backup) as packed:
        manifest = json.loads(packed.read("manifest.json")) | change
        content = packed.read("rows.db") if rows is None else rows
    with zipfile.ZipFile(backup, "w") as packed:
        packed.writestr("rows.db", content)
        packed.writestr("manifest.json", json.dumps(manifest))


@pytest.mark.requirement("P-30")
def test_a_store_in_memory_says_that_it_cannot_be_copied(tmp_path: Path):
    with opened("memory://") as memory:
        with pytest.raises(UnsupportedError, match="export"):
            memory.backup(tmp_path / "b.zip")
        with pytest.raises(UnsupportedError, match="export"):
            memory.restore(tmp_path / "b.zip")


@pytest.mark.requirement("P-30")
def test_a_damaged_store_is_not_backed_up_over_a_sound_backup(tmp_path: Path):
    path, backup = tmp_path / "memory.db", tmp_path / "b.zip"
    with opened(path) as memory:
        memory.remember_many(ANA, [f"{number} " + "long " * 100 for number in range(400)])
        memory.backup(backup)
    before = backup.read_bytes()
    content = bytearray(path.read_bytes())
    for page in range(len(content) // 4096 - 12, len(content) // 4096 - 2):
        content[page * 4096 : page * 4096 + 64] = b"\xff" * 64
    path.write_bytes(content)
    with opened(path) as memory, pytest.raises(BackendError, match="damaged"):
        memory.backup(backup, is_replacing=True)
    assert backup.read_bytes() == before


def test_what_a_process_left_that_died_is_removed_by_the_next_and_what_is_in_use_is_not(tmp_path: Path):
    left = tmp_path / ".b.zip.abc.unfinished"
    left.mkdir()
    (left / "rows.db").write_text("half", encoding="utf-8")
    (left / "in-use").touch()
    with scratch_folder(tmp_path, "b.zip") as first:
        assert not left.exists()
        with scratch_folder(tmp_path, "b.zip") as second:
            assert first.exists()
            assert second.exists()
        assert first.exists()
    assert list(tmp_path.iterdir()) == []


def test_what_another_did_not_come_to_lock_is_left_alone(tmp_path: Path):
    young = tmp_path / ".b.zip.abc.unfinished"
    young.mkdir()
    with scratch_folder(tmp_path, "b.zip"):
        assert young.exists()
