"""How many places callers may hold at a time: of a door, of long work, and for how long."""

from __future__ import annotations

import json
import logging
import threading
from pathlib import Path
from typing import Any

import anyio
import pytest
from starlette.testclient import TestClient
from starlette.types import Receive, Send
from starlette.types import Scope as AsgiScope

from mnemic.mcp.app import door as mcp_door
from mnemic.model.records import ApiKey
from mnemic.model.scope import as_utc
from mnemic.rest import events
from mnemic.rest.app import door as rest_door
from mnemic.web.doors import application
from mnemic.web.gate import Caller
from mnemic.web.limits import Bound
from mnemic.web.monitoring import Health, Metrics
from mnemic.web.problems import ProblemError
from tests.doors.http_doors import LOCAL, Served


def caller(id: str) -> Caller:
    """Who shows a key of that id."""
    return Caller(ApiKey(id=id, org="acme", secret_hash="", rights=frozenset(), created_at=as_utc("2026-01-01", "at")))


@pytest.mark.requirement("P-17")
def test_one_key_leaves_places_for_others():
    async def test() -> None:
        leave = anyio.Event()

        async def app(_scope: AsgiScope, _receive: Receive, _send: Send) -> None:
            await leave.wait()

        bound = Bound(app, 4)
        nothing: Any = None

        async def ask(by: Caller) -> None:
            await bound({"type": "http", "mnemic.caller": by}, nothing, nothing)

        async with anyio.create_task_group() as tasks:
            for _ in range(3):
                tasks.start_soon(ask, caller("greedy"))
            await anyio.wait_all_tasks_blocked()
            with pytest.raises(ProblemError) as refused:
                await ask(caller("greedy"))
            assert refused.value.problem.status == 429
            tasks.start_soon(ask, caller("modest"))
            await anyio.wait_all_tasks_blocked()
            assert bound.in_flight == 4
            with pytest.raises(ProblemError) as busy:
                await ask(caller("third"))
            assert busy.value.problem.status == 503
            leave.set()
        assert bound.in_flight == 0
        await ask(caller("greedy"))

    anyio.run(test)


@pytest.mark.requirement("J-05", "P-17")
def test_so_much_long_work_is_begun_and_no_more_whoever_goes_away():
    leave = threading.Event()
    begun = [events.events(lambda _tell: leave.wait()) for _ in range(events.MOST_AT_ONCE)]
    with pytest.raises(ProblemError) as refused:
        events.events(lambda _tell: None)
    assert refused.value.problem.status == 503
    leave.set()

    async def read(answer: Any) -> list[Any]:
        return [json.loads(line) async for line in answer.body_iterator]

    told = [anyio.run(read, answer) for answer in begun]
    assert told == [[{"event": "done", "report": True}]] * events.MOST_AT_ONCE
    assert anyio.run(read, events.events(lambda tell: tell({"event": "progress"})))[0] == {"event": "progress"}


@pytest.mark.requirement("P-18")
def test_long_work_that_fails_as_nobody_foresaw_is_told_and_logged_without_texts(caplog: pytest.LogCaptureFixture):
    def work(_tell: object) -> None:
        raise ValueError("Ana sails from Lisbon")

    async def read(answer: Any) -> str:
        return "".join([line.decode() async for line in answer.body_iterator])

    with caplog.at_level(logging.ERROR, logger="mnemic.web"):
        told = json.loads(anyio.run(read, events.events(work)))
    assert (told["event"], told["problem"]["status"], told["problem"]["detail"]) == ("failed", 500, "")
    (record,) = caplog.records
    assert record.__dict__["where"]
    assert "Lisbon" not in json.dumps(record.__dict__, default=str) + json.dumps(told)


@pytest.mark.requirement("P-17")
def test_mcp_holds_no_stream_that_would_never_tell_anything(tmp_path: Path):
    served = Served(str(tmp_path / "memory.db"))
    doors = [door(served.mnemic, served.gate) for door in (mcp_door, rest_door)]
    app = application(doors, served.gate, Health(served.mnemic), Metrics())
    with TestClient(app, base_url=LOCAL) as client:
        answer = client.get("/mcp", headers={"Accept": "text/event-stream"})
        assert (answer.status_code, answer.headers["allow"]) == (405, "POST")
    served.close()
