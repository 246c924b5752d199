"""Backup and restore over each real store: whole, private, checked, and without what was erased since."""

from __future__ import annotations

import json
import stat
import threading
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from mnemic import Mnemic, Scope, check_backup
from mnemic.build import build
from mnemic.config import Config
from mnemic.errors import ConflictError, InvalidInputError, UnauthorisedError
from mnemic.model.health import Condition
from mnemic.model.records import Right
from mnemic.model.scope import Level
from tests.conformance.backup_kit import ANA, BORIS, CANARY, fill, opened, texts
from tests.unit.engine.kit import Clock

ELSEWHERE = Scope(org="elsewhere", user="ana")
Open = Callable[[], Mnemic]


@pytest.fixture
def memory(place: str) -> Iterator[Mnemic]:
    with opened(place) as mnemic:
        yield mnemic


@pytest.mark.requirement("P-30")
class TestABackup:
    def test_restores_into_an_empty_store_of_either_kind(self, memory: Mnemic, tmp_path: Path, server: str):
        fill(memory)
        fill(memory, ELSEWHERE, "goldcrest")
        report = memory.backup(tmp_path / "b.zip")
        asked = "who saw a greenfinch?"
        hits = [(hit.text, round(hit.score, 6)) for hit in memory.recall(ANA, asked)]
        targets = [tmp_path / "new.db", *([] if report.manifest.store == "postgresql" else [server])]
        for target in targets:
            with opened(target) as other:
                restored = other.restore(tmp_path / "b.zip")
                assert restored.counts == report.manifest.counts
                assert restored.manifest == report.manifest
                assert [(hit.text, round(hit.score, 6)) for hit in other.recall(ANA, asked)] == hits
                assert texts(other, ELSEWHERE) == texts(memory, ELSEWHERE)
                assert other.profile.all(ANA) == memory.profile.all(ANA)
                assert [
                    finding.message for finding in other.doctor().findings if finding.condition is Condition.BROKEN
                ] == []

    def test_is_one_moment_while_others_write(self, memory: Mnemic, place: str, tmp_path: Path):
        stop = threading.Event()
        said: list[int] = []

        def talk() -> None:
            with opened(place) as other:
                while not stop.is_set():
                    other.capture(ANA, user=f"question {len(said)}", assistant=f"answer {len(said)}")
                    said.append(1)

        writer = threading.Thread(target=talk)
        writer.start()
        try:
            while len(said) < 5:
                writer.join(0.01)
            reports = [memory.backup(tmp_path / f"{number}.zip") for number in range(3)]
        finally:
            stop.set()
            writer.join()
        assert all(report.manifest.counts["messages"] % 2 == 0 for report in reports)
        assert reports[0].manifest.counts["messages"] >= 10
        with opened(tmp_path / "new.db") as other:
            assert other.restore(tmp_path / "2.zip").counts["messages"] == reports[2].manifest.counts["messages"]

    def test_is_private_says_what_it_holds_and_can_be_checked_without_a_store(self, memory: Mnemic, tmp_path: Path):
        fill(memory)
        path = tmp_path / "b.zip"
        report = memory.backup(str(path))
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert [each.name for each in tmp_path.iterdir() if each.name.startswith((".", "b"))] == ["b.zip"]
        with zipfile.ZipFile(path) as packed:
            told = json.loads(packed.read("manifest.json"))
            assert packed.testzip() is None
        assert told["format"] == "mnemic-backup"
        assert told["counts"] == report.manifest.counts
        assert CANARY not in json.dumps(told)
        checked = check_backup(path, room=tmp_path)
        assert (checked.manifest, checked.size) == (report.manifest, path.stat().st_size)

    def test_tells_how_far_it_is(self, memory: Mnemic, tmp_path: Path):
        fill(memory)
        told: list[tuple[str, int, int]] = []

        def tell(what: str, done: int, total: int) -> None:
            told.append((what, done, total))

        memory.backup(tmp_path / "b.zip", progress=tell)
        assert [*dict.fromkeys(what for what, _, _ in told)] == ["copying", "packing", "checking"]
        assert told[-1][1] == told[-1][2] > 0

    def test_never_takes_the_place_of_a_file_unless_told_and_then_of_a_backup_alone(
        self, memory: Mnemic, tmp_path: Path
    ):
        path, diary = tmp_path / "b.zip", tmp_path / "diary.txt"
        memory.backup(path)
        before = path.read_bytes()
        with pytest.raises(ConflictError, match=r"b\.zip already exists"):
            memory.backup(path)
        assert path.read_bytes() == before
        memory.remember(ANA, "something new")
        assert memory.backup(path, is_replacing=True).manifest.counts["memories"] == 1
        diary.write_text("Dear diary", encoding="utf-8")
        with pytest.raises(ConflictError, match="is not a backup"):
            memory.backup(diary, is_replacing=True)
        assert diary.read_text(encoding="utf-8") == "Dear diary"

    @pytest.mark.parametrize("name", ["", "missing/b.zip", "folder"])
    def test_says_where_no_file_can_be(self, memory: Mnemic, tmp_path: Path, name: str):
        (tmp_path / "folder").mkdir()
        with pytest.raises(InvalidInputError, match="folder"):
            memory.backup(tmp_path / name)

    def test_that_is_given_up_leaves_nothing(self, memory: Mnemic, tmp_path: Path):
        fill(memory)
        before = sorted(tmp_path.iterdir())
        for step in ("copying", "packing", "checking"):

            def interrupt(what: str, _done: int, _total: int, step: str = step) -> None:
                if what == step:
                    raise KeyboardInterrupt

            with pytest.raises(KeyboardInterrupt):
                memory.backup(tmp_path / "b.zip", progress=interrupt)
            assert sorted(tmp_path.iterdir()) == before


