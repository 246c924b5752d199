"""A worker in its thread: does what comes, outlives failures, wakes in time, and ends after its job when asked."""

from __future__ import annotations

import logging
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from mnemic.adapters.indexes.scan import ScanIndex
from mnemic.adapters.observers.counters import CounterObserver
from mnemic.adapters.stores.sqlite import SqliteStore
from mnemic.api import Mnemic
from mnemic.build import SystemClock
from mnemic.config import Config
from mnemic.engine.engine import Engine
from mnemic.engine.jobs import FollowUp, Handler, JobRun, Worker, list_jobs
from mnemic.errors import ConfigError, InvalidInputError, UnavailableError
from mnemic.model.records import Job, JobState
from mnemic.model.scope import Scope
from mnemic.model.settings import LifeSettings, Settings
from mnemic.ports.store import Store
from mnemic.testing.faults import Fault, FaultyStore
from mnemic.testing.samples import a_job

COUNTED = "curate"
PATIENCE_S = 30.0
LONG_S = 3600.0
"""A poll that no test waits for: whoever wakes earlier was woken."""


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    store = SqliteStore(tmp_path / "memory.db")
    yield store
    store.close()


@pytest.fixture
def hire() -> Iterator[Callable[..., Worker]]:
    """Starts a worker, which is ended with the test."""
    hired: list[Worker] = []

    def start(
        store: Store, handler: Handler, *, poll_s: float = 0.05, on_run: Callable[[JobRun], object] | None = None
    ) -> Worker:
        name = f"worker {len(hired)}"
        hired.append(Worker(made(store), {COUNTED: handler}, name=name, poll_s=poll_s, on_run=on_run))
        hired[-1].start()
        return hired[-1]

    yield start
    for worker in hired:
        worker.stop()
        assert worker.join(PATIENCE_S)


def made(store: Store, life: LifeSettings | None = None) -> Engine:
    settings = Settings(life=life or LifeSettings())
    return Engine(store, ScanIndex(), None, SystemClock(), CounterObserver(), settings=settings)


def add_jobs(store: Store, *jobs: Job) -> None:
    with store.write() as unit:
        unit.jobs.add(jobs)


def nothing_left(_parts: Engine, _job: Job) -> FollowUp:
    return lambda _unit: []


def test_two_workers_do_every_job_once_also_those_that_come_later(store: Store, hire: Callable[..., Worker]):
    done: Counter[str] = Counter()
    all_done = threading.Event()

    def count(_parts: Engine, job: Job) -> FollowUp:
        done[job.key] += 1
        if len(done) == 40:
            all_done.set()
        return lambda _unit: []

    for _ in range(2):
        hire(store, count)
    for number in range(40):
        add_jobs(store, a_job(key=f"day-{number}"))
    assert all_done.wait(PATIENCE_S)
    assert set(done.values()) == {1}


def test_it_ends_after_the_job_it_is_doing_and_leaves_the_next_ones(store: Store, hire: Callable[..., Worker]):
    began, go_on = threading.Event(), threading.Event()

    def slow(_parts: Engine, _job: Job) -> FollowUp:
        began.set()
        assert go_on.wait(PATIENCE_S)
        return lambda _unit: []

    add_jobs(store, a_job(key="day-1"), a_job(key="day-2"))
    worker = hire(store, slow)
    assert began.wait(PATIENCE_S)
    worker.stop()
    assert not worker.join(0.01)
    go_on.set()
    assert worker.join(PATIENCE_S)
    assert len(list_jobs(made(store), None, [JobState.DONE])) == 1
    assert len(list_jobs(made(store), None, [JobState.PENDING])) == 1


def test_it_ends_at_once_when_it_sleeps(store: Store, hire: Callable[..., Worker]):
    worker = hire(store, nothing_left, poll_s=LONG_S)
    worker.stop()
    assert worker.join(PATIENCE_S)


def test_it_wakes_when_the_next_try_of_a_job_is_due(store: Store, hire: Callable[..., Worker]):
    done = threading.Event()

    def tell(_run: JobRun) -> None:
        done.set()

    soon = datetime.now(UTC) + timedelta(milliseconds=300)
    add_jobs(store, a_job(run_at=soon))
    hire(store, nothing_left, poll_s=LONG_S, on_run=tell)
    assert done.wait(PATIENCE_S)


def test_it_wakes_when_a_schedule_is_due(store: Store):
    Mnemic(made(store)).remember(Scope(user="anna"), "She likes tea")
    done = threading.Event()
    parts = made(store, LifeSettings(evict_cron="* * * * * *"))
    worker = Worker(parts, {"evict": nothing_left}, name="w", poll_s=LONG_S, on_run=lambda _run: done.set())
    worker.start()
    assert done.wait(PATIENCE_S)
    worker.stop()
    assert worker.join(PATIENCE_S)


