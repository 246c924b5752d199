"""Items (messages, memories, chunks): drafts, states and origins. Facts, gems, conversations, profiles and reviews."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime
from enum import StrEnum
from typing import cast

from mnemic.model.bookkeeping import chosen_in, gem_fields_in, merged_in
from mnemic.model.listing import Listing, OneLine
from mnemic.model.scope import MAX_ID_CHARS, PROJECT_PREFIX, Level, Partition


class Role(StrEnum):
    """Who speaks in a conversation."""

    USER = "user"
    ASSISTANT = "assistant"
    SYSTEM = "system"
    TOOL = "tool"

    @property
    def trust(self) -> Trust:
        """The highest trust of a message in this role. A caller can lower the trust, but not raise it."""
        return {Role.USER: Trust.USER, Role.TOOL: Trust.TOOL}.get(self, Trust.ASSISTANT)


class Trust(StrEnum):
    """The origin of a text. Derived text inherits the lowest trust of its sources (`TRUST_ORDER`)."""

    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"
    DOCUMENT = "document"
    IMPORTED = "imported"

    @staticmethod
    def lowest(*given: Trust) -> Trust:
        """The lowest of these."""
        return min(given, key=TRUST_ORDER.index)


TRUST_ORDER: tuple[Trust, ...] = (Trust.IMPORTED, Trust.DOCUMENT, Trust.TOOL, Trust.ASSISTANT, Trust.USER)
"""From the lowest to the highest."""


class State(StrEnum):
    """The state of a row. Only `active` rows are recalled by default."""

    ACTIVE = "active"
    QUARANTINED = "quarantined"
    SUPERSEDED = "superseded"
    DISPUTED = "disputed"
    ARCHIVED = "archived"
    ERASED = "erased"


class Cause(StrEnum):
    """Why a memory may be wrong: what happened to its source."""

    ERASED = "erased"
    CORRECTED = "corrected"
    SUPERSEDED = "superseded"
    OUTDATED = "outdated"
    DISPUTED = "disputed"
    QUARANTINED = "quarantined"
    REJECTED = "rejected"


class Kind(StrEnum):
    """The kind of a memory. Each memory has exactly one kind, and any number of categories (free tags)."""

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
    ATTEMPT = "attempt"
    SCRATCHPAD = "scratchpad"
    DOCUMENT = "document"


@dataclass(frozen=True, slots=True)
class Provenance:
    """The origin of a derived memory: characters `start` to `end` (half-open) of the stored text of `source_id`.

    `support` (0 to 1) measures how well that span supports the memory. `extractor` and `version` name the extractor.
    """

    source_id: str
    start: int
    end: int
    extractor: str
    version: str
    support: float


@dataclass(frozen=True, slots=True)
class Flag:
    """Marks a memory derived, directly or indirectly, from a source that has changed.

    `source_id` names the source, `cause` the change, and `entry_id` the source's history entry. Reverting that change
    removes the flag.
    """

    source_id: str
    cause: Cause
    at: datetime
    entry_id: str


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Message(OneLine):
    """One utterance, verbatim and immutable: the unit of indexing, citation and trust.

    `session` names the conversation, and `turn` and `position` (from 1) the place in it. `observed_at` is when the
    message was said, and `created_at` when it was stored. `external_id` is the caller's id, unique in the conversation.
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
    bookkeeping: Mapping[str, object] = field(default_factory=dict[str, object])

    @property
    def author(self) -> str:
        """The name, or the role if there is no name."""
        return self.name or self.role.value

    @property
    def private_agent(self) -> str | None:
        """The message's project, if any. Messages are not private to other agents."""
        return self.agent if self.agent is not None and self.agent.startswith(PROJECT_PREFIX) else None


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Memory(OneLine):
    """One statement worth keeping.

    `importance` and `confidence` are 0 to 1. `agent` stored the memory. If `private_agent` is set, only that agent sees
    the memory. The memory is true in the world from `valid_from` until before `valid_to` (None: open), was known from
    `created_at` until before `retired_at`, and expires at `expires_at`. `other_id` names the memory that superseded or
    disputes it. `dedup_key` is unique per partition and private agent among active and quarantined memories. `faded` is
    the faded importance from the last upkeep, or None after an access. A memory with `flags` needs review. `metadata`
    belongs to the caller, and `bookkeeping` to Mnemic (`model.bookkeeping`).
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
    bookkeeping: Mapping[str, object] = field(default_factory=dict[str, object])

    @property
    def source_ids(self) -> frozenset[str]:
        """The ids of all sources of the memory: its provenance and the memories merged into it."""
        taken_in = (*merged_in(self.bookkeeping), *chosen_in(self.bookkeeping))
        named = (*taken_in, *(entry.source_id for entry in self.provenance))
        return frozenset(i for i in named if 0 < len(i) <= MAX_ID_CHARS and "\0" not in i and i != self.id)

    @property
    def present_importance(self) -> float:
        """The importance after decay."""
        return self.importance if self.faded is None else self.faded

    @property
    def level(self) -> Level:
        """The level of the owner."""
        return self.partition.level


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Chunk(OneLine):
    """A passage of a document: characters `start` to `end` (half-open) of the document's text.

    `index` counts from 0. `page` and `last_page` are its first and last page, from 1, or None if the format has no
    pages. `headings` are the titles above the passage, outermost first. `title`, `source` and `metadata` are the
    document's.
    `observed_at` is the time when the document was read.
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
    metadata: Mapping[str, object] = field(default_factory=dict[str, object])

    @property
    def level(self) -> Level:
        """The level of the owner."""
        return self.partition.level

    @property
    def heading(self) -> str:
        """The headings above the passage as one line, or "" if there are none."""
        return " > ".join(self.headings)

    def section_of(self, text: str) -> str:
        """The headings for an excerpt with this text, or "" if the text already contains the last heading."""
        return "" if not self.headings or self.headings[-1] in text else self.heading


