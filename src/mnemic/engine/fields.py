"""Converts fields of a memory to JSON and back for history, undo and export; archives and erases memories with history.
`cascade` handles the dependants of erased memories.
"""

import hashlib
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from mnemic.engine.access import forget_answers
from mnemic.engine.engine import Engine, new_entry
from mnemic.engine.indexing import indexed_text
from mnemic.model.bookkeeping import key_in, note_due, note_slot, slot_in, without_due, without_slot
from mnemic.model.columns import field_types, plain_reader, to_plain
from mnemic.model.item import Kind, Memory, State
from mnemic.model.records import Action, HistoryEntry
from mnemic.model.scope import MICROSECOND, Level, Partition
from mnemic.ports.store import UnitOfWork
from mnemic.text.normalise import dedup_key
from mnemic.text.slots import Filled, canonical, slot_of

_NO_CONTENT = ("id", "partition", "agent", "created_at", "updated_at", "last_accessed_at", "access_count", "faded")

CHANGEABLE = tuple(name for name in field_types(Memory) if name not in _NO_CONTENT)
"""Fields that an edit may change: all but access counts, decay and the time of the last update."""


def to_json(value: object) -> Any:
    """A field's value as JSON: times as ISO 8601, enumerations as text, tuples as lists."""
    return to_plain(value, datetime.isoformat)


def from_json(kind: type, name: str, value: object) -> Any:
    """The inverse of `to_json` for a field of a noun. Raises ValueError or TypeError for invalid values."""
    read = plain_reader(field_types(kind)[name], datetime.fromisoformat)
    return value if value is None or read is None else read(value)


def held_key(text: str, kind: Kind, valid_from: datetime | None, key: str = "") -> str:
    """A memory's dedup key, with the caller's key and an event's day: equal words on two days are two events."""
    if key:
        return f"{key}: {dedup_key(text)}"
    if kind is not Kind.EVENT or valid_from is None:
        return dedup_key(text)
    return dedup_key(f"{valid_from:%Y-%m-%d} {text}")


def derived_key(kind: Kind, text: str) -> str:
    """The dedup key of a derived memory. Only memories of the same kind can duplicate it."""
    return dedup_key(f"{kind.value}: {text}")


def imported_id(partition: Partition, key: str) -> str:
    """The constant id of an imported text in a place: a UUIDv7 of 1970 from its dedup key."""
    said = f"{partition.org}\0{partition.level.value}\0{partition.owner}\0{key}"
    digest = bytearray(hashlib.sha256(said.encode()).digest()[:16])
    digest[:6] = bytes(6)
    digest[6] = (digest[6] & 0x0F) | 0x70
    digest[8] = (digest[8] & 0x3F) | 0x80
    return str(uuid.UUID(bytes=bytes(digest)))


def differences(before: Memory, after: Memory) -> tuple[dict[str, object], dict[str, object]]:
    """The changed fields of a memory as JSON, before and after."""
    names = [name for name in CHANGEABLE if getattr(before, name) != getattr(after, name)]
    return as_json(before, names), as_json(after, names)


def as_json(memory: Memory, names: Iterable[str]) -> dict[str, object]:
    """Some fields of a memory as JSON."""
    return {name: to_json(getattr(memory, name)) for name in names}


def with_fields(memory: Memory, fields: Mapping[str, object]) -> Memory:
    """The memory with these JSON fields."""
    values: dict[str, Any] = {name: from_json(Memory, name, value) for name, value in fields.items()}
    return replace(memory, **values)


def as_known(memory: Memory, entries: Sequence[HistoryEntry], at: datetime) -> Memory:
    """The memory as known at a time: later changes are reverted as far as its history records them."""
    for entry in reversed(entries):
        if entry.at > at and entry.item_id == memory.id:
            memory = with_fields(memory, entry.before)
    return memory


def filled_of(memory: Memory) -> Filled | None:
    """A memory's slot and value, from its bookkeeping."""
    found = slot_in(memory.bookkeeping)
    return None if found is None else Filled(*found)


