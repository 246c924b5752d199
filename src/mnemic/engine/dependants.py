"""Flags memories whose sources were corrected or lost belief, and their dependants, in the cause's transaction. Undoing
the cause removes the flags. `cascade` handles erasure.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from mnemic.engine.engine import Engine, new_entry
from mnemic.engine.fields import differences
from mnemic.engine.indexing import indexed_text, put_vectors
from mnemic.errors import ConflictError
from mnemic.model.item import Cause, Flag, Memory, State
from mnemic.model.records import Action, HistoryEntry
from mnemic.model.scope import MICROSECOND, Partition, Visibility
from mnemic.ports.store import UnitOfWork

MAX_FLAGS = 20
"""Flags per memory. The oldest are kept, and at least one that names an erasure."""

_OF_ACTIONS: Mapping[Action, Cause] = {
    Action.SUPERSEDED: Cause.SUPERSEDED,
    Action.REJECTED: Cause.REJECTED,
    Action.QUARANTINED: Cause.QUARANTINED,
    Action.FEEDBACK: Cause.OUTDATED,
}
IS_DERIVED = "is_derived"
"""History note of a memory whose older entries were emptied: whether it needs its sources."""

_SAYS_OTHER = (Action.UPDATED, Action.MERGED)
_FOR_NOW = frozenset({Cause.SUPERSEDED, Cause.OUTDATED, Cause.DISPUTED, Cause.QUARANTINED, Cause.REJECTED})
"""Causes that end when the source is believed again. A correction ends when it is undone."""

Place = tuple[Partition, str]


@dataclass(frozen=True, slots=True)
class Hand:
    """A writer of changes: actor, time and unit of work."""

    engine: Engine
    work: UnitOfWork
    actor: str
    now: datetime

    def put(self, old: Memory, new: Memory, action: Action, reason: str) -> Memory:
        """Replace `old` by `new` and record the change. A text that lost its source is left out of the history. Raises
        `ConflictError` if the memory was changed meanwhile.
        """
        new = replace(new, updated_at=max(self.now, old.updated_at + MICROSECOND))
        if not self.work.memories.replace(new, self.engine.terms(indexed_text(new)), old.updated_at):
            raise ConflictError(f"memory {old.id} was changed by another writer; try again")
        sides = differences(old, new)
        if action is Action.FLAGGED and (old.text, old.context, old.snippet) != (new.text, new.context, new.snippet):
            self.work.history.scrub(new.partition, [new.id])
            put_vectors(self.engine, self.work, [(new.partition, new.id)], None, self.now)
            sides = (dict[str, object](), {IS_DERIVED: True})
        self.work.history.add([new_entry(self.now, (new.partition, new.id), action, self.actor, reason, sides)])
        return new

    def made_of(self, partition: Partition, ids: Collection[str]) -> list[Memory]:
        """Permitted dependants of these items: never another user's."""
        return [m for m in self.work.dependants.of(partition, ids) if partition.may_feed(m.partition)]


def follow(hand: Hand, old: Memory, new: Memory, entry: HistoryEntry) -> None:
    """Flag or unflag the dependants of a memory that `entry` changed from `old` to `new`."""
    cause = _cause(old, new, entry)
    if cause is not None:
        flag_all(hand, (new.partition, new.id), Flag(new.id, cause, hand.now, entry.id))
        return
    undone = entry.after.get("undone")
    is_back = is_believed(new, hand.now) and not is_believed(old, hand.now)
    if undone is None and not is_back:
        return

    def is_over(flag: Flag) -> bool:
        return flag.entry_id == undone or (is_back and flag.cause in _FOR_NOW)

    _lift(hand, new, is_over)


def flag_all(hand: Hand, source: Place, flag: Flag) -> list[Memory]:
    """Flag all direct and indirect dependants of an item once. Returns the newly flagged ones."""
    seen, flagged = {source}, list[Memory]()
    places: dict[Partition, list[str]] = {source[0]: [source[1]]}
    while places:
        found = [m for partition, ids in places.items() for m in hand.made_of(partition, ids)]
        places = {}
        for memory in found:
            if (memory.partition, memory.id) in seen:
                continue
            seen.add((memory.partition, memory.id))
            places.setdefault(memory.partition, []).append(memory.id)
            new = with_flag(memory, flag)
            if new is not memory:
                flagged.append(hand.put(memory, new, Action.FLAGGED, told(flag)))
    hand.engine.observer.count("mnemic.dependants.flagged", len(flagged))
    return flagged


