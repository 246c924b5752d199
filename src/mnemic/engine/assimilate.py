"""Writes facts, whoever found them: each is compared with what is known in its place, and then added, merged, or set
against what it contradicts. Every decision is in the history, with its reason.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from mnemic.engine.edit import Editor
from mnemic.engine.embedding import ItemVectors, document_vectors, put_vectors
from mnemic.engine.fields import indexed_text
from mnemic.engine.parts import Parts, new_id
from mnemic.model.fact import Fact
from mnemic.model.history import Action
from mnemic.model.item import Memory
from mnemic.model.scope import Partition, Visibility
from mnemic.ports.store import UnitOfWork
from mnemic.text.normalise import dedup_key


class Verdict(StrEnum):
    """What became of a fact."""

    ADD = "add"
    MERGE = "merge"
    SUPERSEDE = "supersede"
    DISPUTE = "dispute"
    DROP = "drop"
    QUARANTINE = "quarantine"


@dataclass(frozen=True, slots=True)
class Place:
    """Where facts belong: the partition, the agent that notes them, and the one they are private to, if any."""

    partition: Partition
    agent: str | None = None
    private_agent: str | None = None

    @property
    def visibility(self) -> Visibility:
        """What may be seen from here."""
        return Visibility((self.partition,), self.agent)


@dataclass(frozen=True, slots=True)
class Prepared:
    """A fact with what takes time: its vectors, None where they must follow by a job."""

    fact: Fact
    vectors: ItemVectors | None


@dataclass(frozen=True, slots=True)
class Decision:
    """What was done with a fact. `memory_id`: the memory that now says it, None when it was dropped; `other_id`: the
    one it was merged with, or set against.
    """

    action: Verdict
    memory_id: str | None
    other_id: str | None = None
    reason: str = ""


def prepare(parts: Parts, place: Place, facts: Sequence[Fact]) -> list[Prepared]:
    """What takes time, before the unit of work that writes the facts: call it without holding a lock."""
    vectors = document_vectors(parts, ["\n".join(t for t in (f.text, f.context, f.snippet) if t) for f in facts])
    ready: Sequence[ItemVectors | None] = [None] * len(facts) if vectors is None else vectors or [()] * len(facts)
    return [Prepared(fact, vector) for fact, vector in zip(facts, ready, strict=True)]


def assimilate(
    parts: Parts, work: UnitOfWork, place: Place, facts: Sequence[Prepared], *, actor: str
) -> list[Decision]:
    """Write facts within the caller's unit of work; one decision for each, in order."""
    editor = Editor(parts, work, place.visibility, actor)
    return [_assimilated(parts, work, place, each, editor) for each in facts]


def _assimilated(parts: Parts, work: UnitOfWork, place: Place, prepared: Prepared, editor: Editor) -> Decision:
    memory = memory_of(place, prepared.fact, editor.now)
    if not work.memories.add([(memory, parts.terms(indexed_text(memory)))])[0]:
        holder = work.memories.holder(memory.partition, memory.private_agent, memory.dedup_key)
        return Decision(Verdict.MERGE, holder.id if holder else None, None, "it is known in the same words")
    vectors = None if prepared.vectors is None else [prepared.vectors]
    put_vectors(parts, work, [(memory.partition, memory.id)], vectors, editor.now)
    editor.note(memory, Action.CREATED, "", {}, {})
    return Decision(Verdict.ADD, memory.id)


def memory_of(place: Place, fact: Fact, now: datetime) -> Memory:
    """The memory that a fact becomes when it is added."""
    filled = {"slot": fact.slot, "value": fact.value} if fact.slot else {}
    return Memory(
        id=new_id(now),
        partition=place.partition,
        text=fact.text,
        kind=fact.kind,
        dedup_key=dedup_key(fact.text),
        created_at=now,
        updated_at=now,
        observed_at=fact.observed_at,
        importance=fact.importance,
        confidence=fact.confidence,
        categories=fact.categories,
        context=fact.context,
        snippet=fact.snippet,
        agent=place.agent,
        private_agent=place.private_agent,
        valid_from=fact.valid_from,
        valid_to=fact.valid_to,
        trust=fact.trust,
        provenance=fact.provenance,
        metadata={**fact.metadata, **filled},
    )
