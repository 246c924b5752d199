"""Lets importance fade: notes what it has faded to, so that a store can order by it. What was stored stays.

Fading starts again at every access; before the first one it counts from the time a memory was made here, not from when
it was said, so that an import of old conversations does not fade at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial

from mnemic.engine.memories.archive import is_lasting
from mnemic.engine.parts import Parts
from mnemic.engine.sweep import PAGES_A_JOB, Reach, sweep
from mnemic.model.item import Memory, State
from mnemic.model.life import LifeSettings
from mnemic.model.scope import Level, Partition, Scope
from mnemic.ports.store import UnitOfWork
from mnemic.ranking.decay import decayed

DECIMALS = 4
"""Finer differences of importance are none."""

_DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Fading:
    """A memory whose importance is another now: as it was stored, and its present one before and after."""

    id: str
    importance: float
    was: float
    becomes: float


@dataclass(frozen=True, slots=True)
class DecayReport:
    """What faded, or would fade, at a moment; `examined` counts the memories that were looked at."""

    at: datetime
    examined: int
    entries: tuple[Fading, ...]
    is_dry_run: bool


def decay(parts: Parts, scope: Scope, levels: Sequence[Level], *, is_dry_run: bool = False) -> DecayReport:
    """Note what the importance of the visible memories of some levels (none: of all) has faded to.

    A second run at the same moment changes nothing. What was recalled until now is written down first.
    """
    now, examined, entries = parts.clock.now(), 0, list[Fading]()
    parts.accesses.flush(parts.store)
    visible = scope.visibility.at(*levels)
    deed = None if is_dry_run else _fade
    for partition in visible.partitions:
        for page in sweep(parts, Reach(partition, visible), partial(_plan, parts.settings.life, now), deed):
            examined += page.examined
            entries += page.found
    return DecayReport(now, examined, tuple(entries), is_dry_run)


def decay_partition(parts: Parts, partition: Partition, after: str = "") -> str | None:
    """The work of one job: `PAGES_A_JOB` pages of a partition behind the id `after`. Returns the id to go on behind,
    None at the end.
    """
    parts.accesses.flush(parts.store)
    plan = partial(_plan, parts.settings.life, parts.clock.now())
    for number, page in enumerate(sweep(parts, Reach(partition, None, after), plan, _fade), start=1):
        parts.observer.count("mnemic.decay.faded", len(page.found))
        if number == PAGES_A_JOB:
            return page.after
    return None


def present_importance(memories: Sequence[Memory], now: datetime, life: LifeSettings) -> list[float]:
    """What the importance of each has faded to at `now`, whether it was noted or not; pinned memories and reflections
    keep theirs.
    """
    if not memories:
        return []
    faded = decayed(
        [memory.importance for memory in memories],
        [_idle_days(memory, now) for memory in memories],
        [life.half_lives.get(memory.kind, life.half_life_days) for memory in memories],
        life.faded_floor,
    )
    rounded = [round(float(value), DECIMALS) for value in faded]
    return [
        memory.importance if is_lasting(memory) else min(value, memory.importance)
        for memory, value in zip(memories, rounded, strict=True)
    ]


def _idle_days(memory: Memory, now: datetime) -> float:
    return (now - (memory.last_accessed_at or memory.created_at)) / _DAY


def _plan(life: LifeSettings, now: datetime, _: UnitOfWork, memories: Sequence[Memory]) -> list[Fading]:
    """Those whose present importance is not the one that is noted."""
    live = [m for m in memories if m.state is State.ACTIVE and (m.expires_at is None or m.expires_at > now)]
    return [
        Fading(memory.id, memory.importance, memory.present_importance, becomes)
        for memory, becomes in zip(live, present_importance(live, now, life), strict=True)
        if becomes != memory.present_importance
    ]


def _fade(work: UnitOfWork, partition: Partition, found: Sequence[Fading]) -> Sequence[Fading]:
    values = {fading.id: None if fading.becomes == fading.importance else fading.becomes for fading in found}
    work.upkeep.fade(partition, values)
    return found
