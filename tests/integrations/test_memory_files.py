"""Memory as files: the six commands of Anthropic's memory tool over memories, here and on a server."""

from __future__ import annotations

from typing import Any

import pytest

from mnemic import Mnemic, Scope
from mnemic.integrations.memory import AnyMnemic
from mnemic.integrations.memory_files import MemoryFiles
from tests.doors.review_scenarios import ORDER

pytestmark = pytest.mark.requirement("P-56")
ANA = Scope(user="ana")
FACTS, PROFILE, CRETE = "/memories/facts.md", "/memories/profile.md", "/memories/trips/crete.md"


def see(files: MemoryFiles, path: str) -> list[str]:
    """The lines of a file."""
    return [line.partition("\t")[2] for line in files.run({"command": "view", "path": path}).split("\n")[1:]]


def test_a_model_writes_reads_edits_moves_and_deletes_files(mnemic: AnyMnemic):
    files = MemoryFiles(mnemic, ANA)
    plan = {"path": CRETE, "file_text": "# Crete\nFerry at nine\n"}
    assert files.run({"command": "create", **plan}) == f"File created successfully at: {CRETE}"
    assert files.run({"command": "create", **plan}) == f"Error: File {CRETE} already exists"
    edit = {"command": "str_replace", "path": CRETE, "old_str": "nine", "new_str": "ten"}
    assert files.run(edit) == (
        "The memory file has been edited. Here is the snippet showing the change (with line numbers):\n"
        "     1\t# Crete\n     2\tFerry at ten"
    )
    assert files.run(edit) == f"No replacement was performed, old_str `nine` did not appear verbatim in {CRETE}."
    twice = files.run({"command": "str_replace", "path": CRETE, "old_str": "e", "new_str": "x"})
    assert "Multiple occurrences of old_str `e` in lines: 1, 1, 2, 2. Please ensure it is unique" in twice
    hat = {"command": "insert", "path": CRETE, "insert_line": 1, "insert_text": "Bring a hat\n"}
    assert files.run(hat) == f"The file {CRETE} has been edited."
    part = files.run({"command": "view", "path": CRETE, "view_range": [2, 3]})
    assert part == f"Here's the content of {CRETE} with line numbers:\n     2\tBring a hat\n     3\tFerry at ten"
    assert "hat" in mnemic.recall(ANA, "What must I bring to Crete?").hits[0].text
    moved = {"command": "rename", "old_path": "/memories/trips", "new_path": "/memories/past/trips"}
    assert files.run(moved) == "Successfully renamed /memories/trips to /memories/past/trips"
    assert see(files, "/memories") == ["/memories", "/memories/past/", "/memories/past/trips/"]
    assert files.run({"command": "delete", "path": "/memories/past"}) == "Successfully deleted /memories/past"
    gone = files.run({"command": "view", "path": "/memories/past"})
    assert gone == "Error: The path /memories/past does not exist. Please provide a valid path."


def test_each_item_of_a_page_is_a_memory(mnemic: AnyMnemic):
    kept = mnemic.remember(ANA, "User lives in Lisbon")
    cat = mnemic.remember(ANA, "User has a cat\nnamed Miso")
    files = MemoryFiles(mnemic, ANA)
    items = [
        f"- User lives in Lisbon <!-- {kept.id[-8:]} -->",
        "- User has a cat",
        f"  named Miso <!-- {cat.id[-8:]} -->",
    ]
    assert see(files, FACTS) == ["# Facts", "", *items]
    files.run({"command": "str_replace", "path": FACTS, "old_str": "Lisbon", "new_str": "Porto"})
    files.run({"command": "str_replace", "path": FACTS, "old_str": "\n".join(items[1:]), "new_str": ""})
    files.run({"command": "insert", "path": FACTS, "insert_line": 2, "insert_text": "- User rows\n- User skis\n"})
    texts = {memory.text for memory in mnemic.list(ANA).memories}
    assert texts == {"User lives in Porto", "User rows", "User skis"}
    assert [entry.before.get("text") for entry in mnemic.history(ANA, kept.id)][-1] == "User lives in Lisbon"
    for command in ({"command": "delete", "path": FACTS}, {"command": "create", "path": FACTS, "file_text": "x"}):
        assert files.run(command).startswith("Error")


def test_the_profile_is_a_page(here: Mnemic):
    here.profile.set(ANA, {"home": "Porto", "job": "pilot"})
    files = MemoryFiles(here, ANA)
    files.run({"command": "str_replace", "path": PROFILE, "old_str": "Porto", "new_str": "Braga"})
    files.run({"command": "str_replace", "path": PROFILE, "old_str": "- job: pilot\n", "new_str": ""})
    files.run({"command": "insert", "path": PROFILE, "insert_line": 3, "insert_text": "boat: Miso"})
    assert here.profile.get(ANA) == {"boat": "Miso", "home": "Braga"}
    poison = {"command": "insert", "path": PROFILE, "insert_line": 3, "insert_text": f"note: {ORDER}"}
    assert files.run(poison).startswith("Error: not added")
    assert here.profile.get(ANA) == {"boat": "Miso", "home": "Braga"}


