"""Every verb over REST with a key: whatever a request writes, on whichever thread, is written beside its note."""

from __future__ import annotations

import threading
import traceback
import uuid
from pathlib import Path
from typing import Any

import pytest

from mnemic.adapters.stores.sqlite import SqliteStore
from mnemic.engine.access import current
from mnemic.verbs import REST, ROUTES
from tests.doors.chat_scenarios import CHATS
from tests.doors.http_doors import RestDoor
from tests.doors.scenarios import Scenario
from tests.doors.test_scenarios import ALL_SCENARIOS, go, is_offered
from tests.doors.test_scenarios import model as model  # noqa: PLC0414 -- a fixture

OF_ITS_OWN = ("engine/access.py", "web/gate.py")
"""What writes beside the requests: their answers, and the audit log."""

READING = {"recall", "context", "why_not", "ask", "research"}


def covering(scenarios: tuple[Scenario, ...]) -> list[Any]:
    """A few of the scenarios that have all verbs of them between them that may write."""

    def writing(scenario: Scenario) -> set[str]:
        return {step.verb for step in scenario.steps if ROUTES[step.verb].method != "GET"} - READING

    offered = [each for each in scenarios if is_offered(REST, each)]
    left = set[str]().union(*map(writing, offered))
    chosen: list[Scenario] = []
    while left:
        best = max(offered, key=lambda each: len(left & writing(each)))
        left -= writing(best)
        chosen.append(best)
    return [pytest.param(each, id=each.name) for each in chosen]


@pytest.fixture
def unclaimed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Where a unit of work began to write without its request."""
    found: list[str] = []
    write = SqliteStore.write

    def watched(store: SqliteStore, *, is_erasing: bool = False) -> Any:
        if current() is None and threading.current_thread() is not threading.main_thread():
            places = [f"{frame.filename}:{frame.lineno}" for frame in traceback.extract_stack()]
            if not any(own in place for own in OF_ITS_OWN for place in places):
                found.append(" > ".join(place for place in places if "mnemic" in place))
        return write(store, is_erasing=is_erasing)

    monkeypatch.setattr(SqliteStore, "write", watched)
    return found


@pytest.mark.parametrize("scenario", covering(ALL_SCENARIOS))
def test_what_a_request_writes_is_written_with_its_key(scenario: Scenario, tmp_path: Path, unclaimed: list[str]):
    played(scenario, tmp_path)
    assert unclaimed == []


@pytest.mark.usefixtures("model")
@pytest.mark.parametrize("scenario", covering(CHATS))
def test_what_a_chat_writes_is_written_with_its_key(scenario: Scenario, tmp_path: Path, unclaimed: list[str]):
    played(scenario, tmp_path)
    assert unclaimed == []


def played(scenario: Scenario, folder: Path) -> None:
    """Play a scenario over REST, each request with a key of its own."""
    door = RestDoor(str(folder / "memory.db"))

    def mark(request: Any) -> None:
        request.headers["Idempotency-Key"] = uuid.uuid4().hex

    door.client.event_hooks["request"] = [mark]
    go(door, scenario)
    door.close()
