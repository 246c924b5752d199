"""Memories made from other items: what they inherit from their sources, and how one is written down."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from mnemic.engine.indexing.embedding import ItemVectors, put_vectors
from mnemic.engine.indexing.indexed import indexed_text
from mnemic.engine.parts import Parts, new_id
from mnemic.model.history import Action, HistoryEntry
from mnemic.model.item import TRUST_ORDER, Kind, Memory, Provenance, Remembered
from mnemic.ports.store import UnitOfWork
from mnemic.text.normalise import dedup_key


@dataclass(frozen=True, slots=True, kw_only=True)
class Derived:
    """What was made of some items of one partition, before it is a memory."""

    text: str
    kind: Kind
    importance: float
    provenance: tuple[Provenance, ...]
    metadata: Mapping[str, object] = field(default_factory=dict[str, object])


def derived_memory(derived: Derived, sources: Sequence[Remembered], now: datetime) -> Memory:
    """The memory: in the partition of its sources (at least one), with the lowest trust among them, the agent that all
    of them share, and the time of the latest; private where a source is. It does not expire. Only one of its own kind
    can say the same: a reflection in the words of a summary is still a reflection.
    """
    agents = {source.agent for source in sources}
    private = next((source.private_agent for source in sources if source.private_agent is not None), None)
    return Memory(
        id=new_id(now),
        partition=sources[0].partition,
        text=derived.text,
        kind=derived.kind,
        dedup_key=dedup_key(f"{derived.kind.value}: {derived.text}"),
        created_at=now,
        updated_at=now,
        observed_at=max(source.observed_at for source in sources),
        importance=derived.importance,
        agent=agents.pop() if len(agents) == 1 else None,
        private_agent=private,
        trust=min((source.trust for source in sources), key=TRUST_ORDER.index),
        provenance=derived.provenance,
        metadata=derived.metadata,
    )


def add_derived(
    parts: Parts, work: UnitOfWork, memory: Memory, vectors: Sequence[ItemVectors] | None, *, actor: str, reason: str
) -> bool:
    """Write a memory with its vectors and the first entry of its history; False, and nothing, when one that says the
    same is there.
    """
    if not work.memories.add([(memory, parts.terms(indexed_text(memory)))])[0]:
        return False
    put_vectors(parts, work, [(memory.partition, memory.id)], vectors, memory.created_at)
    entry = HistoryEntry(
        id=new_id(memory.created_at),
        partition=memory.partition,
        item_id=memory.id,
        action=Action.CREATED,
        actor=actor,
        at=memory.created_at,
        reason=reason,
    )
    work.history.add([entry])
    return True
