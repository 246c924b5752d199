"""A server is killed while it answers a request with an `Idempotency-Key`; another is asked the same again."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import httpx2
import pytest

from tests.doors.repeating import ANA, Servers, keyed

TEA = {"text": "Ana drinks tea"}


@pytest.mark.parametrize(
    "place, told", [("writing", (201, False)), ("answering", (409, False)), ("sending", (201, True))]
)
def test_whenever_a_server_is_killed_the_work_is_done_once(tmp_path: Path, place: str, told: tuple[int, bool]):
    store = str(tmp_path / "memory.db")
    command = [sys.executable, "-m", "tests.faults.dying_server", store, place]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as dying:
        assert dying.stdout is not None
        url = dying.stdout.readline().strip()
        with pytest.raises(httpx2.TransportError):
            httpx2.post(f"{url}/v1/memories", json=TEA, timeout=60, **keyed("k"))
        assert dying.wait(60) == -9
    servers = Servers(store)
    served, client = servers.start()
    for is_later in (False, True):
        again = client.post("/v1/memories", json=TEA, **keyed("k"))
        is_replayed = "idempotency-replayed" in again.headers
        assert (again.status_code, is_replayed) == (told if not is_later else (told[0], told[0] == 201))
        assert [memory.text for memory in served.mnemic.list(ANA).memories] == [TEA["text"]]
    if told[0] == 409:
        assert again.json()["type"] == "urn:mnemic:problem:outcome_unknown"
    servers.close()
