"""Search results, listings and their conditions, and the context for a model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from html import escape
from itertools import groupby
from typing import Any

from mnemic.model.filter import EVERYTHING, Filter
from mnemic.model.graph import GraphPath
from mnemic.model.item import Item, Kind, Memory, Message, ResearchQuote, Role, State, kind_of
from mnemic.model.listing import SHOWN, Listing, shorten
from mnemic.model.scope import Partition

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
    when ranking by similarity alone, or if it is not calibrated for the embedding model. A fallback hit did not
    match: it is background, and its score is its decayed importance. `quote` is the sentence of a document's passage
    that shares the most words with the query, with its place and page; None if none shares any, and in contexts.
    """

    item: Item
    score: float
    similarity: float | None
    contributions: tuple[Contribution, ...]
    is_fallback: bool = False
    relevance: float | None = None
    quote: ResearchQuote | None = None

    @property
    def id(self) -> str:
        """The item's id."""
        return self.item.id

    @property
    def text(self) -> str:
        """The item's stored text."""
        return self.item.text

    @property
    def kind(self) -> str:
        """The memory's kind, "message" or "document"."""
        return kind_of(self.item)

    @property
    def source(self) -> str:
        """Where it comes from: the memory's or document's source, or the message's session."""
        return self.item.session if isinstance(self.item, Message) else self.item.source

    @property
    def page(self) -> int | None:
        """The page of a document, from 1; None for anything else, or if its format has no pages."""
        return getattr(self.item, "page", None)

    @property
    def at(self) -> datetime:
        """When it was said, observed or read."""
        return self.item.observed_at

    @property
    def author(self) -> str:
        """The speaker of a message, or the agent that stored a memory; "" if unknown."""
        return self.item.author if isinstance(self.item, Message) else getattr(self.item, "agent", None) or ""

    def __repr__(self) -> str:
        share = "     " if self.relevance is None else f"{self.relevance:4.0%} "
        page = "" if self.page is None else f", page {self.page}"
        return f"{share}{shorten(self.text, 76)!r} ({self.kind}, {self.at:%Y-%m-%d}{page})"


@dataclass(frozen=True, slots=True, repr=False)
class Recall(Listing[Hit]):
    """Search results, best first. `degraded` lists unavailable sources with the reason; `timings_ms` has the time
    per step. `paths` has graph paths between things in the query, or from them to hits, if the graph was searched.
    `searched`: number of rows that the hits were chosen from, 0 if nothing was searched.
    """

    query: str
    hits: tuple[Hit, ...]
    degraded: tuple[str, ...]
    timings_ms: Mapping[str, float]
    paths: tuple[GraphPath, ...] = ()
    searched: int = 0

    @property
    def is_fallback(self) -> bool:
        """True if nothing matched and the hits are background."""
        return bool(self.hits) and self.hits[0].is_fallback

    def _repr_html_(self) -> str:
        """A table with bars, for notebooks."""
        rows = "".join(
            f"<tr><td><meter value={hit.relevance or 0:.2f}></meter><td>{escape(shorten(hit.text))}"
            f"<td>{escape(hit.kind)}<td>{hit.at:%Y-%m-%d}"
            for hit in self.hits[:SHOWN]
        )
        return f"<table><caption>{escape(shorten(self.query))}</caption>{rows}</table>"


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
    `or_flagged` adds flagged active memories, whatever `states` says. `ending`: how the id ends. IMPORTANCE orders by
    faded importance, then access count, then newest.
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
    ending: str = ""


@dataclass(frozen=True, slots=True, repr=False)
class Page(Listing[Memory]):
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
    previous page's last message. `ending`: how the id ends.
    """

    since: datetime | None = None
    until: datetime | None = None
    session: str | None = None
    limit: int = 50
    after: str | None = None
    ending: str = ""


@dataclass(frozen=True, slots=True, repr=False)
class MessagePage(Listing[Message]):
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

    For a document excerpt, `item_id` is the chunk that was found. Also set are the document, its title, the first and
    last page (from 1, if known), the shown characters of its text (`start` to `end`, half-open), and the `section`: the
    headings above it, or the function or class of source code.
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
    section: str = ""


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

    @property
    def text(self) -> str:
        """What memory adds to the prompt, as one text: all blocks except the system prompt."""
        return "\n\n".join(text for name, text in self.blocks.items() if name != "system")

    def to_openai(self) -> list[Any]:
        """`messages` for OpenAI's `client.chat.completions.create(messages=…)`."""
        return [{"role": _spoken(message.role).value, "content": message.content} for message in self.messages]

    def to_anthropic(self) -> dict[str, Any]:
        """`system` and `messages` for Anthropic's `client.messages.create(**…)`. System texts are joined, and roles
        alternate, starting with the user.
        """
        told = [message.content for message in self.messages if message.role is Role.SYSTEM]
        said = [message for message in self.messages if message.role is not Role.SYSTEM]
        turns: list[Any] = []
        if said and _spoken(said[0].role) is not Role.USER:
            turns.append({"role": "user", "content": "(Earlier messages are left out.)"})
        for role, group in groupby(said, key=lambda message: _spoken(message.role)):
            turns.append({"role": role.value, "content": "\n\n".join(message.content for message in group)})
        return {"system": "\n\n".join(told), "messages": turns}

    def __repr__(self) -> str:
        counts = {"token": self.token_count, "citation": len(self.citations), "message": len(self.messages)}
        head = ", ".join(f"{count} {name if count == 1 else name + 's'}" for name, count in counts.items())
        return "\n".join(
            [f"Context({head})", *(f"  {shorten(f'{name}: {text}')}" for name, text in self.blocks.items())]
        )

    def _repr_html_(self) -> str:
        """The blocks, for notebooks."""
        return "".join(
            f"<details open><summary>{escape(name)}</summary><pre>{escape(text)}</pre></details>"
            for name, text in self.blocks.items()
        )


@dataclass(frozen=True, slots=True)
class ShownItem:
    """An item that a context put into a block of the prompt, with its relevance (None: unknown)."""

    id: str
    block: str
    relevance: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextRecord:
    """What a context showed to a model: ids and settings. Its only text is the query.

    `door`: where it was built, such as proxy, chat or mcp. `message_id`: the message that it was built for. `query`:
    its text, redacted and cut, and dropped once the message is stored. `settings`: the arguments that differ from the
    defaults. `blocks`: tokens per block, and `tokens` all that memory added. `took_ms`: how long the model waited.
    """

    id: str
    partition: Partition
    at: datetime
    door: str
    session: str | None = None
    agent: str | None = None
    message_id: str | None = None
    query: str = ""
    settings: Mapping[str, object] = field(default_factory=dict[str, object])
    blocks: Mapping[str, int] = field(default_factory=dict[str, int])
    items: tuple[ShownItem, ...] = ()
    tokens: int = 0
    took_ms: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextQuery:
    """Conditions on recorded contexts. `after`: the id of the previous page's last one."""

    session: str | None = None
    agent: str | None = None
    message_id: str | None = None
    id: str | None = None
    limit: int = 50
    after: str | None = None


@dataclass(frozen=True, slots=True, repr=False)
class ContextPage(Listing[ContextRecord]):
    """One page of recorded contexts, newest first. `next` is the id to continue after, or None at the end."""

    contexts: tuple[ContextRecord, ...]
    next: str | None


def _spoken(role: Role) -> Role:
    """The role that a client accepts: a tool's message without its call is sent as the user's."""
    return Role.USER if role is Role.TOOL else role
