"""Evaluates a checked filter on a memory: the meaning that every other store must reproduce."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from typing import TypeVar, cast

from mnemic.model.clocktime import to_microseconds
from mnemic.model.filter import All, AnyOf, Condition, Filter, Not, Scalar
from mnemic.model.item import Memory

_Ordered = TypeVar("_Ordered", str, float)


def matches(memory: Memory, filter_: Filter) -> bool:
    """True when the memory meets the filter."""
    match filter_:
        case All(parts):
            return all(matches(memory, part) for part in parts)
        case AnyOf(parts):
            return any(matches(memory, part) for part in parts)
        case Not(part):
            return not matches(memory, part)
        case Condition():
            return _holds(_field(memory, filter_.path), filter_)


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


def _field(memory: Memory, path: Sequence[str]) -> object:
    name, *keys = path
    found: object = getattr(memory, name)
    if isinstance(found, datetime):
        return to_microseconds(found)
    if isinstance(found, StrEnum):
        return found.value
    for key in keys:
        found = cast("Mapping[str, object]", found).get(key) if isinstance(found, Mapping) else None
    return found
