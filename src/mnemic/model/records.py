"""Records: API keys and their audit log, jobs, history, receipts, repeatable requests and events. An event names rows
and contains no stored text, so that nothing survives an erasure in a waiting event. It is published in the transaction
of its cause and handled later (`engine/events.py`).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from mnemic.model.chat import Usage
from mnemic.model.listing import Listing
from mnemic.model.scope import Partition


class Right(StrEnum):
    """A right of a key. No right implies another."""

    READ = "read"
    WRITE = "write"
    ADMIN = "admin"


ALL_RIGHTS = frozenset(Right)


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiKey:
    """A key of one org without its secret. `secret_hash` is the secret's SHA-256 in hex.

    `id` is unique in the whole store. The key can act only for `user` and `agent`, if set. It is valid from
    `created_at` until before `expires_at` and `revoked_at` (None: open). `name` is a label.
    """

    id: str
    org: str
    secret_hash: str = field(repr=False)
    rights: frozenset[Right]
    created_at: datetime
    name: str = ""
    user: str | None = None
    agent: str | None = None
    expires_at: datetime | None = None
    revoked_at: datetime | None = None

    def is_valid(self, at: datetime) -> bool:
        """True if the key is valid at that time."""
        return all(end is None or at < end for end in (self.expires_at, self.revoked_at))


ERASED = "(erased)"
"""The user or agent of a revoked key whose name was erased."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IssuedKey:
    """A new key. Clients send the `token`, which is not stored."""

    key: ApiKey
    token: str = field(repr=False)


class TokenKind(StrEnum):
    """The purpose of an OAuth token: to be exchanged once, to make requests, or to get new tokens."""

    CODE = "code"
    ACCESS = "access"
    REFRESH = "refresh"


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptToken:
    """An OAuth token without its secret. `hash` is the token's SHA-256 in hex, unique in the whole store.

    It acts as the key with the id `key_id` while that key is valid. `connection` is the id that all tokens of one
    consent share, `client` the SHA-256 of the client's id, and `details` the client's request as JSON (codes only).
    """

    hash: str = field(repr=False)
    kind: TokenKind
    connection: str
    org: str
    key_id: str
    client: str
    expires_at: datetime
    details: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditEntry:
    """An action in an org, done or refused: `actor` (`key:` and the key's id, else the server), `verb`, `target`
    (ids, never text), and `outcome` ("ok", or the kind of error).
    """

    org: str
    at: datetime
    actor: str
    verb: str
    target: str = ""
    outcome: str = "ok"


@dataclass(frozen=True, slots=True, repr=False)
class AuditPage(Listing[AuditEntry]):
    """Entries, newest first. `next` is the number to continue before, or None at the end."""

    entries: tuple[AuditEntry, ...]
    next: int | None


