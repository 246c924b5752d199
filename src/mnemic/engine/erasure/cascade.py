"""What becomes of memories when something they were made of is erased.

Made of that alone, they are erased with it, and what was made of them alone in turn. Made of other things too, they are
flagged, lose the reference, and leave a job that makes them anew of the rest (`erasure.remake`). All of it is in the
transaction of the erasure.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import cast

from mnemic.engine.erasure.tombstones import erase_memories
from mnemic.engine.kinds import REMAKE
from mnemic.engine.memories.dependants import Hand, Place, flag_all, own, with_flag
from mnemic.engine.parts import new_id
from mnemic.engine.summaries.digest import covered
from mnemic.model.history import Action, HistoryEntry
from mnemic.model.item import CHOSEN_IDS, MERGED_IDS, Cause, Flag, Kind, Memory
from mnemic.model.job import Job
from mnemic.model.scope import Partition

IS_DERIVED = "is_derived"
"""Noted in the history of a memory that was made anew, whose older entries are empty: whether it needs its sources."""

_ALL_GONE = "all that it was made of is deleted"


@dataclass(frozen=True, slots=True)
class Cascaded:
    """How many memories were erased with what was deleted, and how many are flagged and wait to be made anew."""

    erased: int = 0
    flagged: int = 0

    @property
    def notes(self) -> tuple[str, ...]:
        """What a person should know of it."""
        if not self.flagged:
            return ()
        note = f"{self.flagged} memories were made of this and of other things: they are flagged, and until a worker "
        return (f"{note}has made them anew they may still tell of it",)


@dataclass(slots=True)
class _Loss:
    """A memory, and by their ids the sources that it lost, with the entries that say so."""

    memory: Memory
    entries: dict[str, HistoryEntry] = field(default_factory=dict[str, HistoryEntry])

    def is_orphan(self, hand: Hand) -> bool:
        return not self.memory.source_ids - self.entries.keys() and not stands_alone(hand, self.memory)


def cascade(hand: Hand, deleted: Sequence[HistoryEntry]) -> Cascaded:
    """Follow what `deleted`, entries of this unit of work, tells of."""
    gone = {(entry.partition, entry.item_id) for entry in deleted}
    lost: dict[Place, _Loss] = {}
    fresh, erased = list(deleted), 0
    while fresh:
        for partition, entries in _by_partition(fresh).items():
            for memory in hand.made_of(partition, entries):
                loss = lost.setdefault((memory.partition, memory.id), _Loss(memory))
                loss.entries |= {i: entries[i] for i in memory.source_ids & entries.keys()}
        orphans = [place for place, loss in lost.items() if place not in gone and loss.is_orphan(hand)]
        fresh = _erased(hand, orphans)
        hand.work.jobs.add([job for place in orphans for job in _again(hand, lost[place].memory)])
        gone.update(orphans)
        erased += len(orphans)
    left = [loss for place, loss in lost.items() if place not in gone]
    for loss in left:
        _flag(hand, loss)
    hand.parts.observer.count("mnemic.dependants.erased", erased)
    return Cascaded(erased, len(left))


def stands_alone(hand: Hand, memory: Memory) -> bool:
    """True when somebody said a memory without naming a source, whatever it was joined with before or since."""
    if memory.metadata.get(CHOSEN_IDS):
        return False
    entries = hand.work.history.of(own(memory), memory.id)
    if any(_is_told_again(entry) for entry in entries):
        return True
    noted = [entry.after[IS_DERIVED] for entry in entries if IS_DERIVED in entry.after]
    if noted:
        return not noted[-1]
    first = next((entry.before["provenance"] for entry in entries if "provenance" in entry.before), None)
    return not (memory.provenance if first is None else first)


def remake_job(hand: Hand, memory: Memory) -> Job:
    """The job that makes a memory anew."""
    return Job(
        id=new_id(hand.now),
        partition=memory.partition,
        kind=REMAKE,
        key=memory.id,
        created_at=hand.now,
        run_at=hand.now,
        payload={"memory": memory.id, "agent": memory.private_agent},
    )


def _is_told_again(entry: HistoryEntry) -> bool:
    """True for "the same was said again, and no source was named"."""
    return entry.action is Action.RESTATED or (
        entry.action is Action.MERGED and "restated" in entry.after and "provenance" not in entry.after
    )


def _erased(hand: Hand, orphans: Iterable[Place]) -> list[HistoryEntry]:
    grouped: dict[Partition, list[str]] = {}
    for partition, item_id in orphans:
        grouped.setdefault(partition, []).append(item_id)
    found: list[HistoryEntry] = []
    for partition, ids in grouped.items():
        _, entries = erase_memories(hand.work, partition, ids, actor=hand.actor, reason=_ALL_GONE, now=hand.now)
        found += entries
    return found


def _again(hand: Hand, memory: Memory) -> list[Job]:
    """A summary that is gone covered other messages too: of these another one is made."""
    session, positions = memory.metadata.get("session"), covered(memory)
    if memory.kind is not Kind.SUMMARY or not isinstance(session, str) or positions[0] > positions[1]:
        return []
    return [replace(remake_job(hand, memory), payload={"session": session, "positions": [*positions]})]


def _flag(hand: Hand, loss: _Loss) -> None:
    """Flag what has other sources, and all that was made of it."""
    flags = [Flag(source_id, Cause.ERASED, hand.now, entry.id) for source_id, entry in loss.entries.items()]
    (old,) = hand.work.memories.get(own(loss.memory), [loss.memory.id])  # another one may have flagged it since
    memory = without(old, loss.entries)
    for flag in flags:
        memory = with_flag(memory, flag)
    reason = f"it was made of {', '.join(sorted(loss.entries)[:5])}, which is erased, and of other things"
    memory = hand.put(old, memory, Action.FLAGGED, reason)
    for flag in flags:
        if flag in memory.flags:
            flag_all(hand, (memory.partition, memory.id), flag)
    hand.work.jobs.add([remake_job(hand, memory)])


def without(memory: Memory, ids: Collection[str]) -> Memory:
    """The memory as made of all the same but for these."""
    metadata: dict[str, object] = dict(memory.metadata)
    for key in (MERGED_IDS, CHOSEN_IDS):
        named = metadata.get(key)
        if isinstance(named, list):
            metadata[key] = [each for each in cast("list[object]", named) if each not in ids]
    provenance = tuple(entry for entry in memory.provenance if entry.source_id not in ids)
    return replace(memory, provenance=provenance, metadata=metadata)


def _by_partition(entries: Sequence[HistoryEntry]) -> Mapping[Partition, Mapping[str, HistoryEntry]]:
    grouped: dict[Partition, dict[str, HistoryEntry]] = {}
    for entry in entries:
        grouped.setdefault(entry.partition, {})[entry.item_id] = entry
    return grouped