@pytest.mark.requirement("P-30")
class TestARestore:
    def test_puts_back_what_was_and_removes_what_came_since(self, memory: Mnemic, tmp_path: Path):
        fill(memory)
        tea = memory.remember(ANA, "Drinks tea")
        before = texts(memory)
        memory.backup(tmp_path / "b.zip")
        memory.update(ANA, tea.id, text="Drinks coffee")
        memory.remember(ANA, "A later thing")
        report = memory.restore(tmp_path / "b.zip", is_replacing=True)
        assert texts(memory) == before
        assert memory.get(ANA, tea.id).text == "Drinks tea"
        assert [hit.text for hit in memory.recall(ANA, "drinks", limit=1)] == ["Drinks tea"]
        assert not any("later" in hit.text for hit in memory.recall(ANA, "a later thing", limit=20))
        assert report.replaced["memories"] == report.counts["memories"] + 1
        assert memory.remember(ANA, "A later thing").text == "A later thing"

    def test_brings_back_what_was_deleted_one_by_one(self, memory: Mnemic, tmp_path: Path):
        tea = memory.remember(ANA, "Drinks tea")
        memory.backup(tmp_path / "b.zip")
        memory.delete(ANA, tea.id)
        memory.restore(tmp_path / "b.zip", is_replacing=True)
        assert memory.get(ANA, tea.id).text == "Drinks tea"

    def test_refuses_a_store_that_holds_something_unless_told(self, memory: Mnemic, tmp_path: Path):
        memory.remember(ANA, "Drinks tea")
        memory.backup(tmp_path / "b.zip")
        with pytest.raises(ConflictError, match="the store already contains 1 memories"):
            memory.restore(tmp_path / "b.zip")
        memory.remember(ANA, "Drinks coffee")
        report = memory.restore(tmp_path / "b.zip", is_dry_run=True)
        assert (report.counts["memories"], report.replaced["memories"], report.is_dry_run) == (1, 2, True)
        assert texts(memory) == ["Drinks coffee", "Drinks tea"]

    def test_is_seen_by_others_that_have_the_store_open(self, memory: Mnemic, place: str, tmp_path: Path):
        with opened(place) as other:
            other.remember(ANA, "Drinks tea")
            other.ingest(ANA, b"Tea is grown on hills.", name="tea.txt")
            memory.backup(tmp_path / "b.zip")
            other.remember(ANA, "Drinks coffee")
            other.ingest(ANA, b"Coffee is grown on hills.", name="coffee.txt")
            assert {hit.text for hit in other.recall(ANA, "drinks")} == {"Drinks tea", "Drinks coffee"}
            assert len(other.recall(ANA, "grown on hills", kinds=["document"])) == 2
            memory.restore(tmp_path / "b.zip", is_replacing=True)
            grown = other.recall(ANA, "grown on hills", kinds=["document"])
            assert [hit.text for hit in grown] == ["Tea is grown on hills."]
            assert {hit.text for hit in other.recall(ANA, "drinks")} == {"Drinks tea"}
            other.remember(ANA, "Drinks water")
            assert {hit.text for hit in memory.recall(ANA, "drinks")} == {"Drinks tea", "Drinks water"}

    def test_that_is_given_up_leaves_all_as_it_was(self, memory: Mnemic, tmp_path: Path):
        fill(memory)
        memory.backup(tmp_path / "b.zip")
        fill(memory, BORIS, "goldcrest")
        before = (texts(memory), texts(memory, BORIS), sorted(tmp_path.iterdir()))
        for step in ("checking", "restoring"):

            def interrupt(what: str, _done: int, _total: int, step: str = step) -> None:
                if what == step:
                    raise KeyboardInterrupt

            with pytest.raises(KeyboardInterrupt):
                memory.restore(tmp_path / "b.zip", is_replacing=True, progress=interrupt)
            assert (texts(memory), texts(memory, BORIS), sorted(tmp_path.iterdir())) == before

    def test_keeps_keys_and_audit_log_of_a_store_that_has_them(self, memory: Mnemic, tmp_path: Path):
        org = Scope()
        old = memory.keys.create(org, name="old")
        memory.remember(ANA, "Drinks tea")
        memory.backup(tmp_path / "b.zip")
        memory.keys.revoke(org, old.key.id)
        new = memory.keys.create(org, name="new", rights=[Right.ADMIN])
        report = memory.restore(tmp_path / "b.zip", is_replacing=True)
        assert report.kept == ("api_keys", "audit")
        assert memory.admission.check(new.token).name == "new"
        with pytest.raises(UnauthorisedError):
            memory.admission.check(old.token)
        assert len(memory.keys.audit(org).entries) == 3

    def test_takes_keys_and_audit_log_into_a_store_without_any(self, memory: Mnemic, tmp_path: Path):
        issued = memory.keys.create(Scope(), name="laptop")
        memory.backup(tmp_path / "b.zip")
        with opened(tmp_path / "new.db") as other:
            report = other.restore(tmp_path / "b.zip")
            assert report.kept == ()
            assert other.admission.check(issued.token).name == "laptop"
            assert len(other.keys.audit(Scope()).entries) == 1

    def test_says_when_its_vectors_are_of_another_embedder_and_has_new_ones_made(self, place: str, tmp_path: Path):
        with opened(place, embedder="minilm") as memory:
            memory.remember(ANA, "Her bicycle has a flat tyre")
            memory.backup(tmp_path / "b.zip")
        options = {"embedder": "minilm", "embedder_options": {"max_tokens": 64}}
        with opened(tmp_path / "new.db", **options) as other:
            report = other.restore(tmp_path / "b.zip")
            assert any("reembed" in note for note in report.notes)
            other.work()
            assert other.recall(ANA, "what is wrong with her bike?").hits[0].similarity


