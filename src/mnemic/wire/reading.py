"""Parses the wire form back into nouns and chat events, by type annotations. Missing fields get empty values. Unknown
fields are ignored, so older clients understand newer servers.
"""

import types
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING, Field, fields, is_dataclass
from datetime import date, datetime
from enum import Enum
from functools import cache
from typing import Any, Literal, Union, cast, get_args, get_origin, get_type_hints

from mnemic.errors import BadReplyError
from mnemic.model.chat import Called, ChatEvent, Recalled, Replied, Said
from mnemic.model.scope import Partition
from mnemic.wire import SECRET, place_from_wire, to_wire

ABSENT = {"dedup_key": "", "secret_hash": ""}
"""Values of fields that are never sent."""


def from_wire(kind: Any, value: Any) -> Any:
    """The inverse of `to_wire` for `kind`, a type or annotation. Raises `BadReplyError`."""
    try:
        return _read(kind, value)
    except (TypeError, ValueError, KeyError, LookupError) as error:
        raise BadReplyError(f"the response is not a valid {getattr(kind, '__name__', kind)}: {error}") from error


@cache
def hints_of(kind: type) -> dict[str, Any]:
    """The resolved annotations of a dataclass."""
    return get_type_hints(kind)


def wire_fields(kind: type) -> list[Field[Any]]:
    """The fields of a dataclass that are sent under their own names."""
    return [
        field
        for field in fields(cast("Any", kind))
        if hints_of(kind)[field.name] is not Partition and field.name not in SECRET
    ]


def choice_of(kinds: Sequence[Any], value: Any) -> Any:
    """The member of a union that a value belongs to."""
    if value is None:
        return type(None)
    nouns = [kind for kind in kinds if is_dataclass(kind)]
    if nouns and isinstance(value, Mapping):
        names = set(cast("Mapping[str, Any]", value))
        return max(nouns, key=lambda kind: _likeness(cast("type", kind), names))
    rest = [kind for kind in kinds if kind is not type(None)]
    return next((kind for kind in rest if isinstance(kind, type) and type(value) is kind), rest[0])


def _likeness(kind: type, names: set[str]) -> int:
    own = {field.name for field in wire_fields(kind)}
    return len(own & names) - len(own - names)


def _read(kind: Any, value: Any) -> Any:
    origin, inner = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        return _read(choice_of(inner, value), value)
    if origin is not None:
        return _read_collection(origin, inner, value)
    return _read_plain(cast("type[Any]", kind), value) if isinstance(kind, type) else value


def _read_plain(kind: type[Any], value: Any) -> Any:
    if kind is datetime:
        return datetime.fromisoformat(value)
    if kind is date:
        return date.fromisoformat(value)
    if issubclass(kind, Enum):
        return kind(value)
    return _noun(kind, value) if is_dataclass(kind) else value


def _read_collection(origin: Any, inner: tuple[Any, ...], value: Any) -> Any:
    if origin is Literal:
        return value
    if issubclass(origin, Mapping):
        key, item = (*inner, int)[:2] if inner else (Any, Any)  # a Counter has only a key type
        return {_read(key, name): _read(item, each) for name, each in cast("Mapping[str, Any]", value).items()}
    if issubclass(origin, tuple):
        each = list(_members(inner, value))
        return tuple(_read(kind, item) for kind, item in each)
    if issubclass(origin, frozenset | set):
        return frozenset(_read(inner[0], item) for item in value)
    if issubclass(origin, Iterable):
        return [_read(inner[0], item) for item in value]
    return value


def _members(inner: tuple[Any, ...], value: Sequence[Any]) -> Iterator[tuple[Any, Any]]:
    if len(inner) == 2 and inner[1] is Ellipsis:  # noqa: PLR2004 -- tuple[X, ...]
        return ((inner[0], item) for item in value)
    return zip(inner, value, strict=True)


def _noun(kind: type, value: Mapping[str, Any]) -> Any:
    given: dict[str, Any] = {}
    for field in fields(cast("Any", kind)):
        hint = hints_of(kind)[field.name]
        if hint is Partition:
            given[field.name] = place_from_wire(value)
        elif field.name in value:
            given[field.name] = _read(hint, value[field.name])
        elif field.name in ABSENT:
            given[field.name] = ABSENT[field.name]
        elif field.default is MISSING and field.default_factory is MISSING:
            raise KeyError(field.name)
    return kind(**given)


EVENT = "event"
KINDS: Mapping[str, type[ChatEvent]] = {"recalled": Recalled, "said": Said, "called": Called, "replied": Replied}
PROGRESS: Mapping[str, tuple[str, ...]] = {
    "import_": ("done", "total"),
    "health": ("done", "total"),
    "reembed": ("done", "total"),
    "ingest": ("done", "total", "source"),
    "research": ("done", "total", "what"),
}
"""The fields of a progress event by verb, in the order of the `progress` callback's arguments."""

NAMES = {kind: name for name, kind in KINDS.items()}


def event_to_wire(event: ChatEvent) -> dict[str, Any]:
    """An event as `{"event": "said", "text": "…"}`."""
    return {EVENT: NAMES[type(event)], **to_wire(event)}


def event_from_wire(told: Mapping[str, Any]) -> ChatEvent | None:
    """The inverse of `event_to_wire`. None for an unknown event. Raises `BadReplyError`."""
    name = told.get(EVENT)
    if not isinstance(name, str):
        raise BadReplyError("the server sent an event without a name")
    return cast("ChatEvent", from_wire(KINDS[name], told)) if name in KINDS else None
