"""Memory as a folder of Markdown: what people and git do to files comes back, and nothing is lost."""

from __future__ import annotations

import json
import os
import subprocess
import unicodedata
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from mnemic import Mnemic, Scope
from mnemic.api.files import read_page
from mnemic.model.records import Right
from tests.doors.doors import run
from tests.doors.http_doors import LOCAL, Served
from tests.doors.review_scenarios import ORDER

pytestmark = pytest.mark.requirement("P-56")
ANA = Scope(user="ana")
NOTHING: dict[str, list[str]] = {"written": [], "told": []}


class Folder:
    """A store with three memories and a fact, and its exported folder."""

    def __init__(self, home: Path) -> None:
        self.path, self._store = home / "memory", str(home / "memory.db")
        with self.open() as mnemic:
            texts = ("User's sister Marta lives in Braga", "User keeps bees", "User has a cat\n\nnamed Miso")
            self.ids = [each.id for each in mnemic.remember_many(ANA, texts)]
            mnemic.profile.set(ANA, {"home": "Porto"})
        self.call("export")

    def open(self) -> Mnemic:
        return Mnemic.open(self._store, has_worker=False)

    def call(self, command: str, *options: str, code: int = 0) -> Any:
        words = ["files", command, str(self.path), "--user", "ana", "--store", self._store, "--json", *options]
        found, out, err = run(words, [])
        assert found == code, err
        return json.loads(out or err)

    def sync(self, *options: str) -> Any:
        """Syncs. A second sync must change nothing."""
        report = self.call("sync", *options)
        before = {file: file.read_bytes() for file in self.path.rglob("*") if file.is_file()}
        assert {**self.call("sync"), "told": []} == NOTHING
        assert {file: file.read_bytes() for file in self.path.rglob("*") if file.is_file()} == before
        return report

    def edit(self, old: str, new: str, name: str = "facts.md") -> None:
        file = self.path / name
        text = file.read_text("utf-8")
        assert old in text
        file.write_text(text.replace(old, new), "utf-8")

    def texts(self) -> list[str]:
        with self.open() as mnemic:
            return sorted(memory.text for memory in mnemic.list(ANA).memories)


@pytest.fixture
def folder(home: Path) -> Folder:
    return Folder(home)


def test_a_person_reads_the_folder(folder: Folder):
    marta, bees, cat = (each[-8:] for each in folder.ids)
    assert (folder.path / "profile.md").read_text("utf-8") == "# Profile\n\n- home: Porto\n"
    assert (folder.path / "facts.md").read_text("utf-8") == (
        f"# Facts\n\n- User's sister Marta lives in Braga <!-- {marta} -->\n- User keeps bees <!-- {bees} -->\n"
        f"- User has a cat\n  \n  named Miso <!-- {cat} -->\n"
    )
    assert {**folder.call("sync")} == NOTHING
    assert folder.call("export", code=4)["error"]["kind"] == "conflict"


def test_edits_additions_and_deletions_come_back(folder: Folder):
    folder.edit("Braga", "Porto")
    folder.edit(f"- User keeps bees <!-- {folder.ids[1][-8:]} -->\n", "## Sport\n\n* User rows\n")
    folder.edit("home: Porto", "home: Braga\n- boat: Miso", "profile.md")
    (folder.path / "trips").mkdir()
    (folder.path / "trips" / "crete.md").write_text("# Crete\n\nFerry at nine\n", "utf-8")
    assert folder.call("sync", "--dry-run") == {"added": 3, "changed": 2, "deleted": 1, **NOTHING}
    assert folder.sync() == {"added": 3, "changed": 2, "deleted": 1, "written": ["facts.md"], "told": []}
    assert folder.texts() == [
        "# Crete\n\nFerry at nine\n",
        "User has a cat\n\nnamed Miso",
        "User rows",
        "User's sister Marta lives in Porto",
    ]
    text = (folder.path / "facts.md").read_text("utf-8")
    assert "## Sport\n\n* User rows <!-- " in text
    with folder.open() as mnemic:
        assert mnemic.profile.get(ANA) == {"boat": "Miso", "home": "Braga"}
        assert mnemic.history(ANA, folder.ids[0])[-1].reason == "in a folder of files"
        seen = mnemic.run_file_command(ANA, "view", path="/memories/trips/crete.md")
    assert seen.endswith("     3\tFerry at nine")


