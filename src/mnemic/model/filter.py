"""Conditions on memories: parsed and checked once, evaluated by every store in the same way.

A filter is a mapping of field to condition, all of which must hold:

    {"kind": "preference", "metadata.team": {"in": ["core", "web"]}, "importance": {"gte": 0.6},
     "or": [{"categories": {"contains": "plan"}}, {"not": {"source": "import"}}]}

Fields: kind, state, level, source, agent, trust, importance, confidence, access_count, is_pinned, text, categories,
observed_at, created_at, updated_at, valid_from, valid_to, and metadata.<key>[.<key>…].
Operators: eq (also a bare value), ne, in (also a bare list), gt, gte, lt, lte, contains (an element of a list, or a
part of a text), exists. For categories, a bare value means contains. A missing field satisfies only `ne`,
`{"exists": false}` and a `not` around something else. Numbers and texts are never equal to, nor ordered against, each
other. Booleans are not numbers. Every store must reproduce this meaning.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from itertools import islice
from typing import TypeVar, cast

from mnemic.errors import InvalidInputError
from mnemic.model.scope import as_utc, check_unicode, to_microseconds

Scalar = str | int | float | bool

OPERATORS = ("eq", "ne", "in", "gt", "gte", "lt", "lte", "contains", "exists")
TIME_FIELDS = ("observed_at", "created_at", "updated_at", "valid_from", "valid_to")
NUMBER_FIELDS = ("importance", "confidence", "access_count")
TEXT_FIELDS = ("kind", "state", "level", "source", "agent", "trust", "text")
FIELDS = (*TEXT_FIELDS, *NUMBER_FIELDS, "is_pinned", "categories", *TIME_FIELDS)
MAX_CONDITIONS = 100  # bounds the length of the SQL statement
MAX_VALUES = 500
"""Limit of all lists of values (`in`) together."""

MAX_DEPTH = 10  # levels; bounds recursion and what a database must parse
MAX_PARTS = 2 * MAX_CONDITIONS * MAX_DEPTH + MAX_VALUES  # no filter within the bounds above has more
_UNSAFE_KEY = re.compile(r"[\"'\\\x00-\x1f]")


@dataclass(frozen=True, slots=True)
class Condition:
    """`path` (a field, or metadata or bookkeeping and its keys), operator, value. Times: microseconds since 1970."""

    path: tuple[str, ...]
    operator: str
    value: Scalar | tuple[Scalar, ...]


@dataclass(frozen=True, slots=True)
class All:
    """All parts hold. True without parts."""

    parts: tuple[Filter, ...]


@dataclass(frozen=True, slots=True)
class AnyOf:
    """At least one part holds. False without parts."""

    parts: tuple[Filter, ...]


@dataclass(frozen=True, slots=True)
class Not:
    """The part does not hold."""

    part: Filter


Filter = Condition | All | AnyOf | Not
EVERYTHING = All(())


def parse_filter(value: Mapping[str, object] | None) -> Filter:
    """Parse and check a filter mapping. Raises `InvalidInputError`, naming the invalid part."""
    if _is_huge(value):
        raise InvalidInputError(f"a filter can have at most {MAX_CONDITIONS} conditions and {MAX_VALUES} values")
    parsed = EVERYTHING if value is None else _parse(value, "filter")
    if _size(parsed) > MAX_CONDITIONS:
        raise InvalidInputError(f"a filter can have at most {MAX_CONDITIONS} conditions")
    if _size(parsed, is_values=True) > MAX_VALUES:
        raise InvalidInputError(f"a filter can compare against at most {MAX_VALUES} values")
    return parsed


def _is_huge(value: object) -> bool:
    """True if a filter has too many parts to be worth checking."""
    waiting, seen = [value], 0
    while waiting and seen <= MAX_PARTS:
        part = waiting.pop()
        if isinstance(part, Mapping | list | tuple):
            inner = cast("Mapping[object, object] | Sequence[object]", part)
            seen += len(inner)
            waiting += islice(inner.values() if isinstance(inner, Mapping) else inner, MAX_PARTS)
    return seen > MAX_PARTS


def _size(filter_: Filter, *, is_values: bool = False) -> int:
    """The number of conditions in a filter, or of the values that they compare."""
    match filter_:
        case All(parts) | AnyOf(parts):
            return sum(_size(part, is_values=is_values) for part in parts)
        case Not(part):
            return _size(part, is_values=is_values)
        case Condition(value=value):
            return len(value) if is_values and isinstance(value, tuple) else 1


def _parse(value: object, where: str, depth: int = 0) -> Filter:
    if not isinstance(value, Mapping):
        raise InvalidInputError(f"{where} must be a mapping of fields to conditions, not {type(value).__name__}")
    if depth > MAX_DEPTH:
        raise InvalidInputError(f"a filter can be nested at most {MAX_DEPTH} levels deep")
    parts: list[Filter] = []
    for key, inner in cast("Mapping[object, object]", value).items():
        if key in ("and", "or"):
            branches = tuple(_parse(part, f"{where}.{key}", depth + 1) for part in _sequence(inner, f"{where}.{key}"))
            parts.append(All(branches) if key == "and" else AnyOf(branches))
        elif key == "not":
            parts.append(Not(_parse(inner, f"{where}.not", depth + 1)))
        elif key == "metadata" and inner and isinstance(inner, Mapping):
            below = {f"metadata.{name}": each for name, each in cast("Mapping[object, object]", inner).items()}
            parts.append(_parse(below, where, depth + 1))
        else:
            parts.extend(_conditions(_path(key), inner))
    return parts[0] if len(parts) == 1 else All(tuple(parts))


def _path(key: object) -> tuple[str, ...]:
    if isinstance(key, str):
        path = tuple(key.split("."))
        if key in FIELDS:
            return (key,)
        if path[0] == "metadata" and len(path) > 1 and all(path):
            if _UNSAFE_KEY.search(check_unicode(key, "filter")):
                raise InvalidInputError(
                    f"cannot filter by {key!r}: it contains quotes, backslashes or control characters"
                )
            return path
    raise InvalidInputError(
        f"unknown filter field {key!r}; use 'metadata.{key}' for your own metadata, or one of {', '.join(FIELDS)}"
    )


def _conditions(path: tuple[str, ...], inner: object) -> list[Filter]:
    tests = cast("Mapping[object, object]", inner)
    if not isinstance(inner, Mapping):
        tests = {"in" if isinstance(inner, list | tuple) else "eq": cast("object", inner)}
    if path == ("categories",) and len(tests) == 1 and (test := next(iter(tests))) in ("eq", "in"):
        wanted = [tests[test]] if test == "eq" else _sequence(tests[test], "categories")
        return [AnyOf(tuple(_condition(path, "contains", each) for each in wanted))]
    if not tests:
        raise InvalidInputError(f"the condition on {'.'.join(path)} is empty; use one of {', '.join(OPERATORS)}")
    return [_condition(path, operator, value) for operator, value in tests.items()]


def _condition(path: tuple[str, ...], operator: object, value: object) -> Condition:
    name = ".".join(path)
    allowed = _allowed(path)
    if not isinstance(operator, str) or operator not in allowed:
        raise InvalidInputError(f"{operator!r} is not an operator for {name}; use one of {', '.join(allowed)}")
    if operator == "exists":
        if not isinstance(value, bool):
            raise InvalidInputError(f"exists on {name} must be true or false")
        return Condition(path, operator, value)
    if operator == "in":
        return Condition(path, operator, tuple(_scalar(name, v) for v in _sequence(value, name)))
    return Condition(path, operator, _scalar(name, value))


def _allowed(path: tuple[str, ...]) -> tuple[str, ...]:
    if path[0] == "categories":
        return ("contains", "exists")
    if path[0] == "is_pinned":
        return ("eq", "ne")
    if path[0] in (*TIME_FIELDS, *NUMBER_FIELDS):
        return tuple(operator for operator in OPERATORS if operator != "contains")
    return OPERATORS


def _scalar(name: str, value: object) -> Scalar:
    if name in TIME_FIELDS:
        return to_microseconds(as_utc(cast("str", value), name))
    is_comparable = isinstance(value, str) or (isinstance(value, int | float) and -(2**63) < value < 2**63)
    if not isinstance(value, str | int | float) or not is_comparable:
        raise InvalidInputError(f"{name} can be compared with text, a number or true/false, not {value!r}")
    if isinstance(value, str) and "\0" in check_unicode(value, name):
        raise InvalidInputError(f"{name} cannot be compared with text that contains a NUL character")
    if name == "is_pinned" and not isinstance(value, bool):
        raise InvalidInputError("is_pinned must be true or false")
    if name in NUMBER_FIELDS and (isinstance(value, str | bool)):
        raise InvalidInputError(f"{name} is a number and cannot be compared with {value!r}")
    if name in (*TEXT_FIELDS, "categories") and not isinstance(value, str):
        raise InvalidInputError(f"{name} is text and cannot be compared with {value!r}")
    return value


def _sequence(value: object, where: str) -> Sequence[object]:
    if not isinstance(value, list | tuple):
        raise InvalidInputError(f"{where} requires a list")
    return cast("Sequence[object]", value)


_Ordered = TypeVar("_Ordered", str, float)
FieldOf = Callable[[Sequence[str]], object]
"""Returns the value at a path (a field, or metadata or bookkeeping and its keys), None if there is none."""


def meets(field_of: FieldOf, filter_: Filter) -> bool:
    """True if an item with these fields matches the filter."""
    match filter_:
        case All(parts):
            return all(meets(field_of, part) for part in parts)
        case AnyOf(parts):
            return any(meets(field_of, part) for part in parts)
        case Not(part):
            return not meets(field_of, part)
        case Condition():
            return _holds(field_of(filter_.path), filter_)


def names_only_metadata(filter_: Filter) -> bool:
    """True if all conditions are on metadata."""
    match filter_:
        case All(parts) | AnyOf(parts):
            return all(names_only_metadata(part) for part in parts)
        case Not(part):
            return names_only_metadata(part)
        case Condition():
            return filter_.path[0] == "metadata"


def field_at(found: object, keys: Sequence[str]) -> object:
    """A value in comparable form (times in microseconds, enumerations as text), or the value at the keys below it."""
    if isinstance(found, datetime):
        return to_microseconds(found)
    if isinstance(found, StrEnum):
        return found.value
    for key in keys:
        found = cast("Mapping[str, object]", found).get(key) if isinstance(found, Mapping) else None
    return found


def _holds(found: object, condition: Condition) -> bool:
    operator, wanted = condition.operator, condition.value
    if isinstance(wanted, tuple):
        return any(_compares(found, "eq", value) for value in wanted)
    if operator == "exists":
        return (found is not None and found != ()) is bool(wanted)
    if operator == "ne":
        return not _compares(found, "eq", wanted)
    return _contains(found, wanted) if operator == "contains" else _compares(found, operator, wanted)


def _contains(found: object, wanted: Scalar) -> bool:
    if isinstance(found, str):
        return isinstance(wanted, str) and wanted in found
    if not isinstance(found, Sequence):
        return False
    return any(_compares(element, "eq", wanted) for element in cast("Sequence[object]", found))


def _compares(found: object, operator: str, wanted: Scalar) -> bool:
    if isinstance(found, str) and isinstance(wanted, str):
        return _ordered(found, operator, wanted)
    if isinstance(found, int | float) and isinstance(wanted, int | float) and _is_bool(found) == _is_bool(wanted):
        return _ordered(found, operator, wanted)
    return False


def _is_bool(value: object) -> bool:
    return isinstance(value, bool)


def _ordered(found: _Ordered, operator: str, wanted: _Ordered) -> bool:
    match operator:
        case "eq":
            return found == wanted
        case "gt":
            return found > wanted
        case "gte":
            return found >= wanted
        case "lt":
            return found < wanted
        case _:
            return found <= wanted
