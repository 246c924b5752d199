"""Removes one memory or message, leaving a tombstone without text."""

from __future__ import annotations

from mnemic.engine.parts import Parts, new_id
from mnemic.errors import NotFoundError
from mnemic.model.history import Action, HistoryEntry, Receipt
from mnemic.model.scope import Scope


def delete(parts: Parts, scope: Scope, item_id: str, *, actor: str, reason: str = "") -> Receipt:
    """Erase the text, the vectors and the recorded history of an item. Raises `NotFoundError` when it is not there."""
    now = parts.clock.now()
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
        entry = HistoryEntry(
            id=new_id(now),
            partition=partition,
            item_id=item_id,
            action=Action.DELETED,
            actor=actor,
            reason=reason,
            at=now,
            before={},
            after={},
        )
        work.history.add([entry])
    return Receipt(now, counts)
