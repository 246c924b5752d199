"""What the doctor says of what stands around the rows: the clock, the memory for indexes, and what guards the texts."""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime, timedelta

from mnemic.engine.handlers import HANDLERS
from mnemic.engine.jobs.schedules import timetables
from mnemic.engine.parts import Parts
from mnemic.errors import ConfigError
from mnemic.model.clocktime import to_microseconds
from mnemic.model.health import Condition, Finding
from mnemic.model.job import JobState
from mnemic.model.query import MemoryQuery, Order
from mnemic.model.scope import Visibility
from mnemic.model.settings import Quarantine

EARLIEST = datetime(2026, 1, 1, tzinfo=UTC)
"""Before this version of Mnemic was there, so that no right clock can show it."""

_MOST_AHEAD = timedelta(minutes=5)
_BYTES_A_ROW = 1000
"""What an index holds of an item beside its vectors: ids, times, and the places of some dozen words."""

_BYTES_A_NUMBER = 4
_JOBS_LOOKED_AT = 1000


def clock_finding(parts: Parts) -> Finding:
    """Whether the clock may be right: it stands neither before this program nor before what is already written."""
    now = parts.clock.now()
    remedy = "set the clock of this machine; times that are said by it order and expire memories"
    if now < EARLIEST:
        return Finding("clock", Condition.DEGRADED, f"the clock shows {_told(now)}, which is past", remedy)
    newest = _newest(parts)
    if newest is not None and newest > now + _MOST_AHEAD:
        message = f"the clock shows {_told(now)}, and something was written at {_told(newest)}"
        return Finding("clock", Condition.DEGRADED, message, remedy)
    return Finding("clock", Condition.OK, f"the clock shows {_told(now)}")


def index_finding(parts: Parts) -> Finding | None:
    """Whether the memory for indexes holds what is there; None where the index needs none."""
    budget = parts.index.capabilities.budget_bytes
    if budget is None or not parts.embedders:
        return None
    dims = {embedder.space.id: embedder.space.dims for embedder in parts.embedders}
    with parts.store.read() as work:
        counts = {space: count for space, count in work.vectors.spaces().items() if space in dims}
    rows = max(counts.values(), default=0)
    needed = rows * _BYTES_A_ROW + sum(count * dims[space] * _BYTES_A_NUMBER for space, count in counts.items())
    told = f"all of {rows} items need about {needed >> 20} MiB of index, and {budget >> 20} MiB may be used"
    if needed <= budget:
        return Finding("index", Condition.OK, told)
    message = f"{told}; partitions take turns in memory, and who comes back after long waits until it is read again"
    return Finding("index", Condition.DEGRADED, message, "raise memory.index.budget-mb, or divide users among servers")


def guard_findings(parts: Parts) -> list[Finding]:
    """What protects texts and prompts and is switched off."""
    settings, findings = parts.settings, list[Finding]()
    if parts.detector is None:
        message = "passwords, keys and tokens are stored as they are said: redaction is off"
        findings.append(Finding("secrets", Condition.DEGRADED, message, "set secrets.redaction to true"))
    if settings.quarantine is Quarantine.OFF:
        message = "memories that give orders to the model are recalled like others: the quarantine is off"
        findings.append(Finding("guard", Condition.DEGRADED, message, "set guard.quarantine to untrusted"))
    return findings


def _newest(parts: Parts) -> datetime | None:
    """The newest time that is written, of memories, jobs and schedules."""
    query = MemoryQuery(now=parts.clock.now(), order=Order.NEWEST, limit=1)
    with parts.store.read() as work:
        memories = work.memories.list(Visibility(tuple(work.partitions.all()), None), query)
        jobs = work.jobs.list(None, (JobState.PENDING, JobState.RUNNING), _JOBS_LOOKED_AT)
    times = [memory.created_at for memory in memories] + [job.created_at for job in jobs]
    with suppress(ConfigError):  # of a schedule that cannot be is told elsewhere
        times += [at.last for at in timetables(parts, HANDLERS) if at.last is not None]
    return max(times, key=to_microseconds, default=None)


def _told(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M}Z"
