"""Events between the parts of a memory's life, published as jobs in their cause's transaction: both exist or neither. A
worker handles each at least once, and lists failures with a reason. `handlers.py` maps events to handlers, so that no
part imports another.
"""

from collections.abc import Callable, Mapping
from dataclasses import fields
from datetime import datetime
from typing import Any, TypeVar, cast

from mnemic.engine.engine import new_job
from mnemic.engine.kinds import CONSOLIDATE_SUMMARY, REFLECT, SUMMARISE
from mnemic.errors import InvalidInputError
from mnemic.model.records import ConsolidationRequest, Event, Job, ReflectionRequest, SummarisationRequest
from mnemic.ports.store import UnitOfWork

E = TypeVar("E", bound=Event)

KINDS: Mapping[type[Event], str] = {
    SummarisationRequest: SUMMARISE,
    ConsolidationRequest: CONSOLIDATE_SUMMARY,
    ReflectionRequest: REFLECT,
}
"""The kind of job that stores each event."""

_KEYS: Mapping[type[Event], Callable[[Any], str]] = {ConsolidationRequest: lambda event: event.summary}


def publish(work: UnitOfWork, event: Event, now: datetime) -> bool:
    """Publish an event in its cause's unit of work. False if an equal one waits or runs (same session, or summary of a
    consolidation). The handler reads the rows, so it covers later changes too.
    """
    return work.jobs.add([as_job(event, now)])[0]


def as_job(event: Event, now: datetime) -> Job:
    """The job that stores an event."""
    payload = {name: getattr(event, name) for name in _names(type(event))}
    kind, key = KINDS[type(event)], _KEYS.get(type(event), lambda event: event.session)(event)
    return new_job(now, event.partition, kind, key, payload)


def read(kind: type[E], job: Job) -> E:
    """The event of a job. Fields missing in jobs of earlier versions get their defaults. Raises `InvalidInputError` if
    others are missing; the job is then listed as failed.
    """
    told = {name: job.payload[name] for name in _names(kind) if name in job.payload}
    try:
        return kind(partition=job.partition, **cast("dict[str, Any]", told))
    except TypeError as error:
        raise InvalidInputError(f"a {job.kind} job lacks fields of {kind.__name__}") from error


def _names(kind: type[Event]) -> list[str]:
    return [field.name for field in fields(kind) if field.name != "partition"]
