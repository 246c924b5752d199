"""Writes facts, whoever found them: each is compared with what is known in its place, and then added, merged, or set
against what it contradicts. Every decision is in the history, with its reason.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from mnemic.engine.facts.neighbours import judged, near
from mnemic.engine.facts.support import MIN_SUPPORT, sources_of, supported
from mnemic.engine.indexing.embedding import ItemVectors, document_vectors, put_vectors
from mnemic.engine.indexing.indexed import indexed_text
from mnemic.engine.memories.edit import Editor
from mnemic.engine.memories.fields import held_key
from mnemic.engine.memories.gate import gated
from mnemic.engine.memories.restate import UNSUPPORTED, gives_way, restate
from mnemic.engine.memories.settle import Neighbours, Settler, slot_metadata
from mnemic.engine.parts import Parts, new_id
from mnemic.model.clocktime import to_microseconds
from mnemic.model.fact import Fact
from mnemic.model.filter import Condition
from mnemic.model.history import Action
from mnemic.model.item import Memory, State
from mnemic.model.query import MemoryQuery
from mnemic.model.scope import Partition, Visibility
from mnemic.model.verdict import Decision, Judgement, Verdict
from mnemic.ports.store import UnitOfWork

MAX_RECENT = 64
"""Memories written since a fact was prepared that are compared with it, the newest first."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where facts belong: the partition, the agent that notes them, and the one they are private to, if any. `heard`:
    the partition of their sources, where that is another one, as of what an agent learns from its users.
    """

    partition: Partition
    agent: str | None = None
    private_agent: str | None = None
    heard: Partition | None = None

    @property
    def visibility(self) -> Visibility:
        """What may be seen from here."""
        return Visibility((self.partition,), self.agent)

    @property
    def sources(self) -> Visibility:
        """Where the sources of the facts are looked for."""
        return Visibility((self.partition,) if self.heard is None else (self.heard, self.partition), self.agent)


@dataclass(frozen=True, slots=True)
class Prepared:
    """A fact with what takes time: its vectors, None where they must follow by a job, the ids of the memories near it,
    and what a model said of them. `at`: when it was prepared.
    """

    fact: Fact
    at: datetime
    vectors: ItemVectors | None
    near: tuple[str, ...] = ()
    judgements: Mapping[str, Judgement] = field(default_factory=dict[str, Judgement])


def prepare(parts: Parts, place: Place, facts: Sequence[Fact]) -> list[Prepared]:
    """What takes time, before the unit of work that writes the facts: call it without holding a lock. A model that
    fails leaves its pairs to the rules; a failing embedder leaves vectors to a job.
    """
    at = parts.clock.now()
    made = document_vectors(parts, [indexed_text(memory_of(place, fact, at)) for fact in facts])
    vectors: Sequence[ItemVectors | None] = [None] * len(facts) if made is None else made or [()] * len(facts)
    nears = [near(parts, place.visibility, fact, vector) for fact, vector in zip(facts, vectors, strict=True)]
    judgements = judged(parts, facts, nears)
    return [
        Prepared(fact, at, vector, tuple(each.memory.id for each in found), judgement)
        for fact, vector, found, judgement in zip(facts, vectors, nears, judgements, strict=True)
    ]


def assimilate(
    parts: Parts, work: UnitOfWork, place: Place, facts: Sequence[Prepared], *, actor: str
) -> list[Decision]:
    """Write facts within the caller's unit of work; one decision for each, in order. A fact whose sources do not carry
    it is quarantined; one that all sources of which were erased meanwhile is dropped. Raises `ConflictError` when
    somebody changes a compared memory at the same time; the whole unit of work is then to be done again.
    """
    writer = _Writer(parts, work, place, Editor(parts, work, place.visibility, actor))
    sources = sources_of(work, place.sources, [each.fact for each in facts])
    decisions = [writer.write(each, sources) for each in facts]
    for verdict in Verdict:
        number = sum(decision.action is verdict for decision in decisions)
        if number:
            parts.observer.count(f"mnemic.assimilate.{verdict.value}", number)
    return decisions


class _Writer:
    """Writes facts one after the other; each is compared with the ones before too."""

    def __init__(self, parts: Parts, work: UnitOfWork, place: Place, editor: Editor) -> None:
        self._parts, self._work, self._place, self._editor = parts, work, place, editor
        self._settler = Settler(work, editor)

    def write(self, prepared: Prepared, sources: Mapping[str, str]) -> Decision:
        fact = prepared.fact
        if fact.provenance and not any(entry.source_id in sources for entry in fact.provenance):
            return Decision(Verdict.DROP, None, None, "its sources are gone")
        provenance, support = supported(self._parts, fact, sources)
        memory = memory_of(self._place, replace(fact, provenance=provenance), self._editor.now)
        memory, suspicion = gated(self._parts, memory)
        reason = suspicion
        if support < MIN_SUPPORT:
            reason = f"{UNSUPPORTED}: {support:.2f} of its words are in the passages it names"
            memory = replace(memory, state=State.QUARANTINED)
        row = (memory, self._parts.terms(indexed_text(memory)))
        if not self._work.memories.add([row])[0]:
            if suspicion:
                return Decision(Verdict.DROP, None, None, suspicion)
            if not gives_way(self._work, self._editor, memory):
                return self._repeat(memory)
            self._work.memories.add([row])
        vectors = None if prepared.vectors is None else [prepared.vectors]
        put_vectors(self._parts, self._work, [(memory.partition, memory.id)], vectors, memory.updated_at)
        self._editor.note(memory, Action.CREATED, "", {}, {})
        if not reason:
            near_ones = self._near(prepared, memory)
            return self._settler.settle(memory, Neighbours(near_ones, prepared.judgements))
        self._editor.quarantine(memory, reason)
        return Decision(Verdict.QUARANTINE, memory.id, None, reason)

    def _near(self, prepared: Prepared, memory: Memory) -> list[Memory]:
        """What was near when the fact was prepared, as it is now, and what was written since, which no index shows."""
        since = Condition(("created_at",), "gte", to_microseconds(prepared.at))
        query = MemoryQuery(now=self._editor.now, filter=since, limit=MAX_RECENT)
        known = self._work.memories.get(self._place.visibility, prepared.near) if prepared.near else []
        recent = self._work.memories.list(self._place.visibility, query)
        return [m for m in {m.id: m for m in (*known, *recent)}.values() if m.id != memory.id]

    def _repeat(self, memory: Memory) -> Decision:
        """The known one in the same words takes in where else it was said."""
        held = self._work.memories.holder(memory.partition, memory.private_agent, memory.dedup_key)
        if held is None:
            return Decision(Verdict.DROP, None, None, "another memory holds its key")
        reason = restate(self._editor, held, memory)
        return Decision(Verdict.MERGE, held.id, None, reason)


def memory_of(place: Place, fact: Fact, now: datetime) -> Memory:
    """The memory that a fact becomes when it is added."""
    return Memory(
        id=new_id(now),
        partition=place.partition,
        text=fact.text,
        kind=fact.kind,
        dedup_key=held_key(fact.text, fact.kind, fact.valid_from),
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
        metadata={**fact.metadata, **slot_metadata(fact.text, fact.slot, fact.value)},
    )
