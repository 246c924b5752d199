"""What the doctor says of jobs and schedules: what waits, what failed and why, what ran when and runs next."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from mnemic.engine.handlers import HANDLERS
from mnemic.engine.jobs.schedules import Timetable, timetables
from mnemic.engine.parts import Parts
from mnemic.errors import ConfigError
from mnemic.model.health import Condition, Finding
from mnemic.model.job import Job, JobState

_JOBS_SHOWN = 1000
_OVERDUE = timedelta(days=1)
_LEFT = timedelta(hours=1)


def job_findings(parts: Parts) -> list[Finding]:
    """Of the jobs of the whole store, and of the schedules that have handlers."""
    with parts.store.read() as work:
        waiting = work.jobs.list(None, (JobState.PENDING, JobState.RUNNING), _JOBS_SHOWN)
        dead = work.jobs.list(None, (JobState.DEAD,), _JOBS_SHOWN)
    findings = [Finding("jobs", Condition.OK, f"{len(waiting)} jobs are waiting")]
    now = parts.clock.now()
    left = [job for job in waiting if _is_left(job, now)]
    if left:
        message = (
            f"{len(left)} jobs should have run since {_told(min(job.run_at for job in left))}, and nobody ran them"
        )
        findings.append(Finding("worker", Condition.DEGRADED, message, "let `mnemic worker` or `mnemic serve` run"))
    late = [job for job in waiting if job.error]
    if late:
        message = f"{len(late)} jobs failed and will be tried again: {_reasons(late)}"
        findings.append(Finding("jobs", Condition.DEGRADED, message))
    if dead:
        message = f"{len(dead)} jobs gave up: {_reasons(dead)}"
        findings.append(Finding("jobs", Condition.DEGRADED, message, "mend the cause, then run `mnemic jobs retry`"))
    return findings + _schedules(parts)


def _is_left(job: Job, now: datetime) -> bool:
    """A job is due for long, and no worker has it."""
    held = job.leased_until is not None and job.leased_until > now
    return job.run_at < now - _LEFT and not held


def _reasons(jobs: Sequence[Job]) -> str:
    return "; ".join(dict.fromkeys(f"{job.kind}: {job.error}" for job in jobs[:5]))


def _schedules(parts: Parts) -> list[Finding]:
    try:
        return [_schedule(at, parts.clock.now()) for at in timetables(parts, HANDLERS)]
    except ConfigError as error:
        return [Finding("schedules", Condition.BROKEN, str(error), "mend it; `mnemic config show` tells where it is")]


def _schedule(at: Timetable, now: datetime) -> Finding:
    """A schedule that nobody ever looked at is no fault: who has no worker may call the verbs."""
    line = f"{at.schedule.name} ({at.schedule.line}, {at.schedule.zone})"
    if at.last is None:
        return Finding("schedules", Condition.OK, f"{line}: no worker has looked yet; next {_told(at.next)}")
    message = f"{line}: last {_told(at.last)}, next {_told(at.next)}"
    if at.next < now - _OVERDUE:
        return Finding("schedules", Condition.DEGRADED, f"{message}, which is overdue", "let `mnemic worker` run")
    return Finding("schedules", Condition.OK, message)


def _told(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M}Z"
