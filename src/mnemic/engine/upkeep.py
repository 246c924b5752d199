"""Removes tombstones of passages, decays importance, and archives and deletes old memories.

Tombstones go once indexes have seen them. An index that has not must re-read its partition (the store's horizon shows
that). This is slow for a large one, so tombstones gather first. Decayed importance is stored beside the original, for
sorting. Decay restarts at every access. Before the first access it counts from when the memory was stored here, so that
imported conversations do not fade at once. Archiving examines every memory's metadata. Pinned memories, reflections and
recently restored ones stay; the profile is never touched.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial

from mnemic.engine.engine import Engine
from mnemic.engine.fields import EXPIRED, archive, erase_memories, is_lasting
from mnemic.engine.importance import with_use
from mnemic.engine.sweep import PAGES_A_JOB, Reach, sweep
from mnemic.model.item import Memory, State
from mnemic.model.records import Action
from mnemic.model.scope import Level, Partition, Scope, Visibility
from mnemic.model.settings import LifeSettings
from mnemic.ports.store import UnitOfWork
from mnemic.ranking.fusion import decayed

LEAST_TOMBSTONES = 100  # fewer take no room worth a transaction
LEAST_SHARE = 0.1  # of a partition's rows; fewer stay until the next night
AT_ONCE = 1000  # tombstones per transaction, so that writers wait only a moment
MOST_OF_A_JOB = 100_000  # tombstones per job, within its lease; others wait for the next night
_compact_log = logging.getLogger("mnemic.compact")


def compact_partition(engine: Engine, partition: Partition) -> int:
    """Remove a partition's passage tombstones, if enough. Returns their number. Other tombstones stay: they keep
    imports from restoring erased items.
    """
    with engine.store.read() as work:
        gone = work.partitions.tombstones(partition)
        rows = work.partitions.count([partition]) if gone >= LEAST_TOMBSTONES else {}
    live = sum(rows.get(name, 0) for name in ("messages", "memories", "chunks"))
    if gone < max(LEAST_TOMBSTONES, LEAST_SHARE * live):
        return 0
    removed = 0
    while removed < min(gone, MOST_OF_A_JOB):
        with engine.store.write() as work:
            count = work.partitions.compact(partition, AT_ONCE)
        removed += count
        if not count:
            break
    _compact_log.info("%s: removed %d passage tombstones", partition.level, removed)
    engine.observer.count("mnemic.compact.passages", removed)
    return removed


DECIMALS = 4  # finer differences of importance do not count
_DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Fading:
    """A memory whose importance changed: as stored, and its decayed one before and after."""

    id: str
    importance: float
    was: float
    becomes: float


@dataclass(frozen=True, slots=True)
class DecayReport:
    """Memories that faded, or would fade, at a moment; `examined` counts those examined."""

    at: datetime
    examined: int
    entries: tuple[Fading, ...]
    is_dry_run: bool


def decay(engine: Engine, scope: Scope, levels: Sequence[Level], *, is_dry_run: bool = False) -> DecayReport:
    """Store the decayed importance of visible memories of these levels (empty: all). Idempotent at one moment. Pending
    accesses are written first.
    """
    now, examined, entries = engine.clock.now(), 0, list[Fading]()
    engine.accesses.flush(engine.store)
    visible = scope.visibility.at(*levels)
    deed = None if is_dry_run else _fade
    for partition in visible.partitions:
        for page in sweep(engine, Reach(partition, visible), partial(_plan, engine.settings.life, now), deed):
            examined += page.examined
            entries += page.found
    return DecayReport(now, examined, tuple(entries), is_dry_run)


def decay_partition(engine: Engine, partition: Partition, after: str = "") -> str | None:
    """Decay `PAGES_A_JOB` pages of a partition after the id `after`. Returns the next id, None at the end."""
    engine.accesses.flush(engine.store)
    plan = partial(_plan, engine.settings.life, engine.clock.now())
    for number, page in enumerate(sweep(engine, Reach(partition, None, after), plan, _fade), start=1):
        engine.observer.count("mnemic.decay.faded", len(page.found))
        if number == PAGES_A_JOB:
            return page.after
    return None


def present_importance(memories: Sequence[Memory], now: datetime, life: LifeSettings) -> list[float]:
    """Each memory's decayed importance at `now`; pinned memories and reflections keep theirs."""
    if not memories:
        return []
    faded = decayed(
        [memory.importance for memory in memories],
        [(now - (memory.last_accessed_at or memory.created_at)) / _DAY for memory in memories],
        [life.half_lives.get(memory.kind, life.half_life_days) for memory in memories],
        life.faded_floor,
    )
    rounded = [round(float(value), DECIMALS) for value in faded]
    return [
        memory.importance if is_lasting(memory) else min(value, memory.importance)
        for memory, value in zip(memories, rounded, strict=True)
    ]


def _plan(life: LifeSettings, now: datetime, _: UnitOfWork, memories: Sequence[Memory]) -> list[Fading]:
    """The memories whose decayed importance differs from the stored one."""
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


