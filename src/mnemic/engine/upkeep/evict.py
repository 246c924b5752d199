"""Makes room: archives what has faded and is old, or has expired, and deletes what has been archived for long.

Looks at the metadata of every memory, not at what some question would find. Pinned memories and reflections stay, and
so does what a person has lately brought back; the profile is no memory and is never touched.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from mnemic.engine.erasure.tombstones import erase_memories
from mnemic.engine.memories.archive import EXPIRED, archive, is_lasting
from mnemic.engine.parts import Parts
from mnemic.engine.sweep import PAGES_A_JOB, Reach, sweep
from mnemic.engine.upkeep.decay import present_importance
from mnemic.model.history import Action
from mnemic.model.item import Memory, State
from mnemic.model.scope import Level, Partition, Scope, Visibility
from mnemic.ports.store import UnitOfWork

UPKEEP = "upkeep"
"""The actor in the history of what is evicted by the schedule."""

_log = logging.getLogger("mnemic.evict")


@dataclass(frozen=True, slots=True)
class Eviction:
    """A memory that is archived or deleted, and why."""

    id: str
    action: Action
    reason: str


@dataclass(frozen=True, slots=True)
class EvictReport:
    """What was, or would be, evicted at a moment; `examined` counts the memories that were looked at."""

    at: datetime
    examined: int
    archived: tuple[Eviction, ...]
    deleted: tuple[Eviction, ...]
    is_dry_run: bool


def evict(parts: Parts, scope: Scope, levels: Sequence[Level], *, actor: str, is_dry_run: bool = False) -> EvictReport:
    """Evict from the visible memories of some levels (none: of all). `undo` brings back what was archived; what was
    deleted is gone as by `delete`.
    """
    parts.accesses.flush(parts.store)
    evicting, examined, found = _Evicting(parts, actor), 0, list[Eviction]()
    visible = scope.visibility.at(*levels)
    for partition in visible.partitions:
        deed = None if is_dry_run else evicting.deed
        for page in sweep(parts, Reach(partition, visible), evicting.plan, deed):
            examined += page.examined
            found += [eviction for _, eviction in page.found]
    archived = tuple(eviction for eviction in found if eviction.action is Action.ARCHIVED)
    deleted = tuple(eviction for eviction in found if eviction.action is Action.DELETED)
    return EvictReport(evicting.now, examined, archived, deleted, is_dry_run)


def evict_partition(parts: Parts, partition: Partition, after: str = "") -> str | None:
    """The work of one job: `PAGES_A_JOB` pages of a partition behind the id `after`. Returns the id to go on behind,
    None at the end.
    """
    parts.accesses.flush(parts.store)
    evicting, count = _Evicting(parts, UPKEEP), 0
    for number, page in enumerate(sweep(parts, Reach(partition, None, after), evicting.plan, evicting.deed), start=1):
        count += len(page.found)
        if number == PAGES_A_JOB:
            return page.after
    if not count:
        _log.debug("there was nothing to evict")
    return None


class _Evicting:
    """One run: what is to go at its moment, and on whose behalf."""

    def __init__(self, parts: Parts, actor: str) -> None:
        self.now = parts.clock.now()
        self._parts, self._actor, self._life = parts, actor, parts.settings.life
        self._old = self.now - timedelta(days=self._life.evict_after_days)

    def plan(self, work: UnitOfWork, memories: Sequence[Memory]) -> list[tuple[Memory, Eviction]]:
        """Those of a page that are to go."""
        found: list[tuple[Memory, Eviction]] = []
        for memory, present in zip(memories, present_importance(memories, self.now, self._life), strict=True):
            eviction = None if is_lasting(memory) else self._judged(work, memory, present)
            if eviction is not None:
                found.append((memory, eviction))
        return found

    def deed(
        self, work: UnitOfWork, partition: Partition, found: Sequence[tuple[Memory, Eviction]]
    ) -> list[tuple[Memory, Eviction]]:
        """Archive and delete; a memory that somebody else is changing is left for the next run."""
        done: list[tuple[Memory, Eviction]] = []
        for memory, eviction in found:
            if eviction.action is Action.DELETED:
                erase_memories(work, partition, [memory.id], actor=self._actor, reason=eviction.reason, now=self.now)
            elif not archive(self._parts, work, memory, actor=self._actor, reason=eviction.reason):
                continue
            done.append((memory, eviction))
            self._parts.observer.count(f"mnemic.evict.{eviction.action.value}")
        return done

    def _judged(self, work: UnitOfWork, memory: Memory, present: float) -> Eviction | None:
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
            and memory.importance < life.kept_importance
            and present < life.evict_below
            and memory.created_at < self._old
        )
        if not is_stale or self._was_brought_back(work, memory):
            return None
        reason = f"its importance has faded to {present:.2f}, and it is older than {life.evict_after_days:g} days"
        return Eviction(memory.id, Action.ARCHIVED, reason)

    def _was_brought_back(self, work: UnitOfWork, memory: Memory) -> bool:
        """True when a change of it was taken back not so long ago: it would be archived again the next night."""
        own = Visibility((memory.partition,), memory.private_agent)
        history = work.history.of(own, memory.id)
        return any(entry.action is Action.RESTORED and entry.at >= self._old for entry in history)
