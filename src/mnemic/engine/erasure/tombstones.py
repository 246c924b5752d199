"""Erases memories: their words go, with what history and kept answers quote of them, and tombstones stay.

What was made of them is not looked at here: that is in `erasure.cascade`; eviction only makes room, and leaves it.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from mnemic.engine.parts import new_id
from mnemic.engine.requests import forget_answers
from mnemic.model.history import Action, HistoryEntry
from mnemic.model.scope import Partition
from mnemic.ports.store import UnitOfWork


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
        id=new_id(now),
        partition=partition,
        item_id=item_id,
        action=Action.DELETED,
        actor=actor,
        at=now,
        reason=reason,
    )
