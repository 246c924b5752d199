"""Archives memories with a history entry, for `undo`, or erases them with what history and kept answers quote, leaving
tombstones. What was made of them stays; `erasure.cascade` handles that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from mnemic.engine.access import forget_answers
from mnemic.engine.engine import Parts, new_id
from mnemic.engine.fields import differences
from mnemic.engine.indexing import indexed_text
from mnemic.model.item import Kind, Memory, State
from mnemic.model.records import Action, HistoryEntry
from mnemic.model.scope import Partition
from mnemic.ports.store import UnitOfWork

EXPIRED = "it had expired"
_TICK = timedelta(microseconds=1)


def is_lasting(memory: Memory) -> bool:
    """True for what neither fades nor is ever archived for want of importance or room."""
    return memory.is_pinned or memory.kind is Kind.REFLECTION


def archive(parts: Parts, work: UnitOfWork, memory: Memory, *, actor: str, reason: str) -> bool:
    """Archive a memory now; False when somebody else changed it meanwhile."""
    now = parts.clock.now()
    archived = replace(memory, state=State.ARCHIVED, retired_at=now, updated_at=max(now, memory.updated_at + _TICK))
    if not work.memories.replace(archived, parts.terms(indexed_text(memory)), memory.updated_at):
        return False
    before, after = differences(memory, archived)
    entry = HistoryEntry(
        id=new_id(now),
        partition=memory.partition,
        item_id=memory.id,
        action=Action.ARCHIVED,
        actor=actor,
        at=now,
        reason=reason,
        before=before,
        after=after,
    )
    work.history.add([entry])
    return True


def erase_memories(
    work: UnitOfWork, partition: Partition, ids: Sequence[str], *, actor: str, reason: str, now: datetime
) -> tuple[dict[str, int], list[HistoryEntry]]:
    """Erase memories of a partition and write down that they were deleted: counts by table, and these entries."""
    counts = {"memories": work.memories.erase(partition, ids, now), "history": work.history.scrub(partition, ids)}
    entries = [deletion(partition, item_id, actor, reason, now) for item_id in ids]
    work.history.add(entries)
    if ids:
        forget_answers(work, [partition])
    return counts, entries


def deletion(partition: Partition, item_id: str, actor: str, reason: str, now: datetime) -> HistoryEntry:
    """The entry that says that an item was deleted."""
    return HistoryEntry(
        id=new_id(now), partition=partition, item_id=item_id, action=Action.DELETED, actor=actor, at=now, reason=reason
    )
