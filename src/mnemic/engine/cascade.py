"""Updates memories after a source was erased.

A memory made of it alone is erased too, and so are its derivatives. Others lose the reference and are flagged, and a
job remakes them from the other sources; all in the erasure's transaction. Remaking empties the history, since old text
may quote what was erased. Dependants are remade after their sources. What nothing supports any more stays flagged for
review.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum, auto

from mnemic.engine.access import forget_answers
from mnemic.engine.assimilate import MIN_SUPPORT, carried, supported
from mnemic.engine.consolidate import LEAST_CHOICES, Consolidating, Group
from mnemic.engine.dependants import IS_DERIVED, Hand, Place, flag_all, lost_flags, own, told, with_flag
from mnemic.engine.digest import Derived, derived_memory
from mnemic.engine.engine import Engine, new_entry, new_job
from mnemic.engine.fields import derived_key, erase_memories, filled_of, with_text
from mnemic.engine.indexing import ItemVectors, document_vectors, indexed_text, put_vectors
from mnemic.engine.kinds import REMAKE
from mnemic.engine.lasting_facts import forget_deleted
from mnemic.engine.reflect import Reflecting, place_of
from mnemic.engine.summaries import Summarising
from mnemic.model.bookkeeping import choice_in, chosen_in, positions_in, renewed, session_in, without_sources
from mnemic.model.item import Cause, Fact, Flag, Kind, Memory, Remembered, State
from mnemic.model.listing import group_pairs
from mnemic.model.records import Action, HistoryEntry, Job
from mnemic.model.scope import MICROSECOND, Partition, Visibility
from mnemic.ports.store import SourceText, UnitOfWork
from mnemic.text.choices import QUALITY_KEY, choice_of
from mnemic.text.facts.find import without_names
from mnemic.text.sentences import sentences

TAKEN_OUT = "[REDACTED: deleted]"
"""Text of a memory that has no supported text left until it is remade."""

_ALL_GONE = "all of its sources were deleted"


@dataclass(frozen=True, slots=True)
class Cascaded:
    """Memories erased with their sources, and memories flagged to be remade."""

    erased: int = 0
    flagged: int = 0

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes for the user."""
        if not self.flagged:
            return ()
        note = f"{self.flagged} memories are also derived from other sources. They are flagged, and until a worker "
        return (f"{note}derives them again, facts among them may still contain this data",)


@dataclass(slots=True)
class _Loss:
    """A memory with its erased sources: the history entry of each deletion, by source id."""

    memory: Memory
    entries: dict[str, HistoryEntry] = field(default_factory=dict[str, HistoryEntry])

    def is_orphan(self, hand: Hand) -> bool:
        return not self.memory.source_ids - self.entries.keys() and not stands_alone(hand, self.memory)


def cascade(hand: Hand, deleted: Sequence[HistoryEntry]) -> Cascaded:
    """Erase or flag the dependants of `deleted`, the deletions of this unit of work."""
    gone = {(entry.partition, entry.item_id) for entry in deleted}
    lost: dict[Place, _Loss] = {}
    fresh, erased = list(deleted), 0
    while fresh:
        for partition, entries in _by_partition(fresh).items():
            for memory in hand.made_of(partition, entries):
                loss = lost.setdefault((memory.partition, memory.id), _Loss(memory))
                loss.entries |= {i: entries[i] for i in memory.source_ids & entries.keys()}
        orphans = [place for place, loss in lost.items() if place not in gone and loss.is_orphan(hand)]
        fresh = _erase_orphans(hand, orphans)
        hand.work.jobs.add([job for place in orphans for job in _request_summary(hand, lost[place].memory)])
        gone.update(orphans)
        erased += len(orphans)
    left = [loss for place, loss in lost.items() if place not in gone]
    for loss in left:
        _flag(hand, loss)
    hand.engine.observer.count("mnemic.dependants.erased", erased)
    return Cascaded(erased, len(left))


