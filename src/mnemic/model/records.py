"""Who may come in by a door that is not this process: keys, and the notes of what was done with them.

Work that must still be done, written in the transaction of its cause.

What happened to an item, and why.

Requests that may be sent again: what is kept of each, so that it is done once.

What one part of a memory's life asks of another, without knowing who answers.

Events name rows and hold no text that anybody said, so that an erasure leaves nothing behind in those that wait. A part
publishes them in the transaction of what caused them, and they are handled later and elsewhere (`engine/events.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from mnemic.model.chat import Usage
from mnemic.model.scope import Partition


class Right(StrEnum):
    """What a key may do; none of them includes another."""

    READ = "read"
    WRITE = "write"
    ADMIN = "admin"


ALL_RIGHTS = frozenset(Right)


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiKey:
    """One key of one org, without its secret: `secret_hash` is the SHA-256 of the secret in hexadecimal digits.

    `id` is unique in the whole store. `user` and `agent`, where set, are the only ones it may speak for. It is accepted
    from `created_at` until before `expires_at` and `revoked_at` (None: open). `name` is for people.
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
        """True when it is accepted at that moment."""
        return all(end is None or at < end for end in (self.expires_at, self.revoked_at))


@dataclass(frozen=True, slots=True, kw_only=True)
class IssuedKey:
    """A key that was made just now: `token` is what its holder sends, and is nowhere kept."""

    key: ApiKey
    token: str = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditEntry:
    """One thing that was done, or refused, in an org: by whom (`actor`: `key:` and a key's id, else the door), what
    (`verb`), with what (`target`: ids, never texts), and how it ended (`outcome`: "ok", or the kind of error).
    """

    org: str
    at: datetime
    actor: str
    verb: str
    target: str = ""
    outcome: str = "ok"


@dataclass(frozen=True, slots=True)
class AuditPage:
    """Entries, newest first; `next` is the number to continue before, None at the end."""

    entries: tuple[AuditEntry, ...]
    next: int | None


class JobState(StrEnum):
    """Where a job stands; `dead` ones gave up and wait for a person."""

    PENDING = "pending"
    RUNNING = "running"
    DONE = "done"
    DEAD = "dead"


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One piece of work. `key` makes it idempotent: one pending or running job per (partition, kind, key).

    Runnable from `run_at`; while running it is leased to `worker` until `leased_until`, then anybody may take it.
    `usage` adds up what all its tries cost of a language model.
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
    """What was done."""

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
class HistoryEntry:
    """One change of one item: who (`actor`), what, when, why (`reason`), and the changed fields before and after."""

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
    """What a deletion removed: row counts by table. Holds no text and no name.

    That of an erasure has an `id` and is kept with the org. `scope_hash` and `hashes` are keyed hashes, in hexadecimal
    digits, of the partition erased for good, and of what was erased elsewhere; with the store's key and an older backup
    the same can be found and erased again. `notes`: what the technology could not make sure of, in words. A plan
    (`is_plan`) says what would be removed, and nothing was.
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
    """What became of a request. Only of an answered one is the answer kept; for the others it says why not."""

    OPEN = "open"  # nobody has answered it: it is under way, or was ended in the middle
    ANSWERED = "answered"
    UNFINISHED = "unfinished"  # it failed, or was broken off, when a part of it may have been done
    TOO_LARGE = "too_large"
    WITHHELD = "withheld"  # it holds a secret
    FORGOTTEN = "forgotten"  # something that its answer may have told was deleted since


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptRequest:
    """One request that came with a key of its own, begun at `at`. It is known by org, caller and `key`.

    `key` and `fingerprint` are digests of the key and of what was asked, and `user`, `agent` and `session` of the parts
    of its scope, so that no name and no text is kept but in `answer`. `token` is of this one try: whoever holds it may
    answer. An empty `fingerprint`: something was deleted that an answer could tell, so that none is kept.
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
    """Something is due in a session of a partition."""

    partition: Partition
    session: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SummarisationRequest(Event):
    """The messages of the session at the positions `first` to `last` (inclusive) wait for a summary. `last` 0: those
    that wait when it is handled.
    """

    first: int = 1
    last: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsolidationRequest(Event):
    """A summary of the session, the memory with the id `summary`, is new among what is remembered for long."""

    summary: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReflectionRequest(Event):
    """The session has enough summaries to be reflected on."""