@dataclass(frozen=True, slots=True)
class ResearchQuote:
    """A verbatim quote: characters `start` to `end` of the document, on `page` to `last_page` (from 1) if known."""

    text: str
    start: int
    end: int
    page: int | None = None
    last_page: int | None = None


Item = Message | Memory | Chunk
Remembered = Message | Memory
"""Messages and memories: all items except document passages."""


def kind_of(item: Item) -> str:
    """The kind of an item: a memory's kind, "message" or "document"."""
    if isinstance(item, Memory):
        return item.kind.value
    return "message" if isinstance(item, Message) else Kind.DOCUMENT.value


@dataclass(frozen=True, slots=True, repr=False)
class Turn(Listing[Message]):
    """The messages of one exchange, numbered from 1 in their conversation (`session`).

    `left_out`: number of messages skipped or shortened because Mnemic itself added them to the prompt. If nothing else
    was passed, there are no messages, and no turn is stored. `redacted`: the kinds of secrets removed from the stored
    text.
    """

    id: str
    session: str
    number: int
    messages: tuple[Message, ...]
    left_out: int = 0
    redacted: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageDraft:
    """A message to capture. If `observed_at` is None, the time is now. If `trust` is None, the role's trust applies."""

    role: Role
    text: str
    name: str | None = None
    observed_at: datetime | None = None
    external_id: str | None = None
    trust: Trust | None = None
    metadata: Mapping[str, object] = field(default_factory=dict[str, object])


@dataclass(frozen=True, slots=True, kw_only=True)
class NotedDraft(MessageDraft):
    """A message that Mnemic itself captures, with its bookkeeping. Callers cannot send one."""

    bookkeeping: Mapping[str, object] = field(default_factory=dict[str, object])


def notes_on(draft: MessageDraft) -> Mapping[str, object]:
    """The bookkeeping of a message that Mnemic captures."""
    return draft.bookkeeping if isinstance(draft, NotedDraft) else {}


def noted(draft: MessageDraft, bookkeeping: Mapping[str, object]) -> NotedDraft:
    """The draft with bookkeeping."""
    given = {each.name: getattr(draft, each.name) for each in fields(MessageDraft)}
    return NotedDraft(**given, bookkeeping=bookkeeping)


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryDraft:
    """A memory to store. `level` defaults to the scope's default level, `observed_at` to now. `key` is the caller's
    name for the memory. Memories with different keys are never merged or compared, even if their texts agree.
    """

    text: str
    kind: Kind = Kind.FACT
    level: Level | None = None
    importance: float = 0.8
    confidence: float = 1.0
    categories: tuple[str, ...] = ()
    context: str = ""
    snippet: str = ""
    source: str = ""
    observed_at: datetime | None = None
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    expires_at: datetime | None = None
    is_private: bool = False
    is_pinned: bool = False
    trust: Trust = Trust.USER
    provenance: tuple[Provenance, ...] = ()
    metadata: Mapping[str, object] = field(default_factory=dict[str, object])
    key: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """A fact that an extractor found: a sentence in the third person that makes sense without its conversation.

    `slot` names the user attribute that the fact sets, such as `home`, and `value` is the new value. Both are "" if the
    fact sets none. `observed_at`: when the fact was said. `valid_from`, `valid_to`: when the fact is true in the world,
    if known. `provenance` names the source messages and characters. `trust` is the lowest of its sources.
    """

    text: str
    kind: Kind
    observed_at: datetime
    importance: float = 0.5
    confidence: float = 0.8
    categories: tuple[str, ...] = ()
    context: str = ""
    snippet: str = ""
    slot: str = ""
    value: str = ""
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    provenance: tuple[Provenance, ...] = ()
    trust: Trust = Trust.USER
    bookkeeping: Mapping[str, object] = field(default_factory=dict[str, object])