class JobState(StrEnum):
    """The state of a job. `dead` jobs failed permanently and wait to be retried."""

    PENDING = "pending"
    RUNNING = "running"
    DONE = "done"
    DEAD = "dead"


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One piece of work. `key` makes it idempotent: at most one pending or running job per (partition, kind, key).

    The job can run from `run_at`. While running, it is leased to `worker` until `leased_until`. Then any worker can
    take it. `usage` is the language model's cost over all attempts.
    """

    id: str
    partition: Partition
    kind: str
    key: str
    created_at: datetime
    run_at: datetime
    payload: Mapping[str, object] = field(default_factory=dict[str, object])
    state: JobState = JobState.PENDING
    attempts: int = 0
    worker: str | None = None
    leased_until: datetime | None = None
    error: str = ""
    usage: Usage = field(default_factory=Usage)


class Action(StrEnum):
    """The kind of change."""

    CREATED = "created"
    UPDATED = "updated"
    MERGED = "merged"
    RESTATED = "restated"
    SUPERSEDED = "superseded"
    DISPUTED = "disputed"
    QUARANTINED = "quarantined"
    TRUSTED = "trusted"
    REJECTED = "rejected"
    ARCHIVED = "archived"
    FEEDBACK = "feedback"
    RESTORED = "restored"
    FLAGGED = "flagged"
    CLEARED = "cleared"
    REMADE = "remade"
    DELETED = "deleted"
    ASSESSED = "assessed"


@dataclass(frozen=True, slots=True, kw_only=True)
class UserSummary:
    """The counts of a user's items, and the time of the newest one (None if nothing is left)."""

    org: str
    user: str
    memories: int
    messages: int
    documents: int
    last_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentSummary:
    """Counts of an agent's shared items, and the time of the newest memory (None if there is none)."""

    org: str
    agent: str
    memories: int
    documents: int
    last_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionSummary:
    """A session, the text of its first message, its number of messages, and the time of the last one."""

    session: str
    text: str
    messages: int
    last_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryEntry:
    """One change to an item: who (`actor`), what, when, why (`reason`), and the changed fields before and after."""

    id: str
    partition: Partition
    item_id: str
    action: Action
    actor: str
    at: datetime
    reason: str = ""
    before: Mapping[str, object] = field(default_factory=dict[str, object])
    after: Mapping[str, object] = field(default_factory=dict[str, object])


@dataclass(frozen=True, slots=True)
class Receipt:
    """The result of a deletion: removed rows by table. Contains no text and no name.

    The receipt of an erasure has an `id` and is kept with the org. `scope_hash` and `hashes` are keyed hashes (hex) of
    the erased partition and of rows erased elsewhere. With the store's key, they identify the same rows in an older
    backup, to erase them again. `notes`: what software cannot guarantee. With `is_plan`, nothing was removed.
    """

    at: datetime
    counts: Mapping[str, int]
    id: str = ""
    org: str = ""
    scope_hash: str = ""
    hashes: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    is_plan: bool = False


class Outcome(StrEnum):
    """The outcome of a request. Only an ANSWERED request keeps its answer; the others say why there is none."""

    OPEN = "open"  # unanswered: it is running, or was interrupted
    ANSWERED = "answered"
    UNFINISHED = "unfinished"  # it failed, or was broken off, when a part of it may have been done
    TOO_LARGE = "too_large"
    WITHHELD = "withheld"  # it holds a secret
    FORGOTTEN = "forgotten"  # content of its answer may have been deleted since


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptRequest:
    """A request with an idempotency key, started at `at`. Identified by org, caller and `key`.

    `key` and `fingerprint` are digests of the key and the content; `user`, `agent` and `session` are digests of the
    scope. Only `answer` contains text. `token` identifies this attempt: only its holder can answer. An empty
    `fingerprint` means that content of a possible answer was deleted, so no answer is kept.
    """

    org: str
    caller: str
    key: str
    token: str
    fingerprint: str
    at: datetime
    user: str | None = None
    agent: str | None = None
    session: str | None = None
    outcome: Outcome = Outcome.OPEN
    answer: bytes = field(default=b"", repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """Announces pending work in a session."""

    partition: Partition
    session: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SummarisationRequest(Event):
    """Messages `first` to `last` (inclusive) need a summary. `last` 0: all that are waiting when it is handled."""

    first: int = 1
    last: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsolidationRequest(Event):
    """The session has a new summary, the memory with the id `summary`."""

    summary: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReflectionRequest(Event):
    """The session has enough summaries for a reflection."""


class PlacementState(StrEnum):
    """How a store serves an org that moves. Orgs that are LEAVING or HERE are served, STOPPED orgs can only be read,
    and others are refused.
    """

    LEAVING, STOPPED, MOVED, ARRIVING, HERE = "leaving", "stopped", "moved", "arriving", "here"


@dataclass(frozen=True, slots=True, kw_only=True)
class Placement:
    """An org that moves between two stores. `place` is the other store, `token` the move that may continue."""

    org: str
    state: PlacementState
    place: str
    token: str
    at: datetime
