"""What a checked filter means: the meaning that every store must reproduce."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from typing import TypeVar, cast

from mnemic.model.clocktime import to_microseconds
from mnemic.model.filter import All, AnyOf, Condition, Filter, Not, Scalar

_Ordered = TypeVar("_Ordered", str, float)
FieldOf = Callable[[Sequence[str]], object]
"""The value at a path (a field, or metadata and its keys), None where there is none."""


def meets(field_of: FieldOf, filter_: Filter) -> bool:
    """True when a thing with these fields meets the filter."""
    match filter_:
        case All(parts):
            return all(meets(field_of, part) for part in parts)
        case AnyOf(parts):
            return any(meets(field_of, part) for part in parts)
        case Not(part):
            return not meets(field_of, part)
        case Condition():
            return _holds(field_of(filter_.path), filter_)


def field_at(found: object, keys: Sequence[str]) -> object:
    """A value as filters compare it (times in microseconds, choices as their text), or what is at the keys below it."""
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
