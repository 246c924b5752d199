"""Sealed backups over each real store: whole with their keys, unreadable without, and closed for good by an erasure."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import pytest

from mnemic import Mnemic, Scope, check_backup
from mnemic.adapters.archives.keyring import FileKeyring
from mnemic.adapters.stores.sqlite.copying import rows_statement
from mnemic.build import build
from mnemic.config import Config
from mnemic.errors import ConfigError, ConflictError, InvalidInputError, UnavailableError, UnsupportedError
from mnemic.model.health import Condition
from mnemic.model.scope import Level
from mnemic.ports.files import DataKey
from mnemic.ports.store import SHARED_TABLES, CopyingStore
from tests.conformance.backup_kit import fill, opened, texts

ACME = Scope(org="acme-of-avonlea", user="ana-lovelace", agent="quill-pen", session="morning-tea")
GLOBEX = Scope(org="globex-of-gotham", user="boris-godunov", agent="quill-pen", session="evening-tea")
WORDS = {ACME: "greenfinch", GLOBEX: "goldcrest"}
NAMES = [
    *WORDS.values(),
    *(str(part) for scope in WORDS for part in (scope.org, scope.user, scope.agent, scope.session)),
]
SHARED_COLUMNS = {"erasing": {"one", "floor", "secret"}, "schedules": {"name", "at"}, "spaces": {"space", "dims"}}
"""What the tables of no org hold: a number and a key, the names of our schedules, and those of embedding spaces."""


@pytest.fixture
def ring(tmp_path: Path) -> Path:
    (tmp_path / "keys").mkdir()
    return tmp_path / "keys" / "keyring.json"


@pytest.fixture
def memory(place: str, ring: Path) -> Iterator[Mnemic]:
    with opened(place, backup_keyring=ring) as mnemic:
        for scope, word in WORDS.items():
            fill(mnemic, scope, word)
        yield mnemic


def known(memory: Mnemic, scope: Scope) -> bool:
    """True when what was filled in is found again."""
    hits = memory.recall(scope, f"who saw a {WORDS[scope]}?", limits=None).hits
    return any(WORDS[scope] in hit.text for hit in hits)


@pytest.mark.requirement("P-37", "P-30")
class TestASealedBackup:
    def test_restores_into_an_empty_store_of_either_kind(
        self, memory: Mnemic, ring: Path, tmp_path: Path, request: pytest.FixtureRequest
    ):
        report = memory.backup(tmp_path / "b.zip")
        assert report.manifest.sealed is not None
        assert len(report.manifest.sealed.parts) == 2
        asked = f"who saw a {WORDS[ACME]}?"
        hits = [(hit.text, round(hit.score, 6)) for hit in memory.recall(ACME, asked)]
        is_of_postgres = report.manifest.store == "postgresql"
        for target in [tmp_path / "new.db", *([] if is_of_postgres else [request.getfixturevalue("server")])]:
            with opened(target, backup_keyring=ring) as other:
                restored = other.restore(tmp_path / "b.zip")
                assert (restored.counts, restored.lost) == (report.manifest.counts, ())
                assert [(hit.text, round(hit.score, 6)) for hit in other.recall(ACME, asked)] == hits
                for scope in WORDS:
                    assert texts(other, scope) == texts(memory, scope)
                    assert other.profile.all(scope) == memory.profile.all(scope)
                broken = [each for each in other.doctor().findings if each.condition is Condition.BROKEN]
                assert broken == []
        memory.restore(tmp_path / "b.zip", is_replacing=True)
        assert all(known(memory, scope) for scope in WORDS)

    def test_shows_no_text_and_no_name_to_who_has_no_key(self, memory: Mnemic, ring: Path, tmp_path: Path):
        key = memory.keys.create(ACME, name="laptop-of-ana").key
        path = tmp_path / "b.zip"
        memory.backup(path)
        seen = [path.read_bytes(), ring.read_bytes()]
        with zipfile.ZipFile(path) as packed:
            assert packed.testzip() is None
            seen += [packed.read(name) for name in packed.namelist()]
            seen += [name.encode() for name in packed.namelist()]
        for content in [*seen]:
            for start in range(min(len(content), 64)):
                seen.append(_inflated(content[start:]))
        for name in [*NAMES, key.name, key.id, "acme", "globex"]:
            assert not any(name.encode() in content for content in seen), name

    def test_is_checked_with_and_without_its_keys(self, memory: Mnemic, ring: Path, tmp_path: Path):
        report = memory.backup(tmp_path / "b.zip")
        without = check_backup(tmp_path / "b.zip")
        assert (without.manifest, without.lost) == (report.manifest, ())
        assert "without its keys" in without.notes[0]
        with_keys = check_backup(tmp_path / "b.zip", config=Config(backup_keyring=ring))
        assert (with_keys.manifest, with_keys.lost, with_keys.notes) == (report.manifest, (), ())

    def test_is_made_where_there_is_a_keyring_unless_told(self, memory: Mnemic, place: str, tmp_path: Path):
        assert memory.backup(tmp_path / "plain.zip", is_sealed=False).manifest.sealed is None
        assert memory.backup(tmp_path / "receipts.zip", contents="receipts").manifest.sealed is None
        with pytest.raises(InvalidInputError, match="receipts alone cannot be sealed"):
            memory.backup(tmp_path / "none.zip", contents="receipts", is_sealed=True)
        with opened(place) as other:
            assert other.backup(tmp_path / "other.zip").manifest.sealed is None
            with pytest.raises(InvalidInputError, match=r"set backup\.keyring"):
                other.backup(tmp_path / "none.zip", is_sealed=True)
        assert not (tmp_path / "none.zip").exists()

    def test_that_is_given_up_leaves_nothing_and_what_a_killed_one_leaves_is_not_readable(
        self, memory: Mnemic, tmp_path: Path
    ):
        folder = tmp_path / "backups"
        folder.mkdir()

        def interrupt(_what: str, _done: int, _total: int) -> None:
            raise KeyboardInterrupt

        def look(what: str, done: int, total: int) -> None:
            if what == "sealing" and done == total:
                lying.extend(path.read_bytes() for path in folder.rglob("*") if path.is_file())

        lying: list[bytes] = []
        with pytest.raises(KeyboardInterrupt):
            memory.backup(folder / "b.zip", progress=interrupt)
        assert [*folder.iterdir()] == []
        memory.backup(folder / "b.zip", progress=look)
        assert sum(map(len, lying)) > 1000
        assert not any(name.encode() in content for content in lying for name in NAMES)


@pytest.mark.requirement("P-37", "P-07")
class TestAnErasedOrg:
    def test_never_comes_back_from_a_backup_that_was_sealed_before(self, memory: Mnemic, ring: Path, tmp_path: Path):
        memory.backup(tmp_path / "b.zip")
        assert memory.erase(ACME, level="org", is_dry_run=True).counts["data_keys"] == 1
        receipt = memory.erase(ACME, level="org")
        assert receipt.counts["data_keys"] == 1
        assert memory.receipts(ACME)[-1].counts["data_keys"] == 1
        with opened(tmp_path / "new.db", backup_keyring=ring) as other:
            report = other.restore(tmp_path / "b.zip")
            assert [each.destroyed_at for each in report.lost] == [receipt.at]
            assert (known(other, ACME), known(other, GLOBEX)) == (False, True)
        report = memory.restore(tmp_path / "b.zip", is_replacing=True)
        assert [each.org for each in report.lost] == [ACME.org]
        assert (known(memory, ACME), known(memory, GLOBEX)) == (False, True)
        assert [each.id for each in memory.receipts(ACME)] == [receipt.id]
        checked = check_backup(tmp_path / "b.zip", config=Config(backup_keyring=ring))
        assert [each.destroyed_at for each in checked.lost] == [receipt.at]

    def test_that_comes_back_has_a_new_key(self, memory: Mnemic, ring: Path, tmp_path: Path):
        memory.backup(tmp_path / "old.zip")
        memory.erase(ACME, level="org")
        memory.remember(ACME, "Came back")
        memory.backup(tmp_path / "new.zip")
        alive = [key for key in FileKeyring(ring).of([ACME.org])[ACME.org] if key.secret]
        assert len(alive) == 1
        for name, expected in (("old.zip", []), ("new.zip", ["Came back"])):
            memory.restore(tmp_path / name, is_replacing=True)
            assert texts(memory, ACME) == expected
        assert memory.erase(ACME, level="org").counts["data_keys"] == 1

    def test_of_a_user_alone_keeps_the_key_and_is_made_again_by_the_receipt(self, memory: Mnemic, tmp_path: Path):
        memory.backup(tmp_path / "b.zip")
        assert "data_keys" not in memory.erase(ACME, level="user").counts
        report = memory.restore(tmp_path / "b.zip", is_replacing=True)
        assert (report.lost, report.replayed) == ((), 1)
        assert (known(memory, ACME), known(memory, GLOBEX)) == (False, True)

    def test_loses_its_key_with_the_next_backup_where_the_erasure_had_no_keyring(
        self, memory: Mnemic, place: str, ring: Path, tmp_path: Path
    ):
        memory.backup(tmp_path / "b.zip")
        with opened(place) as other:
            assert "data_keys" not in other.erase(ACME, level="org").counts
        memory.remember(ACME, "Came back")
        report = memory.backup(tmp_path / "new.zip")
        keys = FileKeyring(ring).of([ACME.org])[ACME.org]
        assert [bool(key.secret) for key in keys] == [False, True]
        assert report.manifest.counts["memories"] == 2
        assert len(check_backup(tmp_path / "b.zip", config=Config(backup_keyring=ring)).lost) == 1

    @pytest.mark.parametrize("has_keyring", [True, False])
    def test_while_a_backup_is_made_is_not_in_it_under_a_key_that_lives(
        self, memory: Mnemic, place: str, ring: Path, tmp_path: Path, *, has_keyring: bool
    ):
        options = {"lock_wait_s": 0.1, **({"backup_keyring": ring} if has_keyring else {})}

        class Slow(FileKeyring):
            """Somebody erases an org between the moment of the rows and the issue of the first keys."""

            is_first = True

            def issue(self, orgs: Collection[str | None], at: datetime) -> Mapping[str | None, DataKey]:
                if self.is_first:
                    self.is_first = False
                    with opened(place, **options) as other:
                        other.erase(ACME, level="org")
                return super().issue(orgs, at)

        config = Config(store=place, embedder="none", backup_keyring=ring)
        with Mnemic(replace(build(config), keyring=Slow(ring))) as slow:
            slow.backup(tmp_path / "b.zip")
        with opened(tmp_path / "new.db", backup_keyring=ring) as other:
            other.restore(tmp_path / "b.zip")
            assert (known(other, ACME), known(other, GLOBEX)) == (False, True)
        assert not known(memory, ACME)

    @pytest.mark.parametrize("trouble", ["no folder", "cannot be written", "damaged"])
    def test_is_not_erased_where_its_key_cannot_be_destroyed(
        self, memory: Mnemic, ring: Path, tmp_path: Path, trouble: str
    ):
        memory.backup(tmp_path / "b.zip")
        away = tmp_path / "away"
        if trouble == "no folder":
            ring.parent.rename(away)
        elif trouble == "damaged":
            away.write_bytes(ring.read_bytes())
            ring.write_text("{}", encoding="utf-8")
        else:
            ring.with_name("keyring.json.new").mkdir()
        with pytest.raises((UnavailableError, ConfigError), match="keyring"):
            memory.erase(ACME, level="org")
        assert known(memory, ACME)
        assert memory.receipts(ACME) == []
        if trouble == "no folder":
            away.rename(ring.parent)
        elif trouble == "damaged":
            away.replace(ring)
        else:
            ring.with_name("keyring.json.new").rmdir()
        assert check_backup(tmp_path / "b.zip", config=Config(backup_keyring=ring)).lost == ()
        assert memory.erase(ACME, level="org").counts["data_keys"] == 1


@pytest.mark.requirement("P-37")
class TestWithoutTheKeys:
    def refused(self, memory: Mnemic, backup: Path, match: str) -> None:
        before = [texts(memory, scope) for scope in WORDS]
        with pytest.raises(ConfigError, match=match):
            memory.restore(backup, is_replacing=True)
        assert [texts(memory, scope) for scope in WORDS] == before

    def test_nothing_is_restored_and_it_is_said_what_to_do(
        self, memory: Mnemic, place: str, ring: Path, tmp_path: Path
    ):
        backup = tmp_path / "b.zip"
        memory.backup(backup)
        with opened(place) as other:
            self.refused(other, backup, r"the backup is sealed; set backup\.keyring")
        copy = ring.read_bytes()
        ring.unlink()
        self.refused(memory, backup, "use that keyring or a copy of it")
        memory.backup(tmp_path / "new.zip")
        self.refused(memory, backup, "use that keyring or a copy of it")
        ring.write_bytes(copy)
        memory.restore(backup, is_replacing=True)

    def test_of_some_orgs_only_what_holds_nothing_is_filled(self, memory: Mnemic, ring: Path, tmp_path: Path):
        memory.erase(GLOBEX, level="org")
        with opened(tmp_path / "other.db", backup_keyring=ring) as other:
            fill(other, ACME, WORDS[ACME])
            other.backup(tmp_path / "first.zip")
            copy = ring.read_bytes()
            fill(other, GLOBEX, WORDS[GLOBEX])
            other.backup(tmp_path / "b.zip")
        ring.write_bytes(copy)
        self.refused(memory, tmp_path / "b.zip", "has no keys for 1 orgs")
        with opened(tmp_path / "new.db", backup_keyring=ring) as empty:
            report = empty.restore(tmp_path / "b.zip")
            assert [each.destroyed_at for each in report.lost] == [None]
            assert (known(empty, ACME), known(empty, GLOBEX)) == (True, False)

    def test_master_key_must_be_the_same(self, memory: Mnemic, place: str, ring: Path, tmp_path: Path):
        backup, master = tmp_path / "b.zip", "correct horse battery staple"
        with opened(place, backup_keyring=ring, backup_master_key=master) as wrapped:
            wrapped.backup(backup)
            self.refused(memory, backup, "requires its master key; set MNEMIC_BACKUP_MASTER_KEY")
            with pytest.raises(ConfigError, match="master key"):
                memory.erase(ACME, level="org")
            with opened(place, backup_keyring=ring, backup_master_key="wrong horse battery staple") as wrong:
                self.refused(wrong, backup, "the master key does not match")
            wrapped.restore(backup, is_replacing=True)
            assert wrapped.erase(ACME, level="org").counts["data_keys"] == 1


@pytest.mark.requirement("P-37")
class TestTables:
    def test_of_this_store_say_by_org_or_partition_whose_their_rows_are_or_hold_no_text(
        self, memory: Mnemic, place: str
    ):
        parts = build(Config(store=place, embedder="none"))
        assert isinstance(parts.store, CopyingStore)
        with parts.store.rows() as rows:
            assert {*rows.orgs()} == {ACME.org, GLOBEX.org}
            assert {name: {*rows.tables[name]} for name in SHARED_TABLES} == SHARED_COLUMNS
            for table, columns in rows.tables.items():
                assert rows_statement(table, columns) in ("all_rows", "rows_by_org", "rows_by_pid")
                parted = [row for org in rows.orgs() for row in rows.of(table, org)]
                assert rows.count() >= len(parted)
            own = {name: sum(len([*rows.of(name, org)]) for org in rows.orgs()) for name in rows.tables}
            shared = sum(len([*rows.of(name, None)]) for name in SHARED_TABLES)
            assert sum(own[name] for name in rows.tables if name not in SHARED_TABLES) + shared == rows.count()
        parts.store.close()
        assert known(memory, ACME)

    def test_of_which_it_is_not_known_whose_they_are_are_not_sealed(self):
        with pytest.raises(UnsupportedError, match="which org owns the rows in diary"):
            rows_statement("diary", ["day", "text"])


@pytest.mark.requirement("P-37", "P-30")
def test_a_sealed_backup_gives_way_to_another_and_to_nothing_else(memory: Mnemic, tmp_path: Path):
    memory.backup(tmp_path / "b.zip")
    with pytest.raises(ConflictError):
        memory.backup(tmp_path / "b.zip")
    assert memory.backup(tmp_path / "b.zip", is_replacing=True).manifest.sealed
    assert memory.erase(ACME, level=Level.ORG).id
    assert (tmp_path / "b.zip").stat().st_mode & 0o077 == 0


def _inflated(content: bytes) -> bytes:
    """What is deflated in some bytes, as far as it can be read."""
    unpacker = zlib.decompressobj(-15)
    try:
        return unpacker.decompress(content, 1 << 20)
    except zlib.error:
        return b""