def slot_notes(text: str, slot: str = "", value: str = "") -> dict[str, object]:
    """Bookkeeping of the slot that a memory fills: as given, or by its text; empty if it fills none."""
    if slot:
        return note_slot(canonical(slot), value)
    filled = slot_of(text)
    return {} if filled is None else note_slot(filled.slot, filled.value)


_DATED = frozenset({Kind.FACT, Kind.GOAL, Kind.EVENT, Kind.CONTEXT, Kind.STATE, Kind.GEM})
"""The kinds of memories that can be due."""


def due_notes(text: str, kind: Kind, observed_at: datetime, valid_from: datetime | None = None) -> dict[str, object]:
    """Bookkeeping of the days on which a memory is due: the day from which it is valid, or as in its text."""
    if kind not in _DATED:
        return {}
    from mnemic.text.facts.due import find_due

    if valid_from is not None:
        return note_due(valid_from.date(), valid_from.date()) if valid_from > observed_at else {}
    due = find_due(text, observed_at)
    return {} if due is None else note_due(due.first, due.last)


def with_text(memory: Memory, text: str) -> Memory:
    """The memory with another text, its key and its slot: after "Porto" was corrected to "Faro", it fills that."""
    if text == memory.text:
        return memory
    has_slot = memory.level in (Level.USER, Level.SESSION) and not key_in(memory.bookkeeping)
    notes = {**without_slot(memory.bookkeeping), **(slot_notes(text) if has_slot else {})}
    return with_due(with_key(replace(memory, text=text, bookkeeping=notes)))


def with_due(memory: Memory) -> Memory:
    """The memory with the days on which it is due by its text, kind and validity now."""
    due = (
        {} if key_in(memory.bookkeeping) else due_notes(memory.text, memory.kind, memory.observed_at, memory.valid_from)
    )
    return replace(memory, bookkeeping={**without_due(memory.bookkeeping), **due})


def ended(memory: Memory, at: datetime) -> Memory:
    """The memory with its validity ended. What was to begin later is no longer due at all."""
    start = memory.valid_from or memory.observed_at
    if start >= at:
        memory = replace(memory, bookkeeping=without_due(memory.bookkeeping))
    return replace(memory, valid_to=max(at, start + MICROSECOND))


def with_key(memory: Memory) -> Memory:
    """The memory with the dedup key of its present fields."""
    key = held_key(memory.text, memory.kind, memory.valid_from, key_in(memory.bookkeeping))
    return replace(memory, dedup_key=key)


EXPIRED = "it had expired"


def is_lasting(memory: Memory) -> bool:
    """True for a memory that never decays, nor is archived for low importance or lack of room."""
    return memory.is_pinned or memory.kind is Kind.REFLECTION


def archive(engine: Engine, work: UnitOfWork, memory: Memory, *, actor: str, reason: str) -> bool:
    """Archive a memory now. False if it changed meanwhile."""
    now = engine.clock.now()
    archived = replace(
        memory, state=State.ARCHIVED, retired_at=now, updated_at=max(now, memory.updated_at + MICROSECOND)
    )
    if not work.memories.replace(archived, engine.terms(indexed_text(memory)), memory.updated_at):
        return False
    sides = differences(memory, archived)
    work.history.add([new_entry(now, (memory.partition, memory.id), Action.ARCHIVED, actor, reason, sides)])
    return True


def erase_memories(
    work: UnitOfWork, partition: Partition, ids: Sequence[str], *, actor: str, reason: str, now: datetime
) -> tuple[dict[str, int], list[HistoryEntry]]:
    """Erase memories of a partition and record it. Returns counts by table, and the history entries."""
    counts = {"memories": work.memories.erase(partition, ids, now), "history": work.history.scrub(partition, ids)}
    entries = [deletion(partition, item_id, actor, reason, now) for item_id in ids]
    work.history.add(entries)
    if ids:
        forget_answers(work, [partition])
    return counts, entries


def deletion(partition: Partition, item_id: str, actor: str, reason: str, now: datetime) -> HistoryEntry:
    """The history entry of a deletion."""
    return new_entry(now, (partition, item_id), Action.DELETED, actor, reason)
