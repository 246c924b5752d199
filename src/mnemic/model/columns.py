"""How stores, exports and history represent a noun, derived from its annotations. A field is a column of the same name
unless `Columns` renames it. Times become microseconds, enumerations their text, nested values JSON text.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from datetime import datetime
from enum import Enum
from functools import cache, lru_cache
from types import NoneType, UnionType
from typing import Any, Generic, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from mnemic.errors import DamagedError
from mnemic.model.document import Heading
from mnemic.model.scope import Level, Partition, from_microseconds, to_microseconds

NounT = TypeVar("NounT")
Row = tuple[Any, ...]
Codec = tuple[Callable[[Any], object] | None, Callable[[Any], Any] | None]
"""How a value is written and read, None if unchanged. Never called with None."""

PLACE = 3
"""Number of leading columns (org, level, owner) of a noun with a partition."""

_AS_LISTS: tuple[type, ...] = (Heading,)  # a document has many: stored without field names
_EMPTY: Mapping[str, type[dict[str, object] | list[object]]] = {"{}": dict[str, object], "[]": list[object]}
_BLANK: Codec = (str, lambda value: value or None)


@lru_cache(maxsize=1024)
def partition_of(org: str, level: str, owner: str) -> Partition:
    """A partition from its columns."""
    return Partition(org, Level(level), owner)


def dumps(value: object) -> str:
    """Compact JSON, for a column of text."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def loads(text: str) -> Any:
    """The inverse of `dumps`, with a shortcut for empty values, which most columns have."""
    make = _EMPTY.get(text)
    return json.loads(text) if make is None else make()


def micros(value: datetime | None) -> int | None:
    """Microseconds of a time. None stays None."""
    return None if value is None else to_microseconds(value)


def moment(value: int | None) -> datetime | None:
    """The inverse of `micros`."""
    return None if value is None else from_microseconds(value)


class Columns(Generic[NounT]):
    """The columns of a noun's rows: all fields except the partition and those in `without`.

    `renamed`: columns whose name differs from the field's. `codecs`: fields with their own format.
    """

    def __init__(
        self,
        kind: type[NounT],
        *,
        without: Sequence[str] = (),
        renamed: Mapping[str, str] | None = None,
        codecs: Mapping[str, Codec] | None = None,
    ) -> None:
        hints = field_types(kind)
        names = [name for name, hint in hints.items() if hint is not Partition and name not in without]
        self.kind, self._has_place = kind, Partition in hints.values()
        self.of_field = {name: (renamed or {}).get(name, name) for name in names}
        self.names = tuple(self.of_field.values())
        self.typed_names = tuple((self.of_field[name], _sql_type(hints[name])) for name in names)
        found = {"private_agent": _BLANK} | dict(codecs or {})
        coded = [(name, *(found.get(name) or _codec(hints[name]))) for name in names]
        self._writers = [(name, self.of_field[name], write, name == "private_agent") for name, write, _ in coded]
        self._readers = [(name, read) for name, _, read in coded]

    def row(self, noun: NounT) -> dict[str, object]:
        """The columns of a noun by name, and the org of its partition."""
        row: dict[str, object] = {"org": cast("Any", noun).partition.org} if self._has_place else {}
        for name, column, write, is_blank in self._writers:
            value = getattr(noun, name)
            if value is None:
                row[column] = "" if is_blank else None
            else:
                row[column] = value if write is None else write(value)
        return row

    def noun(self, row: Row, **further: object) -> NounT:
        """Build a noun from a row: the partition's columns first, if it has one, then `names`. `further` are fields
        without a column. Raises `DamagedError` for values that Mnemic never writes.
        """
        try:
            if self._has_place:
                further["partition"] = partition_of(*row[:PLACE])
                row = row[PLACE:]
            for (name, read), value in zip(self._readers, row, strict=True):
                further[name] = value if read is None or value is None else read(value)
            return self.kind(**further)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            message = f"a row of the store ({self.kind.__name__}) contains a value that cannot be read"
            raise DamagedError(f"{message}; restore a backup") from error


@cache
def field_types(kind: type) -> dict[str, Any]:
    """The fields of a dataclass with their resolved annotations."""
    hints = get_type_hints(kind)
    return {field.name: hints[field.name] for field in fields(cast("Any", kind))}


def without_none(hint: Any) -> Any:
    """The annotation without None."""
    if get_origin(hint) in (Union, UnionType):
        return next(choice for choice in get_args(hint) if choice is not NoneType)
    return hint


def to_plain(value: Any, time: Callable[[datetime], object] = to_microseconds) -> Any:
    """A value as plain JSON data. `time` formats times."""
    kind: Any = cast("Any", type(value))
    if isinstance(value, datetime):
        return time(value)
    if isinstance(value, Enum):
        return value.value
    if is_dataclass(kind):
        parts = {name: to_plain(getattr(value, name), time) for name in field_types(kind)}
        return [*parts.values()] if kind in _AS_LISTS else parts
    if isinstance(value, tuple | frozenset):
        return [to_plain(part, time) for part in cast("tuple[object, ...]", value)]
    return dict(cast("Mapping[str, object]", value)) if isinstance(value, Mapping) else value


@cache
def plain_reader(hint: Any, time: Callable[[Any], datetime] = from_microseconds) -> Callable[[Any], Any] | None:
    """The inverse of `to_plain` for an annotation, None if values stay unchanged."""
    hint = without_none(hint)
    make: Any = get_origin(hint)
    if hint is datetime:
        return time
    if make in (tuple, frozenset):
        read = plain_reader(get_args(hint)[0], time)
        return make if read is None else _collection_reader(make, read)
    kind: Any = hint if isinstance(hint, type) else None
    if kind is not None and issubclass(kind, Enum):
        return kind
    return _noun_reader(kind, time) if kind is not None and is_dataclass(kind) else None


def _collection_reader(make: Callable[[Any], Any], read: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda values: make(map(read, values))


def _noun_reader(kind: Any, time: Callable[[Any], datetime]) -> Callable[[Any], Any]:
    readers = {name: plain_reader(hint, time) for name, hint in field_types(kind).items()}

    def read_noun(value: Any) -> Any:
        named: Mapping[str, Any] = dict(zip(readers, value, strict=True)) if kind in _AS_LISTS else value
        parts = ((name, readers[name], part) for name, part in named.items())
        return kind(**{name: part if read is None else read(part) for name, read, part in parts})

    return read_noun


def _sql_type(hint: Any) -> str:
    types = {int: "bigint", datetime: "bigint", float: "double precision", bool: "boolean"}
    return types.get(without_none(hint), "text")


def _codec(hint: Any) -> Codec:
    """How values of an annotation are stored in a column."""
    hint = without_none(hint)
    if hint is datetime:
        return to_microseconds, from_microseconds
    if hint in (bool, bytes):
        return None, hint
    if hint in (str, int, float):
        return None, None
    kind: Any = hint
    if isinstance(kind, type) and issubclass(kind, Enum):
        members = {member.value: member for member in kind}  # faster than calling the enumeration
        return (lambda member: member.value), members.__getitem__
    read = plain_reader(hint)

    def read_json(value: Any) -> Any:
        plain = loads(value) if isinstance(value, str) else value  # PostgreSQL has lists of texts
        return plain if read is None else read(plain)

    return (lambda value: dumps(to_plain(value))), read_json
