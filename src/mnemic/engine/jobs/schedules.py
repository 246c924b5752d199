"""What is due by the clock: looks at schedules and at conversations that went quiet, and adds their jobs.

Several workers may look at once: a run is noted by compare and set in the transaction that adds its jobs, and a job
whose like is waiting is not added again.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import cast

from mnemic.engine.conversation.pending import ask_for_summary
from mnemic.engine.cron import Cron
from mnemic.engine.kinds import CONSOLIDATE, CURATE, DECAY, EVICT, GRAPH, HEALTH, SUMMARISE
from mnemic.engine.parts import Parts, new_id
from mnemic.engine.requests import KEPT
from mnemic.model.conversation import SUMMARISED
from mnemic.model.job import Job, JobState
from mnemic.model.life import LifeSettings
from mnemic.model.research import STEPS_KEPT
from mnemic.model.scope import Partition
from mnemic.ports.store import UnitOfWork

IDLE_AT_ONCE = 100
"""Quiet conversations that one look takes up; the next look takes the next ones."""

THEN = "then"
"""Key of a payload: the kinds of jobs that follow in the same partition, each when the one before is done."""

_LOOKED_AT = 1000
_CLOCK_WENT_BACK = timedelta(days=1)
_log = logging.getLogger("mnemic.schedules")


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


def timetables(parts: Parts, kinds: Collection[str]) -> list[Timetable]:
    """When each schedule ran and will run. Raises `ConfigError` for a line or a zone that cannot be."""
    now = parts.clock.now()
    with parts.store.read() as unit:
        lasts = [(each, unit.upkeep.last_run(each.name)) for each in schedules(parts.settings.life, kinds)]
    return [Timetable(each, last, each.next(last or now)) for each, last in lasts]


def add_due(parts: Parts, kinds: Collection[str]) -> int:
    """Add the jobs of all that is due, of `kinds` only; returns how many are new.

    A schedule that nobody ever looked at begins to count now, and several missed runs are one. Raises `ConfigError` for
    a line or a zone that cannot be.
    """
    added = sum(_run(parts, each) for each in timetables(parts, kinds))
    return added + (_flush_idle(parts) if SUMMARISE in kinds and parts.settings.life.summarises else 0)


def following(job: Job, more: Sequence[Job], now: datetime) -> list[Job]:
    """What is added when a scheduled job is done: what it left over itself, `more`, and then the next kind of its run.

    While a job of its own kind is among what it left over, the next kind waits for that one.
    """
    then = cast("Sequence[str]", job.payload.get(THEN) or ())
    if not then:
        return list(more)
    rest = [replace(each, payload={**each.payload, THEN: then}) if _is_rest(each, job) else each for each in more]
    if any(_is_rest(each, job) for each in more):
        return rest
    kind, *later = then
    return [*rest, _job(job.partition, kind, job.key, {THEN: later}, now)]


def _is_rest(each: Job, job: Job) -> bool:
    return each.kind == job.kind and each.partition == job.partition


def _run(parts: Parts, at: Timetable) -> int:
    """Note the run of a schedule and add its jobs, if it is due; returns how many are new."""
    now = parts.clock.now()
    if at.last is None or at.last > now + _CLOCK_WENT_BACK:
        with parts.store.write() as unit:
            unit.upkeep.start_run(at.schedule.name, at.last, now)
        return 0
    if at.next > now:
        return 0
    first, *then = at.schedule.kinds
    is_only_one = at.schedule.next(at.next) > now
    with parts.store.write() as unit:
        if not unit.upkeep.start_run(at.schedule.name, at.last, at.next if is_only_one else now):
            return 0
        places = unit.partitions.all()
        added = unit.jobs.add([_job(place, first, at.schedule.name, {THEN: then}, now) for place in places])
        unit.upkeep.forget_jobs(_before(now, parts.settings.life.done_jobs_days))
        unit.audit.forget(_before(now, parts.settings.life.audit_days))
        unit.requests.forget(now - KEPT)
        unit.research.forget(now - STEPS_KEPT)
    _log.info("schedule %s, due at %s: %d jobs", at.schedule.name, at.next.isoformat(), sum(added))
    parts.observer.count("mnemic.schedules.run", schedule=at.schedule.name)
    return sum(added)


def _before(now: datetime, days: float) -> datetime:
    """So many days ago; the beginning of time where a calendar does not go back so far."""
    try:
        return now - timedelta(days=days)
    except OverflowError:
        return datetime.min.replace(tzinfo=UTC)


def _flush_idle(parts: Parts) -> int:
    """Ask for a summary of the rest of each conversation in which nothing was said for long.

    One whose job waits, or gave up, is left alone, and does not stand in the way of those behind it.
    """
    now = parts.clock.now()
    since = now - timedelta(seconds=parts.settings.life.idle_flush_s)
    with parts.store.read() as unit:
        known = _summaries(unit)
        quiet = unit.upkeep.idle(SUMMARISED, since, IDLE_AT_ONCE + len(known))
    wanted = [each for each in quiet if (each.partition, each.session) not in known][:IDLE_AT_ONCE]
    if not wanted:
        return 0
    with parts.store.write() as unit:
        asked = [ask_for_summary(parts, unit, each.partition, each.session, wanted=each.messages)[1] for each in wanted]
    for each in wanted:
        _log.debug("session %s went quiet: its rest will be summarised", each.session)
    return sum(asked)


def _summaries(unit: UnitOfWork) -> set[tuple[Partition, str]]:
    """The conversations that have an unfinished or dead job of summarising."""
    waiting = unit.jobs.list(None, (JobState.PENDING, JobState.RUNNING), _LOOKED_AT)
    dead = unit.jobs.list(None, (JobState.DEAD,), _LOOKED_AT)
    return {(job.partition, job.key) for job in (*waiting, *dead) if job.kind == SUMMARISE}


def _job(partition: Partition, kind: str, key: str, payload: dict[str, object], now: datetime) -> Job:
    return Job(id=new_id(now), partition=partition, kind=kind, key=key, created_at=now, run_at=now, payload=payload)
