"""Schedules, jobs and the worker that runs them.

Several workers may look at once: a run is noted by compare and set in the transaction that adds its jobs, and waiting
jobs are not added again. A job is written in its cause's transaction, and done at least once, never by two workers:
only the holder of its lease can end it. Handlers are idempotent.
"""

from __future__ import annotations

import difflib
import logging
import threading
import time
import zoneinfo
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta, tzinfo
from types import TracebackType
from typing import Self, cast

from cronsim import CronSim, CronSimError

from mnemic.engine.access import KEPT
from mnemic.engine.context_records import MOST_OF_PARTITION
from mnemic.engine.engine import Engine, Metered, new_id, new_job
from mnemic.engine.kinds import CONSOLIDATE, CURATE, DECAY, EVICT, EXTRACT, GRAPH, HEALTH, SUMMARISE
from mnemic.engine.summaries import ask_for_summary
from mnemic.errors import ConfigError, MnemicError, RateLimitedError
from mnemic.model.chat import Usage
from mnemic.model.document import STEPS_KEPT
from mnemic.model.item import SUMMARISED
from mnemic.model.records import Job, JobState
from mnemic.model.scope import Partition, Scope
from mnemic.model.settings import LifeSettings
from mnemic.ports.store import UnitOfWork

FIELDS = (
    "five fields (minute hour day month weekday), or six with seconds first, such as '30 2 * * *' or '0 30 2 * * ?'"
)
_HOUR, _DAY, _WEEKDAY = 2, 3, 5  # places of the fields in a cron line with seconds first
_FROM = datetime(2024, 1, 1, tzinfo=UTC)
"""Somewhere to begin when a line is tried out."""


class Cron:
    """A cron line of five fields, or six with seconds first, in the time zone `zone`. As in Debian's cron, 0 and 7 are
    Sunday, and day and weekday are alternatives unless one begins with `*`; as in Quartz, `?` means `*`.

    A line with hours follows the wall clock: a skipped time is due after the jump, a repeated hour counts once. Hourly
    lines (`*`) follow elapsed time. Raises `ConfigError` for anything else.
    """

    def __init__(self, line: str, zone: str) -> None:
        self._zone = zone_of(zone)
        fields = line.split()
        if len(fields) == _WEEKDAY:
            fields.insert(0, "0")
        for place in (_DAY, _WEEKDAY):
            if len(fields) > place and fields[place] == "?":
                fields[place] = "*"
        self._line = " ".join(fields)
        self._is_by_wall = len(fields) > _HOUR and not fields[_HOUR].startswith("*")
        try:
            self.after(_FROM)
        except (CronSimError, ValueError, StopIteration) as error:
            why = "it never matches" if isinstance(error, StopIteration) else str(error)
            raise ConfigError(f"{line!r} is not a valid cron expression ({why}); use {FIELDS}") from error

    def after(self, moment: datetime) -> datetime:
        """The first time that is due later than `moment` (aware), in UTC."""
        local = moment.astimezone(self._zone)
        for due in CronSim(self._line, local.replace(tzinfo=None) if self._is_by_wall else local):
            at = _in_world(due, self._zone) if self._is_by_wall else due.astimezone(UTC)
            if at > moment:
                return at
        raise StopIteration


def zone_of(name: str) -> tzinfo:
    """The time zone of that name in the tz database. Raises `ConfigError`, with the nearest name, for another."""
    if name.upper() == "UTC":
        return UTC
    try:
        return zoneinfo.ZoneInfo(name)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError) as error:
        known = zoneinfo.available_timezones()
        if not known:
            remedy = "this machine has no time zones: run `pip install tzdata`"
        else:
            near = difflib.get_close_matches(name, known, n=1, cutoff=0.5)  # similarity: a typing error or two
            remedy = f"did you mean {near[0]}?" if near else "use a name such as Europe/Berlin, or UTC"
        raise ConfigError(f"{name!r} is not a time zone; {remedy}") from error


