"""The ports of single tables in a unit of work (see `ports.store`). Keys, the audit log and idempotent requests belong
to orgs, not to partitions. They are read by org, except that a key is looked up by the id its caller presents.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from mnemic.model import graph
from mnemic.model.candidates import Terms
from mnemic.model.document import Document, DocumentQuery, Step
from mnemic.model.item import Chunk, Conversation, Memory, Message, ProfileEntry
from mnemic.model.recall import ContextQuery, ContextRecord, MessageQuery
from mnemic.model.records import ApiKey, AuditEntry, HistoryEntry, Job, JobState, KeptRequest, KeptToken, Outcome
from mnemic.model.scope import Level, Partition, Visibility


class Keys(Protocol):
    """API keys of orgs, without their secrets."""

    def add(self, key: ApiKey) -> None:
        """Insert a key. Raises `ConflictError` if its id is taken in the whole store."""
        ...

    def get(self, id: str) -> ApiKey | None:
        """The key with this id in any org and any state, to check a presented key."""
        ...

    def list(self, org: str) -> list[ApiKey]:
        """Every key of an org, expired and revoked ones included, in insertion order."""
        ...

    def end(self, org: str, id: str, *, expires_at: datetime | None = None, revoked_at: datetime | None = None) -> bool:
        """Move the end of an org's key to an earlier time; a later one changes nothing. False if it has no such key."""
        ...

    def blank(self, org: str, id: str, at: datetime) -> None:
        """Revoke an org's key, and remove its tokens and names. `ERASED` replaces its user and agent."""
        ...

    def has_any(self) -> bool:
        """True if the store holds any key, of any org and in any state."""
        ...


class Tokens(Protocol):
    """OAuth tokens of API keys, without their secrets."""

    def add(self, tokens: Sequence[KeptToken]) -> None:
        """Insert tokens. Their hashes are new."""
        ...

    def get(self, hash: str) -> KeptToken | None:
        """The token with this hash, of any org, expired or not."""
        ...

    def remove(self, org: str, hash: str) -> bool:
        """Remove an org's token. False if the org has none with this hash, so a token works only once."""
        ...

    def has(self, connection: str) -> bool:
        """True if there is a token of a connection, expired or not."""
        ...

    def end(self, connection: str) -> int:
        """Remove every token of a connection. Returns the number removed."""
        ...

    def forget(self, before: datetime) -> int:
        """Remove the expired tokens of every org. Returns the number removed."""
        ...


class Audit(Protocol):
    """The log of actions, in the order written."""

    def add(self, entries: Sequence[AuditEntry]) -> None:
        """Append entries."""
        ...

    def list(self, org: str, before: int | None, limit: int) -> list[tuple[int, AuditEntry]]:
        """An org's newest entries with their numbers, ascending. `before`: continue before this number."""
        ...

    def forget(self, before: datetime) -> int:
        """Remove older entries of every org. Returns the number removed."""
        ...


class Conversations(Protocol):
    """Named cursors over a conversation's messages, and counters: how far each use case has read."""

    def get(self, partition: Partition, session: str) -> Conversation | None:
        """The conversation, None if it has no messages. Locks nothing."""
        ...

    def messages(self, partition: Partition, session: str, after: int, limit: int) -> list[Message]:
        """The first `limit` messages after the position `after`, in order, without erased ones."""
        ...

    def said(self, visible: Visibility, query: MessageQuery) -> list[Message]:
        """The visible messages that match the query, in its order, without erased ones. After an unknown id: none.
        After an erased one: those that followed it.
        """
        ...

    def metadata(self, visible: Visibility) -> dict[str, Mapping[str, object]]:
        """The caller's metadata by message id. Leaves out messages that have none or are erased."""
        ...

    def sessions(self, visible: Visibility, limit: int) -> list[Conversation]:
        """The first `limit` sessions with visible messages, last active first, counted without erased messages."""
        ...

    def cursor(self, partition: Partition, session: str, name: str) -> int:
        """The cursor's position, 0 if never moved."""
        ...

    def move(self, partition: Partition, session: str, name: str, was: int, to: int) -> bool:
        """Move the cursor if it is still at `was`; False if not. Moves no version."""
        ...