IMPORTANCE_WORDS = {"low": 0.3, "medium": 0.6, "high": 0.9}
"""Words for importance, lowest first, with their numbers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Gem:
    """Information worth knowing in six months: the statement (`gem`), the reason why it matters (`context`), and the
    source dialogue with the speakers' names (`snippet`).

    `importance` is a word, and `confidence` is 0 to 1. `timestamp` is ISO 8601 in the schedules' time zone, `date` its
    first ten characters. `source_turns` are turn numbers in the conversation, ascending; `turn_range` is "first-last",
    with a comma at each gap.
    """

    gem: str
    context: str
    snippet: str
    categories: tuple[str, ...]
    importance: str
    confidence: float
    timestamp: str
    date: str
    conversation_id: str
    turn_range: str
    source_turns: tuple[int, ...]


def gem_of(memory: Memory) -> Gem:
    """The gem in a memory of kind gem. Missing fields are "" or empty."""
    told = gem_fields_in(memory.bookkeeping)
    return Gem(
        gem=memory.text,
        context=memory.context,
        snippet=memory.snippet,
        categories=memory.categories,
        importance=importance_word(memory.importance),
        confidence=memory.confidence,
        timestamp=str(told["timestamp"]),
        date=str(told["date"]),
        conversation_id=str(told["conversation_id"]),
        turn_range=str(told["turn_range"]),
        source_turns=tuple(cast("Sequence[int]", told["source_turns"] or ())),
    )


def importance_word(importance: float) -> str:
    """The nearest word; of two equally near ones, the higher."""
    return min(reversed(IMPORTANCE_WORDS), key=lambda word: abs(IMPORTANCE_WORDS[word] - importance))


def turn_range(turns: Sequence[int]) -> str:
    """Format ascending turns: "15-16" for 15 and 16, "15-16,18" for 15, 16 and 18, "15-15" for one turn."""
    runs: list[list[int]] = []
    for turn in turns:
        if runs and turn == runs[-1][-1] + 1:
            runs[-1].append(turn)
        else:
            runs.append([turn])
    if len(runs) == 1:
        return f"{turns[0]}-{turns[-1]}"
    return ",".join(f"{run[0]}-{run[-1]}" if len(run) > 1 else str(run[0]) for run in runs)


SUMMARISED = "summarised"
"""Cursor after the last summarised message."""

ENDED = "ended"
"""Cursor after the last message before the session was ended. Earlier messages are in no window."""

CURATED = "curated"
"""Cursor after the last curated message."""

CURATE_TRIES = "curate_tries"
"""Counter of curator runs that kept the cursor before a rejected gem's turns."""

EXTRACTED = "extracted"
"""Cursor after the last message searched for facts."""

CURSORS = (SUMMARISED, ENDED, EXTRACTED, CURATED, CURATE_TRIES)
"""Every cursor and counter of a conversation."""


@dataclass(frozen=True, slots=True)
class Conversation:
    """A session's number of turns and messages, and the times of its start and last message."""

    partition: Partition
    session: str
    turns: int
    messages: int
    started_at: datetime
    last_at: datetime


EXTRACTION = "extraction"
DERIVED_SOURCES = (EXTRACTION, "curation", "reflection")
"""Sources of profile entries that were derived, not set by a person."""


@dataclass(frozen=True, slots=True)
class ProfileEntry:
    """One fact of a profile, as text under a key. `source` names the origin ("library", "cli", "extraction", …)."""

    partition: Partition
    key: str
    value: str
    source: str
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class Profile:
    """An overview of a user: `static` facts by key, and the most important and newest memories as `dynamic`."""

    static: tuple[ProfileEntry, ...]
    dynamic: tuple[Memory, ...]


@dataclass(frozen=True, slots=True)
class Review:
    """A quarantined, disputed or flagged memory, with the reason and the time since when it needs review."""

    memory: Memory
    reason: str
    since: datetime


class Verdict(StrEnum):
    """The outcome for an extracted fact."""

    ADD = "add"
    MERGE = "merge"
    SUPERSEDE = "supersede"
    DISPUTE = "dispute"
    DROP = "drop"
    QUARANTINE = "quarantine"


class Judgement(StrEnum):
    """How the newer of two statements relates to the older. CHANGED: both cannot be true at once."""

    SAME = "same"
    CHANGED = "changed"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Decision:
    """What was done with a fact. `memory_id` is the memory that now states it, or the current one if the fact is
    no longer true; None if it was dropped. `other_id` is the memory it was merged with, or conflicts with.
    """

    action: Verdict
    memory_id: str | None
    other_id: str | None = None
    reason: str = ""
