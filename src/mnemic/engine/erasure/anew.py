"""What a memory says without what it lost: digests are made again of what is left, facts are held against it.

Nothing is written here; a language model may be asked.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import cast

from mnemic.engine.erasure.cascade import stands_alone
from mnemic.engine.facts.consolidate import CHOSEN, LEAST_CHOICES, Consolidating, Group
from mnemic.engine.facts.support import MIN_SUPPORT, carried, supported
from mnemic.engine.memories.dependants import Hand, own
from mnemic.engine.memories.fields import filled_of
from mnemic.engine.parts import Parts
from mnemic.engine.summaries.derive import Derived, derived_memory
from mnemic.engine.summaries.digest import covered
from mnemic.engine.summaries.reflect import Reflecting, place_of
from mnemic.engine.summaries.summarise import Summarising
from mnemic.model.fact import Fact
from mnemic.model.item import CHOSEN_IDS, Cause, Kind, Memory, Remembered, State
from mnemic.model.scope import Visibility
from mnemic.ports.dependants import SourceText
from mnemic.ports.store import UnitOfWork
from mnemic.text import prompts
from mnemic.text.choices import choice_of


@dataclass(frozen=True, slots=True)
class Seen:
    """A memory and what is left of all that it was made of, at one moment. `alone`: it says nothing that needs it."""

    memory: Memory
    sources: Sequence[SourceText]
    alone: bool

    @classmethod
    def of(cls, hand: Hand, memory: Memory) -> Seen:
        """As it is in this unit of work."""
        found = [each for each in hand.work.dependants.sources(memory) if each.partition.may_feed(memory.partition)]
        return cls(memory, found, stands_alone(hand, memory))

    def says_the_same(self, other: Seen) -> bool:
        """True when neither the memory nor its sources were changed between the two; accesses are no change."""
        mine, theirs = self.memory, other.memory
        return (mine.updated_at, mine.flags, self.sources) == (theirs.updated_at, theirs.flags, other.sources)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What is to become of a memory: another form of it, or None for nothing at all. `is_sound`: it needs no review."""

    memory: Memory | None
    is_sound: bool = True


def made_anew(parts: Parts, seen: Seen, *, actor: str, may_fall_back: bool) -> Outcome:
    """The memory without what it lost. Raises the errors of the model unless it `may_fall_back`."""
    session = seen.memory.metadata.get("session")
    if isinstance(session, str):
        place = (parts, seen.memory.partition, session, actor)
        if seen.memory.kind is Kind.SUMMARY and covered(seen.memory)[0] <= covered(seen.memory)[1]:
            return _summary(seen, Summarising(*place, may_fall_back=may_fall_back))
        if seen.memory.kind is Kind.REFLECTION:
            return _reflection(parts, seen, Reflecting(*place, may_fall_back=may_fall_back))
    if CHOSEN in seen.memory.metadata:
        return _preference(parts, seen, Consolidating(parts, seen.memory.partition, actor))
    return _fact(parts, seen)


def _summary(seen: Seen, work: Summarising) -> Outcome:
    messages = [m for m in work.messages(*covered(seen.memory)) if prompts.counted(m).strip()]
    made = work.digest(messages)
    return Outcome(None if made is None else _with_digest(seen.memory, made, messages))


def _reflection(parts: Parts, seen: Seen, work: Reflecting) -> Outcome:
    with parts.store.read() as unit:
        episodes = sorted(_live(unit, seen, Kind.SUMMARY), key=place_of)
    if not episodes:
        return Outcome(seen.memory, is_sound=False)
    made, _ = work.digest(episodes)
    return Outcome(_with_digest(seen.memory, made, episodes))


