"""What is kept: messages (what was said), memories (what is worth keeping) and chunks (passages of documents)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import cast

from mnemic.model.scope import MAX_ID_CHARS, Level, Partition


class Role(StrEnum):
    """Who speaks in a conversation."""

    USER = "user"
    ASSISTANT = "assistant"
    SYSTEM = "system"
    TOOL = "tool"


class Trust(StrEnum):
    """Where a text came from; derived text inherits the lowest trust of its sources (`TRUST_ORDER`)."""

    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"
    DOCUMENT = "document"
    IMPORTED = "imported"


TRUST_ORDER: tuple[Trust, ...] = (Trust.IMPORTED, Trust.DOCUMENT, Trust.TOOL, Trust.ASSISTANT, Trust.USER)
"""From the lowest to the highest."""


class State(StrEnum):
    """Where a row stands in its life; only `active` ones are recalled by default."""

    ACTIVE = "active"
    QUARANTINED = "quarantined"
    SUPERSEDED = "superseded"
    DISPUTED = "disputed"
    ARCHIVED = "archived"
    ERASED = "erased"


class Cause(StrEnum):
    """What became of something that a memory was made of, so that the memory may be wrong too."""

    ERASED = "erased"
    CORRECTED = "corrected"
    SUPERSEDED = "superseded"
    OUTDATED = "outdated"
    DISPUTED = "disputed"
    QUARANTINED = "quarantined"
    REJECTED = "rejected"


class Kind(StrEnum):
    """What sort of memory it is; exactly one per memory (categories are tags beside it)."""

    FACT = "fact"
    GOAL = "goal"
    PREFERENCE = "preference"
    CONTEXT = "context"
    EVENT = "event"
    SUMMARY = "summary"
    REFLECTION = "reflection"
    GEM = "gem"
    LEARNING = "learning"
    STATE = "state"
    PERSONA = "persona"
    SCRATCHPAD = "scratchpad"
    DOCUMENT = "document"


@dataclass(frozen=True, slots=True)
class Provenance:
    """Where a derived memory came from: characters `start` to `end` (half-open) of the stored text of `source_id`.

    `support` (0..1) says how well that span carries the memory; `extractor` and `version` name who derived it.
    """

    source_id: str
    start: int
    end: int
    extractor: str
    version: str
    support: float


@dataclass(frozen=True, slots=True)
class Flag:
    """Says that a memory was made, directly or by way of others, of something that is no longer believed as it was.

    `source_id` names that, `cause` what became of it, `entry_id` the entry in its history that says so: whoever takes
    that back takes the flag away.
    """

    source_id: str
    cause: Cause
    at: datetime
    entry_id: str


MERGED_IDS, CHOSEN_IDS = "merged_ids", "chosen_ids"
"""In the metadata of a memory: the ids of those that were merged into it, and of the choices that it sums up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One utterance, verbatim and immutable: the unit that is indexed, cited and trusted.

    `session` names its conversation, `turn` and `position` (from 1) its place there; `observed_at` is when it was said,
    `created_at` when we learned it. `external_id` is the caller's own id, unique in its conversation.
    """

    id: str
    partition: Partition
    session: str
    turn_id: str
    turn: int
    position: int
    role: Role
    name: str | None
    text: str
    observed_at: datetime
    created_at: datetime
    agent: str | None = None
    external_id: str | None = None
    trust: Trust = Trust.USER
    state: State = State.ACTIVE
    metadata: Mapping[str, object] = field(default_factory=dict[str, object])

    @property
    def author(self) -> str:
        """The name where there is one, else the role."""
        return self.name or self.role.value

    @property
    def private_agent(self) -> None:
        """Messages are never private to an agent."""
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """One thing worth keeping.

    `importance` and `confidence` are 0..1. `agent` noted it; when `private_agent` is set, only that agent sees it.
    It is true in the world from `valid_from` until before `valid_to` (None: open), was known to us from `created_at`
    until before `retired_at`, and is gone at `expires_at`. `other_id` names what superseded or disputes it.
    `dedup_key` is unique per partition and private agent among active and quarantined memories. `faded` is what upkeep
    last found its importance to have faded to; None since it was accessed. One with `flags` waits for a review.
    """

    id: str
    partition: Partition
    text: str
    kind: Kind
    dedup_key: str
    created_at: datetime
    updated_at: datetime
    observed_at: datetime
    importance: float = 0.5
    confidence: float = 1.0
    categories: tuple[str, ...] = ()
    context: str = ""
    snippet: str = ""
    source: str = ""
    agent: str | None = None
    private_agent: str | None = None
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    retired_at: datetime | None = None
    expires_at: datetime | None = None
    last_accessed_at: datetime | None = None
    access_count: int = 0
    faded: float | None = None
    is_pinned: bool = False
    state: State = State.ACTIVE
    other_id: str | None = None
    trust: Trust = Trust.USER
    provenance: tuple[Provenance, ...] = ()
    metadata: Mapping[str, object] = field(default_factory=dict[str, object])
    flags: tuple[Flag, ...] = ()

    @property
    def source_ids(self) -> frozenset[str]:
        """The ids of all that it was made of: what its provenance names, and memories that it took in."""
        named = [self.metadata.get(key) for key in (MERGED_IDS, CHOSEN_IDS)]
        taken_in = [i for ids in named if isinstance(ids, list) for i in cast("list[object]", ids)]
        texts = [i for i in taken_in if isinstance(i, str)] + [entry.source_id for entry in self.provenance]
        return frozenset(i for i in texts if 0 < len(i) <= MAX_ID_CHARS and "\0" not in i and i != self.id)

    @property
    def present_importance(self) -> float:
        """Its importance as it has faded."""
        return self.importance if self.faded is None else self.faded

    @property
    def level(self) -> Level:
        """The level it belongs to."""
        return self.partition.level


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunk:
    """A passage of a document: `text` is the document's text from character `start` until before `end`.

    `index` counts from 0. `page` and `last_page`: on which it begins and ends, from 1; None where the format has no
    pages. `headings`: the titles it stands under, outermost first. `title` and `source` are the document's.
    `observed_at` is when the document was read.
    """

    id: str
    partition: Partition
    document_id: str
    index: int
    start: int
    end: int
    text: str
    token_count: int
    title: str
    source: str
    created_at: datetime
    observed_at: datetime
    page: int | None = None
    last_page: int | None = None
    headings: tuple[str, ...] = ()
    private_agent: str | None = None
    state: State = State.ACTIVE
    trust: Trust = Trust.DOCUMENT

    @property
    def level(self) -> Level:
        """The level it belongs to."""
        return self.partition.level

    @property
    def heading(self) -> str:
        """The way to it through the document in one line, "" where it stands under no heading."""
        return " > ".join(self.headings)


Item = Message | Memory | Chunk
Remembered = Message | Memory
"""What was said, and what was made of it: all but the passages of documents."""


@dataclass(frozen=True, slots=True)
class Turn:
    """The messages of one exchange, numbered from 1 in their conversation (`session`).

    `left_out`: how many messages were not captured, or not whole, because Mnemic itself had put them into the prompt.
    Where nothing else was given there are no messages, and no turn is kept under the id. `redacted`: the kinds of
    secrets that were taken out of what this call stored.
    """

    id: str
    session: str
    number: int
    messages: tuple[Message, ...]
    left_out: int = 0
    redacted: tuple[str, ...] = ()
