"""Looks at what is kept, by id or by condition."""

from __future__ import annotations

from dataclasses import replace

from mnemic.engine.parts import Parts
from mnemic.errors import InvalidInputError, NotFoundError
from mnemic.model.history import HistoryEntry
from mnemic.model.item import Item, Message
from mnemic.model.query import MemoryQuery, Page
from mnemic.model.scope import Level, Scope

MAX_PAGE = 1000


def get(parts: Parts, scope: Scope, item_id: str) -> Item:
    """The memory or message with this id. Raises `NotFoundError` when there is none in this scope, or it has
    expired.
    """
    now = parts.clock.now()
    with parts.store.read() as work:
        found: list[Item] = [*work.memories.get(scope.visibility, [item_id])]
        found += work.messages.get(scope.visibility, [item_id])
    live = [item for item in found if isinstance(item, Message) or item.expires_at is None or item.expires_at > now]
    if not live:
        raise NotFoundError(f"there is no memory or message {item_id!r} in this scope")
    return live[0]


def list_memories(parts: Parts, scope: Scope, query: MemoryQuery, levels: tuple[Level, ...]) -> Page:
    """One page of the visible memories of some levels (none: of all). `query.limit` must be within 1..1000."""
    limit = MAX_PAGE if query.limit is None else query.limit
    if not 1 <= limit <= MAX_PAGE:
        raise InvalidInputError(f"limit must be from 1 to {MAX_PAGE}, not {limit}")
    with parts.store.read() as work:
        found = work.memories.list(scope.visibility.at(*levels), replace(query, limit=limit + 1))
    page = tuple(found[:limit])
    return Page(page, page[-1].id if len(found) > limit else None)


def history(parts: Parts, scope: Scope, item_id: str) -> list[HistoryEntry]:
    """What happened to an item, oldest first, also after it was deleted. Raises `NotFoundError` when nothing did."""
    with parts.store.read() as work:
        entries = work.history.of(scope.visibility, item_id)
        if not entries and not work.messages.get(scope.visibility, [item_id]):
            raise NotFoundError(f"there is no memory or message {item_id!r} in this scope")
    return entries