class Upkeep(Protocol):
    """Queries for the worker alone, across all partitions."""

    def idle(self, cursor: str, since: datetime, limit: int, within: Partition | None = None) -> list[Conversation]:
        """Conversations silent since before `since` with messages after the cursor, longest silent first. Leaves
        out ephemeral ones.
        """
        ...

    def memories(self, partition: Partition, after: str, limit: int) -> list[Memory]:
        """The first memories by id after `after` ("": from the start), expired and private ones too, but not erased."""
        ...

    def private_agents(self, partition: Partition) -> list[str]:
        """The agents that memories or documents are private to, in order. Ignores erased ones."""
        ...

    def fade(self, partition: Partition, values: Mapping[str, float | None]) -> None:
        """Store the decayed importance of memories. Does not change the memory or its version."""
        ...

    def last_run(self, schedule: str) -> datetime | None:
        """The time for which a schedule last ran, None if it never did."""
        ...

    def start_run(self, schedule: str, was: datetime | None, at: datetime) -> bool:
        """Note a run for `at` if the last was `was`, so that one worker runs it; False if another did."""
        ...

    def unserved(self, orgs: Collection[str]) -> Mapping[str, bool]:
        """The orgs that refuse writes because of a move, with True if a later write may succeed. The others accept the
        writes of this unit of work.
        """
        ...

    def forget_jobs(self, before: datetime) -> int:
        """Remove finished jobs created before this. Returns the number removed."""
        ...


class Documents(Protocol):
    """Ingested files and their passages."""

    def put(self, documents: Sequence[Document]) -> None:
        """Insert each document, or replace the row with its id and partition. Text, chunks and their counts are
        unchanged. Advances no version. Raises `ConflictError` if another document has its source in its partition and
        private agent, or if it was erased or belongs to another agent. Raises `InvalidInputError` for the status ERASED
        and for U+0000 in a source.
        """
        ...

    def fill(self, document: Document, text: str, chunks: Sequence[tuple[Chunk, Terms]]) -> None:
        """Replace the document, its text and its chunks at once. Old chunks are erased with their vectors. Sets
        `characters` and `chunks`. Advances the partition's version. Raises what `put` raises; `ConflictError` if a
        chunk's id is taken in the partition, erased chunks included; `InvalidInputError` for chunks of another
        document, partition or agent, or with equal indexes.
        """
        ...

    def get(self, visible: Visibility, ids: Sequence[str]) -> list[Document]:
        """Existing, visible documents in the order of `ids`, without erased ones."""
        ...

    def list(self, visible: Visibility, query: DocumentQuery) -> list[Document]:
        """The visible documents that match the query, by source, then id."""
        ...

    def text(self, visible: Visibility, id: str) -> str | None:
        """The text of a document, "" before it was read. None if it is unknown, not visible or erased."""
        ...

    def chunks(self, visible: Visibility, ids: Sequence[str]) -> list[Chunk]:
        """Existing, visible chunks in the order of `ids`, without erased ones."""
        ...

    def passages(self, visible: Visibility, document_id: str, first: int, count: int) -> list[Chunk]:
        """Up to `count` chunks of a document from index `first`, in order. Empty if it is not visible."""
        ...

    def erase(self, partition: Partition, ids: Sequence[str], at: datetime) -> int:
        """Remove text, chunks, vectors, title, source, reason, digest, pages, headings, metadata and bookkeeping of
        documents and leave tombstones. Advances the partition's version if there were any. Returns the number erased.
        """
        ...


AT_ONCE = 2048
"""Vectors compared per step: some milliseconds of work."""


@dataclass(frozen=True, slots=True)
class EntityVector:
    """An entity's vector in a space, L2-normalised, of its text (`model.graph.said_of`)."""

    entity_id: str
    space: str
    said: str
    vector: NDArray[np.float32]


