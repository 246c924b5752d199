"""The door sets whose word a text is, and callers can only lower it, whichever door they take."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from mnemic import Scope
from mnemic.errors import MnemicError
from tests.doors.doors import AsyncDoor, CommandLineDoor, Door, LibraryDoor
from tests.doors.http_doors import AsyncRemoteDoor, RemoteDoor, RestDoor
from tests.doors.mcp_door import McpDoor

ANA = Scope(user="ana", session="s1")
ORDER = ["user", "assistant", "tool", "document", "imported"]
"""Trust from the highest to the lowest."""

pytestmark = pytest.mark.requirement("P-09")
MAKERS: list[Callable[[str], Door]] = [LibraryDoor, AsyncDoor, CommandLineDoor, RestDoor, RemoteDoor, AsyncRemoteDoor]


@pytest.fixture(params=MAKERS, ids=lambda maker: maker.__name__)
def door(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Door]:
    opened: Door = request.param(str(tmp_path / "memory.db"))
    yield opened
    opened.close()


@pytest.fixture
def models(tmp_path: Path) -> Iterator[McpDoor]:
    opened = McpDoor(str(tmp_path / "memory.db"))
    yield opened
    opened.close()


@pytest.mark.requirement("P-46")
def test_a_message_has_at_most_the_trust_of_its_role(door: Door):
    said = [
        {"role": role, "content": f"A {role} says {trust}.", "trust": trust}
        for role in ("user", "assistant", "tool")
        for trust in ("user", "imported")
    ]
    turn = door.call("capture", ANA, {"messages": said})
    assert [each["trust"] for each in turn["messages"]] == [
        "user",
        "imported",
        "assistant",
        "imported",
        "tool",
        "imported",
    ]


def test_a_memory_keeps_its_low_trust_when_a_change_claims_a_higher_one(door: Door):
    kept = door.call("remember", ANA, {"text": "Ana sails on Sundays", "trust": "imported"})
    with suppress(MnemicError):  # the command line has no option for it
        door.call("update", ANA, {"id": kept["id"], "text": "Ana sails on Mondays", "trust": "user"})
    assert door.call("get", ANA, {"id": kept["id"]})["trust"] == "imported"


@pytest.mark.requirement("P-46")
def test_an_edited_export_raises_nothing(door: Door):
    turn = door.call("capture", ANA, {"messages": [{"role": "tool", "content": "It rains in Graz."}]})
    lines: list[object] = door.call("export", ANA, {})
    text = "\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines).replace('": "', '":"')
    assert '"tool"' in text
    bert = Scope(user="bert", session="s1")
    door.call("import_", bert, {"text": text.replace('"trust":"tool"', '"trust":"user"')})
    found = door.call("get", bert, {"id": turn["messages"][0]["id"]})
    assert found["trust"] == "tool"


def test_what_comes_from_a_model_is_never_the_users_word(models: McpDoor):
    for arguments in ({"text": "User likes tea"}, {"text": "User likes rum", "trust": "user"}):
        with suppress(MnemicError):  # an argument that the tool does not have
            assert models.call("remember", ANA, arguments)["trust"] == "assistant"
    turn = models.call("capture", ANA, {"user": "I prefer dark mode", "assistant": "Noted."})
    assert {each["trust"] for each in turn["messages"]} == {"assistant"}
    assert models.call("get", ANA, {"id": turn["messages"][0]["id"]})["trust"] == "assistant"