def _with_digest(old: Memory, made: Derived, sources: Sequence[Remembered]) -> Memory:
    fresh = derived_memory(made, sources, old.created_at)
    kept = {key: value for key, value in old.metadata.items() if key not in ("fallback", "positions")}
    metadata = {**kept, **fresh.metadata}
    if "positions" in old.metadata:
        metadata["positions"] = old.metadata["positions"]  # what it covers stays, also where nothing is left of it
    return replace(
        old,
        text=fresh.text,
        dedup_key=fresh.dedup_key,
        provenance=fresh.provenance,
        observed_at=fresh.observed_at,
        agent=fresh.agent,
        trust=fresh.trust,
        metadata=metadata,
        context="",
        snippet="",
    )


def _preference(parts: Parts, seen: Seen, work: Consolidating) -> Outcome:
    """A preference of the choices that are left; too few of them show none, and a person has to say."""
    with parts.store.read() as unit:
        singles = sorted(_live(unit, seen, None), key=lambda each: (each.observed_at, each.id))
    singles = [each for each in singles if each.id in _chosen(seen.memory)]
    choice = next((found for each in singles if (found := choice_of(each.text))), None)
    if choice is None:
        return Outcome(seen.memory, is_sound=False)
    made = work.remade(Group(choice, tuple(singles)))
    if made.state is not State.ACTIVE:
        return Outcome(seen.memory, is_sound=False)
    names = ("text", "dedup_key", "context", "provenance", "observed_at", "valid_from", "agent", "trust", "categories")
    fresh = replace(seen.memory, **{name: getattr(made, name) for name in names}, snippet="")
    return Outcome(replace(fresh, metadata={**fresh.metadata, **made.metadata}), is_sound=len(singles) >= LEAST_CHOICES)


def _fact(parts: Parts, seen: Seen) -> Outcome:
    """A fact stays as it is where the rest carries it, without what only the lost ones had said of it."""
    memory, texts = seen.memory, {each.id: each.text for each in seen.sources}
    filled = filled_of(memory)
    fact = Fact(
        text=memory.text,
        kind=memory.kind,
        observed_at=memory.observed_at,
        slot=filled.slot if filled else "",
        value=filled.value if filled else "",
        valid_from=memory.valid_from,
        valid_to=memory.valid_to,
        provenance=tuple(entry for entry in memory.provenance if entry.source_id in texts),
    )
    named = {entry.source_id for entry in memory.provenance}
    beside = [text for item_id, text in texts.items() if item_id not in named]
    support = supported(parts, fact, texts)[1] if fact.provenance else 0.0
    if not seen.alone and max(support, carried(parts, memory.text, beside) if beside else 0.0) < MIN_SUPPORT:
        return Outcome(memory, is_sound=False)
    left = [*texts.values(), *([memory.text] if seen.alone else [])]
    lines = [line for line in memory.context.splitlines() if carried(parts, line, left) >= MIN_SUPPORT]
    snippet = memory.snippet if any(memory.snippet in text for text in left) else ""
    return Outcome(replace(memory, context="\n".join(lines), snippet=snippet))


def is_waiting(work: UnitOfWork, seen: Seen) -> bool:
    """True while something that the memory was made of has itself lost the same, and is not made anew yet."""
    lost = {flag.entry_id for flag in seen.memory.flags if flag.cause is Cause.ERASED}
    return any(
        flag.entry_id in lost and flag.cause is Cause.ERASED
        for source in _memories(work, seen)
        for flag in source.flags
    )


def _live(work: UnitOfWork, seen: Seen, kind: Kind | None) -> list[Memory]:
    return [each for each in _memories(work, seen) if kind is None or each.kind is kind]


def _memories(work: UnitOfWork, seen: Seen) -> list[Memory]:
    """The memories among the sources."""
    partitions = tuple(dict.fromkeys(source.partition for source in seen.sources))
    visible = Visibility(partitions, own(seen.memory).agent)
    return work.memories.get(visible, [source.id for source in seen.sources]) if partitions else []


def _chosen(memory: Memory) -> frozenset[object]:
    found = memory.metadata.get(CHOSEN_IDS)
    return frozenset(cast("list[str]", found)) if isinstance(found, list) else frozenset()
