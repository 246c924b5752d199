"""What is kept: messages (what was said), memories (what is worth keeping) and chunks (passages of documents).

What a caller hands in: not yet checked, not yet anybody's.

What an extractor found in messages, before it is compared with what is known.

What the curator keeps of a day: a gem, and the memory that holds it.

The running state of one conversation.

Hard facts of a user: always in the prompt.

What waits for a person's judgement.

What became of a fact, and what a model says of two memories.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime
from enum import StrEnum
from typing import cast

from mnemic.model.bookkeeping import chosen_in, gem_fields_in, merged_in
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
    bookkeeping: Mapping[str, object] = field(default_factory=dict[str, object])

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
    `metadata` is the caller's, `bookkeeping` Mnemic's own (`model.bookkeeping`).
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
        """The ids of all that it was made of: what its provenance names, and memories that it took in."""
        taken_in = (*merged_in(self.bookkeeping), *chosen_in(self.bookkeeping))
        named = (*taken_in, *(entry.source_id for entry in self.provenance))
        return frozenset(i for i in named if 0 < len(i) <= MAX_ID_CHARS and "\0" not in i and i != self.id)

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


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageDraft:
    """A message to capture. `observed_at` None means the time of the call; `trust` None means that of the role."""

    role: Role
    text: str
    name: str | None = None
    observed_at: datetime | None = None
    external_id: str | None = None
    trust: Trust | None = None
    metadata: Mapping[str, object] = field(default_factory=dict[str, object])


@dataclass(frozen=True, slots=True, kw_only=True)
class NotedDraft(MessageDraft):
    """A message that Mnemic itself captures, such as the answer of its chat, with what it notes on it. No door makes
    one of what a caller sends.
    """

    bookkeeping: Mapping[str, object] = field(default_factory=dict[str, object])


def notes_on(draft: MessageDraft) -> Mapping[str, object]:
    """What Mnemic notes on a message that it captures."""
    return draft.bookkeeping if isinstance(draft, NotedDraft) else {}


def noted(draft: MessageDraft, bookkeeping: Mapping[str, object]) -> NotedDraft:
    """The draft with what Mnemic notes on it."""
    given = {each.name: getattr(draft, each.name) for each in fields(MessageDraft)}
    return NotedDraft(**given, bookkeeping=bookkeeping)


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryDraft:
    """A memory to keep. `level` None means the scope's default level; `observed_at` None the time of the call."""

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """One thing worth keeping: a sentence in the third person that is understood without its conversation.

    `slot` names the attribute of the user that it fills, such as `home`, and `value` with what; both "" where it fills
    none. `observed_at`: when it was said. `valid_from`, `valid_to`: when it is true in the world, where that is known.
    `provenance` names the messages and the characters in them that say so. `trust` is the lowest of its sources.
    `profile`: lines for the user's profile, by key.
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
    profile: Mapping[str, str] = field(default_factory=dict[str, str])


CATEGORIES = (
    "decision",
    "technical",
    "preference",
    "project",
    "knowledge",
    "insight",
    "plan",
    "architecture",
    "workflow",
)
"""The controlled list: a gem has at least one of these, and no other."""

IMPORTANCE_WORDS = {"low": 0.3, "medium": 0.6, "high": 0.9}
"""The words for importance, from the lowest, and their numbers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Gem:
    """One thing worth knowing in six months: what is so (`gem`), why it mattered (`context`), and the dialogue that it
    comes from, with the names of the speakers (`snippet`).

    `importance` is a word, `confidence` 0..1. `timestamp` is ISO 8601 in the time zone of the days, `date` its first
    ten characters. `source_turns` are numbers of turns in the conversation, ascending; `turn_range` is "first-last",
    with a comma where turns between are left out.
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
    """The gem that a memory of kind gem holds; a field that it does not say is "" or empty."""
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
    """The word whose number is nearest; the higher one of two."""
    return min(reversed(IMPORTANCE_WORDS), key=lambda word: abs(IMPORTANCE_WORDS[word] - importance))


def turn_range(turns: Sequence[int]) -> str:
    """As "15-16" for 15 and 16, "15-16,18" for 15, 16 and 18, "15-15" for one turn. `turns` ascend, at least one."""
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
"""The cursor behind the last message that is part of a summary."""

ENDED = "ended"
"""The cursor behind the last message that was said when somebody ended the session; up to here nothing waits in a
window."""

CURATED = "curated"
"""The cursor behind the last message from which the curator took what is worth keeping."""

CURATE_TRIES = "curate_tries"
"""The counter of the curator's runs that left a refused gem's turns behind the cursor."""

EXTRACTED = "extracted"
"""The cursor behind the last message in which facts were sought."""

CURSORS = (SUMMARISED, ENDED, EXTRACTED, CURATED, CURATE_TRIES)
"""Every cursor and counter of a conversation, by name."""


@dataclass(frozen=True, slots=True)
class Conversation:
    """One session's talk: how many turns and messages it holds, and when it began and was last heard of."""

    partition: Partition
    session: str
    turns: int
    messages: int
    started_at: datetime
    last_at: datetime


EXTRACTION = "extraction"
DERIVED_SOURCES = (EXTRACTION, "curation", "reflection")
"""The sources of profile entries that nobody set by hand."""


@dataclass(frozen=True, slots=True)
class ProfileEntry:
    """One fact, as text under a key; `source` says who set it ("library", "cli", "extraction", …)."""

    partition: Partition
    key: str
    value: str
    source: str
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class Profile:
    """What is known of a user in one look: `static` facts by key, and the `dynamic` side: what matters or is new."""

    static: tuple[ProfileEntry, ...]
    dynamic: tuple[Memory, ...]


@dataclass(frozen=True, slots=True)
class Review:
    """A memory that is quarantined, disputed or flagged, why, and since when."""

    memory: Memory
    reason: str
    since: datetime


class Verdict(StrEnum):
    """What was done with a fact."""

    ADD = "add"
    MERGE = "merge"
    SUPERSEDE = "supersede"
    DISPUTE = "dispute"
    DROP = "drop"
    QUARANTINE = "quarantine"


class Judgement(StrEnum):
    """How the newer of two statements stands to the older: CHANGED means that both cannot hold at one time."""

    SAME = "same"
    CHANGED = "changed"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Decision:
    """What was done with a fact. `memory_id`: the memory that now says it, or, of what was known to be over, what holds
    instead; None when it was dropped. `other_id`: the one it was merged with, or set against.
    """

    action: Verdict
    memory_id: str | None
    other_id: str | None = None
    reason: str = ""