def _in_world(wall: datetime, zone: tzinfo) -> datetime:
    """The first moment when the clocks of `zone` show `wall`, or, where they skip it, the first full minute behind."""
    while True:
        at = wall.replace(tzinfo=zone, fold=0).astimezone(UTC)
        if at.astimezone(zone).replace(tzinfo=None) == wall:
            return at
        wall = wall.replace(second=0) + timedelta(minutes=1)


IDLE_AT_ONCE = 100
"""Quiet conversations that one look takes up; the next look takes the next ones."""

THEN = "then"
"""Key of a payload: the kinds of jobs that follow in the same partition, each when the one before is done."""

_MOST_JOBS_READ = 1000  # bounds one read of the queue
_CLOCK_WENT_BACK = timedelta(days=1)
_schedule_log = logging.getLogger("mnemic.schedules")


@dataclass(frozen=True, slots=True)
class Schedule:
    """`kinds` are done in every partition, one after the other, whenever `line` says so in `zone`."""

    name: str
    line: str
    zone: str
    kinds: tuple[str, ...]

    def next(self, last_run: datetime) -> datetime:
        """When it is due after `last_run`. Raises `ConfigError` for a line or a zone that cannot be."""
        return Cron(self.line, self.zone).after(last_run)


@dataclass(frozen=True, slots=True)
class Timetable:
    """A schedule, the time it counts from (its last run, or the first look; None before it), and when it is due."""

    schedule: Schedule
    last: datetime | None
    next: datetime


def schedules(life: LifeSettings, kinds: Collection[str]) -> list[Schedule]:
    """The schedules whose jobs somebody can do, of each the kinds that somebody can do; none that is switched off."""
    all_of_them = (
        Schedule("curate", life.curate_cron, life.time_zone, (CURATE,)),
        Schedule("consolidate", life.consolidate_cron, life.time_zone, (CONSOLIDATE,)),
        Schedule("evict", life.evict_cron, life.time_zone, (DECAY, EVICT)),
        Schedule("graph", life.graph_cron, life.time_zone, (GRAPH,)),
        Schedule("health", life.health_cron, life.time_zone, (HEALTH,)),
    )
    switches = (
        (CURATE, life.curates),
        (CONSOLIDATE, life.consolidates),
        (GRAPH, life.graphs),
        (HEALTH, life.scores_health),
    )
    off = {kind for kind, is_on in switches if not is_on}
    kinds = [kind for kind in kinds if kind not in off]
    able = [replace(each, kinds=tuple(kind for kind in each.kinds if kind in kinds)) for each in all_of_them]
    return [each for each in able if each.kinds]


def timetables(engine: Engine, kinds: Collection[str]) -> list[Timetable]:
    """When each schedule ran and will run. Raises `ConfigError` for a line or a zone that cannot be."""
    now = engine.clock.now()
    with engine.store.read() as unit:
        lasts = [(each, unit.upkeep.last_run(each.name)) for each in schedules(engine.settings.life, kinds)]
    return [Timetable(each, last, each.next(last or now)) for each, last in lasts]


def add_due(engine: Engine, kinds: Collection[str]) -> int:
    """Add jobs that are due, of `kinds` only; returns how many are new. A new schedule begins to count now, and missed
    runs are one. Raises `ConfigError` for a bad line or zone.
    """
    added = sum(_run(engine, each) for each in timetables(engine, kinds))
    return added + (_flush_idle(engine) if SUMMARISE in kinds and engine.settings.life.summarises else 0)


def following(job: Job, more: Sequence[Job], now: datetime) -> list[Job]:
    """Jobs to add after a scheduled one: what it left, `more`, and the next kind of its run, which waits for any of its
    own kind.
    """
    then = cast("Sequence[str]", job.payload.get(THEN) or ())
    if not then:
        return list(more)
    rest = [replace(each, payload={**each.payload, THEN: then}) if _is_rest(each, job) else each for each in more]
    if any(_is_rest(each, job) for each in more):
        return rest
    kind, *later = then
    return [*rest, new_job(now, job.partition, kind, job.key, {THEN: later})]