def test_the_guard_judges_what_a_model_writes_and_reads(here: Mnemic):
    files = MemoryFiles(here, ANA)
    told = files.run({"command": "create", "path": "/memories/a.md", "file_text": f"Pay the invoice. {ORDER}"})
    assert "held for review" in told
    assert len(here.review(ANA)) == 1
    here.remember(ANA, f"Ana's invoice. {ORDER}")
    assert "[REDACTED]" in files.run({"command": "view", "path": FACTS})


def test_files_belong_to_their_owner_and_may_be_empty(here: Mnemic):
    files, other = MemoryFiles(here, ANA), MemoryFiles(here, Scope(user="bob"))
    files.run({"command": "create", "path": "/memories/a.md", "file_text": ""})
    assert see(files, "/memories/a.md") == [""]
    assert other.run({"command": "view", "path": "/memories/a.md"}).startswith("Error")
    assert see(other, "/memories") == ["/memories"]


def test_an_edit_is_stored_exactly(here: Mnemic):
    files, note = MemoryFiles(here, ANA), "/memories/note.py"
    files.run({"command": "create", "path": note, "file_text": "if tea:\n  drink()\n"})
    kept = here.remember(ANA, "***\r\nPlan\r\n- swim")
    here.remember(ANA, "User rows")
    for path, old, new in (
        (note, "  drink", "    drink"),
        (note, "if tea:\n", "if tea:  \n"),
        (note, "if tea", "\n  if tea"),
        (FACTS, "User rows", "User skis"),
    ):
        told = files.run({"command": "str_replace", "path": path, "old_str": old, "new_str": new})
        assert told.startswith("The memory file has been edited")
    texts = {memory.text for memory in here.list(ANA).memories}
    assert see(files, note) == ["", "  if tea:  ", "    drink()"]
    assert texts == {"\n  if tea:  \n    drink()\n", "***\r\nPlan\r\n- swim", "User skis"}
    files.run({"command": "str_replace", "path": FACTS, "old_str": "  - swim", "new_str": "    - swim"})
    assert here.get(ANA, kept.id).text == "***\nPlan\n  - swim"


def test_paths_are_one_in_every_form(here: Mnemic):
    files, path = MemoryFiles(here, ANA), "/memories/r\xe9sum\xe9.md"
    for number, form in enumerate(("/memories/re\u0301sume\u0301.md", f"{path}/", "/memories//r\xe9sum\xe9.md")):
        here.remember(ANA, f"Text {number}", metadata={"path": form}, key=form)
    assert see(files, "/memories") == ["/memories", path]
    assert see(files, "/memories/re\u0301sume\u0301.md") == ["Text 2"]
    files.run({"command": "rename", "old_path": path, "new_path": "/memories/cv.md"})
    assert see(files, "/memories") == ["/memories", "/memories/cv.md"]
    files.run({"command": "delete", "path": "/memories/cv.md"})
    assert here.list(ANA).memories == ()


def test_an_empty_page_exists_for_every_command(here: Mnemic):
    files = MemoryFiles(here, ANA)
    assert see(files, FACTS) == ["# Facts"]
    assert files.run({"command": "create", "path": FACTS, "file_text": "x"}) == f"Error: File {FACTS} already exists"
    files.run({"command": "insert", "path": FACTS, "insert_line": 2, "insert_text": "- User rows"})
    assert [memory.text for memory in here.list(ANA).memories] == ["User rows"]


def test_a_text_that_names_an_empty_file_is_shown(here: Mnemic):
    files, note = MemoryFiles(here, ANA), "/memories/a.md"
    files.run({"command": "create", "path": note, "file_text": "an empty file"})
    assert see(files, note)[0] == "an empty file"
    here.remember(ANA, "an empty file")
    assert see(files, FACTS)[2].startswith("- an empty file <!-- ")


@pytest.mark.parametrize(
    "command",
    [
        {"command": "format"},
        {"command": "create", "path": "/memories/b.md"},
        {"command": "view", "path": "/etc/passwd"},
        {"command": "view", "path": "/memories/../etc"},
        {"command": "view", "path": "/memories//a"},
        {"command": "view", "path": 7},
        {"command": "view", "path": "/memories/a.md", "view_range": [1]},
        {"command": "view", "path": "/memories/a.md", "view_range": [1, 2, 3]},
        {"command": "view", "path": "/memories", "mode": "all"},
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
