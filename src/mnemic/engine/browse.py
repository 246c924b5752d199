"""Looks at what is kept, by id or by condition."""

from __future__ import annotations

from dataclasses import replace

from mnemic.engine.parts import Parts
from mnemic.engine.recall.refine import rows_of
from mnemic.errors import InvalidInputError, NotFoundError
from mnemic.model.history import HistoryEntry
from mnemic.model.item import Item, Memory
from mnemic.model.query import Counts, MemoryQuery, MessagePage, MessageQuery, Page
from mnemic.model.scope import Level, Scope

MAX_PAGE = 1000


def get(parts: Parts, scope: Scope, item_id: str) -> Item:
    """The memory, message or passage of a document with this id. Raises `NotFoundError` when there is none in this
    scope, or it has expired.
    """
    found = rows_of(parts, scope.visibility, [item_id]).get(item_id)
    is_expired = isinstance(found, Memory) and found.expires_at is not None and found.expires_at <= parts.clock.now()
    if found is None or is_expired:
        raise NotFoundError(f"there is no memory, message or passage {item_id!r} in this scope")
    return found


def list_memories(parts: Parts, scope: Scope, query: MemoryQuery, levels: tuple[Level, ...]) -> Page:
    """One page of the visible memories of some levels (none: of all). `query.limit` must be within 1..1000."""
    limit = MAX_PAGE if query.limit is None else query.limit
    if not 1 <= limit <= MAX_PAGE:
        raise InvalidInputError(f"limit must be from 1 to {MAX_PAGE}, not {limit}")
    with parts.store.read() as work:
        found = work.memories.list(scope.visibility.at(*levels), replace(query, limit=limit + 1))
    page = tuple(found[:limit])
    return Page(page, page[-1].id if len(found) > limit else None)


def count(parts: Parts, scope: Scope) -> Counts:
    """How many memories and documents the scope sees."""
    with parts.store.read() as work:
        return work.partitions.tally(scope.visibility, parts.clock.now())


def list_messages(parts: Parts, scope: Scope, query: MessageQuery) -> MessagePage:
    """One page of the visible messages, the newest first. `query.limit` must be within 1..1000."""
    if not 1 <= query.limit <= MAX_PAGE:
        raise InvalidInputError(f"limit must be from 1 to {MAX_PAGE}, not {query.limit}")
    with parts.store.read() as work:
        found = work.conversations.said(scope.visibility, replace(query, limit=query.limit + 1))
    page = tuple(found[: query.limit])
    return MessagePage(page, page[-1].id if len(found) > query.limit else None)


def history(parts: Parts, scope: Scope, item_id: str) -> list[HistoryEntry]:
    """What happened to an item, oldest first, also after it was deleted. Raises `NotFoundError` when nothing did."""
    with parts.store.read() as work:
        entries = work.history.of(scope.visibility, item_id)
        if not entries and not work.messages.get(scope.visibility, [item_id]):
            raise NotFoundError(f"there is no memory or message {item_id!r} in this scope")
    return entries