def _is_rest(each: Job, job: Job) -> bool:
    return each.kind == job.kind and each.partition == job.partition


def _run(engine: Engine, at: Timetable) -> int:
    """Note the run of a schedule and add its jobs, if it is due; returns how many are new."""
    now = engine.clock.now()
    if at.last is None or at.last > now + _CLOCK_WENT_BACK:
        with engine.store.write() as unit:
            unit.upkeep.start_run(at.schedule.name, at.last, now)
        return 0
    if at.next > now:
        return 0
    first, *then = at.schedule.kinds
    is_only_one = at.schedule.next(at.next) > now
    with engine.store.write() as unit:
        if not unit.upkeep.start_run(at.schedule.name, at.last, at.next if is_only_one else now):
            return 0
        places = unit.partitions.all()
        added = unit.jobs.add([new_job(now, place, first, at.schedule.name, {THEN: then}) for place in places])
        unit.upkeep.forget_jobs(_days_before(now, engine.settings.life.done_jobs_days))
        unit.audit.forget(_days_before(now, engine.settings.life.audit_days))
        unit.contexts.forget(_days_before(now, engine.settings.life.context_days), MOST_OF_PARTITION)
        unit.requests.forget(now - KEPT)
        unit.research.forget(now - STEPS_KEPT)
    _schedule_log.info("schedule %s, due at %s, added %d jobs", at.schedule.name, at.next.isoformat(), sum(added))
    engine.observer.count("mnemic.schedules.run", schedule=at.schedule.name)
    return sum(added)


def _days_before(now: datetime, days: float) -> datetime:
    """So many days ago; the beginning of time where a calendar does not go back so far."""
    try:
        return now - timedelta(days=days)
    except OverflowError:
        return datetime.min.replace(tzinfo=UTC)


def _flush_idle(engine: Engine) -> int:
    """Ask for a summary of the rest of quiet conversations, skipping those whose job waits or gave up."""
    now = engine.clock.now()
    since = now - timedelta(seconds=engine.settings.life.idle_flush_s)
    with engine.store.read() as unit:
        known = _summaries(unit)
        quiet = unit.upkeep.idle(SUMMARISED, since, IDLE_AT_ONCE + len(known))
    wanted = [each for each in quiet if (each.partition, each.session) not in known][:IDLE_AT_ONCE]
    if not wanted:
        return 0
    with engine.store.write() as unit:
        asked = [
            ask_for_summary(engine, unit, each.partition, each.session, wanted=each.messages)[1] for each in wanted
        ]
    for each in wanted:
        _schedule_log.debug("session %s is idle: its remaining messages will be summarised", each.session)
    return sum(asked)


def _summaries(unit: UnitOfWork) -> set[tuple[Partition, str]]:
    """The conversations that have an unfinished or dead job of summarising."""
    waiting = unit.jobs.list(None, (JobState.PENDING, JobState.RUNNING), _MOST_JOBS_READ)
    dead = unit.jobs.list(None, (JobState.DEAD,), _MOST_JOBS_READ)
    return {(job.partition, job.key) for job in (*waiting, *dead) if job.kind == SUMMARISE}


LEASE_S = 600.0
"""How long a worker holds a job. A handler does at most so much in one go as surely fits, and leaves the rest to the
next job."""

FIRST_RETRY_S = 5.0  # before the second try; doubles with each further one
LONGEST_RETRY_S = 3600.0  # caps the wait that a server's Retry-After asks for; doubling ends at 320 s
TRY_LIMIT = 8  # tries; the waits between them add up to about 11 minutes
LISTED = 100  # jobs that fit a few screens; a caller may ask for more

FollowUp = Callable[[UnitOfWork], Sequence[Job]]
Handler = Callable[[Engine, Job], FollowUp]
"""Does a job outside any transaction. What it returns is asked, in the transaction that finishes the job, what is left
to do; since the job is done there, a job of the same key may be added. What it writes itself is written once."""

_job_log = logging.getLogger("mnemic.jobs")


