"""Does the work that was written down in the transaction of its cause: claims jobs, runs them, tries again, gives up.

A job is done at least once and never by two workers at a time: its lease is taken in one transaction, and what came of
it is written in another, which only the holder of the lease can end. Handlers repeat without harm.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from types import TracebackType
from typing import Self

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
to do; since the job is done there, a job of the same key may be added."""

_log = logging.getLogger("mnemic.jobs")


@dataclass(frozen=True, slots=True)
class WorkReport:
    """Counts of jobs: `done`, `retried` (they failed, and wait for their next try), `dead` (they gave up)."""

    done: int = 0
    retried: int = 0
    dead: int = 0


def work(parts: Parts, handlers: Mapping[str, Handler], *, worker: str, until_idle: bool = True) -> WorkReport:
    """Run the jobs that are due, oldest first, until none is left (or one, with `until_idle=False`).

    `handlers` do them by kind; jobs of other kinds are left alone. `worker` names the holder of the leases and differs
    between workers. A job that fails with an error of Mnemic waits for its next try, from 5 s, twice as long each time,
    at most an hour, or as long as the server asked for; after 8 tries it is dead, with the reason. Any other exception
    counts as a failure of the job too, and is raised.
    """
    report = WorkReport()
    while job := _claim(parts, handlers, worker):
        with _Lease(parts, job) as lease:
            lease.follow_up = handlers[job.kind](parts, job)
        report = lease.counted(report)
        if not until_idle:
            break
    return report


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
        self._parts = parts
        self._job = job
        self._outcome: JobState | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        """An error of Mnemic ends here; any other goes on to the caller of `work`."""
        if error is None:
            self._finish()
        else:
            self._fail(error)
        return isinstance(error, MnemicError)

    def counted(self, report: WorkReport) -> WorkReport:
        """The report with this job; one whose lease was lost is somebody else's to count."""
        return WorkReport(
            report.done + (self._outcome is JobState.DONE),
            report.retried + (self._outcome is JobState.PENDING),
            report.dead + (self._outcome is JobState.DEAD),
        )

    def _finish(self) -> None:
        with self._parts.store.write() as unit:
            if unit.jobs.finish(self._job):
                self._outcome = JobState.DONE
                unit.jobs.add(self.follow_up(unit) if self.follow_up else [])
        if self._outcome is JobState.DONE:
            self._parts.observer.count("mnemic.jobs.done", kind=self._job.kind)

    def _fail(self, error: BaseException) -> None:
        """The reason holds the words of Mnemic's own errors only: others may quote what is stored."""
        reason = f"{type(error).__name__}: {error}" if isinstance(error, MnemicError) else type(error).__name__
        is_last = self._job.attempts >= TRY_LIMIT
        retry_at = None if is_last else self._parts.clock.now() + timedelta(seconds=_wait_s(self._job, error))
        with self._parts.store.write() as unit:
            if unit.jobs.fail(self._job, reason, retry_at):
                self._outcome = JobState.DEAD if is_last else JobState.PENDING
        level = logging.ERROR if is_last else logging.WARNING
        _log.log(level, "job %s (%s) failed at try %d: %s", self._job.id, self._job.kind, self._job.attempts, reason)
        self._parts.observer.count("mnemic.jobs.failed", kind=self._job.kind)


def _claim(parts: Parts, handlers: Mapping[str, Handler], worker: str) -> Job | None:
    """The next job; one whose worker vanished at its last try is given up instead of run again."""
    now = parts.clock.now()
    with parts.store.write() as unit:
        while job := unit.jobs.claim(list(handlers), worker, now, now + timedelta(seconds=LEASE_S)):
            if job.attempts <= TRY_LIMIT:
                return job
            unit.jobs.fail(job, f"gave up: its worker vanished {TRY_LIMIT} times", None)
    return None


def _wait_s(job: Job, error: BaseException) -> float:
    wish = error.retry_after_s if isinstance(error, RateLimitedError) else None
    return min(LONGEST_RETRY_S, max(wish or 0.0, FIRST_RETRY_S * 2 ** (job.attempts - 1)))