def with_flag(memory: Memory, flag: Flag) -> Memory:
    """The memory with one more flag, unless it has it already."""
    is_known = any((each.source_id, each.cause) == (flag.source_id, flag.cause) for each in memory.flags)
    is_first_loss = flag.cause is Cause.ERASED and all(each.cause is not Cause.ERASED for each in memory.flags)
    if is_known or (len(memory.flags) >= MAX_FLAGS and not is_first_loss):
        return memory
    return replace(memory, flags=(*memory.flags[: MAX_FLAGS - 1], flag))


def lost_flags(memory: Memory) -> tuple[Flag, ...]:
    """A memory's flags of erased sources. They stay when the user states the memory again, because its text may still
    contain erased text.
    """
    return tuple(flag for flag in memory.flags if flag.cause is Cause.ERASED)


def clear_below(hand: Hand, memory: Memory, flags: Collection[Flag]) -> None:
    """After `memory` was trusted despite `flags`, clear them on dependants unless another source carries them."""
    entries = {flag.entry_id for flag in flags}
    seen = {(memory.partition, memory.id)}
    places: dict[Partition, list[str]] = {memory.partition: [memory.id]}
    while places:
        found = [m for partition, ids in places.items() for m in hand.made_of(partition, ids)]
        places = {}
        for each in found:
            gone = [f for f in each.flags if f.entry_id in entries and not _is_held(hand, each, f)]
            if gone and (each.partition, each.id) not in seen:
                seen.add((each.partition, each.id))
                places.setdefault(each.partition, []).append(each.id)
                clear(hand, each, gone, f"its source {memory.id} was trusted")


def clear(hand: Hand, memory: Memory, flags: Iterable[Flag], reason: str) -> Memory:
    """Remove flags from a memory."""
    gone = set(flags)
    left = tuple(flag for flag in memory.flags if flag not in gone)
    return hand.put(memory, replace(memory, flags=left), Action.CLEARED, reason)


def told(flag: Flag) -> str:
    """A flag in words."""
    return f"its source {flag.source_id} was {flag.cause.value}"


def is_believed(memory: Memory, now: datetime) -> bool:
    """True for an active memory that has not ended."""
    return memory.state is State.ACTIVE and not _has_ended(memory, now)


def own(memory: Memory) -> Visibility:
    """Visibility of one memory: its partition, and the agent that it is private to."""
    return Visibility((memory.partition,), memory.private_agent)


def _lift(hand: Hand, source: Memory, is_over: Callable[[Flag], bool]) -> None:
    found = [m for m in hand.work.dependants.flagged(source.partition.org, source.id) if _may_name(source, m)]
    if not found:
        return
    entries = {entry.id for entry in hand.work.history.of(own(source), source.id)}
    for memory in found:
        gone = [f for f in memory.flags if f.source_id == source.id and f.entry_id in entries and is_over(f)]
        if gone:
            clear(hand, memory, gone, f"the change of {source.id} was reverted")


def _may_name(source: Memory, memory: Memory) -> bool:
    return source.partition.may_feed(memory.partition)


def _is_held(hand: Hand, memory: Memory, flag: Flag) -> bool:
    """True if the flag names a direct source of the memory, or another source still has the same flag."""
    if flag.source_id in memory.source_ids:
        return True
    flagged = hand.work.dependants.flagged(memory.partition.org, flag.source_id)
    return any(
        other.id in memory.source_ids
        and _may_name(other, memory)
        and flag.entry_id in {each.entry_id for each in other.flags}
        for other in flagged
    )


def _cause(old: Memory, new: Memory, entry: HistoryEntry) -> Cause | None:
    if entry.action is Action.DISPUTED:
        return Cause.DISPUTED if new.state is State.DISPUTED else None
    if entry.action in _SAYS_OTHER and new.text != old.text:
        return Cause.CORRECTED
    if entry.action is Action.UPDATED:
        is_ended = _has_ended(new, entry.at) and not _has_ended(old, entry.at)
        return Cause.OUTDATED if is_ended else None
    return _OF_ACTIONS.get(entry.action)


def _has_ended(memory: Memory, now: datetime) -> bool:
    """True for an ended memory, also if it ended as soon as it could: the end is after the beginning."""
    begun = memory.valid_from or memory.observed_at
    return memory.valid_to is not None and memory.valid_to <= max(now, begun + MICROSECOND)
