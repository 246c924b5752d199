"""What is due by the clock: once, in order, in its time zone, and never all at once on a fresh store."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from mnemic.adapters.indexes.scan import ScanIndex
from mnemic.adapters.observers.counters import CounterObserver
from mnemic.adapters.stores.memory import MemoryStore
from mnemic.adapters.stores.sqlite import SqliteStore
from mnemic.api import Mnemic
from mnemic.engine.access import note_audit
from mnemic.engine.engine import Engine
from mnemic.engine.handlers import HANDLERS
from mnemic.engine.jobs import FollowUp, Handler, list_jobs, new_attempt, retry_jobs, schedules, timetables, work
from mnemic.engine.kinds import CURATE, DECAY, EVICT, SUMMARISE
from mnemic.errors import ConfigError, UnavailableError
from mnemic.model.records import AuditEntry, Job, JobState
from mnemic.model.scope import Level, Scope
from mnemic.model.settings import LifeSettings, Settings
from mnemic.ports.store import Store
from tests.unit.engine.kit import ANNA, BERT, START, Clock

HERS = ANNA.partition(Level.USER)
HIS = BERT.partition(Level.USER)
NIGHT = datetime(2026, 5, 2, 3, 0, tzinfo=UTC)


class Log:
    """Handlers that note what they were given. `rest` jobs of decay go on in a next job; `broken` kinds fail."""

    def __init__(self, *kinds: str, rest: int = 0) -> None:
        self.done: list[tuple[str, str]] = []
        self.jobs: list[Job] = []
        self.broken: set[str] = set()
        self.handlers: dict[str, Handler] = dict.fromkeys(kinds, self.do)
        self._rest = rest

    def do(self, parts: Engine, job: Job) -> FollowUp:
        if job.kind in self.broken:
            raise UnavailableError("the model is away")
        self.jobs.append(job)
        self.done.append((job.kind, job.partition.owner))
        if job.kind == DECAY and self._rest:
            self._rest -= 1
            rest = replace(new_attempt(job, parts.clock.now()), payload={"after": "some id"})
            return lambda _unit: [rest]
        return lambda _unit: []


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    store = MemoryStore() if request.param == "memory" else SqliteStore(tmp_path / "memory.db")
    yield store
    store.close()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def parts(store: Store, clock: Clock) -> Engine:
    return made(store, clock)


def made(store: Store, clock: Clock, **life: str | float) -> Engine:
    settings = Settings(life=LifeSettings(**life))  # pyright: ignore[reportArgumentType] -- names of its fields
    return Engine(store, ScanIndex(), None, clock, CounterObserver(), settings=settings)


def two_users(parts: Engine) -> None:
    for scope in (ANNA, BERT):
        Mnemic(parts).remember(Scope(org=scope.org, user=scope.user), "She likes tea")


class TestRuns:
    @pytest.mark.requirement("D-36", "R-11")
    def test_every_night_at_three_importance_fades_and_then_memories_are_evicted(self, parts: Engine, clock: Clock):
        two_users(parts)
        log = Log(DECAY, EVICT)
        ran: list[datetime] = []
        for _ in range(60):
            before = len(log.done)
            work(parts, log.handlers, worker="w")
            ran += [clock.now()] * (len(log.done) > before)
            clock.turn(hours=1)
        assert ran == [NIGHT, NIGHT + timedelta(days=1)]
        nightly = Counter(log.done)
        assert nightly == {(kind, owner): 2 for kind in (DECAY, EVICT) for owner in ("anna", "bert")}
        for owner in ("anna", "bert"):
            assert [kind for kind, whose in log.done if whose == owner] == [DECAY, EVICT] * 2

    def test_a_fresh_store_runs_nothing_at_once(self, parts: Engine, clock: Clock):
        two_users(parts)
        clock.turn(days=400)
        log = Log(DECAY, EVICT)
        work(parts, log.handlers, worker="w")
        assert log.done == []
        clock.turn(days=1)
        work(parts, log.handlers, worker="w")
        assert len(log.done) == 4

    @pytest.mark.requirement("R-11")
    def test_runs_that_were_missed_are_one_run(self, parts: Engine, clock: Clock):
        two_users(parts)
        log = Log(DECAY, EVICT)
        work(parts, log.handlers, worker="w")
        clock.turn(days=30)
        work(parts, log.handlers, worker="w")
        work(parts, log.handlers, worker="w")
        assert len(log.done) == 4
        clock.turn(days=1)
        work(parts, log.handlers, worker="w")
        assert len(log.done) == 8

    @pytest.mark.requirement("P-18")
    @pytest.mark.parametrize("days, kept", [(1.0, ["new"]), (40.0, ["new", "old"]), (1e12, ["new", "old"])])
    def test_by_night_old_entries_of_the_audit_log_are_forgotten(
        self, store: Store, clock: Clock, days: float, kept: list[str]
    ):
        parts = made(store, clock, audit_days=days)
        log = Log(DECAY, EVICT)
        work(parts, log.handlers, worker="w")
        for verb in ("old", "new"):
            note_audit(parts, [AuditEntry(org="default", at=clock.now(), actor="k", verb=verb)])
            assert len(Mnemic(parts).keys.audit(Scope()).entries) == 1 + (verb == "new")
            clock.turn(hours=30 if verb == "old" else 20)
        work(parts, log.handlers, worker="w")
        assert [entry.verb for entry in Mnemic(parts).keys.audit(Scope()).entries] == kept

    def test_of_several_workers_one_starts_a_run(self, parts: Engine, clock: Clock):
        two_users(parts)
        log = Log(DECAY, EVICT)
        work(parts, log.handlers, worker="w")
        clock.turn(days=1)
        ready = threading.Barrier(4)

        def run(name: str) -> None:
            ready.wait()
            work(parts, log.handlers, worker=name)

        with ThreadPoolExecutor(4) as pool:
            list(pool.map(run, "abcd"))
        work(parts, log.handlers, worker="w")
        assert Counter(log.done) == {(kind, owner): 1 for kind in (DECAY, EVICT) for owner in ("anna", "bert")}

    def test_a_clock_that_was_years_ahead_stops_no_schedule(self, parts: Engine, clock: Clock):
        two_users(parts)
        log = Log(DECAY, EVICT)
        clock.turn(days=3650)
        work(parts, log.handlers, worker="w")
        clock.at = START
        work(parts, log.handlers, worker="w")
        assert log.done == []
        clock.turn(days=1)
        work(parts, log.handlers, worker="w")
        assert len(log.done) == 4

    def test_schedules_whose_jobs_nobody_can_do_do_not_run(self):
        life = LifeSettings()
        assert all(kind in HANDLERS for each in schedules(life, HANDLERS) for kind in each.kinds)
        assert [each.kinds for each in schedules(life, {CURATE})] == [(CURATE,)]
        assert [each.kinds for each in schedules(life, {EVICT, "embed"})] == [(EVICT,)]
        assert schedules(life, {"embed"}) == []

    @pytest.mark.requirement("R-10")
    def test_curation_that_is_switched_off_has_no_schedule(self):
        kinds = (CURATE, DECAY, EVICT)
        assert [each.name for each in schedules(LifeSettings(), kinds)] == ["curate", "evict"]
        assert [each.name for each in schedules(LifeSettings(curates=False), kinds)] == ["evict"]

    def test_a_step_waits_until_the_one_before_has_done_all_it_left_over(self, parts: Engine, clock: Clock):
        Mnemic(parts).remember(Scope(org="acme", user="anna"), "She likes tea")
        log = Log(DECAY, EVICT, rest=2)
        work(parts, log.handlers, worker="w")
        clock.turn(days=1)
        work(parts, log.handlers, worker="w")
        assert [kind for kind, _ in log.done] == [DECAY, DECAY, DECAY, EVICT]
        assert [job.payload.get("after") for job in log.jobs] == [None, "some id", "some id", None]

    def test_nothing_is_evicted_while_fading_fails_and_the_next_night_tries_anew(self, parts: Engine, clock: Clock):
        Mnemic(parts).remember(Scope(org="acme", user="anna"), "She likes tea")
        log = Log(DECAY, EVICT)
        work(parts, log.handlers, worker="w")
        log.broken = {DECAY}
        clock.turn(hours=16)
        for _ in range(30):
            work(parts, log.handlers, worker="w")
            clock.turn(minutes=15)
        assert log.done == []
        (dead,) = list_jobs(parts, None)
        assert (dead.kind, dead.state, dead.attempts) == (DECAY, JobState.DEAD, 8)
        log.broken = set()
        clock.turn(hours=18)
        work(parts, log.handlers, worker="w")
        assert [kind for kind, _ in log.done] == [DECAY, EVICT]
        assert retry_jobs(parts, None, [dead.id]) == 1
        work(parts, log.handlers, worker="w")
        assert [kind for kind, _ in log.done] == [DECAY, EVICT] * 2

    def test_done_jobs_are_forgotten_after_their_days(self, parts: Engine, clock: Clock):
        two_users(parts)
        log = Log(DECAY, EVICT)
        work(parts, log.handlers, worker="w")
        for _ in range(20):
            clock.turn(days=1)
            work(parts, log.handlers, worker="w")
        done = list_jobs(parts, None, [JobState.DONE])
        assert {job.created_at for job in done} == {clock.now() - timedelta(days=days) for days in range(15)}

    @pytest.mark.requirement("R-11")
    def test_three_in_the_morning_is_that_of_the_time_zone(self, store: Store, clock: Clock):
        parts = made(store, clock, time_zone="Asia/Tokyo")
        two_users(parts)
        log = Log(DECAY, EVICT)
        work(parts, log.handlers, worker="w")
        clock.at = datetime(2026, 5, 1, 17, 59, tzinfo=UTC)
        work(parts, log.handlers, worker="w")
        assert log.done == []
        clock.at = datetime(2026, 5, 1, 18, 0, tzinfo=UTC)
        work(parts, log.handlers, worker="w")
        assert len(log.done) == 4

    def test_a_line_or_a_zone_that_cannot_be_is_an_error_before_any_job(self, store: Store, clock: Clock):
        for life in ({"time_zone": "Europe/Berlim"}, {"evict_cron": "at three"}):
            with pytest.raises(ConfigError):
                work(made(store, clock, **life), Log(DECAY, EVICT).handlers, worker="w")

    def test_when_each_ran_and_will_run_can_be_asked(self, parts: Engine, clock: Clock):
        (fresh,) = timetables(parts, {EVICT})
        assert (fresh.schedule.name, fresh.last, fresh.next) == ("evict", None, NIGHT)
        work(parts, Log(EVICT).handlers, worker="w")
        (looked,) = timetables(parts, {EVICT})
        assert (looked.last, looked.next) == (START, NIGHT)
        clock.turn(days=1)
        work(parts, Log(EVICT).handlers, worker="w")
        (ran,) = timetables(parts, {EVICT})
        assert (ran.last, ran.next) == (NIGHT, NIGHT + timedelta(days=1))


def summaries(parts: Engine) -> list[Job]:
    return [job for job in list_jobs(parts, None) if job.kind == SUMMARISE]


class TestQuietConversations:
    def test_what_is_not_summarised_is_flushed_when_nothing_was_said_for_long(self, parts: Engine, clock: Clock):
        Mnemic(parts).capture(ANNA, user="I like tea")
        clock.turn(minutes=20)
        Mnemic(parts).capture(BERT, user="I like coffee")
        log = Log(SUMMARISE)
        work(parts, log.handlers, worker="w")
        clock.turn(minutes=11)
        work(parts, log.handlers, worker="w")
        (job,) = log.jobs
        assert (job.partition, job.key) == (HERS, "s1")
        assert job.payload == {"session": "s1", "first": 1, "last": 1}

    def test_while_such_a_job_waits_or_has_given_up_none_is_added(self, parts: Engine, clock: Clock):
        Mnemic(parts).capture(ANNA, user="I like tea")
        clock.turn(hours=1)
        log = Log(SUMMARISE)
        log.broken = {SUMMARISE}
        for _ in range(20):
            work(parts, log.handlers, worker="w")
            clock.turn(hours=1)
        (job,) = summaries(parts)
        assert (job.state, job.attempts) == (JobState.DEAD, 8)

    def test_conversations_that_gave_up_do_not_stand_in_the_way_of_others(
        self, parts: Engine, clock: Clock, monkeypatch: pytest.MonkeyPatch
    ):
        monkeypatch.setattr("mnemic.engine.jobs.IDLE_AT_ONCE", 2)
        for number in range(4):
            Mnemic(parts).capture(replace(ANNA, session=f"s{number}"), user="I like tea")
        clock.turn(hours=1)
        log = Log(SUMMARISE)
        log.broken = {SUMMARISE}
        work(parts, log.handlers, worker="w")
        assert len(summaries(parts)) == 2
        log.broken = set()
        work(parts, log.handlers, worker="w")
        assert {job.key for job in log.jobs} == {"s2", "s3"}

    def test_nothing_is_added_that_nobody_can_do(self, parts: Engine, clock: Clock):
        Mnemic(parts).capture(ANNA, user="I like tea")
        clock.turn(hours=1)
        work(parts, Log(DECAY).handlers, worker="w")
        assert summaries(parts) == []