@dataclass(frozen=True, slots=True)
class WorkReport:
    """Counts of jobs: `done`, `retried` (they failed, and wait for their next try), `dead` (they gave up)."""

    done: int = 0
    retried: int = 0
    dead: int = 0

    def with_run(self, run: JobRun) -> WorkReport:
        """The report with one run more; a job whose lease was lost is somebody else's to count."""
        return WorkReport(
            self.done + (run.outcome is JobState.DONE),
            self.retried + (run.outcome is JobState.PENDING),
            self.dead + (run.outcome is JobState.DEAD),
        )


@dataclass(frozen=True, slots=True)
class JobRun:
    """One try of a job: what became of it (None: somebody else has its lease now), why it failed, and its cost."""

    job: Job
    outcome: JobState | None
    error: str
    seconds: float


def work(engine: Engine, handlers: Mapping[str, Handler], *, worker: str, until_idle: bool = True) -> WorkReport:
    """Run what is due until nothing is left (or one job, with `until_idle=False`); see `run_jobs`."""
    report = WorkReport()
    for run in run_jobs(engine, handlers, worker=worker):
        report = report.with_run(run)
        if not until_idle:
            break
    return report


def run_jobs(engine: Engine, handlers: Mapping[str, Handler], *, worker: str) -> Iterator[JobRun]:
    """Add due jobs of schedules, then run jobs one by one, oldest first. `handlers`: by kind; others are left.
    `worker`: the unique holder of leases. After an error of Mnemic a job retries from 5 s, doubling to an hour, or as
    long as the server asks; after 8 tries it is dead. Other exceptions count too, and are raised. Raises `ConfigError`
    for a bad schedule.
    """
    add_due(engine, handlers)
    while job := _claim(engine, handlers, worker):
        with _Lease(engine, job) as lease, engine.observer.span("mnemic.job", kind=job.kind, attempt=job.attempts):
            lease.follow_up = handlers[job.kind](lease.engine, job)
        yield lease.run


def list_jobs(
    engine: Engine,
    scope: Scope | None,
    states: Sequence[JobState] = (JobState.PENDING, JobState.RUNNING, JobState.DEAD),
    limit: int = LISTED,
) -> list[Job]:
    """Jobs that the scope may see, oldest first; None means every one, for maintenance only."""
    with engine.store.read() as unit:
        return unit.jobs.list(None if scope is None else scope.visibility.partitions, states, limit)


def retry_jobs(engine: Engine, scope: Scope | None, ids: Sequence[str]) -> int:
    """Give dead jobs another eight tries, from now; returns how many. Scope None: of every partition."""
    with engine.store.write() as unit:
        return unit.jobs.retry(None if scope is None else scope.visibility.partitions, ids, engine.clock.now())


def new_attempt(job: Job, now: datetime) -> Job:
    """A pending copy of a job, with a new id and no attempts."""
    job = replace(job, id=new_id(now), created_at=now, run_at=now, attempts=0, error="")
    return replace(job, state=JobState.PENDING, worker=None, leased_until=None, usage=Usage())