def test_a_faulty_handler_and_a_store_that_is_away_do_not_end_it(
    store: Store, hire: Callable[..., Worker], caplog: pytest.LogCaptureFixture
):
    done = threading.Event()

    def breaks_first(_parts: Engine, job: Job) -> FollowUp:
        if job.key == "bad":
            raise ZeroDivisionError("the stored secret")
        done.set()
        return lambda _unit: []

    add_jobs(store, a_job(key="bad"))
    hire(FaultyStore(store, Fault(nth=2)), breaks_first)
    add_jobs(store, a_job(key="good"))
    assert done.wait(PATIENCE_S)
    assert "is pausing" in caplog.text
    assert "ZeroDivisionError" in caplog.text
    assert "the stored secret" not in caplog.text


def test_until_idle_it_ends_by_itself_and_tells_every_try_and_what_stopped_it(store: Store):
    def breaks(_parts: Engine, _job: Job) -> FollowUp:
        raise UnavailableError("the model is away")

    add_jobs(store, a_job())
    runs: list[JobRun] = []
    worker = Worker(made(store), {COUNTED: breaks}, name="w", on_run=runs.append)
    worker.start(until_idle=True)
    assert worker.join(PATIENCE_S)
    assert worker.failure is None
    (run,) = runs
    assert (run.outcome, run.error) == (JobState.PENDING, "UnavailableError: the model is away")

    away = Worker(made(FaultyStore(store, Fault(nth=2))), {COUNTED: breaks}, name="w")
    away.start(until_idle=True)
    assert away.join(PATIENCE_S)
    assert isinstance(away.failure, UnavailableError)


def test_settings_that_cannot_be_are_told_to_who_starts_it(store: Store):
    parts = made(store, LifeSettings(time_zone="Europe/Berlim"))
    with pytest.raises(ConfigError, match="Europe/Berlin"):
        Worker(parts, {"evict": nothing_left}, name="w").start()
    with pytest.raises(InvalidInputError, match="poll_s"):
        Mnemic(parts).worker(poll_s=0)


@pytest.mark.requirement("D-53")
def test_every_step_is_logged_with_its_kind_and_session_and_without_a_text(
    store: Store, caplog: pytest.LogCaptureFixture
):
    fails = iter([True, False])

    def sometimes(_parts: Engine, _job: Job) -> FollowUp:
        if next(fails):
            raise ZeroDivisionError("She likes tea")
        return lambda _unit: []

    caplog.set_level(logging.DEBUG, logger="mnemic")
    add_jobs(store, a_job(payload={"session": "s1", "text": "She likes tea"}), a_job(key="day-2"))
    for _ in range(2):
        worker = Worker(made(store), {COUNTED: sometimes}, name="w")
        worker.start(until_idle=True)
        assert worker.join(PATIENCE_S)
    begun, failed, done = (
        [r for r in caplog.records if word in r.message] for word in ("started", "failed", "succeeded")
    )
    assert [r.levelname for r in (*begun, *failed[:1], *done)] == ["DEBUG", "DEBUG", "WARNING", "INFO"]
    assert all(r.name == "mnemic.jobs" for r in (*begun, *done))
    assert "curate for session s1" in begun[0].message
    assert all(r.message.startswith("curate: job ") for r in (failed[0], *done))
    assert not any(name in r.message for r in caplog.records if r.levelno > logging.DEBUG for name in ("s1", "anna"))
    assert "tea" not in caplog.text


@pytest.mark.requirement("D-52")
def test_nothing_runs_by_itself_until_a_worker_is_started(tmp_path: Path):
    settings = Settings(life=LifeSettings(evict_cron="* * * * * *"))
    before = set(threading.enumerate())
    with Mnemic.open(Config(store=str(tmp_path / "own.db"), embedder="none", settings=settings)) as mnemic:
        mnemic.capture(Scope(user="anna", session="s1"), user="I like tea")
        mnemic.remember(Scope(user="anna"), "She likes tea")
        assert {job.state for job in mnemic.jobs.list(Scope(user="anna"), states=list(JobState))} == {JobState.PENDING}
        assert set(threading.enumerate()) == before
        done = threading.Event()
        worker = mnemic.worker(on_run=lambda run: run.job.kind == "evict" and done.set())
        worker.start()
        assert done.wait(PATIENCE_S)
        worker.stop()
        assert worker.join(PATIENCE_S)
        assert set(threading.enumerate()) == before
