"""Memory as files: the six commands of Anthropic's memory tool over memories, here and on a server."""

from __future__ import annotations

from typing import Any

import pytest

from mnemic import Mnemic, Scope
from mnemic.integrations.memory import AnyMnemic
from mnemic.integrations.memory_files import COMMANDS, KNOWN, MemoryFiles
from tests.doors.review_scenarios import ORDER

ANA = Scope(user="ana")


def test_a_model_writes_reads_edits_moves_and_deletes_files(mnemic: AnyMnemic):
    files = MemoryFiles(mnemic, ANA)
    plan = {"path": "/memories/trips/crete.md", "file_text": "# Crete\nFerry at nine\n"}
    assert files.run({"command": "create", **plan}) == "created /memories/trips/crete.md"
    assert files.run({"command": "create", **plan}).startswith("Error: the path /memories/trips/crete.md exists")
    assert (
        files.run({"command": "create", "path": "/memories/copy.md", "file_text": plan["file_text"]})[:7] == "created"
    )
    edit = {"command": "str_replace", "path": plan["path"], "old_str": "nine", "new_str": "ten"}
    assert files.run(edit) == "edited /memories/trips/crete.md"
    assert files.run(edit) == "Error: old_str occurs 0 times in /memories/trips/crete.md; it must occur once"
    files.run({"command": "insert", "path": plan["path"], "insert_line": 1, "insert_text": "Bring a hat\n"})
    lines = "     1\t# Crete\n     2\tBring a hat\n     3\tFerry at ten"
    assert files.run({"command": "view", "path": plan["path"]}).endswith(lines)
    part = files.run({"command": "view", "path": plan["path"], "view_range": [2, 3]})
    assert part.endswith(":\n     2\tBring a hat\n     3\tFerry at ten")
    moved = {"command": "rename", "old_path": "/memories/trips", "new_path": "/memories/past/trips"}
    assert files.run(moved) == "renamed /memories/trips to /memories/past/trips"
    shown = files.run({"command": "view", "path": "/memories"})
    assert [line.split("\t")[1] for line in shown.split("\n")[1:]] == [
        "/memories/copy.md",
        "/memories/known.md",
        "/memories/past/",
        "/memories/past/trips/",
    ]
    assert "hat" in mnemic.recall(ANA, "What must I bring to Crete?").hits[0].text
    assert files.run({"command": "delete", "path": "/memories/past"}) == "deleted /memories/past"
    assert files.run({"command": "view", "path": "/memories/past"}) == "Error: the path /memories/past does not exist"
    assert files.run({"command": "view", "path": "/memories/copy.md"}).endswith("2\tFerry at nine")


def test_what_is_known_is_a_file_whose_lines_are_memories(mnemic: AnyMnemic):
    kept = mnemic.remember(ANA, "User lives in Lisbon")
    mnemic.remember(ANA, "User has a cat named Miso")
    files = MemoryFiles(mnemic, ANA)
    assert "\t- User lives in Lisbon" in files.run({"command": "view", "path": KNOWN})
    files.run({"command": "str_replace", "path": KNOWN, "old_str": "Lisbon", "new_str": "Porto"})
    files.run({"command": "str_replace", "path": KNOWN, "old_str": "User has a cat named Miso", "new_str": ""})
    files.run({"command": "insert", "path": KNOWN, "insert_line": 0, "insert_text": "- User rows\n- User skis\n"})
    texts = {memory.text for memory in mnemic.list(ANA).memories}
    assert texts == {"User lives in Porto", "User rows", "User skis"}
    assert [entry.before.get("text") for entry in mnemic.history(ANA, kept.id)][-1] == "User lives in Lisbon"
    for command in ({"command": "delete", "path": KNOWN}, {"command": "create", "path": KNOWN, "file_text": "x"}):
        assert files.run(command).startswith("Error")


def test_the_guard_judges_what_a_model_writes_and_reads(here: Mnemic):
    files = MemoryFiles(here, ANA)
    told = files.run({"command": "create", "path": "/memories/a.md", "file_text": f"Pay the invoice. {ORDER}"})
    assert "held for review" in told
    assert len(here.review(ANA)) == 1
    here.remember(ANA, f"Ana's invoice. {ORDER}")
    assert "[REDACTED]" in files.run({"command": "view", "path": KNOWN})


def test_files_belong_to_their_owner_and_may_be_empty(here: Mnemic):
    files, other = MemoryFiles(here, ANA), MemoryFiles(here, Scope(user="bob"))
    files.run({"command": "create", "path": "/memories/a.md", "file_text": ""})
    assert files.run({"command": "view", "path": "/memories/a.md"}) == "The lines of /memories/a.md:\n     1\t"
    assert other.run({"command": "view", "path": "/memories/a.md"}).startswith("Error")


@pytest.mark.parametrize(
    "command",
    [
        {"command": "format"},
        {"command": "view"},
        {"command": "view", "path": "/etc/passwd"},
        {"command": "view", "path": "/memories/../etc"},
        {"command": "view", "path": "/memories//a"},
        {"command": "view", "path": 7},
        {"command": "view", "path": "/memories", "view_range": "all"},
        {"command": "delete", "path": "/memories"},
        {"command": "insert", "path": "/memories/a.md", "insert_line": "1", "insert_text": "x"},
        {"command": "insert", "path": "/memories/a.md", "insert_line": 9, "insert_text": "x"},
        {"command": "rename", "old_path": "/memories/a.md", "new_path": "/memories/a.md/b"},
        {"command": "create", "path": "/memories/a.md/b", "file_text": "x"},
    ],
)
def test_a_wrong_command_is_told_to_the_model(here: Mnemic, command: dict[str, Any]):
    files = MemoryFiles(here, ANA)
    files.run({"command": "create", "path": "/memories/a.md", "file_text": "one"})
    assert files.run(command).startswith("Error: ")
    assert [memory.text for memory in here.list(ANA).memories] == ["one"]


def test_every_command_has_a_method():
    assert all(callable(getattr(MemoryFiles, name)) for name in COMMANDS)
