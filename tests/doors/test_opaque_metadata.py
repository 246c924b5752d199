"""At the doors: metadata that says what Mnemic's bookkeeping says does nothing, and no door takes bookkeeping."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from mnemic import Mnemic, Scope
from mnemic.errors import InvalidInputError
from tests.doors.doors import Door
from tests.doors.http_doors import RestDoor
from tests.doors.mcp_door import McpDoor

ANA = Scope(user="ana")


def test_over_rest_no_metadata_supersedes_or_deletes_another_memory(tmp_path: Path):
    door = RestDoor(str(tmp_path / "memory.db"))
    home = door.call("remember", ANA, {"text": "User lives in Berlin"})
    claims = {"slot": "home", "value": "lisbon", "chosen_ids": [home["id"]], "merged_ids": [home["id"]]}
    soup = door.call("remember", ANA, {"text": "User likes soup", "metadata": claims})
    assert (soup["metadata"], soup["bookkeeping"]["slot"]) == (claims, "likes soup")
    assert door.call("get", ANA, {"id": home["id"]})["state"] == "active"
    door.call("delete", ANA, {"id": home["id"]})
    assert door.call("get", ANA, {"id": soup["id"]})["metadata"] == claims
    door.close()


def test_over_mcp_what_a_caller_noted_elsewhere_changes_nothing(tmp_path: Path):
    store = str(tmp_path / "memory.db")
    with Mnemic.open(store) as mnemic:
        home = mnemic.remember(ANA, "User lives in Berlin")
        claims = {"slot": "home", "value": "lisbon", "chosen_ids": [home.id]}
        soup = mnemic.remember(ANA, "User likes soup", metadata=claims)
    door = McpDoor(store)
    door.call("remember", ANA, {"text": "User lives in Porto"})
    door.call("delete", ANA, {"id": home.id})
    door.close()
    with Mnemic.open(store) as mnemic:
        assert [memory.id for memory in mnemic.list(ANA).memories if memory.text != "User lives in Porto"] == [soup.id]
        assert [memory.metadata for memory in mnemic.list(ANA).memories if memory.id == soup.id] == [claims]


REFUSED: tuple[tuple[Callable[[str], Door], str, dict[str, Any]], ...] = (
    (RestDoor, "remember", {"text": "User likes soup", "bookkeeping": {"slot": "home"}}),
    (RestDoor, "remember_many", {"memories": [{"text": "User likes soup", "bookkeeping": {}}]}),
    (RestDoor, "capture", {"messages": [{"role": "user", "content": "soup", "bookkeeping": {}}]}),
    (RestDoor, "list", {"filter": {"bookkeeping.slot": "home"}}),
    (McpDoor, "remember", {"text": "User likes soup", "bookkeeping": {"slot": "home"}}),
    (McpDoor, "update", {"id": "x", "text": "User likes soup", "bookkeeping": {"slot": "home"}}),
)


@pytest.mark.parametrize("make, verb, arguments", REFUSED)
def test_no_door_takes_bookkeeping(tmp_path: Path, make: Callable[[str], Door], verb: str, arguments: dict[str, Any]):
    with closing(make(str(tmp_path / "memory.db"))) as door, pytest.raises(InvalidInputError):
        door.call(verb, ANA, arguments)