def test_what_changes_in_memory_comes_into_the_folder(folder: Folder):
    with folder.open() as mnemic:
        mnemic.update(ANA, folder.ids[0], text="User's sister Marta lives in Faro")
        mnemic.delete(ANA, folder.ids[1])
        mnemic.remember(ANA, "User will dive", kind="goal")
        mnemic.run_file_command(ANA, "create", path="/memories/trips/crete.md", file_text="Ferry at nine")
    folder.edit("# Facts", "# What I know\n\nMore is in profile.md.")
    report = folder.sync()
    assert sorted(report["written"]) == ["facts.md", "goals.md", "trips/crete.md"]
    text = (folder.path / "facts.md").read_text("utf-8")
    assert text.startswith("# What I know\n\n- More is in profile.md. <!-- ")
    assert "lives in Faro" in text
    assert "bees" not in text
    assert (folder.path / "trips" / "crete.md").read_text("utf-8") == "Ferry at nine\n"
    (folder.path / "trips" / "crete.md").rename(folder.path / "crete.md")
    assert folder.sync() == {"moved": 1, **NOTHING}
    with folder.open() as mnemic:
        mnemic.run_file_command(ANA, "delete", path="/memories/crete.md")
    assert folder.sync()["written"] == ["crete.md"]
    assert not (folder.path / "crete.md").exists()


def test_nothing_is_lost_in_a_conflict(folder: Folder):
    with folder.open() as mnemic:
        mnemic.update(ANA, folder.ids[0], text="User's sister Marta lives in Faro")
        mnemic.delete(ANA, folder.ids[1])
        mnemic.update(ANA, folder.ids[2], text="User has a dog")
        mnemic.profile.set(ANA, {"home": "Faro"})
    folder.edit("Braga", "Porto")
    folder.edit("keeps bees", "keeps two hives of bees")
    folder.edit(f"- User has a cat\n  \n  named Miso <!-- {folder.ids[2][-8:]} -->\n", "")
    folder.edit("home: Porto", "home: Braga", "profile.md")
    report = folder.sync()
    assert len(report["told"]) == 4
    assert folder.texts() == [
        "User has a dog",
        "User keeps two hives of bees",
        "User's sister Marta lives in Faro",
        "User's sister Marta lives in Porto",
        "home: Braga",
    ]
    with folder.open() as mnemic:
        assert mnemic.profile.get(ANA) == {"home": "Faro"}


def test_two_forms_of_a_file_become_two_files(folder: Folder):
    note = folder.path / "note.md"
    note.write_text("one\n", "utf-8")
    folder.sync()
    with folder.open() as mnemic:
        mnemic.run_file_command(ANA, "str_replace", path="/memories/note.md", old_str="one", new_str="two")
    note.write_text("three\n", "utf-8")
    assert len(folder.sync()["told"]) == 1
    assert note.read_text("utf-8") == "two\n"
    assert (folder.path / "note (2).md").read_text("utf-8") == "three\n"
    assert {"two\n", "three\n"} < set(folder.texts())


@pytest.mark.parametrize("state", [None, "<<<<<<< ours", "[]", '{"files": 7, "owner": ""}'])
def test_without_a_readable_state_nothing_is_deleted(folder: Folder, state: str | None):
    folder.edit("Braga", "Porto")
    folder.edit(f"- User keeps bees <!-- {folder.ids[1][-8:]} -->\n", "")
    file = folder.path / ".mnemic.json"
    if state is None:
        file.write_text(file.read_text("utf-8").replace('"owner": "', '"owner": "x'), "utf-8")
    else:
        file.write_text(state, "utf-8")
    folder.sync()
    assert [text for text in folder.texts() if "cat" not in text] == [
        "User keeps bees",
        "User's sister Marta lives in Braga",
        "User's sister Marta lives in Porto",
    ]


