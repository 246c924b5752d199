"""The fields of a memory: as JSON values and back, for history, undo and export."""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, replace
from datetime import datetime
from enum import StrEnum
from typing import Any, cast

from mnemic.model.bookkeeping import slot_in
from mnemic.model.item import Cause, Flag, Kind, Memory, Provenance, State, Trust
from mnemic.model.scope import Partition
from mnemic.text.normalise import dedup_key
from mnemic.text.slots import Filled

CHANGEABLE = (
    "text",
    "dedup_key",
    "kind",
    "importance",
    "confidence",
    "categories",
    "context",
    "snippet",
    "source",
    "private_agent",
    "observed_at",
    "valid_from",
    "valid_to",
    "retired_at",
    "expires_at",
    "is_pinned",
    "state",
    "other_id",
    "trust",
    "provenance",
    "metadata",
    "flags",
    "bookkeeping",
)
"""Everything an edit may change; access counts, fading and the time of the last update are no content."""

_TIMES = (
    "observed_at",
    "created_at",
    "updated_at",
    "valid_from",
    "valid_to",
    "retired_at",
    "expires_at",
    "last_accessed_at",
)
_READERS: Mapping[str, Callable[[Any], object]] = {
    **dict.fromkeys(_TIMES, datetime.fromisoformat),
    "kind": Kind,
    "state": State,
    "trust": Trust,
    "categories": tuple,
    "provenance": lambda entries: tuple(Provenance(**entry) for entry in entries),
    "flags": lambda entries: tuple(
        Flag(each["source_id"], Cause(each["cause"]), datetime.fromisoformat(each["at"]), each["entry_id"])
        for each in entries
    ),
}


def to_json(value: object) -> object:
    """A field's value as JSON: times as ISO 8601, enumerations as their text, tuples as lists."""
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, StrEnum):
        return value.value
    if isinstance(value, Provenance):
        return asdict(value)
    if isinstance(value, Flag):
        return {name: to_json(part) for name, part in asdict(value).items()}
    if isinstance(value, tuple):
        return [to_json(part) for part in cast("tuple[object, ...]", value)]
    return dict(cast("Mapping[str, object]", value)) if isinstance(value, Mapping) else value


def from_json(name: str, value: object) -> Any:
    """The inverse of `to_json` for the field `name`. Raises ValueError or TypeError for what it cannot be."""
    return value if value is None else _READERS.get(name, lambda same: same)(value)


def held_key(text: str, kind: Kind, valid_from: datetime | None) -> str:
    """The dedup key of a memory: two events in the same words on two known days are two."""
    if kind is not Kind.EVENT or valid_from is None:
        return dedup_key(text)
    return dedup_key(f"{valid_from:%Y-%m-%d} {text}")


def imported_id(partition: Partition, key: str) -> str:
    """The id of what says `key` (a dedup key) in a place and came from elsewhere: a UUIDv7 of 1970, always the same."""
    said = f"{partition.org}\0{partition.level.value}\0{partition.owner}\0{key}"
    digest = bytearray(hashlib.sha256(said.encode()).digest()[:16])
    digest[:6] = bytes(6)
    digest[6] = (digest[6] & 0x0F) | 0x70
    digest[8] = (digest[8] & 0x3F) | 0x80
    return str(uuid.UUID(bytes=bytes(digest)))


def differences(before: Memory, after: Memory) -> tuple[dict[str, object], dict[str, object]]:
    """The changed fields of two forms of a memory, as JSON: as they were, and as they are."""
    names = [name for name in CHANGEABLE if getattr(before, name) != getattr(after, name)]
    return as_json(before, names), as_json(after, names)


def as_json(memory: Memory, names: Iterable[str]) -> dict[str, object]:
    """Some fields of a memory as JSON."""
    return {name: to_json(getattr(memory, name)) for name in names}


def with_fields(memory: Memory, fields: Mapping[str, object]) -> Memory:
    """The memory with fields given as JSON put in."""
    values: dict[str, Any] = {name: from_json(name, value) for name, value in fields.items()}
    return replace(memory, **values)


def filled_of(memory: Memory) -> Filled | None:
    """The slot of a memory and its value, as its bookkeeping says."""
    found = slot_in(memory.bookkeeping)
    return None if found is None else Filled(*found)