UPKEEP = "upkeep"  # actor in the history of scheduled evictions
_evict_log = logging.getLogger("mnemic.evict")


@dataclass(frozen=True, slots=True)
class Eviction:
    """A memory to archive or delete, and the reason."""

    id: str
    action: Action
    reason: str


@dataclass(frozen=True, slots=True)
class EvictReport:
    """Memories that were, or would be, evicted at a moment; `examined` counts those examined."""

    at: datetime
    examined: int
    archived: tuple[Eviction, ...]
    deleted: tuple[Eviction, ...]
    is_dry_run: bool


def evict(
    engine: Engine, scope: Scope, levels: Sequence[Level], *, actor: str, is_dry_run: bool = False
) -> EvictReport:
    """Evict from the visible memories of these levels (empty: all). `undo` restores archived ones only."""
    engine.accesses.flush(engine.store)
    evicting, examined, found = _Evicting(engine, actor), 0, list[Eviction]()
    visible = scope.visibility.at(*levels)
    for partition in visible.partitions:
        deed = None if is_dry_run else evicting.deed
        for page in sweep(engine, Reach(partition, visible), evicting.plan, deed):
            examined += page.examined
            found += [eviction for _, eviction in page.found]
    archived = tuple(eviction for eviction in found if eviction.action is Action.ARCHIVED)
    deleted = tuple(eviction for eviction in found if eviction.action is Action.DELETED)
    return EvictReport(evicting.now, examined, archived, deleted, is_dry_run)


def evict_partition(engine: Engine, partition: Partition, after: str = "") -> str | None:
    """Evict from `PAGES_A_JOB` pages of a partition after the id `after`. Returns the next id, None at the end."""
    engine.accesses.flush(engine.store)
    evicting, count = _Evicting(engine, UPKEEP), 0
    for number, page in enumerate(sweep(engine, Reach(partition, None, after), evicting.plan, evicting.deed), start=1):
        count += len(page.found)
        if number == PAGES_A_JOB:
            return page.after
    if not count:
        _evict_log.debug("there was nothing to evict")
    return None


class _Evicting:
    """One run: its moment and its actor."""

    def __init__(self, engine: Engine, actor: str) -> None:
        self.now = engine.clock.now()
        self._engine, self._actor, self._life = engine, actor, engine.settings.life
        self._old = self.now - timedelta(days=self._life.evict_after_days)

    def plan(self, work: UnitOfWork, memories: Sequence[Memory]) -> list[tuple[Memory, Eviction]]:
        """The memories of a page to evict."""
        found: list[tuple[Memory, Eviction]] = []
        for memory, present in zip(memories, present_importance(memories, self.now, self._life), strict=True):
            eviction = None if is_lasting(memory) else self._judge_memory(work, memory, present)
            if eviction is not None:
                found.append((memory, eviction))
        return found

    def deed(
        self, work: UnitOfWork, partition: Partition, found: Sequence[tuple[Memory, Eviction]]
    ) -> list[tuple[Memory, Eviction]]:
        """Archive and delete. A memory that changes concurrently is left for the next run."""
        done: list[tuple[Memory, Eviction]] = []
        for memory, eviction in found:
            if eviction.action is Action.DELETED:
                erase_memories(work, partition, [memory.id], actor=self._actor, reason=eviction.reason, now=self.now)
            elif not archive(self._engine, work, memory, actor=self._actor, reason=eviction.reason):
                continue
            done.append((memory, eviction))
            self._engine.observer.count(f"mnemic.evict.{eviction.action.value}")
        return done

    def _judge_memory(self, work: UnitOfWork, memory: Memory, present: float) -> Eviction | None:
        life = self._life
        if memory.state is State.ARCHIVED:
            since = memory.retired_at or memory.updated_at
            is_over = since < self.now - timedelta(days=life.archive_days)
            reason = f"it was archived for more than {life.archive_days:g} days"
            return Eviction(memory.id, Action.DELETED, reason) if is_over else None
        if memory.expires_at is not None and memory.expires_at <= self.now:
            return Eviction(memory.id, Action.ARCHIVED, EXPIRED)
        is_stale = (
            memory.state is State.ACTIVE
            and with_use(memory) < life.kept_importance
            and present < life.evict_below
            and memory.created_at < self._old
        )
        if not is_stale or self._was_restored(work, memory):
            return None
        reason = f"its importance has faded to {present:.2f}, and it is older than {life.evict_after_days:g} days"
        return Eviction(memory.id, Action.ARCHIVED, reason)

    def _was_restored(self, work: UnitOfWork, memory: Memory) -> bool:
        """True if a recent `undo` restored the memory. Otherwise the next night would archive it again."""
        own = Visibility((memory.partition,), memory.private_agent)
        history = work.history.of(own, memory.id)
        return any(entry.action is Action.RESTORED and entry.at >= self._old for entry in history)