def test_a_folder_that_lost_its_files_deletes_nothing_unless_that_is_meant(folder: Folder):
    with folder.open() as mnemic:
        mnemic.remember_many(ANA, [f"User owns boat {number}" for number in range(5)])
    folder.sync()
    (folder.path / "facts.md").unlink()
    told = folder.call("sync", code=4)["error"]["message"]
    assert told == "this would delete 8 of 9 memories; check with --dry-run, then add --yes"
    assert len(folder.texts()) == 8
    assert folder.sync("--yes")["deleted"] == 8


def test_hostile_names_links_and_contents_stay_where_they_are(folder: Folder, home: Path):
    secret = home / "secret.md"
    secret.write_text("the key\n", "utf-8")
    place = folder.path
    (place / "link.md").symlink_to(secret)
    (place / "away").symlink_to(home, target_is_directory=True)
    (place / "big.md").write_bytes(b"x" * (2 << 20))
    (place / "latin.md").write_bytes(b"caf\xe9")
    (place / "merge.md").write_text("<<<<<<< ours\na\n=======\nb\n>>>>>>> theirs\n", "utf-8")
    (place / ".git").mkdir()
    (place / ".git" / "note.md").write_text("a note of git\n", "utf-8")
    os.mkfifo(place / "pipe.md")
    with folder.open() as mnemic:
        paths = (".git/hooks/run", "a/../b.md", "away/x.md", "nul.md", "a:b.md", "Facts.md", "trip/..", "FACTS.md")
        for path in paths:
            mnemic.remember(ANA, f"Text of {path}", metadata={"path": f"/memories/{path}"}, key=path)
    before = {each for each in home.rglob("*") if not each.name.startswith("memory.db")}
    report = folder.sync()
    after = {each for each in home.rglob("*") if not each.name.startswith("memory.db")}
    assert after == before
    told = [line.split(" is ", 1)[1] for line in report["told"]]
    assert told == [
        "unchanged: it is a link",
        "unchanged: it is larger than 1,048,576 bytes",
        "unchanged: it is not UTF-8 text",
        "unchanged: it is a link",
        "unchanged: it has an unresolved merge conflict",
        "unchanged: it is not a regular file",
        *["not written: its name is not safe on every system"] * 3,
        *["not written: another file has this name in a different case"] * 2,
    ]
    assert "Text of a/../b.md" in (place / "facts.md").read_text("utf-8")
    assert len(folder.texts()) == 3 + len(paths)
    assert secret.read_text("utf-8") == "the key\n"


def test_a_page_that_cannot_be_read_deletes_nothing(folder: Folder):
    file = folder.path / "facts.md"
    whole = file.read_bytes()
    file.write_bytes(whole + b"\xff")
    assert folder.sync()["told"] == ["facts.md is unchanged: it is not UTF-8 text"]
    file.write_bytes(whole)
    assert folder.sync() == NOTHING
    assert len(folder.texts()) == 3


def test_what_editors_change_by_themselves_is_no_change(folder: Folder):
    with folder.open() as mnemic:
        mnemic.remember(ANA, "User likes the café")
        mnemic.run_file_command(ANA, "create", path="/memories/menü.md", file_text="Tea\n")
    folder.sync()
    file, menu = folder.path / "facts.md", folder.path / "menü.md"
    text = unicodedata.normalize("NFD", file.read_text("utf-8")).replace("  \n", "\n").replace("\n", "\r\n")
    file.write_bytes(b"\xef\xbb\xbf" + text.encode())
    menu.rename(folder.path / unicodedata.normalize("NFD", "menü.md"))
    assert folder.sync() == NOTHING
    with file.open("ab") as opened:
        opened.write(b"- User rows\r\n")
    assert folder.sync()["added"] == 1
    assert file.read_bytes().startswith(b"\xef\xbb\xbf# Facts\r\n")
    assert file.read_bytes().count(b"\n") == file.read_bytes().count(b"\r\n")


def test_texts_that_look_like_the_layout_come_back_as_they_were(folder: Folder):
    texts = [
        "# not a heading",
        "- a list\n- of two",
        "ends like an id <!-- deadbeef -->",
        f"names another <!-- {folder.ids[0][-8:]} -->\nand goes on",
        "1. one\n\n   indented\n\ttab",
        "<!-- only a comment -->",
        "---",
        "a\r\nb",
        "key: value",
    ]
    with folder.open() as mnemic:
        mnemic.remember_many(ANA, texts)
        before = sorted(memory.text for memory in mnemic.list(ANA).memories)
    assert folder.sync()["told"] == []
    assert folder.texts() == before