class _Lease:
    """The time in which a job is ours; at its end the job is finished or has failed, whatever happened."""

    def __init__(self, engine: Engine, job: Job) -> None:
        self.follow_up: FollowUp | None = None
        self._llm = None if engine.llm is None else Metered(engine.llm)
        self.engine = replace(engine, llm=self._llm)
        self._job = job
        self._outcome: JobState | None = None
        self._error = ""
        self._begin = time.perf_counter()
        _job_log.debug("%s for %s: job %s started, attempt %d", job.kind, _describe_owner(job), job.id, job.attempts)

    @property
    def run(self) -> JobRun:
        return JobRun(self._job, self._outcome, self._error, time.perf_counter() - self._begin)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        """An error of Mnemic ends here, also one of the last transaction; any other goes on to the caller of `work`."""
        if error is not None:
            self._fail(error)
            return isinstance(error, MnemicError)
        try:
            self._finish()
        except MnemicError as refused:
            self._fail(refused)
        return False

    def _finish(self) -> None:
        now = self.engine.clock.now()
        job = self._add_cost()
        with self.engine.store.write() as unit:
            if unit.jobs.finish(job):
                self._outcome = JobState.DONE
                unit.jobs.add(following(job, self.follow_up(unit) if self.follow_up else (), now))
        if self._outcome is JobState.DONE:
            self.engine.observer.count("mnemic.jobs.done", kind=job.kind)
            _job_log.info("%s: job %s succeeded", job.kind, job.id)
        else:
            _job_log.warning("%s: job %s was taken by another worker", job.kind, job.id)

    def _fail(self, error: BaseException) -> None:
        """The reason holds the words of Mnemic's own errors only: others may quote what is stored."""
        self._error = f"{type(error).__name__}: {error}" if isinstance(error, MnemicError) else type(error).__name__
        job = self._add_cost()
        is_last = job.attempts >= TRY_LIMIT
        retry_at = None if is_last else self.engine.clock.now() + timedelta(seconds=_wait_s(job, error))
        with self.engine.store.write() as unit:
            if unit.jobs.fail(job, self._error, retry_at):
                self._outcome = JobState.DEAD if is_last else JobState.PENDING
        is_quiet = job.kind == EXTRACT
        level = logging.DEBUG if is_quiet else logging.ERROR if is_last else logging.WARNING
        told = (job.kind, job.id, job.attempts, type(error).__name__ if is_quiet else self._error)
        _job_log.log(level, "%s: job %s failed on attempt %d: %s", *told)
        self.engine.observer.count("mnemic.jobs.failed", kind=job.kind)

    def _add_cost(self) -> Job:
        """The job with the cost of this try added to that of the tries before; the observer is told of it."""
        if self._llm is None:
            return self._job
        usage, self._llm = self._llm.usage, None
        for name in ("calls", "prompt_tokens", "completion_tokens"):
            if value := getattr(usage, name):
                self.engine.observer.count(f"mnemic.llm.{name}", value, kind=self._job.kind)
        self._job = replace(self._job, usage=self._job.usage + usage)
        return self._job


def _claim(engine: Engine, handlers: Mapping[str, Handler], worker: str) -> Job | None:
    """The next job; one whose worker vanished at its last try is given up instead of run again."""
    now = engine.clock.now()
    with engine.store.write() as unit:
        while job := unit.jobs.claim(list(handlers), worker, now, now + timedelta(seconds=LEASE_S)):
            if job.attempts <= TRY_LIMIT:
                return job
            unit.jobs.fail(job, f"failed permanently: its worker died {TRY_LIMIT} times", None)
            _job_log.error("%s: job %s failed permanently: its worker died on every attempt", job.kind, job.id)
    return None


def _wait_s(job: Job, error: BaseException) -> float:
    wish = error.retry_after_s if isinstance(error, RateLimitedError) else None
    return min(LONGEST_RETRY_S, max(wish or 0.0, FIRST_RETRY_S * 2 ** (job.attempts - 1)))


def _describe_owner(job: Job) -> str:
    """The session of a job, else its partition. Only for the level `debug`: ids may be names of people."""
    session = job.payload.get("session")
    return f"session {session}" if session else f"{job.partition.level} {job.partition.owner}"


POLL_S = 5.0  # a job waits at most this long; lower wakes an idle machine more often
SHORTEST_S = 0.1  # no busy loop while a due job is held by another worker
_JOBS_LOOKED_AT = 100  # the oldest suffice to know when the next one is due
_worker_log = logging.getLogger("mnemic.worker")

Told = Callable[[JobRun], object]


