"""Makes memories anew that lost something they were made of: the work of a job that was left with the erasure.

What is written replaces the text and empties the history of it, since both may tell of what was erased. What was made
of the memory in turn is made anew next, each when all its sources are. What nothing can be made of stays flagged for a
person.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from enum import Enum, auto

from mnemic.engine.erasure.anew import Outcome, Seen, is_waiting, made_anew
from mnemic.engine.erasure.cascade import IS_DERIVED, cascade, remake_job
from mnemic.engine.erasure.tombstones import erase_memories
from mnemic.engine.indexing.embedding import ItemVectors, document_vectors, put_vectors
from mnemic.engine.indexing.indexed import indexed_text
from mnemic.engine.memories.dependants import Hand, with_flag
from mnemic.engine.parts import Parts, new_id
from mnemic.engine.requests import forget_answers
from mnemic.model.history import Action, HistoryEntry
from mnemic.model.item import Cause, Flag, Memory, State
from mnemic.model.scope import Partition, Visibility
from mnemic.ports.store import UnitOfWork

_TICK = timedelta(microseconds=1)


class Remade(Enum):
    """How a try ended: `DONE`, nothing is left to do; `LATER`, a source comes first; `AGAIN`, it changed meanwhile."""

    DONE = auto()
    LATER = auto()
    AGAIN = auto()


@dataclass(frozen=True, slots=True)
class Remaking:
    """One memory that is to be made anew. `may_fall_back`: when the model fails, rules do its work."""

    parts: Parts
    partition: Partition
    memory_id: str
    agent: str | None
    actor: str
    may_fall_back: bool = False

    def run(self) -> Remade:
        """Make it anew. Raises the errors of the model unless it may fall back."""
        with self.parts.store.read() as work:
            seen = self._seen(work)
            if seen is None:
                return Remade.DONE
            if is_waiting(work, seen):
                return Remade.LATER
        outcome = made_anew(self.parts, seen, actor=self.actor, may_fall_back=self.may_fall_back)
        vectors: Sequence[ItemVectors] | None = None
        if outcome.memory is not None and indexed_text(outcome.memory) != indexed_text(seen.memory):
            vectors = document_vectors(self.parts, [indexed_text(outcome.memory)])
        with self.parts.store.write() as work:
            now = self._seen(work, is_locking=True)
            if now is None or not now.says_the_same(seen):
                return Remade.AGAIN
            self._write(self._hand(work), now, outcome, vectors)
        self.parts.observer.count("mnemic.dependants.remade")
        return Remade.DONE

    def is_due(self, work: UnitOfWork) -> bool:
        """True when the memory lost something and all its sources are made anew."""
        seen = self._seen(work)
        return seen is not None and bool(_lost(seen.memory)) and not is_waiting(work, seen)

    def _hand(self, work: UnitOfWork) -> Hand:
        return Hand(self.parts, work, self.actor, self.parts.clock.now())

    def _seen(self, work: UnitOfWork, *, is_locking: bool = False) -> Seen | None:
        """The memory with what is left of its sources; None where nothing is to be done. `is_locking`: nobody else
        writes in its partition until the end of the unit of work.
        """
        if is_locking:
            work.dependants.of(self.partition, ())
        found = work.memories.get(Visibility((self.partition,), self.agent), [self.memory_id])
        return Seen.of(self._hand(work), found[0]) if found and _lost(found[0]) else None

    def _write(self, hand: Hand, seen: Seen, outcome: Outcome, vectors: Sequence[ItemVectors] | None) -> None:
        old, new = seen.memory, outcome.memory
        lost = _lost(old)
        if new is None or self._is_told_elsewhere(hand, new):
            _, deleted = erase_memories(
                hand.work, self.partition, [old.id], actor=self.actor, reason="nothing is left of it", now=hand.now
            )
            cascade(hand, deleted)
            return
        left = tuple(flag for flag in old.flags if flag not in lost) if outcome.is_sound else old.flags
        seen_at, count = old.last_accessed_at, old.access_count
        new = replace(new, flags=left, last_accessed_at=seen_at, access_count=count, faded=old.faded)
        stored = _replaced(hand, old, new, is_derived=not seen.alone)
        if indexed_text(stored) != indexed_text(old):
            put_vectors(self.parts, hand.work, [(stored.partition, stored.id)], vectors, stored.updated_at)
        forget_answers(hand.work, [self.partition])
        if stored.text != old.text or outcome.is_sound:
            _pass_on(hand, stored, lost, says_other=stored.text != old.text)

    def _is_told_elsewhere(self, hand: Hand, new: Memory) -> bool:
        if new.state not in (State.ACTIVE, State.QUARANTINED):
            return False
        held = hand.work.memories.holder(new.partition, new.private_agent, new.dedup_key)
        return held is not None and held.id != new.id


def _lost(memory: Memory) -> tuple[Flag, ...]:
    return tuple(flag for flag in memory.flags if flag.cause is Cause.ERASED)


def _replaced(hand: Hand, old: Memory, new: Memory, *, is_derived: bool) -> Memory:
    """Store the new form; its history keeps what was done, and nothing of what the memory said."""
    new = replace(new, updated_at=max(hand.now, old.updated_at + _TICK))
    hand.work.memories.replace(new, hand.parts.terms(indexed_text(new)), old.updated_at)
    hand.work.history.scrub(new.partition, [new.id])
    entry = HistoryEntry(
        id=new_id(hand.now),
        partition=new.partition,
        item_id=new.id,
        action=Action.REMADE,
        actor=hand.actor,
        at=hand.now,
        reason="made anew of what is left" if not _lost(new) else "what is left does not carry it",
        after={IS_DERIVED: is_derived},
    )
    hand.work.history.add([entry])
    return new


def _pass_on(hand: Hand, memory: Memory, lost: Sequence[Flag], *, says_other: bool) -> None:
    """What was made of the memory as it was may tell of what was erased too: it is next."""
    for each in hand.made_of(memory.partition, [memory.id]):
        flagged = each
        for flag in lost if says_other else ():
            flagged = with_flag(flagged, flag)
        if flagged is not each:
            reason = f"it was made of {memory.id}, which was made anew"
            flagged = hand.put(each, flagged, Action.FLAGGED, reason)
        if _lost(flagged):
            hand.work.jobs.add([remake_job(hand, flagged)])
