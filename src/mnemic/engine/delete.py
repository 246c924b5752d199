"""Removes one memory or message, leaving a tombstone without text."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from mnemic.engine.parts import Parts, new_id
from mnemic.engine.requests import forget_answers
from mnemic.engine.secrets import redact
from mnemic.errors import NotFoundError
from mnemic.model.history import Action, HistoryEntry, Receipt
from mnemic.model.query import MemoryQuery
from mnemic.model.scope import Level, Partition, Scope, Visibility
from mnemic.ports.store import UnitOfWork

COPIES_LEFT = (
    "the copies in Redis could not be reached; this process lets go of them when it answers again, and else they end "
    "when their time to live is over"
)
_LONG_AGO = datetime.min.replace(tzinfo=UTC)  # nothing has expired by then, so that what has expired is cleared too


def delete(parts: Parts, scope: Scope, item_id: str, *, actor: str, reason: str = "") -> Receipt:
    """Erase the text, the vectors and the recorded history of an item. Raises `NotFoundError` when it is not there."""
    now, reason = parts.clock.now(), redact(parts, reason).text
    with parts.store.write() as work:
        memories = work.memories.get(scope.visibility, [item_id])
        messages = work.messages.get(scope.visibility, [item_id])
        if not memories and not messages:
            raise NotFoundError(f"there is no memory or message {item_id!r} in this scope")
        partition = (memories or messages)[0].partition
        counts = {
            "memories": work.memories.erase(partition, [item_id], now) if memories else 0,
            "messages": work.messages.erase(partition, [item_id]) if messages else 0,
            "history": work.history.scrub(partition, [item_id]),
        }
        work.history.add([_deleted(partition, item_id, actor, reason, now)])
        forget_answers(work, [partition])
    is_gone = not messages or parts.window is None or parts.window.clear(partition, messages[0].session)
    return Receipt(now, counts, notes=() if is_gone else (COPIES_LEFT,))


def clear(parts: Parts, scope: Scope, levels: Sequence[Level], *, actor: str, reason: str = "") -> Receipt:
    """Erase every memory of the levels, private ones of other agents excepted, all or none of them. Messages, documents
    and the profile stay.
    """
    now, reason = parts.clock.now(), redact(parts, reason).text
    counts = {"memories": 0, "history": 0}
    with parts.store.write() as work:
        for partition in scope.visibility.at(*levels).partitions:
            visible = Visibility((partition,), scope.agent)
            ids = sorted(work.memories.ids(visible, MemoryQuery(now=_LONG_AGO, states=())))
            for table, count in erase_memories(work, partition, ids, actor=actor, reason=reason, now=now).items():
                counts[table] += count
    return Receipt(now, counts)


def erase_memories(
    work: UnitOfWork, partition: Partition, ids: Sequence[str], *, actor: str, reason: str, now: datetime
) -> dict[str, int]:
    """Erase memories and what history and kept answers quote of them, and write down that they were deleted; counts by
    table.
    """
    counts = {"memories": work.memories.erase(partition, ids, now), "history": work.history.scrub(partition, ids)}
    work.history.add([_deleted(partition, item_id, actor, reason, now) for item_id in ids])
    if ids:
        forget_answers(work, [partition])
    return counts


def _deleted(partition: Partition, item_id: str, actor: str, reason: str, now: datetime) -> HistoryEntry:
    return HistoryEntry(
        id=new_id(now),
        partition=partition,
        item_id=item_id,
        action=Action.DELETED,
        actor=actor,
        at=now,
        reason=reason,
    )