class Worker:
    """Runs a store's jobs until stopped. Several may run, in one process or many; `name` is unique. It looks every
    `poll_s`, or earlier when a job is due or it is woken, and `gather_s` later. `on_run` hears every try, on the
    worker's thread. Failures are logged, and the next look follows after `poll_s`; `failure`: the last look's, or None.
    """

    def __init__(
        self,
        engine: Engine,
        handlers: Mapping[str, Handler],
        *,
        name: str,
        poll_s: float = POLL_S,
        on_run: Told | None = None,
        gather_s: float = 0.0,
    ) -> None:
        self._engine, self._handlers, self._name = engine, handlers, name
        self._poll_s, self._gather_s = poll_s, gather_s
        self._on_run = on_run
        self._begin: Callable[[], object] = bool
        self.failure: Exception | None = None
        self._stop, self._woken, self._hurried = threading.Event(), threading.Event(), threading.Event()
        self.is_lasting = True
        self._thread = threading.Thread(target=self._loop, name=name, daemon=True)

    def start(self, *, until_idle: bool = False) -> None:
        """Start; `until_idle` ends when no job is due. Raises `ConfigError` for a bad schedule. Runs only once."""
        timetables(self._engine, self._handlers)
        self.is_lasting = not until_idle
        self.run()

    def run(self, begin: Callable[[], object] = bool) -> None:
        """Start without a look at the schedules. `begin` is called before the first look."""
        self._begin = begin
        self._thread.start()

    def stop(self) -> None:
        """Ask it to end after its current job. Returns at once, also inside a signal handler."""
        for event in (self._stop, self._woken, self._hurried):
            event.set()

    def wake(self) -> None:
        """Look for work soon."""
        self._woken.set()

    def finish(self, timeout_s: float) -> bool:
        """Do what is due and end; False when that takes longer than `timeout_s`."""
        self.is_lasting = False
        self._woken.set()
        self._hurried.set()
        return self.join(timeout_s)

    def hand_back(self) -> None:
        """Return its jobs to the queue without counting an attempt. Discards what it still does for them."""
        with self._engine.store.write() as unit:
            for job in unit.jobs.list(None, (JobState.RUNNING,), _MOST_JOBS_READ):
                if job.worker == self._name and unit.jobs.fail(job, "", None):
                    unit.jobs.retry([job.partition], [job.id], self._engine.clock.now())

    def join(self, timeout_s: float | None = None) -> bool:
        """Wait until it has ended; False when it has not within `timeout_s`."""
        self._thread.join(timeout_s)
        return not self._thread.is_alive()

    def _loop(self) -> None:
        self._hurried.wait(self._gather_s)
        while not self._stop.is_set():
            self._woken.clear()
            pause_s = self._round()
            if not self.is_lasting:
                return
            self._woken.wait(pause_s)
            self._hurried.wait(self._gather_s)

    def _round(self) -> float:
        """Do what is due; returns seconds to sleep. A handler's error is noted at its job, so that the worker lives."""
        before, self.failure = self.failure, None
        try:
            self._begin()
            self._begin = bool
            for run in run_jobs(self._engine, self._handlers, worker=self._name):
                if self._on_run is not None:
                    self._on_run(run)
                if self._stop.is_set():
                    return 0.0
            return self._idle_s()
        except MnemicError as error:
            self.failure = error
            if self._stop.is_set():
                return 0.0  # the store was closed before its job was done
            if repr(error) != repr(before):  # said once: a store that cannot be written may stay so
                _worker_log.warning("the worker is pausing for %g s: %s: %s", self._poll_s, type(error).__name__, error)
        except Exception as error:  # noqa: BLE001 -- the job loop outlives a faulty handler; see tests/architecture/test_sizes.py
            self.failure = error
            _worker_log.error("a job failed with %s; the worker resumes in %g s", type(error).__name__, self._poll_s)
        return self._poll_s

    def _idle_s(self) -> float:
        """Seconds until something is due that can be foreseen, at most `poll_s`."""
        now = self._engine.clock.now()
        wakes = [min(self._tries(), default=None), *(at.next for at in timetables(self._engine, self._handlers))]
        waits = [(wake - now).total_seconds() for wake in wakes if wake is not None]
        return max(SHORTEST_S, min([self._poll_s, *waits]))

    def _tries(self) -> list[datetime]:
        """When the oldest jobs that wait may be tried."""
        with self._engine.store.read() as unit:
            jobs = unit.jobs.list(None, (JobState.PENDING,), _JOBS_LOOKED_AT)
        return [job.run_at for job in jobs if job.kind in self._handlers]
