"""`mnemic worker` and the jobs it does, as other programs: beside each other, ended by signals, killed."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from mnemic.adapters.stores.sqlite import SqliteStore
from mnemic.engine.kinds import EMBED
from mnemic.model.chat import Usage
from mnemic.model.records import Job, JobState
from mnemic.model.scope import Level, Partition
from mnemic.testing.samples import a_job
from tests.doors.doors import run

PROGRAM = str(Path(sys.executable).with_name("mnemic"))
ANA = ["--user", "ana"]
HERS = Partition("default", Level.USER, "ana")
NOW = datetime.now(UTC)
WAIT_S = 60

Started = subprocess.Popen[str]


@pytest.fixture(autouse=True)
def store(home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SqliteStore]:
    """The store of these tests, named by the environment, without a model to load."""
    path = home / "memory.db"
    monkeypatch.setenv("MNEMIC_STORE", str(path))
    monkeypatch.setenv("MNEMIC_EMBEDDER", "none")
    store = SqliteStore(path)
    yield store
    store.close()


def add_jobs(store: SqliteStore, *jobs: Job) -> None:
    with store.write() as unit:
        unit.jobs.add(jobs)


def embed_job(number: int, **changes: object) -> Job:
    job = a_job(partition=replace(HERS, owner=f"user-{number}"), kind=EMBED, key=EMBED, created_at=NOW, run_at=NOW)
    return replace(job, **changes)


@contextmanager
def started(*words: str) -> Generator[Started]:
    """A worker in a process of its own, killed at the end if it still lives."""
    with subprocess.Popen(
        [PROGRAM, "worker", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        yield process
        process.kill()


def line(process: Started) -> str:
    assert process.stdout is not None
    return process.stdout.readline()


def jobs_in(store: SqliteStore, *states: JobState) -> list[Job]:
    with store.read() as unit:
        return unit.jobs.list(None, states, 1000)


def test_two_processes_do_no_job_twice(store: SqliteStore):
    add_jobs(store, *(embed_job(number) for number in range(60)))
    with started("--once", "--json") as one, started("--once", "--json") as other:
        told = [
            json.loads(each)
            for process in (one, other)
            for each in process.communicate(timeout=WAIT_S)[0].split("\n")
            if each
        ]
    assert len(told) == 60
    assert set(Counter(run["job"]["id"] for run in told).values()) == {1}
    assert {run["outcome"] for run in told} == {"done"}
    assert {job.attempts for job in jobs_in(store, JobState.DONE)} == {1}


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_a_worker_that_waits_and_it_told_what_it_did(store: SqliteStore, number: int):
    add_jobs(store, embed_job(1))
    with started("--poll", "600") as worker:
        assert "embed" in (told := line(worker))
        assert "done" in told
        worker.send_signal(number)
        rest, remarks = worker.communicate(timeout=WAIT_S)
        assert (worker.returncode, rest) == (0, "")
        assert "every 600 s" in remarks


def test_the_job_of_a_worker_that_vanished_is_done_when_its_lease_has_run_out(store: SqliteStore):
    add_jobs(store, embed_job(1))
    with store.write() as unit:
        job = unit.jobs.claim([EMBED], "vanished", NOW, NOW + timedelta(hours=1))
    assert job is not None
    assert run(["worker", "--once", "--json"], [])[1] == ""
    with store.write() as unit:
        assert unit.jobs.fail(job, "", NOW - timedelta(hours=2))
        job = unit.jobs.claim([EMBED], "vanished", NOW - timedelta(hours=1), NOW)
    told = json.loads(run(["worker", "--once", "--json"], [])[1])
    assert (told["outcome"], told["job"]["attempts"]) == ("done", 3)


def test_dead_jobs_are_listed_with_reason_and_cost_and_can_be_retried(store: SqliteStore):
    job = a_job(partition=HERS, kind=EMBED, key=EMBED, created_at=NOW, run_at=NOW)
    add_jobs(store, job)
    with store.write() as unit:
        claimed = unit.jobs.claim([EMBED], "w", NOW, NOW + timedelta(minutes=1))
        assert claimed is not None
        unit.jobs.fail(replace(claimed, usage=Usage(3, 1200, 80, 4.25)), "BadReplyError: cut", None)
    (listed,) = json.loads(run(["jobs", "list", *ANA, "--json"], [])[1])
    assert (listed["state"], listed["error"]) == ("dead", "BadReplyError: cut")
    assert listed["usage"] == {"calls": 3, "prompt_tokens": 1200, "completion_tokens": 80, "seconds": 4.25}
    shown = run(["jobs", "list", *ANA], [])[1]
    assert "BadReplyError: cut" in shown
    assert "3 model calls, 1200+80 tokens, 4.2 s" in shown
    findings = json.loads(run(["doctor", "--json"], [])[1])["findings"]
    assert any("permanently failed jobs: 1 (embed: BadReplyError: cut" in each["message"] for each in findings)
    assert run(["jobs", "retry", *ANA], [])[1] == "1 job will be retried\n"
    told = run(["worker", "--once"], [])[1]
    assert f"embed {job.id} done after" in told
    assert "3 model calls" in told


def test_the_doctor_tells_when_schedules_ran_and_run_next(monkeypatch: pytest.MonkeyPatch):
    def schedule() -> dict[str, str]:
        findings = json.loads(run(["doctor", "--json"], [])[1])["findings"]
        return next(each for each in findings if each["part"] == "schedules" and each["message"].startswith("evict "))

    monkeypatch.setenv("MNEMIC_MEMORY_SCHEDULE_TIME_ZONE", "Europe/Berlin")
    assert schedule()["message"].startswith("evict (0 0 3 * * ?, Europe/Berlin): no worker has checked it yet; next 20")
    assert run(["worker", "--once"], [])[0] == 0
    assert "last 20" in schedule()["message"]
    assert schedule()["condition"] == "ok"


def test_a_schedule_that_is_overdue_is_a_finding_with_a_remedy(store: SqliteStore):
    with store.write() as unit:
        assert unit.upkeep.start_run("evict", None, NOW - timedelta(days=5))
    findings = json.loads(run(["doctor", "--json"], [])[1])["findings"]
    found = next(each for each in findings if each["part"] == "schedules" and each["message"].startswith("evict "))
    assert (found["condition"], found["remedy"]) == ("degraded", "start `mnemic worker`")


@pytest.mark.requirement("R-11")
def test_a_time_zone_that_cannot_be_ends_a_worker_before_it_begins(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("MNEMIC_MEMORY_SCHEDULE_TIME_ZONE", "Europe/Berlim")
    code, _, err = run(["worker", "--once"], [])
    assert code == 6
    assert "did you mean Europe/Berlin?" in err