def stands_alone(hand: Hand, memory: Memory) -> bool:
    """True if the memory was once stated without a source, regardless of merges before or since."""
    if chosen_in(memory.bookkeeping):
        return False
    entries = hand.work.history.of(own(memory), memory.id)
    if any(_is_restated(entry) for entry in entries):
        return True
    noted = [entry.after[IS_DERIVED] for entry in entries if IS_DERIVED in entry.after]
    if noted:
        return not noted[-1]
    first = next((entry.before["provenance"] for entry in entries if "provenance" in entry.before), None)
    return not (memory.provenance if first is None else first)


def remake_job(hand: Hand, memory: Memory) -> Job:
    """The job that remakes a memory."""
    payload = {"memory": memory.id, "agent": memory.private_agent}
    return new_job(hand.now, memory.partition, REMAKE, memory.id, payload)


def _is_restated(entry: HistoryEntry) -> bool:
    """True if the same was stated again without a source."""
    is_again = entry.action is Action.RESTATED or (entry.action is Action.MERGED and "restated" in entry.after)
    return is_again and "provenance" not in entry.after and "sources" not in entry.after


def _erase_orphans(hand: Hand, orphans: Iterable[Place]) -> list[HistoryEntry]:
    found: list[HistoryEntry] = []
    for partition, ids in group_pairs(orphans).items():
        memories = hand.work.memories.get(Visibility((partition,), None), ids)
        _, entries = erase_memories(hand.work, partition, ids, actor=hand.actor, reason=_ALL_GONE, now=hand.now)
        found += entries
        forget_deleted(hand, memories)
    return found


def _request_summary(hand: Hand, memory: Memory) -> list[Job]:
    """Jobs for a new summary of the other messages that an erased summary covered."""
    session, positions = session_in(memory.bookkeeping), positions_in(memory.bookkeeping)
    if memory.kind is not Kind.SUMMARY or session is None or positions[0] > positions[1]:
        return []
    return [replace(remake_job(hand, memory), payload={"session": session, "positions": [*positions]})]


def _flag(hand: Hand, loss: _Loss) -> None:
    """Flag a memory that has other sources, and all its dependants."""
    flags = [Flag(source_id, Cause.ERASED, hand.now, entry.id) for source_id, entry in loss.entries.items()]
    (old,) = hand.work.memories.get(own(loss.memory), [loss.memory.id])  # another loss may have flagged it since
    memory = without(old, loss.entries)
    for flag in flags:
        memory = with_flag(memory, flag)
    memory = take_out(hand, memory)
    reason = f"some of its sources were erased: {', '.join(sorted(loss.entries)[:5])}"
    memory = hand.put(old, memory, Action.FLAGGED, reason)
    for flag in flags:
        for made in flag_all(hand, (memory.partition, memory.id), flag) if flag in memory.flags else ():
            (found,) = hand.work.memories.get(own(made), [made.id])  # its source has less text by now
            less = take_out(hand, found)
            if less != found:
                hand.put(found, less, Action.FLAGGED, told(flag))
    hand.work.jobs.add([remake_job(hand, memory)])


def take_out(hand: Hand, memory: Memory) -> Memory:
    """The memory without text that no source carries: sentences of a digest, context and snippet of any kind. A fact
    may word what is left in its own way, so a job judges it. A direct statement of a user stays unchanged.
    """
    if stands_alone(hand, memory):
        return memory
    sources = [each.text for each in hand.work.dependants.sources(memory) if each.partition.may_feed(memory.partition)]

    def keep(text: str) -> str:
        lines = (
            " ".join(part for span in sentences(line) if is_carried(part := line[span[0] : span[1]]))
            for line in text.splitlines()
        )
        return text if is_carried(text) else "\n".join(line for line in lines if line.strip())

    def is_carried(text: str) -> bool:
        return bool(sources) and carried(hand.engine, text, sources) == 1

    snippet = memory.snippet if any(memory.snippet in text for text in sources) else ""
    if memory.kind in (Kind.SUMMARY, Kind.REFLECTION) and (text := keep(memory.text)) != memory.text:
        unique = text or f"{TAKEN_OUT} {memory.id}"  # two memories without text must not share a key
        memory = replace(memory, text=text or TAKEN_OUT, dedup_key=derived_key(memory.kind, unique))
    return replace(memory, context=keep(memory.context), snippet=snippet)


