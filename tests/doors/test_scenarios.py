"""The scenario table through every door: the same verbs, arguments and answers."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from mnemic.testing.chat_server import ChatServer
from mnemic.verbs import BY_NAME, CLI, LIBRARY, MCP, REMOTE, REST
from tests.doors.change_scenarios import CHANGES
from tests.doors.chat_scenarios import CHATS, TOOLS, speak
from tests.doors.curate_scenarios import CURATION
from tests.doors.doors import AsyncDoor, CommandLineDoor, Door, LibraryDoor
from tests.doors.erase_scenarios import ERASURE
from tests.doors.file_scenarios import FILES
from tests.doors.health_scenarios import HEALTH
from tests.doors.http_doors import AsyncRemoteDoor, RemoteDoor, RestDoor
from tests.doors.life_scenarios import LIFE_SCENARIOS
from tests.doors.mcp_door import McpDoor, takes
from tests.doors.modest_scenarios import MODEST
from tests.doors.review_scenarios import REVIEWS
from tests.doors.scenarios import SCENARIOS, Scenario, Step, at, resolved
from tests.doors.session_scenarios import SESSION_SCENARIOS
from tests.doors.story_scenarios import STORIES

DOORS: dict[str, tuple[str, Callable[[str], Door]]] = {
    "library-memory": (LIBRARY, lambda _: LibraryDoor("memory://")),
    "library-sqlite": (LIBRARY, LibraryDoor),
    "async": (LIBRARY, AsyncDoor),
    "command-line": (CLI, CommandLineDoor),
    "rest": (REST, RestDoor),
    "remote": (REMOTE, RemoteDoor),
    "remote-async": (REMOTE, AsyncRemoteDoor),
    "mcp": (MCP, McpDoor),
}
"""Each door that is tested, and which of the table it is."""

LIFE = (*LIFE_SCENARIOS, *CURATION, *SESSION_SCENARIOS, *REVIEWS, *ERASURE, *HEALTH, *CHANGES, *STORIES, *FILES)
ALL_SCENARIOS = (*SCENARIOS, *LIFE, *MODEST, *TOOLS)
ENOUGH = 10
"""So many scenarios go through MCP too."""


def is_offered(door: str, scenario: Scenario) -> bool:
    """True when a door of the table has all that a scenario needs."""
    has_verbs = all(BY_NAME[step.verb].is_offered(door) for step in scenario.steps)
    return has_verbs and (door != MCP or all(takes(step.verb, step.arguments) for step in scenario.steps))


def ways(scenarios: tuple[Scenario, ...]) -> list[Any]:
    """Every scenario with every door that has its verbs."""
    return [
        pytest.param(name, scenario, id=f"{name}-{scenario.name}")
        for name, (door, _) in DOORS.items()
        for scenario in scenarios
        if is_offered(door, scenario)
    ]


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Callable[[str], Door]]:
    """Opens a door on an empty store."""
    doors: list[Door] = []

    def open_door(name: str) -> Door:
        doors.append(DOORS[name][1](str(tmp_path / "memory.db")))
        return doors[-1]

    yield open_door
    for door in doors:
        door.close()


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A language model for every door: a server that says what `speak` does."""
    with ChatServer(speak) as server:
        monkeypatch.setenv("MNEMIC_LLM", "openai")
        options = {"base_url": server.url, "model": "m", "attempts": 1}
        monkeypatch.setenv("MNEMIC_LLM_OPTIONS", json.dumps(options))
        yield


def check(door: Door, step: Step, saved: dict[str, Any]) -> None:
    arguments = resolved(dict(step.arguments), saved)
    if step.fails is not None:
        with pytest.raises(step.fails):
            door.call(step.verb, step.scope, arguments)
        return
    answer = door.call(step.verb, step.scope, arguments)
    wanted = {path: resolved(value, saved) for path, value in step.expect.items()}
    assert {path: at(answer, path) for path in wanted} == wanted, f"{step.verb} {arguments}"
    if step.save:
        saved[step.save] = answer


def go(door: Door, scenario: Scenario) -> None:
    saved: dict[str, Any] = {}
    for step in scenario.steps:
        check(door, step, saved)


@pytest.mark.requirement("D-07", "D-30", "N-13", "N-14", "T-08", "P-01")
@pytest.mark.parametrize("name, scenario", ways(ALL_SCENARIOS))
def test_a_scenario_goes_alike_through_every_door(opened: Callable[[str], Door], name: str, scenario: Scenario):
    go(opened(name), scenario)


@pytest.mark.requirement("P-01", "D-35")
@pytest.mark.parametrize("name, scenario", ways(CHATS))
@pytest.mark.usefixtures("model")
def test_a_chat_goes_alike_through_every_door(opened: Callable[[str], Door], name: str, scenario: Scenario):
    go(opened(name), scenario)


@pytest.mark.requirement("P-01")
def test_every_door_goes_through_enough():
    through = {
        name: sum(is_offered(door, each) for each in (*ALL_SCENARIOS, *CHATS)) for name, (door, _) in DOORS.items()
    }
    whole = len(ALL_SCENARIOS) + len(CHATS)
    gaps = {"command-line": 2}  # the events of a chat, and the facts of the profile without their times
    assert through == {**{name: whole - gaps.get(name, 0) for name in DOORS}, "mcp": through["mcp"]}
    assert through["mcp"] >= ENOUGH
