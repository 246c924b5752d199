"""Sealed backups through the command line, REST and asyncio: what is told, and what an erasure does to them."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from mnemic import AsyncMnemic, Mnemic, Scope, check_backup
from mnemic.cli import failures
from mnemic.config import Config, load_config, resolve
from mnemic.errors import ConfigError, InvalidInputError
from mnemic.model.records import Right
from mnemic.remote import connect
from tests.doors.doors import run
from tests.doors.http_doors import Listening, Served

ACME, GLOBEX = Scope(org="acme", user="ana"), Scope(org="globex", user="boris")


@pytest.fixture
def ring(home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The keyring of these tests, named by the environment as the store is."""
    monkeypatch.setenv("MNEMIC_STORE", str(home / "memory.db"))
    monkeypatch.setenv("MNEMIC_EMBEDDER", "none")
    monkeypatch.setenv("MNEMIC_BACKUP_KEYRING", str(home / "keyring.json"))
    with Mnemic.open(Config(store=str(home / "memory.db"), embedder="none")) as memory:
        memory.remember(ACME, "Saw a greenfinch")
        memory.remember(GLOBEX, "Saw a goldcrest")
    return home / "keyring.json"


def told(*words: str) -> Any:
    code, out, err = run([*words, "--json"], [])
    assert code == 0, err
    return json.loads(out)


@pytest.mark.requirement("P-37")
class TestTheCommandLine:
    def test_seals_checks_erases_and_restores_the_rest(self, ring: Path, home: Path):
        file, other = str(home / "b.zip"), str(home / "other.db")
        assert len(told("backup", file)["manifest"]["sealed"]["parts"]) == 2
        assert ring.exists()
        assert told("backup", file, "--verify")["lost"] == []
        receipt = told("erase", "--org", "acme", "--level", "org", "--yes")
        assert receipt["counts"]["data_keys"] == 1
        assert [each["org"] for each in told("restore", file, "--replace", "--dry-run")["lost"]] == ["acme"]
        report = told("restore", file, "--store", other)
        assert [each["destroyed_at"][:19] for each in report["lost"]] == [receipt["at"][:19]]
        assert report["counts"]["memories"] == 1
        found = told("memory", "list", "--org", "globex", "--user", "boris", "--store", other)["memories"]
        assert [each["text"] for each in found] == ["Saw a goldcrest"]

    @pytest.mark.usefixtures("ring")
    def test_says_in_words_what_cannot_be_opened(self, home: Path):
        file = str(home / "b.zip")
        code, out, _ = run(["backup", file], [])
        assert (code, "sealed: 2 orgs, each with its own key" in out) == (0, True)
        code, _, err = run(["erase", "--org", "acme", "--level", "org", "--yes"], [])
        assert (code, "1 data key" in err) == (0, True)
        code, _, err = run(["restore", file, "--replace"], [])
        assert (code, "could not open the data of an org (acme, key " in err, "): its key was destroyed 20" in err) == (
            0,
            True,
            True,
        )

    def test_says_what_it_could_not_check(self, ring: Path, home: Path, monkeypatch: pytest.MonkeyPatch):
        file = str(home / "b.zip")
        told("backup", file)
        monkeypatch.delenv("MNEMIC_BACKUP_KEYRING")
        code, out, err = run(["backup", file, "--verify"], [])
        assert (code, "complete" in out, "without its keys" in err) == (0, True, True)
        code, _, err = run(["restore", file, "--replace"], [])
        assert (code, "set backup.keyring" in err) == (failures.EXIT_CODES[ConfigError], True)
        code, _, err = run(["backup", str(home / "c.zip"), "--sealed"], [])
        assert (code, "set backup.keyring" in err) == (failures.EXIT_CODES[InvalidInputError], True)
        assert ring.exists()

    @pytest.mark.usefixtures("ring")
    def test_writes_in_plain_where_told(self, home: Path):
        assert told("backup", str(home / "plain.zip"), "--plain")["manifest"]["sealed"] is None
        assert told("backup", str(home / "r.zip"), "--receipts-only")["manifest"]["sealed"] is None
        code, _, err = run(["backup", str(home / "plain.zip"), "--verify", "--sealed"], [])
        assert (code, "--verify writes nothing" in err) == (failures.EXIT_CODES[InvalidInputError], True)

    def test_never_shows_the_master_key(self, ring: Path, home: Path, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setenv("MNEMIC_BACKUP_MASTER_KEY", "correct horse battery staple")
        told("backup", str(home / "b.zip"))
        code, out, err = run(["config", "show"], [])
        assert (code, "horse" in out + err, str(ring) in out.replace("\n", "")) == (0, False, True)
        assert "horse" not in repr(load_config())


@pytest.mark.requirement("P-37")
def test_a_keyring_named_in_a_file_counts_from_the_folder_of_that_file(tmp_path: Path):
    file = tmp_path / "mnemic.toml"
    file.write_text('[backup]\nkeyring = "keys/ring.json"\n', encoding="utf-8")
    assert resolve(file=file, environment={}).config.backup_keyring == str(tmp_path / "keys" / "ring.json")


@pytest.mark.requirement("P-37")
def test_a_server_sends_a_sealed_backup_and_destroys_the_key_when_its_org_is_erased(ring: Path, home: Path):
    config = Config(store=str(home / "memory.db"), embedder="none", backup_keyring=ring)
    served = Served(config)
    listening = Listening(served.app)
    try:
        operator = served.mnemic.keys.create(Scope(), rights=[Right.ADMIN]).token
        tenant = served.mnemic.keys.create(Scope(org="acme"), rights=[Right.READ, Right.WRITE, Right.ADMIN]).token
        with connect(listening.url, operator) as remote:
            assert remote.backup(home / "b.zip").manifest.sealed is not None
            assert remote.backup(home / "plain.zip", is_sealed=False).manifest.sealed is None
        with connect(listening.url, tenant) as remote:
            assert remote.erase(ACME, level="org").counts["data_keys"] == 1
        assert len(check_backup(home / "b.zip", config=config).lost) == 1
    finally:
        listening.close()
        served.close()


@pytest.mark.requirement("P-37")
def test_asyncio_seals_and_erases(ring: Path, home: Path):
    config = Config(store=str(home / "memory.db"), embedder="none", backup_keyring=ring)

    async def go() -> int:
        async with await AsyncMnemic.open(config) as memory:
            await memory.backup(home / "b.zip", is_sealed=True)
            await memory.erase(ACME, level="org")
            return len((await memory.restore(home / "b.zip", is_replacing=True)).lost)

    assert asyncio.run(go()) == 1


@pytest.mark.requirement("P-37")
def test_without_the_package_the_error_names_the_extra_and_all_else_works(home: Path):
    code = """
import sys
sys.modules["cryptography"] = None
from mnemic import Mnemic, Scope, check_backup
from mnemic.config import Config
from mnemic.errors import ConfigError
folder = sys.argv[1]
with Mnemic.open(Config(store=folder + "/m.db", embedder="none")) as memory:
    memory.remember(Scope(user="ana"), "Drinks tea")
    memory.backup(folder + "/b.zip")
    memory.restore(folder + "/b.zip", is_replacing=True)
try:
    Mnemic.open(Config(store=folder + "/m.db", embedder="none", backup_keyring=folder + "/k.json"))
except ConfigError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code, str(home)], capture_output=True, text=True, check=True)
    assert "pip install 'mnemic[sealed]'" in done.stdout