def without(memory: Memory, ids: Collection[str]) -> Memory:
    """The memory without these sources."""
    provenance = tuple(entry for entry in memory.provenance if entry.source_id not in ids)
    return replace(memory, provenance=provenance, bookkeeping=without_sources(memory.bookkeeping, ids))


def _by_partition(entries: Sequence[HistoryEntry]) -> Mapping[Partition, Mapping[str, HistoryEntry]]:
    grouped: dict[Partition, dict[str, HistoryEntry]] = {}
    for entry in entries:
        grouped.setdefault(entry.partition, {})[entry.item_id] = entry
    return grouped


@dataclass(frozen=True, slots=True)
class Seen:
    """A memory with its remaining sources at one moment. `alone`: it needs no source."""

    memory: Memory
    sources: Sequence[SourceText]
    alone: bool

    @classmethod
    def of(cls, hand: Hand, memory: Memory) -> Seen:
        """As stored in this unit of work."""
        found = [each for each in hand.work.dependants.sources(memory) if each.partition.may_feed(memory.partition)]
        return cls(memory, found, stands_alone(hand, memory))

    def says_the_same(self, other: Seen) -> bool:
        """True if neither the memory nor its sources changed in between. Accesses are no change."""
        mine, theirs = self.memory, other.memory
        return (mine.updated_at, mine.flags, self.sources) == (theirs.updated_at, theirs.flags, other.sources)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What to do with a memory: replace it, or erase it (None). `is_sound`: needs no review."""

    memory: Memory | None
    is_sound: bool = True


def remake(engine: Engine, seen: Seen, *, actor: str, may_fall_back: bool) -> Outcome:
    """Remake a memory without its lost sources. Raises the model's errors unless `may_fall_back`."""
    session, (first, last) = session_in(seen.memory.bookkeeping), positions_in(seen.memory.bookkeeping)
    if session is not None:
        place = (engine, seen.memory.partition, session, actor)
        if seen.memory.kind is Kind.SUMMARY and first <= last:
            return _summary(seen, Summarising(*place, may_fall_back=may_fall_back))
        if seen.memory.kind is Kind.REFLECTION:
            return _reflection(engine, seen, Reflecting(*place, may_fall_back=may_fall_back))
    if choice_in(seen.memory.bookkeeping) is not None:
        return _preference(engine, seen, Consolidating(engine, seen.memory.partition, actor))
    return _fact(engine, seen)


def _summary(seen: Seen, work: Summarising) -> Outcome:
    messages = work.messages(*positions_in(seen.memory.bookkeeping))
    made = work.digest(messages)
    return Outcome(None if made is None else _with_digest(seen.memory, made, messages))


def _reflection(engine: Engine, seen: Seen, work: Reflecting) -> Outcome:
    """A reflection from the remaining summaries, or from the current facts if it was made of facts."""
    with engine.store.read() as unit:
        episodes = sorted((each for each in _memories(unit, seen) if each.kind is Kind.SUMMARY), key=place_of)
    if not episodes and engine.llm is not None:
        return Outcome(seen.memory, is_sound=False)
    made, _ = work.digest(episodes)
    return Outcome(None if made is None else _with_digest(seen.memory, made.derived, made.sources))


def _with_digest(old: Memory, made: Derived, sources: Sequence[Remembered]) -> Memory:
    fresh = derived_memory(made, sources, old.created_at)
    return replace(
        old,
        text=fresh.text,
        dedup_key=fresh.dedup_key,
        provenance=fresh.provenance,
        observed_at=fresh.observed_at,
        agent=fresh.agent,
        trust=fresh.trust,
        bookkeeping=renewed(old.bookkeeping, fresh.bookkeeping),
        context="",
        snippet="",
    )


