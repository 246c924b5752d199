"""Evaluates a checked filter on a memory."""

from __future__ import annotations

from mnemic.model.filter import Filter, field_at, meets
from mnemic.model.item import Memory


def matches(memory: Memory, filter_: Filter) -> bool:
    """True when the memory meets the filter."""
    return meets(lambda path: field_at(getattr(memory, path[0]), path[1:]), filter_)
