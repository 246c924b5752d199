"""Takes memories out of recall: with an entry in their history, so that `undo` brings them back."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from mnemic.engine.indexing.indexed import indexed_text
from mnemic.engine.memories.fields import differences
from mnemic.engine.parts import Parts, new_id
from mnemic.model.history import Action, HistoryEntry
from mnemic.model.item import Kind, Memory, State
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