def test_every_path_of_a_memory_survives_a_sync(folder: Folder):
    paths = ("re\u0301sume\u0301", "todo/", "/etc//x.md", "", "/", "./a.md", "trips/../b.md", "facts.md", "notes.md")
    with folder.open() as mnemic:
        for number, path in enumerate(paths):
            mnemic.remember(ANA, f"Text {number}", metadata={"path": f"/memories/{path}"}, key=path)
        mnemic.remember(ANA, "Text of a number", metadata={"path": 7})
        before = sorted(memory.text for memory in mnemic.list(ANA).memories)
        assert len(before) == len(paths) + 4
    report = folder.sync("--yes")
    assert (report["told"], "deleted" in report) == ([], False)
    assert folder.texts() == before
    files = {each.relative_to(folder.path).as_posix() for each in folder.path.rglob("*.*")}
    assert {"etc/x.md", "notes.md", "facts.md"} < files
    assert (folder.path / unicodedata.normalize("NFC", "re\u0301sume\u0301")).read_text("utf-8") == "Text 0\n"
    (folder.path / "todo").write_text("Text one\n", "utf-8")
    (folder.path / "etc" / "x.md").unlink()
    report = folder.sync()
    assert (report["changed"], report["deleted"], report["told"]) == (1, 1, [])
    assert "Text one\n" in folder.texts()
    assert "Text 2" not in folder.texts()


@pytest.mark.parametrize("first", ["---", "***", "===", "___", "- -", "* *", "--", "**", "-----", "# a", "1. ---"])
def test_a_first_line_that_looks_like_a_rule_comes_back(folder: Folder, first: str):
    with folder.open() as mnemic:
        mnemic.remember(ANA, f"{first}\ntitle: Crete\n---\nFerry at nine")
        mnemic.profile.set(ANA, {"-": "-", "rule": "---"})
    assert sorted(folder.sync()["written"]) == ["facts.md", "profile.md"]
    assert f"{first}\ntitle: Crete\n---\nFerry at nine" in folder.texts()
    folder.edit("keeps bees", "keeps hens")
    folder.edit("Ferry at nine", "Ferry at ten")
    assert folder.sync() == {"changed": 2, **NOTHING}
    assert f"{first}\ntitle: Crete\n---\nFerry at ten" in folder.texts()
    with folder.open() as mnemic:
        assert mnemic.profile.get(ANA) == {"-": "-", "home": "Porto", "rule": "---"}


def test_a_rule_of_a_person_is_no_memory():
    for rule in ("---", "* * *", "- - -", "____", "=====", "- --"):
        assert [each.text for each in read_page(f"- a\n{rule}\n- b", "/memories/facts.md")] == ["a", "", "b"]


def test_indentation_is_part_of_a_text(folder: Folder):
    note = folder.path / "note.py"
    with folder.open() as mnemic:
        mnemic.run_file_command(ANA, "create", path="/memories/note.py", file_text="if tea:\n  drink()\n")
        mnemic.remember(ANA, "Plan\n- rest\n- swim")
    folder.sync()
    note.write_text("  if tea:\n    drink()\n", "utf-8")
    folder.edit("  - swim", "    - swim")
    assert folder.sync() == {"changed": 2, **NOTHING}
    assert {"  if tea:\n    drink()\n", "Plan\n- rest\n  - swim"} < set(folder.texts())
    note.write_bytes(b"  if tea:  \r\n    drink()\t\r\n\r\n")
    assert folder.sync() == NOTHING


def test_of_two_memories_with_one_path_no_older_one_comes_back(folder: Folder):
    note = folder.path / "note.md"
    with folder.open() as mnemic:
        for text in ("Old tea", "New tea"):
            mnemic.remember(ANA, text, metadata={"path": "/memories/note.md"}, key=text)
    folder.sync()
    assert note.read_text("utf-8") == "New tea\n"
    note.rename(folder.path / "other.md")
    assert folder.sync() == {"moved": 1, **NOTHING}
    (folder.path / "other.md").unlink()
    assert folder.sync() == {"deleted": 1, **NOTHING}
    assert not {"Old tea", "New tea"} & set(folder.texts())


