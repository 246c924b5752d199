"""Which memories are asked for, beside whose they are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from mnemic.model.filter import EVERYTHING, Filter
from mnemic.model.item import Kind, Memory, Message, State


class Order(StrEnum):
    """Order of a listing. Ties are broken by id, so that pages never overlap."""

    NEWEST = "newest"
    OLDEST = "oldest"
    IMPORTANCE = "importance"


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryQuery:
    """Conditions on memories. What has expired at `now` is never shown.

    `states` and `kinds`: any of these (empty: every one, but erased tombstones only when named). `as_of`: true in the
    world at that time; `known_at`: known to us then. `after` is the id of the last memory of the page before.
    `or_flagged`: active memories that have flags too, whatever `states` says.
    IMPORTANCE orders by importance as it has faded, then access count, then newest.
    """

    now: datetime
    states: tuple[State, ...] = (State.ACTIVE,)
    kinds: tuple[Kind, ...] = ()
    filter: Filter = EVERYTHING
    as_of: datetime | None = None
    known_at: datetime | None = None
    order: Order = Order.NEWEST
    limit: int | None = None
    after: str | None = None
    or_flagged: bool = False


@dataclass(frozen=True, slots=True)
class Page:
    """Some memories in order; `next` is the id to continue after, None at the end."""

    memories: tuple[Memory, ...]
    next: str | None


@dataclass(frozen=True, slots=True)
class Counts:
    """How many there are: memories by state, active ones by kind, documents by status. What there is none of, and what
    was erased, is not named.
    """

    states: Mapping[str, int]
    kinds: Mapping[str, int]
    documents: Mapping[str, int]

    @classmethod
    def of(cls, memories: Iterable[tuple[str, str, int]], documents: Iterable[tuple[str, int]]) -> Counts:
        """From memories by state and kind, and documents by status."""
        states, kinds = Counter[str](), Counter[str]()
        for state, kind, count in memories:
            states[state] += count
            if state == State.ACTIVE:
                kinds[kind] += count
        return cls(dict(sorted(states.items())), dict(sorted(kinds.items())), dict(sorted(documents)))


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageQuery:
    """Conditions on messages, the newest first: by when each was said, then by its position, then by id.

    `since` and `until`: said then or later, and before then. `session`: of a session of this name alone. `after` is the
    id of the last message of the page before.
    """

    since: datetime | None = None
    until: datetime | None = None
    session: str | None = None
    limit: int = 50
    after: str | None = None


@dataclass(frozen=True, slots=True)
class MessagePage:
    """Some messages, the newest first; `next` is the id to continue after, None at the end."""

    messages: tuple[Message, ...]
    next: str | None
