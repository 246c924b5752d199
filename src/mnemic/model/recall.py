"""The answer to a question: hits that explain their score.

Which memories are asked for, beside whose they are.

What is put in front of the model.
"""

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
"""The floor wherever hits go to a model or a person asks, unless another is configured: half of ten sets lose no
evidence by it (see benchmarks/results/relevance.md).
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
    """One recalled thing. `score` is the sum of the points of its contributions; higher is better.

    `similarity` is the cosine to the query (None where either has no vector). `relevance` is the probability, 0 to 1,
    that the hit has to do with the query at all; it means the same in every store, where scores and similarities do
    not (None where it cannot be told: by similarity alone, without a vector, or with an embedding model that it is not
    calibrated for). A fallback hit did not match the query: it is general background, and its score is its importance
    as it has faded.
    """

    item: Item
    score: float
    similarity: float | None
    contributions: tuple[Contribution, ...]
    is_fallback: bool = False
    relevance: float | None = None

    @property
    def id(self) -> str:
        """The id of the item."""
        return self.item.id

    @property
    def text(self) -> str:
        """The stored text of the item."""
        return self.item.text


@dataclass(frozen=True, slots=True)
class Recall:
    """Hits, best first; `degraded` says which sources were missing and why; `timings_ms` where the time went. `paths`:
    where the graph was asked too, the ways between what the question is about, or to hits that it reached.
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
        """True when nothing matched and general background is given instead."""
        return bool(self.hits) and self.hits[0].is_fallback


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


class Placement(StrEnum):
    """Where the blocks go.

    LEADING merges all into one leading system message. BEFORE_LAST_USER keeps system prompt and profile as an
    untouched, cacheable prefix and puts what changes from turn to turn right before the current message.
    """

    LEADING = "leading"
    BEFORE_LAST_USER = "before_last_user"


@dataclass(frozen=True, slots=True)
class ChatMessage:
    """A message as chat models take it."""

    role: Role
    content: str


@dataclass(frozen=True, slots=True)
class Citation:
    """What the mark `[number]` in the facts and documents stands for; `get(item_id)` finds it.

    Of an excerpt of a document also: which document, its title, the first and last page (from 1) it stands on where
    they are known, and which characters of the document's text are shown, from `start` until before `end`; `item_id` is
    the chunk that was found.
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
    """`messages` are ready to send. `blocks` are the parts they were made of, in order, by name: system, profile,
    working, facts, documents, history. `token_count` counts what memory added (everything but the system prompt and the
    current message). `recall` holds what is shown: the facts, then the best chunk of each excerpt of a document, in the
    order of their numbers. `timings_ms` says how long each source took; `degraded` which were missing and why.
    """

    messages: tuple[ChatMessage, ...]
    blocks: Mapping[str, str]
    citations: tuple[Citation, ...]
    token_count: int
    recall: Recall
    degraded: tuple[str, ...]
    timings_ms: Mapping[str, float]
