"""The scenario table through every door: the same verbs, arguments and answers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.doors.curate_scenarios import CURATION
from tests.doors.doors import AsyncDoor, CommandLineDoor, Door, LibraryDoor
from tests.doors.erase_scenarios import ERASURE
from tests.doors.http_doors import AsyncRemoteDoor, RemoteDoor, RestDoor
from tests.doors.life_scenarios import LIFE_SCENARIOS
from tests.doors.review_scenarios import REVIEWS
from tests.doors.scenarios import SCENARIOS, Scenario, Step, at, resolved
from tests.doors.session_scenarios import SESSION_SCENARIOS

DOORS: dict[str, Callable[[Path], Door]] = {
    "library-memory": lambda _: LibraryDoor("memory://"),
    "library-sqlite": lambda folder: LibraryDoor(str(folder / "memory.db")),
    "async": lambda folder: AsyncDoor(str(folder / "memory.db")),
    "command-line": lambda folder: CommandLineDoor(str(folder / "memory.db")),
    "rest": lambda folder: RestDoor(str(folder / "memory.db")),
    "remote": lambda folder: RemoteDoor(str(folder / "memory.db")),
    "remote-async": lambda folder: AsyncRemoteDoor(str(folder / "memory.db")),
}

ALL_SCENARIOS = (*SCENARIOS, *LIFE_SCENARIOS, *CURATION, *SESSION_SCENARIOS, *REVIEWS, *ERASURE)


@pytest.fixture(params=DOORS)
def door(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Door]:
    """Each door, on an empty store."""
    opened = DOORS[request.param](tmp_path)
    yield opened
    opened.close()


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


@pytest.mark.requirement("D-07", "T-08")
@pytest.mark.parametrize("scenario", ALL_SCENARIOS, ids=lambda scenario: scenario.name)
def test_a_scenario_goes_alike_through_every_door(door: Door, scenario: Scenario):
    saved: dict[str, Any] = {}
    for step in scenario.steps:
        check(door, step, saved)
