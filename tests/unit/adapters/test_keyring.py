"""The file of data keys: private, shared by processes, whole after any kill, and without what was destroyed."""

from __future__ import annotations

import base64
import json
import os
import stat
import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from mnemic.adapters.archives.keyring import FileKeyring
from mnemic.adapters.indexes.hnsw import lease_at_once
from mnemic.errors import ConfigError, UnavailableError
from mnemic.ports.files import DataKey

THEN = datetime(2026, 5, 1, 12, tzinfo=UTC)
LATER = THEN + timedelta(days=1)
MASTER = "correct horse battery staple"
ORGS = [None, "acme-of-avonlea", "globex"]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "keyring.json"


def lies_in(folder: Path, key: DataKey) -> bool:
    """True when a file of the folder holds the secret."""
    text = base64.b64encode(key.secret)
    return any(text in each.read_bytes() or key.secret in each.read_bytes() for each in folder.iterdir())


@pytest.mark.requirement("P-37")
class TestAKeyring:
    def test_gives_each_org_a_key_of_its_own_and_the_same_one_again(self, path: Path):
        keys = FileKeyring(path).issue(ORGS, THEN)
        assert len({key.secret for key in keys.values()}) == len({key.id for key in keys.values()}) == 3
        assert FileKeyring(path).issue(ORGS, LATER) == keys
        assert FileKeyring(path).find([keys[None].id, "unknown"]) == {keys[None].id: keys[None]}
        assert FileKeyring(path).id

    def test_is_private_and_holds_no_names(self, path: Path):
        FileKeyring(path).issue(ORGS, THEN)
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert b"acme" not in path.read_bytes()
        assert sorted(each.name for each in path.parent.iterdir()) == ["keyring.json", "keyring.json.lock"]

    def test_that_is_not_there_has_no_keys(self, path: Path):
        ring = FileKeyring(path)
        assert (ring.id, ring.find(["a"]), ring.of(["acme"])) == ("", {}, {"acme": []})
        with ring.destroying() as destroy:
            assert destroy("acme", THEN, None) == 0
        assert not path.exists()

    def test_forgets_a_key_that_is_destroyed_but_for_its_id_and_gives_a_new_one(self, path: Path):
        ring = FileKeyring(path)
        old = ring.issue(ORGS, THEN)["globex"]
        assert lies_in(path.parent, old)
        with ring.destroying() as destroy:
            assert destroy("globex", LATER, None) == 1
            assert destroy("globex", LATER, None) == 0
        assert not lies_in(path.parent, old)
        assert ring.find([old.id])[old.id] == DataKey(old.id, THEN, b"", LATER)
        new = ring.issue(ORGS, LATER)["globex"]
        assert (new.id != old.id, new.secret != old.secret) == (True, True)
        assert [key.id for key in ring.of(["globex"])["globex"]] == [old.id, new.id]

    def test_destroys_only_what_was_made_until_a_moment(self, path: Path):
        ring = FileKeyring(path)
        ring.issue(["globex"], LATER)
        with ring.destroying() as destroy:
            assert destroy("globex", LATER, THEN) == 0
            assert destroy("globex", LATER, LATER) == 1

    def test_gives_many_at_once_the_same_keys(self, path: Path):
        start, given = threading.Barrier(6), list[dict[str | None, DataKey]]()

        def ask(number: int) -> None:
            start.wait()
            given.append({**FileKeyring(path).issue([*ORGS, f"org {number}"], THEN)})

        threads = [threading.Thread(target=ask, args=(number,)) for number in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert all({org: keys[org] for org in ORGS} == {org: given[0][org] for org in ORGS} for keys in given)
        kept = FileKeyring(path).find([key.id for keys in given for key in keys.values()])
        assert len(kept) == 3 + 6

    def test_waits_for_another_process_and_not_for_ever(self, path: Path):
        with lease_at_once(path.with_name("keyring.json.lock")), pytest.raises(UnavailableError, match="locked"):
            FileKeyring(path, lock_wait_s=0.0).issue(ORGS, THEN)
        with FileKeyring(path).destroying(), pytest.raises(UnavailableError, match="locked"):
            FileKeyring(path, lock_wait_s=0.0).issue(ORGS, THEN)
        assert FileKeyring(path, lock_wait_s=0.0).issue(ORGS, THEN)

    @pytest.mark.parametrize("suffix", ["new", "old"])
    def test_overwrites_what_a_process_left_that_died(self, path: Path, suffix: str):
        ring = FileKeyring(path)
        old = ring.issue(ORGS, THEN)["globex"]
        left = path.with_name(f"keyring.json.{suffix}")
        left.write_bytes(path.read_bytes())
        watched = left.open("rb")
        with watched, ring.destroying() as destroy:
            destroy("globex", LATER, None)
            assert set(watched.read()) == {0}
        assert not left.exists()
        assert not lies_in(path.parent, old)

    def test_overwrites_the_old_file_where_there_are_no_links_too(self, path: Path, monkeypatch: pytest.MonkeyPatch):
        def no_links(*_: object) -> None:
            raise PermissionError(1, "Operation not permitted")

        monkeypatch.setattr(os, "link", no_links)
        ring = FileKeyring(path)
        ring.issue(ORGS, THEN)
        with path.open("rb") as watched, ring.destroying() as destroy:
            assert destroy("globex", LATER, None) == 1
            assert set(watched.read()) == {0}

    def test_is_not_overwritten_by_the_name_that_a_process_left_for_it(self, path: Path):
        ring = FileKeyring(path)
        keys = ring.issue(ORGS, THEN)
        os.link(path, path.with_name("keyring.json.old"))
        assert ring.issue(ORGS, LATER) == keys
        assert not path.with_name("keyring.json.old").exists()

    @pytest.mark.parametrize(
        "content",
        [b"", b"{}", b"[]", b"\xff", b'{"format": "a game"}', b"[" * 100_000, b'{"format": "mnemic-keyring"}'],
    )
    def test_that_is_damaged_is_refused_and_left_alone(self, path: Path, content: bytes):
        path.write_bytes(content)
        ring = FileKeyring(path)
        for ask in (lambda: ring.issue(ORGS, THEN), lambda: ring.find(["a"]), lambda: ring.of(["globex"])):
            with pytest.raises(ConfigError, match="damaged or not a Mnemic keyring"):
                ask()
        assert path.read_bytes() == content

    def test_of_a_newer_mnemic_is_refused(self, path: Path):
        FileKeyring(path).issue(ORGS, THEN)
        path.write_text(json.dumps(json.loads(path.read_text("utf-8")) | {"version": 2}), "utf-8")
        with pytest.raises(ConfigError, match="newer"):
            FileKeyring(path).issue(ORGS, THEN)

    def test_in_a_folder_that_is_not_there_cannot_be_used(self, tmp_path: Path):
        ring = FileKeyring(tmp_path / "usb-stick" / "keyring.json")
        with pytest.raises(UnavailableError, match="cannot be read or written"):
            ring.issue(ORGS, THEN)
        with pytest.raises(UnavailableError, match="cannot be read or written"), ring.destroying():
            pass


@pytest.mark.requirement("P-37")
class TestAMasterKey:
    def test_encrypts_every_key(self, path: Path):
        keys = FileKeyring(path, MASTER).issue(ORGS, THEN)
        assert not any(lies_in(path.parent, key) for key in keys.values())
        assert FileKeyring(path, MASTER).issue(ORGS, LATER) == keys

    def test_that_is_missing_another_or_short_is_told(self, path: Path):
        FileKeyring(path, MASTER).issue(ORGS, THEN)
        with pytest.raises(ConfigError, match="set MNEMIC_BACKUP_MASTER_KEY"):
            FileKeyring(path).issue(ORGS, THEN)
        with pytest.raises(ConfigError, match="the master key does not match"):
            FileKeyring(path, "wrong" * 5).issue(ORGS, THEN)
        with pytest.raises(ConfigError, match="16 characters"):
            FileKeyring(path, "short")

    def test_that_is_set_later_encrypts_the_keys_with_the_next_change(self, path: Path):
        keys = FileKeyring(path).issue(ORGS, THEN)
        assert FileKeyring(path, MASTER).issue(ORGS, THEN) == keys
        FileKeyring(path, MASTER).issue(["initech"], THEN)
        assert not any(lies_in(path.parent, key) for key in keys.values())
        assert FileKeyring(path, MASTER).issue(ORGS, THEN) == keys

    def test_binds_each_key_to_its_place(self, path: Path):
        FileKeyring(path, MASTER).issue(ORGS, THEN)
        told = json.loads(path.read_text("utf-8"))
        first, second, *_ = told["keys"]
        first["secret"], second["secret"] = second["secret"], first["secret"]
        path.write_text(json.dumps(told), "utf-8")
        with pytest.raises(ConfigError):
            FileKeyring(path, MASTER).issue(ORGS, THEN)
