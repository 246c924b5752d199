"""What every door must do alike: memory as files."""

from __future__ import annotations

from mnemic.errors import ConflictError, InvalidInputError, NotFoundError
from tests.doors.scenarios import BORIS, KEEP_TEA, Ref, Scenario, Step

CRETE = "/memories/trips/crete.md"
CREATE = Step(
    "run_file_command",
    {"command": "create", "path": CRETE, "file_text": "Ferry at nine"},
    expect={"#": len(f"File created successfully at: {CRETE}")},
)
VIEW = {"command": "view", "path": CRETE}

FILES = (
    Scenario(
        "a file that a model writes is a memory with a history",
        (
            CREATE,
            Step("run_file_command", dict(CREATE.arguments), fails=ConflictError),
            Step("recall", {"query": "ferry"}, expect={"hits.0.item.text": "Ferry at nine"}, save="found"),
            Step(
                "run_file_command",
                {"command": "str_replace", "path": CRETE, "old_str": "nine", "new_str": "ten o'clock"},
            ),
            Step("get", {"id": Ref("found", "hits.0.item.id")}, expect={"text": "Ferry at ten o'clock"}),
            Step(
                "history",
                {"id": Ref("found", "hits.0.item.id")},
                expect={"#": 2, "1.action": "updated", "1.reason": "through the memory tool"},
            ),
            Step(
                "run_file_command", {"command": "insert", "path": CRETE, "insert_line": 1, "insert_text": "Take a hat"}
            ),
            Step("get", {"id": Ref("found", "hits.0.item.id")}, expect={"text": "Ferry at ten o'clock\nTake a hat"}),
            Step("run_file_command", VIEW, scope=BORIS, fails=NotFoundError),
            Step("run_file_command", {"command": "rename", "old_path": "/memories/trips", "new_path": "/memories/old"}),
            Step("run_file_command", VIEW, fails=NotFoundError),
            Step("run_file_command", {"command": "delete", "path": "/memories/old"}),
            Step("get", {"id": Ref("found", "hits.0.item.id")}, fails=NotFoundError),
            Step("run_file_command", {"command": "view", "path": "/etc/passwd"}, fails=InvalidInputError),
            Step("run_file_command", {"command": "format", "path": CRETE}, fails=InvalidInputError),
        ),
    ),
    Scenario(
        "a page's item is a memory",
        (
            KEEP_TEA,
            Step(
                "run_file_command",
                {"command": "str_replace", "path": "/memories/preferences.md", "old_str": "smoked", "new_str": "green"},
            ),
            Step("get", {"id": Ref("tea")}, expect={"text": "Ana drinks green tea", "kind": "preference"}),
            Step(
                "run_file_command",
                {"command": "insert", "path": "/memories/goals.md", "insert_line": 0, "insert_text": "- Ana will dive"},
            ),
            Step("list", {"kinds": ["goal"]}, expect={"memories.#": 1, "memories.0.text": "Ana will dive"}),
        ),
    ),
)