def _preference(engine: Engine, seen: Seen, work: Consolidating) -> Outcome:
    """A preference from the remaining choices. With too few of them it stays flagged for review."""
    with engine.store.read() as unit:
        singles = sorted(_memories(unit, seen), key=lambda each: (each.observed_at, each.id))
    singles = [each for each in singles if each.id in chosen_in(seen.memory.bookkeeping)]
    if (choice_in(seen.memory.bookkeeping) or "").startswith(QUALITY_KEY):
        told = "\n".join(f"{each.observed_at:%Y-%m-%d}: {each.text}" for each in singles)
        return Outcome(replace(seen.memory, context=told), is_sound=len(singles) >= LEAST_CHOICES)
    choice = next((found for each in singles if (found := choice_of(each.text))), None)
    if choice is None:
        return Outcome(seen.memory, is_sound=False)
    made = work.remade(Group(choice, tuple(singles)))
    if made.state is not State.ACTIVE:
        return Outcome(seen.memory, is_sound=False)
    names = ("text", "dedup_key", "context", "provenance", "observed_at", "valid_from", "agent", "trust", "categories")
    fresh = replace(seen.memory, **{name: getattr(made, name) for name in names}, snippet="")
    notes = {**fresh.bookkeeping, **made.bookkeeping}
    return Outcome(replace(fresh, bookkeeping=notes), is_sound=len(singles) >= LEAST_CHOICES)


def _fact(engine: Engine, seen: Seen) -> Outcome:
    """A fact without names and context that only lost sources carried. Flagged for review if the others do not carry
    it.
    """
    memory, texts = seen.memory, {each.id: each.text for each in seen.sources}
    memory = memory if seen.alone else with_text(memory, without_names(memory.text, texts.values()))
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
    support = supported(engine, fact, texts)[1] if fact.provenance else 0.0
    if not seen.alone and max(support, carried(engine, memory.text, beside) if beside else 0.0) < MIN_SUPPORT:
        return Outcome(memory, is_sound=False)
    left = [*texts.values(), *([memory.text] if seen.alone else [])]
    lines = [line for line in memory.context.splitlines() if carried(engine, line, left) >= MIN_SUPPORT]
    snippet = memory.snippet if any(memory.snippet in text for text in left) else ""
    return Outcome(replace(memory, context="\n".join(lines), snippet=snippet))


def is_waiting(work: UnitOfWork, seen: Seen) -> bool:
    """True while a source of the memory has the same loss and is not remade yet."""
    lost = {flag.entry_id for flag in lost_flags(seen.memory)}
    return any(flag.entry_id in lost for source in _memories(work, seen) for flag in lost_flags(source))


def _memories(work: UnitOfWork, seen: Seen) -> list[Memory]:
    partitions = tuple(dict.fromkeys(source.partition for source in seen.sources))
    visible = Visibility(partitions, own(seen.memory).agent)
    return work.memories.get(visible, [source.id for source in seen.sources]) if partitions else []


class Remade(Enum):
    """Result of an attempt: nothing is left to do, a source comes first, or it changed meanwhile."""

    DONE = auto()
    LATER = auto()
    AGAIN = auto()


