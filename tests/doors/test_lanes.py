"""Threads of the server: what waits, or takes long, never holds up what is quick."""

from __future__ import annotations

import sqlite3
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest
from fastapi import FastAPI

from mnemic.rest.asking import WAITING_THREADS, Lanes, quick_threads
from mnemic.verbs import BY_NAME, Lane
from tests.doors.http_doors import Listening, Served

MANY = 8
NAMED = {"user": "ana"}


def test_writes_that_wait_for_another_process_hold_up_no_question(tmp_path: Path):
    served = Served(str(tmp_path / "memory.db"))
    listening = Listening(served.app)
    other = sqlite3.connect(tmp_path / "memory.db", isolation_level=None)
    with httpx.Client(base_url=listening.url, params=NAMED) as client, ThreadPoolExecutor(MANY) as pool:
        assert client.post("/v1/memories", json={"text": "Ana drinks tea"}).status_code == 201
        other.execute("BEGIN IMMEDIATE")
        writes = [pool.submit(client.post, "/v1/memories", json={"text": f"note {n}"}) for n in range(MANY)]
        found = client.post("/v1/recall", json={"query": "tea"})
        waited = [write.done() for write in writes]
        other.execute("ROLLBACK")
        assert [hit["item"]["text"] for hit in found.json()["hits"]] == ["Ana drinks tea"]
        assert not any(waited)
        assert {write.result().status_code for write in writes} == {201}
    other.close()
    listening.close()
    served.close()


@pytest.mark.parametrize("lane", list(Lane))
def test_a_full_lane_leaves_the_others_free(lane: Lane):
    lanes, go_on = Lanes(2), threading.Event()
    app, busy = FastAPI(telemetry={"tracing": False}), WAITING_THREADS + 1

    def waits() -> str:
        go_on.wait()
        return "late"

    def answers() -> str:
        return "at once"

    app.add_api_route("/busy", lanes.on(lane, waits))
    for other in Lane:
        app.add_api_route(f"/{other.value}", lanes.on(other, answers))
    listening = Listening(app)
    limits = httpx.Limits(max_connections=busy + 1)
    with httpx.Client(base_url=listening.url, limits=limits) as client, ThreadPoolExecutor(busy) as pool:
        blocked = [pool.submit(client.get, "/busy") for _ in range(busy)]
        told = [client.get(f"/{other.value}").json() for other in Lane if other is not lane]
        is_late = not any(each.done() for each in blocked)
        go_on.set()
        assert told == ["at once"] * 2
        assert is_late
        assert [each.result().json() for each in blocked] == ["late"] * busy
    listening.close()


def test_every_operation_has_its_lane():
    lanes = {name: verb.lane for name, verb in BY_NAME.items()}
    assert [lanes[name] for name in ("recall", "context", "get", "documents.list")] == [Lane.READ] * 4
    assert [lanes[name] for name in ("remember", "capture", "update", "delete")] == [Lane.WRITE] * 4
    assert [lanes[name] for name in ("ingest", "import_", "export", "erase", "curate")] == [Lane.LONG] * 5


def test_a_store_that_is_a_server_has_more_threads_for_what_waits():
    assert quick_threads(is_waiting=True) == WAITING_THREADS > quick_threads(is_waiting=False) >= 2
