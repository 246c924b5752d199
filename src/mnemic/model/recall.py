"""Search results, listings and their conditions, and the context for a model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from mnemic.model.filter import EVERYTHING, Filter
from mnemic.model.graph import GraphPath
from mnemic.model.item import Item, Kind, Memory, Message, Role, State

SHOWN_RELEVANCE = 0.2
"""The minimum relevance for models and people, unless configured. On half of ten test sets it loses no evidence (see
benchmarks/results/relevance.md).
"""


@dataclass(frozen=True, slots=True)
class Contribution:
    """One term of a linear score: `points` = `value` x `weight`."""

    feature: str
    value: float
    weight: float
    points: float


@dataclass(frozen=True, slots=True)
class Hit:
    """One search result. Its `score` is the sum of its contributions' points; higher is better.

    `similarity` is the cosine to the query, or None if either has no vector. `relevance` is the probability, 0 to 1,
    that the hit answers the query at all. Unlike scores, it is comparable across stores. It is None without a vector,
    when ranking by similarity alone, or with an embedding model that it is not calibrated for. A fallback hit did not
    match: it is background, and its score is its importance as it has faded.
    """

    item: Item
    score: float
    similarity: float | None
    contributions: tuple[Contribution, ...]
    is_fallback: bool = False
    relevance: float | None = None

    @property
    def id(self) -> str:
        """The item's id."""
        return self.item.id

    @property
    def text(self) -> str:
        """The item's stored text."""
        return self.item.text


@dataclass(frozen=True, slots=True)
class Recall:
    """Search results, best first. `degraded` lists unavailable sources with the reason; `timings_ms` has the time
    per step. `paths` has graph paths between things in the query, or from them to hits, if the graph was searched.
    """

    query: str
    hits: tuple[Hit, ...]
    degraded: tuple[str, ...]
    timings_ms: Mapping[str, float]
    paths: tuple[GraphPath, ...] = ()

    def __iter__(self) -> Iterator[Hit]:
        return iter(self.hits)

    def __len__(self) -> int:
        return len(self.hits)

    @property
    def is_fallback(self) -> bool:
        """True if nothing matched and the hits are background."""
        return bool(self.hits) and self.hits[0].is_fallback


class Order(StrEnum):
    """Order of a listing. Ties are broken by id, so pages never overlap."""

    NEWEST = "newest"
    OLDEST = "oldest"
    IMPORTANCE = "importance"


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryQuery:
    """Conditions on memories. Memories that expired before `now` are never returned.

    `states` and `kinds`: any of these. Empty means all, except erased tombstones, which must be named. `as_of`: true in
    the world at that time; `known_at`: known to us then. `after` is the id of the previous page's last memory.
    `or_flagged` adds flagged active memories, whatever `states` says. IMPORTANCE orders by faded importance, then
    access count, then newest.
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
    """One page of memories. `next` is the id to continue after, or None at the end."""

    memories: tuple[Memory, ...]
    next: str | None


@dataclass(frozen=True, slots=True)
class Counts:
    """Number of memories by state, of active ones by kind, and of documents by status; no zeros, none erased."""

    states: Mapping[str, int]
    kinds: Mapping[str, int]
    documents: Mapping[str, int]

    @classmethod
    def of(cls, memories: Iterable[tuple[str, str, int]], documents: Iterable[tuple[str, int]]) -> Counts:
        """Add up counts by state and kind, and documents by status."""
        states, kinds = Counter[str](), Counter[str]()
        for state, kind, count in memories:
            states[state] += count
            if state == State.ACTIVE:
                kinds[kind] += count
        return cls(dict(sorted(states.items())), dict(sorted(kinds.items())), dict(sorted(documents)))


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageQuery:
    """Conditions on messages, newest first: by the time they were said, then position, then id.

    `since`: said then or later. `until`: said before then. `session`: only this session. `after` is the id of the
    previous page's last message.
    """

    since: datetime | None = None
    until: datetime | None = None
    session: str | None = None
    limit: int = 50
    after: str | None = None


@dataclass(frozen=True, slots=True)
class MessagePage:
    """One page of messages, newest first. `next` is the id to continue after, or None at the end."""

    messages: tuple[Message, ...]
    next: str | None


class Placement(StrEnum):
    """Where the blocks of a context go.

    LEADING merges them into one leading system message. BEFORE_LAST_USER keeps system prompt and profile as a stable,
    cacheable prefix and puts everything else right before the current message.
    """

    LEADING = "leading"
    BEFORE_LAST_USER = "before_last_user"


@dataclass(frozen=True, slots=True)
class ChatMessage:
    """A chat message for a model."""

    role: Role
    content: str


@dataclass(frozen=True, slots=True)
class Citation:
    """The source behind a mark `[number]` in the facts and documents. `get(item_id)` returns it.

    For a document excerpt, `item_id` is the chunk that was found, and the document, its title, the first and last page
    (from 1, if known) and the shown characters of its text (`start` to `end`, half-open) are set too.
    """

    number: int
    item_id: str
    kind: str
    source: str
    observed_at: datetime
    document_id: str | None = None
    title: str = ""
    page: int | None = None
    last_page: int | None = None
    start: int | None = None
    end: int | None = None


@dataclass(frozen=True, slots=True)
class Context:
    """`messages` are ready to send. `blocks` are the parts they are made of, in order, by name: system, profile,
    working, facts, documents, history. `token_count` is what memory added: everything but the system prompt and the
    current message. `recall` has the facts shown, then the best chunk of each document excerpt, by number.
    `timings_ms` has the time per source; `degraded` lists unavailable sources with the reason.
    """

    messages: tuple[ChatMessage, ...]
    blocks: Mapping[str, str]
    citations: tuple[Citation, ...]
    token_count: int
    recall: Recall
    degraded: tuple[str, ...]
    timings_ms: Mapping[str, float]
