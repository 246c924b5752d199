"""Removes one memory or message, leaving a tombstone without text."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from mnemic.engine.erasure.cascade import cascade
from mnemic.engine.erasure.tombstones import deletion, erase_memories
from mnemic.engine.indexing.freshness import reached
from mnemic.engine.memories.dependants import Hand
from mnemic.engine.memories.lasting_facts import take_back
from mnemic.engine.parts import Parts
from mnemic.engine.requests import forget_answers
from mnemic.engine.secrets import clean_reason
from mnemic.errors import NotFoundError
from mnemic.model.history import HistoryEntry, Receipt
from mnemic.model.query import MemoryQuery
from mnemic.model.scope import Level, Scope, Visibility

COPIES_LEFT = (
    "the copies in Redis could not be reached; this process lets go of them when it answers again, and else they end "
    "when their time to live is over"
)
_LONG_AGO = datetime.min.replace(tzinfo=UTC)  # nothing has expired by then, so that what has expired is cleared too


def delete(parts: Parts, scope: Scope, item_id: str, *, actor: str, reason: str = "") -> Receipt:
    """Erase the text, the vectors and the recorded history of an item, and what was made of it alone; what was made of
    it among other things is flagged, and made anew by a job. Raises `NotFoundError` when it is not there.
    """
    now, reason = parts.clock.now(), clean_reason(parts, reason)
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
        entry = deletion(partition, item_id, actor, reason, now)
        work.history.add([entry])
        hand = Hand(parts, work, actor, now)
        followed = cascade(hand, [entry])
        counts["memories"] += followed.erased
        if messages and (taken := take_back(hand, messages)):
            counts["profiles"] = taken
        forget_answers(work, [partition])
    is_gone = not messages or parts.window is None or parts.window.clear(partition, messages[0].session)
    left = (*reached(parts, [partition]), *(() if is_gone else (COPIES_LEFT,)))
    return Receipt(now, counts, notes=(*followed.notes, *left))


def clear(parts: Parts, scope: Scope, levels: Sequence[Level], *, actor: str, reason: str = "") -> Receipt:
    """Erase every memory of the levels, private ones of other agents excepted, all or none of them, with what was made
    of them alone, as `delete` does. Messages, documents and the profile stay.
    """
    now, reason = parts.clock.now(), clean_reason(parts, reason)
    counts = {"memories": 0, "history": 0}
    entries: list[HistoryEntry] = []
    with parts.store.write() as work:
        for partition in scope.visibility.at(*levels).partitions:
            visible = Visibility((partition,), scope.agent)
            ids = sorted(work.memories.ids(visible, MemoryQuery(now=_LONG_AGO, states=())))
            removed, deleted = erase_memories(work, partition, ids, actor=actor, reason=reason, now=now)
            entries += deleted
            for table, count in removed.items():
                counts[table] += count
        followed = cascade(Hand(parts, work, actor, now), entries)
        counts["memories"] += followed.erased
    left = reached(parts, scope.visibility.at(*levels).partitions)
    return Receipt(now, counts, notes=(*followed.notes, *left))
