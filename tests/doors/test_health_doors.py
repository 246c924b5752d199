"""The health of memories on a terminal and over HTTP: what a person reads, progress, and what a bound key may end."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from mnemic import Scope
from mnemic.model.records import Right
from tests.doors.doors import run
from tests.doors.http_doors import LOCAL, Served

pytestmark = pytest.mark.requirement("P-28")
ANA = ["--user", "ana"]


@pytest.fixture(autouse=True)
def store(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The store of these tests, set in the environment."""
    monkeypatch.setenv("MNEMIC_STORE", str(home / "memory.db"))


def told(*words: str) -> str:
    """The output that a person reads, from both streams."""
    code, out, err = run([*words], [])
    assert code == 0, err
    return out + err


def test_a_person_reads_the_score_and_what_to_do_and_can_do_it():
    told("remember", "Thank you so much!", *ANA)
    told("remember", "Ana keeps bees", *ANA)
    out = told("health", *ANA)
    assert "55 of 100 for 2 memories: 1 junk" in out
    command = re.search(r"to do: (mnemic memory delete .*)", out)
    assert command is not None
    words = shlex.split(command[1])
    assert words[-2:] == ANA
    told(*words[1:])
    out = told("health", *ANA)
    assert "100 of 100 for 1 memory" in out
    assert "before: 55" in out


def test_what_would_be_ended_is_told_first():
    told("remember", "Thank you so much!", *ANA)
    assert "1 finding would be fixed" in told("health", *ANA, "--fix", "junk", "--dry-run")
    assert "1 finding fixed; `mnemic memory undo` reverts a fix" in told("health", *ANA, "--fix", "junk")


def test_progress_is_told_line_by_line(tmp_path: Path):
    served = Served(str(tmp_path / "memory.db"))
    with TestClient(served.app, base_url=LOCAL) as client:
        served.mnemic.remember(Scope(user="ana"), "Thank you so much!")
        answer = client.post("/v1/health", params={"user": "ana"}, headers={"Accept": "application/x-ndjson"})
        events = [json.loads(line) for line in answer.text.splitlines()]
    assert {event["event"] for event in events[:-1]} == {"progress"}
    assert events[-1]["report"]["score"]["counts"] == {"junk": 1}
    served.close()


def test_a_key_that_only_reads_may_look(tmp_path: Path):
    served = Served(str(tmp_path / "memory.db"))
    headers = {"Authorization": f"Bearer {served.mnemic.keys.create(Scope(user='ana'), rights=[Right.READ]).token}"}
    with TestClient(served.app, base_url=LOCAL) as client:
        looked = client.post("/v1/health", params={"is_dry_run": True}, headers=headers)
        ended = client.post("/v1/health", params={"fix": "junk"}, headers=headers)
        kept = client.post("/v1/health", headers=headers)
        assert (looked.status_code, ended.status_code, kept.status_code) == (200, 403, 403)
    served.close()


def test_a_key_for_one_user_ends_nothing_that_others_share(tmp_path: Path):
    served = Served(str(tmp_path / "memory.db"))
    key = served.mnemic.keys.create(Scope(user="ana"), rights=[Right.READ, Right.WRITE]).token
    headers = {"Authorization": f"Bearer {key}"}
    with TestClient(served.app, base_url=LOCAL) as client:
        shared = {"agent": "quill", "fix": "junk"}
        assert client.post("/v1/health", params=shared, headers=headers).status_code == 403
        own = client.post("/v1/health", params={**shared, "levels": "user"}, headers=headers)
        looked = client.post("/v1/health", params={"agent": "quill"}, headers=headers)
        assert (own.status_code, looked.status_code) == (200, 200)
    served.close()