@pytest.mark.requirement("P-30", "P-37", "P-07")
class TestWhatWasErased:
    def test_since_the_backup_is_erased_again_and_nothing_else(self, memory: Mnemic, tmp_path: Path):
        fill(memory)
        fill(memory, BORIS, "goldcrest")
        fill(memory, ELSEWHERE, "linnet")
        memory.backup(tmp_path / "b.zip")
        receipt = memory.erase(ANA)
        report = memory.restore(tmp_path / "b.zip", is_replacing=True)
        assert report.replayed == 1
        assert report.erased["messages"] == receipt.counts["messages"]
        assert not memory.recall(ANA, CANARY, limits=None).hits
        assert texts(memory, ELSEWHERE) == ["Likes the linnet"]
        assert memory.recall(BORIS, "goldcrest").hits
        assert [each.id for each in memory.receipts(ANA)] == [receipt.id]

    def test_does_not_lie_in_the_files_after_it(self, tmp_path: Path):
        folder = tmp_path / "store"
        with opened(folder / "memory.db") as memory:
            fill(memory)
            fill(memory, BORIS, "goldcrest")
            memory.backup(tmp_path / "b.zip")
            memory.erase(ANA)
            memory.restore(tmp_path / "b.zip", is_replacing=True)
        files = [path for path in folder.rglob("*") if path.is_file()]
        assert not any(CANARY.encode() in path.read_bytes() for path in files)
        assert any(b"goldcrest" in path.read_bytes() for path in files)

    def test_before_the_backup_says_nothing_of_an_owner_who_came_back(self, memory: Mnemic, tmp_path: Path):
        fill(memory)
        memory.erase(ANA)
        memory.remember(ANA, "Came back")
        memory.backup(tmp_path / "b.zip")
        report = memory.restore(tmp_path / "b.zip", is_replacing=True)
        assert report.replayed == 0
        assert texts(memory) == ["Came back"]

    def test_stays_erased_where_the_store_is_lost_and_its_receipts_were_kept(self, memory: Mnemic, tmp_path: Path):
        fill(memory)
        fill(memory, BORIS, "goldcrest")
        memory.backup(tmp_path / "b.zip")
        memory.erase(ANA)
        kept = memory.backup(tmp_path / "receipts.zip", contents="receipts")
        assert (kept.manifest.receipts, sum(kept.manifest.counts.values())) == (1, 0)
        with opened(tmp_path / "new.db") as other:
            report = other.restore(tmp_path / "b.zip", receipts=tmp_path / "receipts.zip")
            assert report.replayed == 1
            assert not other.recall(ANA, CANARY, limits=None).hits
            assert other.recall(BORIS, "goldcrest").hits
            again = other.restore(tmp_path / "b.zip", is_replacing=True)
            assert again.replayed == 1
            with pytest.raises(InvalidInputError, match="contains only receipts"):
                other.restore(tmp_path / "receipts.zip", is_replacing=True)

    def test_keeps_the_keys_of_the_erased_revoked(self, memory: Mnemic, tmp_path: Path):
        fill(memory)
        fill(memory, BORIS, "goldcrest")
        for owner in (ANA, BORIS):
            memory.keys.create(Scope(user=owner.user), name=f"phone of {owner.user}")
        memory.backup(tmp_path / "b.zip")
        memory.erase(ANA)
        memory.backup(tmp_path / "receipts.zip", contents="receipts")
        with opened(tmp_path / "new.db") as other:
            other.restore(tmp_path / "b.zip", receipts=tmp_path / "receipts.zip")
            keys = {(key.name, key.user): key.revoked_at is None for key in other.keys.list(ANA)}
        assert keys == {("", "(erased)"): False, (f"phone of {BORIS.user}", BORIS.user): True}

    def test_by_a_store_with_another_key_is_erased_and_known_from_then_on(self, memory: Mnemic, tmp_path: Path):
        fill(memory)
        memory.erase(BORIS)  # makes the key of this store
        memory.backup(tmp_path / "b.zip")
        with opened(tmp_path / "other.db") as other:
            fill(other)
            other.erase(ANA)
            report = other.restore(tmp_path / "b.zip", is_replacing=True)
            assert report.replayed == 1
            assert any("a different store" in note for note in report.notes)
            assert not other.recall(ANA, CANARY, limits=None).hits
            again = other.restore(tmp_path / "b.zip", is_replacing=True)
            assert (again.replayed, again.notes, again.erased) == (1, (), report.erased)
            assert not other.recall(ANA, CANARY, limits=None).hits

    def test_while_the_restore_is_on_its_way_is_erased_too(self, memory: Mnemic, place: str, tmp_path: Path):
        fill(memory)
        memory.backup(tmp_path / "b.zip")
        erased: list[int] = []
        with opened(place) as other:

            def erase(what: str, done: int, total: int) -> None:
                if what == "checking" and done == total and not erased:
                    erased.append(len(other.erase(ANA).counts))

            report = memory.restore(tmp_path / "b.zip", is_replacing=True, progress=erase)
        assert erased
        assert report.replayed == 1
        assert not memory.recall(ANA, CANARY, limits=None).hits

    def test_is_erased_whatever_the_clock_said_when_it_was_written(self, place: str, tmp_path: Path):
        clock = Clock()
        with Mnemic(replace(build(Config(store=place, embedder="none")), clock=clock)) as memory:
            clock.turn(days=400)
            fill(memory)
            clock.turn(days=-300)
            memory.backup(tmp_path / "b.zip")
            clock.turn(hours=1)
            memory.erase(ANA)
            assert memory.restore(tmp_path / "b.zip", is_replacing=True).replayed == 1
            assert not memory.recall(ANA, CANARY, limits=None).hits

    def test_by_receipts_from_before_the_backup_stays_where_it_came_later(self, place: str, tmp_path: Path):
        clock = Clock()
        with Mnemic(replace(build(Config(store=place, embedder="none")), clock=clock)) as memory:
            fill(memory)
            memory.backup(tmp_path / "old.zip")
            clock.turn(hours=1)
            memory.erase(ANA)
            memory.backup(tmp_path / "receipts.zip", contents="receipts")
        with Mnemic(replace(build(Config(store=str(tmp_path / "new.db"), embedder="none")), clock=clock)) as other:
            other.restore(tmp_path / "old.zip")  # nobody thought of the receipts
            clock.turn(hours=1)
            other.remember(ANA, "Came back")
            other.profile.set(ANA, {"town": "Rome"})
            clock.turn(hours=1)
            other.backup(tmp_path / "new.zip")
            other.restore(tmp_path / "new.zip", receipts=tmp_path / "receipts.zip", is_replacing=True)
            assert texts(other) == ["Came back"]
            assert not any(CANARY in hit.text for hit in other.recall(ANA, CANARY, limits=None))
            assert other.profile.format(ANA).count("Rome") == 1
            assert CANARY not in other.profile.format(ANA)

    def test_of_a_session_takes_its_messages_and_what_was_made_of_them(self, memory: Mnemic, tmp_path: Path):
        fill(memory)
        later = Scope(user="ana", agent="quill", session="s2")
        memory.capture(later, user="Another day")
        memory.backup(tmp_path / "b.zip")
        memory.erase(ANA, level=Level.SESSION)
        memory.restore(tmp_path / "b.zip", is_replacing=True)
        assert memory.window(ANA) == []
        assert [message.text for message in memory.window(later)] == ["Another day"]