class EntityVectors(Protocol):
    """Vectors of entities, one per (partition, entity, space). Never moves a partition's version. They are derived. The
    graph removes those of removed or changed entities in the same unit of work. `Vectors.remove` removes those of a
    space.
    """

    def put(self, partition: Partition, rows: Sequence[EntityVector]) -> int:
        """Store or replace vectors. Skips entities that are gone or whose text changed. Returns the number stored.
        Raises `InvalidInputError` if the dims differ from the space's.
        """
        ...

    def missing(self, partition: Partition, space: str, after: str, limit: int) -> list[tuple[str, str]]:
        """(id, text) of entities without a vector in `space`, by id after `after`, private ones included."""
        ...

    def nearest(
        self,
        visible: Visibility,
        space: str,
        vector: NDArray[np.float32],
        limit: int,
        between: Callable[[], None] = lambda: None,
    ) -> list[tuple[str, float]]:
        """(id, cosine) of the visible entities nearest to an L2-normalised vector of `space`, nearest first, without
        repeats. Calls `between` first and, if this process compares, before every further `AT_ONCE` vectors. Its errors
        stop the search.
        """
        ...

    def coverage(self, partition: Partition, space: str) -> tuple[int, int]:
        """The number of entities, and of those with a vector in `space`."""
        ...


class Graph(Protocol):
    """Entities and relations, linked to the items that state them. Never moves a partition's version.

    The ports of memories, messages and documents update it in the same unit of work. An erased item, or a memory that
    `unread` would no longer return, loses its links. A memory with new dates passes them on. Entities and relations
    without any support are then removed.
    """

    def unread(
        self, partition: Partition, extractors: Mapping[graph.SourceKind, str], after: str, limit: int
    ) -> Sequence[graph.Unread]:
        """Items of these kinds, by id after `after`, whose current form their kind's extractor has not read. Returns
        active memories without an expiry, ended superseded ones, active messages of users and assistants, and active
        passages. Includes all agents' private items.
        """
        ...

    def put(self, partition: Partition, sheets: Sequence[graph.Sheet]) -> int:
        """Replace what these items state; returns the number of items stored. Skips items that `unread` would no longer
        return, such as erased ones.

        A name finds its entity by private agent, key and type, a relation by its ends and type. Missing ones are
        created. Raises `InvalidInputError` if a sheet repeats itself or lacks an end of a relation.
        """
        ...

    def forget(self, partition: Partition, ids: Sequence[str] | None) -> int:
        """Remove what these items (None: all) state and mark them unread. Returns the number that had been read."""
        ...

    def entities(self, visible: Visibility, query: graph.EntityQuery) -> list[graph.Entity]:
        """The visible entities that match the query, by key, id, then partition (level, owner)."""
        ...

    def relations(self, visible: Visibility, ids: Collection[str], query: graph.RelationQuery) -> list[graph.Relation]:
        """The visible relations that touch one of these entities and match the query, without repeats. Heaviest first,
        then by id and partition.
        """
        ...

    def supports(self, visible: Visibility, ids: Collection[str], limit: int) -> list[graph.Support]:
        """For each visible relation, the last `limit` items by id that state it, per partition. Ordered by relation,
        then item from the last.
        """
        ...

    def mentions(self, visible: Visibility, ids: Collection[str], limit: int) -> list[graph.Mention]:
        """For each visible entity, the last `limit` items by id that name it, ordered as in `supports`."""
        ...

    def named_in(self, visible: Visibility, item_ids: Collection[str]) -> list[graph.Mention]:
        """The visible entities that these items name, by item, then position in its text."""
        ...


class History(Protocol):
    """What happened to items."""

    def add(self, entries: Sequence[HistoryEntry]) -> None:
        """Append entries. Raises `ConflictError` if an entry's id is taken in its partition."""
        ...

    def of(self, visible: Visibility, item_id: str) -> list[HistoryEntry]:
        """The entries of one item in the order written. Empty if it is not visible."""
        ...

    def scrub(self, partition: Partition, item_ids: Sequence[str]) -> int:
        """Empty before, after and reason in all entries of these items. Returns the number of entries."""
        ...