def test_large_files_of_an_export_can_be_synced(folder: Folder):
    line, text = "Text of a large memory. ", "ä" * 600_000
    with folder.open() as mnemic:
        mnemic.remember_many(ANA, [f"{number}: {line * 4_000}" for number in range(12)])
        mnemic.run_file_command(ANA, "create", path="/memories/large.md", file_text=text)
    folder.sync()
    state = folder.path / ".mnemic.json"
    state.write_bytes(state.read_bytes().rstrip() + b" " * (2 << 20) + b"\n")
    assert all(each.stat().st_size > 1 << 20 for each in (state, folder.path / "facts.md", folder.path / "large.md"))
    folder.edit("keeps bees", "keeps hens")
    assert folder.sync() == {"changed": 1, **NOTHING}


def test_the_guard_reads_the_folder_too(folder: Folder):
    folder.edit("# Facts\n", f"# Facts\n\n- {ORDER}\n")
    report = folder.sync()
    assert report["told"][0].startswith("not added: ")
    assert len(folder.texts()) == 3
    assert ORDER in (folder.path / "facts.md").read_text("utf-8")


def test_a_line_that_was_copied_with_its_id_is_a_new_memory(folder: Folder):
    line = f"- User keeps bees <!-- {folder.ids[1][-8:]} -->\n"
    folder.edit(line, line + line.replace("bees", "hens"))
    assert folder.sync()["added"] == 1
    assert folder.texts()[1:3] == ["User keeps bees", "User keeps hens"]


def test_git_merges_two_peoples_edits(folder: Folder):
    def git(*words: str) -> None:
        own = ["-c", "user.name=ana", "-c", "user.email=ana@localhost", "-C", str(folder.path)]
        subprocess.run(["git", *own, *words], check=True, capture_output=True)

    git("init", "-b", "main")
    git("add", "-A")
    git("commit", "-m", "one")
    git("checkout", "-b", "other")
    folder.edit("Braga", "Porto")
    git("commit", "-am", "two")
    git("checkout", "main")
    folder.edit("named Miso", "named Mia")
    git("commit", "-am", "three")
    git("merge", "other")
    assert folder.sync()["changed"] == 2
    assert "User's sister Marta lives in Porto" in folder.texts()


def test_a_key_that_may_only_read_views_files(home: Path):
    served = Served(str(home / "memory.db"))
    served.mnemic.remember(ANA, "User keeps bees")
    token = served.mnemic.keys.create(Scope(user="ana"), rights=[Right.READ]).token
    with TestClient(served.app, base_url=LOCAL, headers={"Authorization": f"Bearer {token}"}) as client:
        seen = client.post("/v1/files", json={"command": "view", "path": "/memories/facts.md"})
        refused = client.post("/v1/files", json={"command": "create", "path": "/memories/a.md", "file_text": "x"})
    served.close()
    assert "bees" in seen.json()
    assert (refused.status_code, refused.json()["type"]) == (403, "urn:mnemic:problem:forbidden")


def test_a_key_of_one_agent_writes_no_files_that_others_share(home: Path):
    served = Served(str(home / "memory.db"))
    token = served.mnemic.keys.create(Scope(user="ana", agent="quill")).token
    with TestClient(served.app, base_url=LOCAL, headers={"Authorization": f"Bearer {token}"}) as client:
        made = client.post("/v1/files", json={"command": "create", "path": "/memories/a.md", "file_text": "x"})
        other = client.post("/v1/files?user=bob", json={"command": "view"})
    served.gate.audit.flush()
    audited = [(entry.verb, entry.outcome) for entry in served.mnemic.keys.audit(Scope()).entries]
    served.close()
    assert made.status_code == 200
    assert other.status_code == 403
    assert sorted(audited) == [("keys.create", "ok"), ("run_file_command", "403"), ("run_file_command", "ok")]


def test_a_comment_that_never_ends_is_read_at_once():
    (block,) = read_page(f"- tea <!-- {'0a' * 50_000} x", "/memories/facts.md")
    assert block.ref == ""