@dataclass(frozen=True, slots=True)
class Remaking:
    """Remakes one memory. `may_fall_back`: use rules if the model fails."""

    engine: Engine
    partition: Partition
    memory_id: str
    agent: str | None
    actor: str
    may_fall_back: bool = False

    def run(self) -> Remade:
        """Remake the memory. Raises the model's errors unless it may fall back."""
        with self.engine.store.read() as work:
            seen = self._look_up(work)
            if seen is None:
                return Remade.DONE
            if is_waiting(work, seen):
                return Remade.LATER
        outcome = remake(self.engine, seen, actor=self.actor, may_fall_back=self.may_fall_back)
        vectors: Sequence[ItemVectors] | None = None
        if outcome.memory is not None and indexed_text(outcome.memory) != indexed_text(seen.memory):
            vectors = document_vectors(self.engine, [indexed_text(outcome.memory)])
        with self.engine.store.write() as work:
            now = self._look_up(work, is_locking=True)
            if now is None or not now.says_the_same(seen):
                return Remade.AGAIN
            self._write(self._hand(work), now, outcome, vectors)
        self.engine.observer.count("mnemic.dependants.remade")
        return Remade.DONE

    def is_due(self, work: UnitOfWork) -> bool:
        """True if the memory lost a source and all its remaining sources are remade."""
        seen = self._look_up(work)
        return seen is not None and bool(lost_flags(seen.memory)) and not is_waiting(work, seen)

    def _hand(self, work: UnitOfWork) -> Hand:
        return Hand(self.engine, work, self.actor, self.engine.clock.now())

    def _look_up(self, work: UnitOfWork, *, is_locking: bool = False) -> Seen | None:
        """The memory with its remaining sources, or None. `is_locking`: lock its partition for the unit of work."""
        if is_locking:
            work.dependants.of(self.partition, ())
        found = work.memories.get(Visibility((self.partition,), self.agent), [self.memory_id])
        return Seen.of(self._hand(work), found[0]) if found and lost_flags(found[0]) else None

    def _write(self, hand: Hand, seen: Seen, outcome: Outcome, vectors: Sequence[ItemVectors] | None) -> None:
        old, new = seen.memory, outcome.memory
        lost = lost_flags(old)
        if new is None or self._is_duplicate(hand, new):
            _, deleted = erase_memories(
                hand.work, self.partition, [old.id], actor=self.actor, reason="nothing is left of it", now=hand.now
            )
            cascade(hand, deleted)
            return
        left = tuple(flag for flag in old.flags if flag not in lost) if outcome.is_sound else old.flags
        seen_at, count = old.last_accessed_at, old.access_count
        new = replace(new, flags=left, last_accessed_at=seen_at, access_count=count, faded=old.faded)
        stored = _replace_memory(hand, old, new, is_derived=not seen.alone)
        if indexed_text(stored) != indexed_text(old):
            put_vectors(self.engine, hand.work, [(stored.partition, stored.id)], vectors, stored.updated_at)
        forget_answers(hand.work, [self.partition])
        if stored.text != old.text or outcome.is_sound:
            _flag_dependants(hand, stored, lost, says_other=stored.text != old.text)

    def _is_duplicate(self, hand: Hand, new: Memory) -> bool:
        if new.state not in (State.ACTIVE, State.QUARANTINED):
            return False
        held = hand.work.memories.holder(new.partition, new.private_agent, new.dedup_key)
        return held is not None and held.id != new.id


def _replace_memory(hand: Hand, old: Memory, new: Memory, *, is_derived: bool) -> Memory:
    """Store the remade memory. Its history keeps the actions but none of the old text."""
    new = replace(new, updated_at=max(hand.now, old.updated_at + MICROSECOND))
    hand.work.memories.replace(new, hand.engine.terms(indexed_text(new)), old.updated_at)
    hand.work.history.scrub(new.partition, [new.id])
    is_lost = bool(lost_flags(new))
    reason = "the remaining sources do not support it" if is_lost else "remade from the remaining sources"
    sides = (dict[str, object](), {IS_DERIVED: is_derived})
    hand.work.history.add([new_entry(hand.now, (new.partition, new.id), Action.REMADE, hand.actor, reason, sides)])
    return new


def _flag_dependants(hand: Hand, memory: Memory, lost: Sequence[Flag], *, says_other: bool) -> None:
    """Flag and queue the dependants of a remade memory: its old text may have passed on what was erased."""
    for each in hand.made_of(memory.partition, [memory.id]):
        flagged = each
        for flag in lost if says_other else ():
            flagged = with_flag(flagged, flag)
        if flagged is not each:
            reason = f"derived from {memory.id}, which was remade"
            flagged = hand.put(each, flagged, Action.FLAGGED, reason)
        if lost_flags(flagged):
            hand.work.jobs.add([remake_job(hand, flagged)])