class Jobs(Protocol):
    """Work to do, and waiting events."""

    def add(self, jobs: Sequence[Job]) -> list[bool]:
        """Insert each unless a job with its partition, kind and key is pending or running. Returns True where inserted.
        Raises `ConflictError` if an id is taken in its partition.
        """
        ...

    def claim(self, kinds: Sequence[str], worker: str, now: datetime, leased_until: datetime) -> Job | None:
        """Lease the runnable job that waited longest, and count the attempt. Runnable: pending and due, or running with
        an expired lease. Two workers never get the same job.
        """
        ...

    def finish(self, job: Job) -> bool:
        """Mark it done, with `job.usage`, if `job.worker` still has the lease; False if another worker does."""
        ...

    def fail(self, job: Job, error: str, retry_at: datetime | None) -> bool:
        """Make it pending at `retry_at`, or dead if None, with `job.usage`. False if another worker has the lease."""
        ...

    def list(self, partitions: Sequence[Partition] | None, states: Sequence[JobState], limit: int) -> list[Job]:
        """Jobs, oldest first. `partitions` None: all, for maintenance only."""
        ...

    def retry(self, partitions: Sequence[Partition] | None, ids: Sequence[str], now: datetime) -> int:
        """Make dead jobs pending, with no attempts: the oldest of each key, if none is active. Returns how many."""
        ...


class Profiles(Protocol):
    """Hard facts about users, by key."""

    def put(self, entries: Sequence[ProfileEntry]) -> None:
        """Insert or update entries by partition and key. An existing entry keeps its `created_at`."""
        ...

    def of(self, partition: Partition) -> list[ProfileEntry]:
        """The entries of a partition, ordered by key."""
        ...

    def remove(self, partition: Partition, keys: Sequence[str]) -> int:
        """Remove entries. Returns the number removed."""
        ...


class Requests(Protocol):
    """Requests with an idempotency key."""

    def add(self, request: KeptRequest, since: datetime) -> bool:
        """Insert a request and return True. Replaces an earlier one (same org, caller and key) that began before
        `since`; returns False if it began later. Of two concurrent writers, one inserts.
        """
        ...

    def get(self, org: str, caller: str, key: str) -> KeptRequest | None:
        """The request, whenever it began."""
        ...

    def answer(self, request: KeptRequest, outcome: Outcome, answer: bytes) -> bool:
        """Store an open request's outcome if the token matches; False if not. Without a fingerprint no answer is kept:
        an answered request is forgotten at once.
        """
        ...

    def remove(self, request: KeptRequest) -> bool:
        """Remove the open request with this one's token; False if there is none."""
        ...

    def scrub(self, org: str, level: Level, owner: str, but: str) -> int:
        """Empty answer, fingerprint and scope of an org's requests whose scope names the level's owner (a digest; at
        org level: all requests), except the one with the token `but`. Answered ones become forgotten. Returns the
        number found, excluding emptied ones.
        """
        ...

    def forget(self, before: datetime) -> int:
        """Remove older requests of every org. Returns the number removed."""
        ...


class Contexts(Protocol):
    """What contexts showed to models. Records belong to the partition of the scope's messages and are removed with it.
    They are not items, move no version, and no copy of the store holds them.
    """

    def add(self, records: Sequence[ContextRecord]) -> int:
        """Insert records; returns their number. Skips those of a partition that was never written, or was wiped."""
        ...

    def list(self, visible: Visibility, query: ContextQuery) -> list[ContextRecord]:
        """The visible records that match the query, newest (by id) first."""
        ...

    def link(self, message: Message, query: str, within: timedelta) -> int:
        """Note a message in the records that have its text `query` and no message, of its session or none, at most
        `within` before or after it was stored. Removes their copy of the text. Returns the number of records.
        """
        ...

    def erase(self, partition: Partition, ids: Collection[str]) -> int:
        """Remove records. Returns the number removed."""
        ...

    def forget(self, before: datetime, most: int) -> int:
        """Remove every org's older records, and all but the newest `most` of each partition. Returns the number."""
        ...


class ResearchSteps(Protocol):
    """Model replies about documents, so that resumed work pays for none twice. A step belongs to the caller's
    partition and is about a document, perhaps in another partition of the same org. It is removed when the document is
    erased or filled again, or when either partition is wiped. Steps are not items and move no version.
    """

    def put(self, partition: Partition, document: Document, steps: Sequence[Step]) -> int:
        """Insert or replace steps by key; returns their number. Stores none if the document is gone or changed (by
        partition, id and `updated_at`), so that no reply outlives its text.
        """
        ...

    def get(self, partition: Partition, document: Document, keys: Collection[str]) -> dict[str, Step]:
        """The existing steps, by key."""
        ...

    def forget(self, before: datetime) -> int:
        """Remove older steps of every org. Returns the number removed."""
        ...
