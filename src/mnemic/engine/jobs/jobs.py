"""Does the work that was written down in the transaction of its cause: claims jobs, runs them, tries again, gives up.

A job is done at least once and never by two workers at a time: its lease is taken in one transaction, and what came of
it is written in another, which only the holder of the lease can end. Handlers repeat without harm.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from types import TracebackType
from typing import Self

from mnemic.engine.jobs.schedules import add_due, following
from mnemic.engine.kinds import EXTRACT
from mnemic.engine.metering import Metered
from mnemic.engine.parts import Parts, new_id
from mnemic.errors import MnemicError, RateLimitedError
from mnemic.model.job import Job, JobState
from mnemic.model.llm import Usage
from mnemic.model.scope import Scope
from mnemic.ports.store import UnitOfWork

LEASE_S = 600.0
"""How long a worker holds a job. A handler does at most so much in one go as surely fits, and leaves the rest to the
next job."""

FIRST_RETRY_S = 5.0
LONGEST_RETRY_S = 3600.0
TRY_LIMIT = 8
LISTED = 100

FollowUp = Callable[[UnitOfWork], Sequence[Job]]
Handler = Callable[[Parts, Job], FollowUp]
"""Does a job outside any transaction. What it returns is asked, in the transaction that finishes the job, what is left
to do; since the job is done there, a job of the same key may be added. What it writes itself is written once."""

_log = logging.getLogger("mnemic.jobs")


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


def work(parts: Parts, handlers: Mapping[str, Handler], *, worker: str, until_idle: bool = True) -> WorkReport:
    """Run what is due until nothing is left (or one job, with `until_idle=False`); see `run_jobs`."""
    report = WorkReport()
    for run in run_jobs(parts, handlers, worker=worker):
        report = report.with_run(run)
        if not until_idle:
            break
    return report


def run_jobs(parts: Parts, handlers: Mapping[str, Handler], *, worker: str) -> Iterator[JobRun]:
    """Add the jobs of schedules that are due, then run one job after the other, oldest first, each when asked for.

    `handlers` do them by kind; jobs of other kinds are left alone. `worker` names the holder of the leases and differs
    between workers. A job that fails with an error of Mnemic waits for its next try, from 5 s, twice as long each time,
    at most an hour, or as long as the server asked for; after 8 tries it is dead, with the reason. Any other exception
    counts as a failure of the job too, and is raised. Raises `ConfigError` for a schedule that cannot be.
    """
    add_due(parts, handlers)
    while job := _claim(parts, handlers, worker):
        with _Lease(parts, job) as lease, parts.observer.span("mnemic.job", kind=job.kind, attempt=job.attempts):
            lease.follow_up = handlers[job.kind](lease.parts, job)
        yield lease.run


def list_jobs(
    parts: Parts,
    scope: Scope | None,
    states: Sequence[JobState] = (JobState.PENDING, JobState.RUNNING, JobState.DEAD),
    limit: int = LISTED,
) -> list[Job]:
    """Jobs that the scope may see, oldest first; None means every one, for maintenance only."""
    with parts.store.read() as unit:
        return unit.jobs.list(None if scope is None else scope.visibility.partitions, states, limit)


def retry_jobs(parts: Parts, scope: Scope | None, ids: Sequence[str]) -> int:
    """Give dead jobs another eight tries, from now; returns how many. Scope None: of every partition."""
    with parts.store.write() as unit:
        return unit.jobs.retry(None if scope is None else scope.visibility.partitions, ids, parts.clock.now())


def anew(job: Job, now: datetime) -> Job:
    """The same work as a job that nobody has tried."""
    job = replace(job, id=new_id(now), created_at=now, run_at=now, attempts=0, error="")
    return replace(job, state=JobState.PENDING, worker=None, leased_until=None, usage=Usage())


class _Lease:
    """The time in which a job is ours; at its end the job is finished or has failed, whatever happened."""

    def __init__(self, parts: Parts, job: Job) -> None:
        self.follow_up: FollowUp | None = None
        self._llm = None if parts.llm is None else Metered(parts.llm)
        self.parts = replace(parts, llm=self._llm)
        self._job = job
        self._outcome: JobState | None = None
        self._error = ""
        self._begin = time.perf_counter()
        _log.debug("%s of %s: job %s begins, try %d", job.kind, _whose(job), job.id, job.attempts)

    @property
    def run(self) -> JobRun:
        """What came of it."""
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
        now = self.parts.clock.now()
        job = self._metered()
        with self.parts.store.write() as unit:
            if unit.jobs.finish(job):
                self._outcome = JobState.DONE
                unit.jobs.add(following(job, self.follow_up(unit) if self.follow_up else (), now))
        if self._outcome is JobState.DONE:
            self.parts.observer.count("mnemic.jobs.done", kind=job.kind)
            _log.info("%s of %s: job %s is done", job.kind, _whose(job), job.id)
        else:
            _log.warning("%s of %s: job %s was taken by another worker", job.kind, _whose(job), job.id)

    def _fail(self, error: BaseException) -> None:
        """The reason holds the words of Mnemic's own errors only: others may quote what is stored."""
        self._error = f"{type(error).__name__}: {error}" if isinstance(error, MnemicError) else type(error).__name__
        job = self._metered()
        is_last = job.attempts >= TRY_LIMIT
        retry_at = None if is_last else self.parts.clock.now() + timedelta(seconds=_wait_s(job, error))
        with self.parts.store.write() as unit:
            if unit.jobs.fail(job, self._error, retry_at):
                self._outcome = JobState.DEAD if is_last else JobState.PENDING
        is_quiet = job.kind == EXTRACT
        level = logging.DEBUG if is_quiet else logging.ERROR if is_last else logging.WARNING
        told = (job.kind, _whose(job), job.id, job.attempts, type(error).__name__ if is_quiet else self._error)
        _log.log(level, "%s of %s: job %s failed at try %d: %s", *told)
        self.parts.observer.count("mnemic.jobs.failed", kind=job.kind)

    def _metered(self) -> Job:
        """The job with the cost of this try added to that of the tries before; the observer is told of it."""
        if self._llm is None:
            return self._job
        usage, self._llm = self._llm.usage, None
        for name in ("calls", "prompt_tokens", "completion_tokens"):
            if value := getattr(usage, name):
                self.parts.observer.count(f"mnemic.llm.{name}", value, kind=self._job.kind)
        self._job = replace(self._job, usage=self._job.usage + usage)
        return self._job


def _claim(parts: Parts, handlers: Mapping[str, Handler], worker: str) -> Job | None:
    """The next job; one whose worker vanished at its last try is given up instead of run again."""
    now = parts.clock.now()
    with parts.store.write() as unit:
        while job := unit.jobs.claim(list(handlers), worker, now, now + timedelta(seconds=LEASE_S)):
            if job.attempts <= TRY_LIMIT:
                return job
            unit.jobs.fail(job, f"gave up: its worker vanished {TRY_LIMIT} times", None)
            _log.error("%s of %s: job %s gave up, its worker vanished every time", job.kind, _whose(job), job.id)
    return None


def _wait_s(job: Job, error: BaseException) -> float:
    wish = error.retry_after_s if isinstance(error, RateLimitedError) else None
    return min(LONGEST_RETRY_S, max(wish or 0.0, FIRST_RETRY_S * 2 ** (job.attempts - 1)))


def _whose(job: Job) -> str:
    """The session of a job, else its partition, for the log; never what anybody said."""
    session = job.payload.get("session")
    return f"session {session}" if session else f"{job.partition.level} {job.partition.owner}"
