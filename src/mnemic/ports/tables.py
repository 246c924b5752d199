"""The ports of single tables that a unit of work exposes (see `ports.store`).

Keys, the audit log and repeatable requests belong to orgs, not to partitions: they are read by org, except that a key
is looked up by what its caller presents.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from mnemic.model import graph
from mnemic.model.candidates import Terms
from mnemic.model.document import Document, DocumentQuery, Step
from mnemic.model.item import Chunk, Conversation, Memory, Message, ProfileEntry
from mnemic.model.recall import MessageQuery
from mnemic.model.records import ApiKey, AuditEntry, HistoryEntry, Job, JobState, KeptRequest, Outcome
from mnemic.model.scope import Level, Partition, Visibility


class Keys(Protocol):
    """Keys of orgs, without their secrets."""

    def add(self, key: ApiKey) -> None:
        """Insert a key. Raises `ConflictError` when its id is taken in the whole store."""
        ...

    def get(self, id: str) -> ApiKey | None:
        """The key with this id, of whichever org, in whatever state: for the check of a key that somebody presents."""
        ...

    def list(self, org: str) -> list[ApiKey]:
        """Every key of an org, those that ended too, in the order they were added."""
        ...

    def end(self, org: str, id: str, *, expires_at: datetime | None = None, revoked_at: datetime | None = None) -> bool:
        """Bring the end of an org's key nearer; a later end changes nothing. False when the org has no such key."""
        ...

    def has_any(self) -> bool:
        """True when the store holds any key of any org, in whatever state."""
        ...


class Audit(Protocol):
    """What was done, in the order it was written down."""

    def add(self, entries: Sequence[AuditEntry]) -> None:
        """Write entries down."""
        ...

    def list(self, org: str, before: int | None, limit: int) -> list[tuple[int, AuditEntry]]:
        """The newest entries of an org with ascending numbers; `before` names the number to continue from."""
        ...

    def forget(self, before: datetime) -> int:
        """Remove the entries of every org that are older; returns how many."""
        ...


class Conversations(Protocol):
    """How far each use case has come in a conversation: named cursors over its messages, or counters."""

    def get(self, partition: Partition, session: str) -> Conversation | None:
        """The conversation, None when nothing was ever said in it. Locks nothing."""
        ...

    def messages(self, partition: Partition, session: str, after: int, limit: int) -> list[Message]:
        """The first `limit` messages behind the position `after` that are not erased, in order."""
        ...

    def said(self, visible: Visibility, query: MessageQuery) -> list[Message]:
        """The visible messages that meet the query and are not erased, in its order; none behind an unknown id, those
        that follow where it was behind one that is erased.
        """
        ...

    def cursor(self, partition: Partition, session: str, name: str) -> int:
        """Where the cursor stands; 0 when it was never moved."""
        ...

    def move(self, partition: Partition, session: str, name: str, was: int, to: int) -> bool:
        """Compare and set: move the cursor if it still stands at `was`; False when not. Moves no version."""
        ...


class Upkeep(Protocol):
    """What only the worker does, over all partitions at once."""

    def idle(self, cursor: str, since: datetime, limit: int, within: Partition | None = None) -> list[Conversation]:
        """Those last heard of before `since` with messages behind the cursor, the longest silent first."""
        ...

    def memories(self, partition: Partition, after: str, limit: int) -> list[Memory]:
        """The first ones not erased behind the id `after` ("" at first), by id; expired and private ones too."""
        ...

    def private_agents(self, partition: Partition) -> list[str]:
        """The agents that memories or documents, not erased, are private to, in order."""
        ...

    def fade(self, partition: Partition, values: Mapping[str, float | None]) -> None:
        """Set what the importance of memories has faded to; this is no change of the memory and moves no version."""
        ...

    def last_run(self, schedule: str) -> datetime | None:
        """The time for which a schedule ran last; None when it never did."""
        ...

    def start_run(self, schedule: str, was: datetime | None, at: datetime) -> bool:
        """Compare and set: note a run for `at` if the last was `was`; False if not, so that one worker runs it."""
        ...

    def forget_jobs(self, before: datetime) -> int:
        """Remove jobs that are done and were created before; returns how many."""
        ...


class Documents(Protocol):
    """Files that were read, and their passages."""

    def put(self, documents: Sequence[Document]) -> None:
        """Insert each, or replace the row with its id and partition (never its text and chunks, nor what counts these).
        Advances no version. Raises `ConflictError` when another document that is not erased has its source in its
        partition and private agent, when it was erased itself, and when it was another agent's; `InvalidInputError` for
        the status ERASED and for a source with the character U+0000.
        """
        ...

    def fill(self, document: Document, text: str, chunks: Sequence[tuple[Chunk, Terms]]) -> None:
        """Put the document, its text and its chunks in the place of those it had, all at once: chunks that it had are
        erased with their vectors. `characters` and `chunks` are counted here. Advances the partition's version.
        Raises the errors of `put`; `ConflictError` when the id of a chunk is taken in the partition, also by an erased
        one; `InvalidInputError` for chunks of another document, partition or agent, and when two have one index.
        """
        ...

    def get(self, visible: Visibility, ids: Sequence[str]) -> list[Document]:
        """Those that exist, are visible and not erased, in the order of `ids`."""
        ...

    def list(self, visible: Visibility, query: DocumentQuery) -> list[Document]:
        """The visible documents that meet the query, ordered by source, then id."""
        ...

    def text(self, visible: Visibility, id: str) -> str | None:
        """The text of a document, "" before it was ever read; None when it is unknown, not visible or erased."""
        ...

    def chunks(self, visible: Visibility, ids: Sequence[str]) -> list[Chunk]:
        """The chunks that exist, are visible and not erased, in the order of `ids`."""
        ...

    def passages(self, visible: Visibility, document_id: str, first: int, count: int) -> list[Chunk]:
        """The chunks of a document from index `first` on, at most `count`, in order; none when it is not visible."""
        ...

    def erase(self, partition: Partition, ids: Sequence[str], at: datetime) -> int:
        """Remove text, chunks, vectors, title, source, reason, digest, pages, headings, metadata and bookkeeping of
        documents and leave tombstones; advances the partition's version when there were any. Returns how many.
        """
        ...


AT_ONCE = 2048
"""So many vectors are compared at a time: some milliseconds of work."""


@dataclass(frozen=True, slots=True)
class EntityVector:
    """The vector (L2-normalised) of what an entity says (`model.graph.said_of`) in a space."""

    entity_id: str
    space: str
    said: str
    vector: NDArray[np.float32]


class EntityVectors(Protocol):
    """Vectors of entities, one per (partition, entity, space). Nothing here moves a partition's version.

    They are derived: the graph removes those of an entity that goes, or that says something else, in the same unit of
    work, and `Vectors.remove` those of a space.
    """

    def put(self, partition: Partition, rows: Sequence[EntityVector]) -> int:
        """Store vectors, replacing older ones; returns how many were stored: one of an entity that is gone, or says
        something else by now, is left out. Raises `InvalidInputError` when the dims are not the space's.
        """
        ...

    def missing(self, partition: Partition, space: str, after: str, limit: int) -> list[tuple[str, str]]:
        """(id, what it says) of entities without a vector in `space`, by id behind `after`; private ones too."""
        ...

    def nearest(
        self,
        visible: Visibility,
        space: str,
        vector: NDArray[np.float32],
        limit: int,
        between: Callable[[], None] = lambda: None,
    ) -> list[tuple[str, float]]:
        """(id, cosine) of the visible entities nearest to a vector (L2-normalised) of `space`; each once, the nearest
        first. `between` is called before the first and, where this process compares, before every `AT_ONCE` more of
        them; what it raises ends the search.
        """
        ...

    def coverage(self, partition: Partition, space: str) -> tuple[int, int]:
        """How many entities there are, and how many of them have a vector in `space`."""
        ...


class Graph(Protocol):
    """Entities and relations, linked to the items that say so. Nothing in it moves a partition's version.

    The ports of memories, messages and documents keep it true by themselves, in the same unit of work: what is erased,
    or is no memory any more that `unread` would give, loses its links; a memory with new dates passes them on. What is
    then supported by nothing is removed with them.
    """

    def unread(
        self, partition: Partition, extractors: Mapping[graph.SourceKind, str], after: str, limit: int
    ) -> Sequence[graph.Unread]:
        """Items of these kinds, by id behind `after`, that the extractor of their kind has not read in their present
        form: active memories and superseded ones that ended, none that expires; active messages of users and
        assistants; active passages. Private ones of all agents too.
        """
        ...

    def put(self, partition: Partition, sheets: Sequence[graph.Sheet]) -> int:
        """Take in what items say, in place of what was known of them; returns how many were taken in. A sheet of an
        item that `unread` would not give by now, because it is erased for instance, is left out.

        A name finds its entity by private agent, key and type, a relation by its ends and type; those that are missing
        are made. Raises `InvalidInputError` when a sheet says something twice, or names a relation's end that it lacks.
        """
        ...

    def forget(self, partition: Partition, ids: Sequence[str] | None) -> int:
        """Remove what these items (None: all) say, and that they were read; returns how many had been read."""
        ...

    def entities(self, visible: Visibility, query: graph.EntityQuery) -> list[graph.Entity]:
        """The visible entities that meet the query, by key, then id, then partition (level, owner)."""
        ...

    def relations(self, visible: Visibility, ids: Collection[str], query: graph.RelationQuery) -> list[graph.Relation]:
        """The visible relations that begin or end at one of these entities and meet the query; each once, those of
        most weight first, then by id and partition.
        """
        ...

    def supports(self, visible: Visibility, ids: Collection[str], limit: int) -> list[graph.Support]:
        """Of each of these relations, if visible, the last `limit` items by id that say so, in each partition; by
        relation, then item from the last.
        """
        ...

    def mentions(self, visible: Visibility, ids: Collection[str], limit: int) -> list[graph.Mention]:
        """Of each of these entities, if visible, the last `limit` items by id that name it, as with `supports`."""
        ...

    def named_in(self, visible: Visibility, item_ids: Collection[str]) -> list[graph.Mention]:
        """Which visible entities these items name, by item, then place in its text."""
        ...


class History(Protocol):
    """What happened to items."""

    def add(self, entries: Sequence[HistoryEntry]) -> None:
        """Write entries down. One whose id is taken in its partition raises `ConflictError`."""
        ...

    def of(self, visible: Visibility, item_id: str) -> list[HistoryEntry]:
        """The entries of one item in the order of their writing; none when it is not visible."""
        ...

    def scrub(self, partition: Partition, item_ids: Sequence[str]) -> int:
        """Empty before, after and reason of all entries of these items; returns how many entries."""
        ...


class Jobs(Protocol):
    """Work to do, events that wait included."""

    def add(self, jobs: Sequence[Job]) -> list[bool]:
        """Insert each unless one with its partition, kind and key is pending or running: True where inserted. One
        whose id is taken in its partition raises `ConflictError`.
        """
        ...

    def claim(self, kinds: Sequence[str], worker: str, now: datetime, leased_until: datetime) -> Job | None:
        """Lease the runnable job that waits longest (pending and due, or running with a lease that has run out), with
        its attempts counted up. No job is claimed by two.
        """
        ...

    def finish(self, job: Job) -> bool:
        """Mark it done, with `job.usage`, if the lease of `job.worker` still holds; False when somebody else has it."""
        ...

    def fail(self, job: Job, error: str, retry_at: datetime | None) -> bool:
        """Back to pending at `retry_at`, or dead when None, with `job.usage`; False when somebody else has it."""
        ...

    def list(self, partitions: Sequence[Partition] | None, states: Sequence[JobState], limit: int) -> list[Job]:
        """Jobs, oldest first; partitions None means every one (for maintenance only)."""
        ...

    def retry(self, partitions: Sequence[Partition] | None, ids: Sequence[str], now: datetime) -> int:
        """Make dead jobs pending again with no attempts counted, of several with one key the oldest, and none whose key
        is pending or running; returns how many.
        """
        ...


class Profiles(Protocol):
    """Hard facts of users, by key."""

    def put(self, entries: Sequence[ProfileEntry]) -> None:
        """Write each under its partition and key; an entry that is there keeps its `created_at` and takes the rest."""
        ...

    def of(self, partition: Partition) -> list[ProfileEntry]:
        """The entries of a partition, ordered by key."""
        ...

    def remove(self, partition: Partition, keys: Sequence[str]) -> int:
        """Remove entries; returns how many there were."""
        ...


class Requests(Protocol):
    """What is known of each request that came with a key of its own."""

    def add(self, request: KeptRequest, since: datetime) -> bool:
        """Insert a request, True when it was; one with its org, caller and key that was begun before `since` is
        replaced. False when there is one begun then or later. Two writers at once: one of them inserts.
        """
        ...

    def get(self, org: str, caller: str, key: str) -> KeptRequest | None:
        """The request, whenever it was begun."""
        ...

    def answer(self, request: KeptRequest, outcome: Outcome, answer: bytes) -> bool:
        """Write what became of an open request, if it has the token of this one; False when not. Of one without a
        fingerprint no answer is kept: an answered one is forgotten at once.
        """
        ...

    def remove(self, request: KeptRequest) -> bool:
        """Remove an open request that has the token of this one; False when there is none."""
        ...

    def scrub(self, org: str, level: Level, owner: str, but: str) -> int:
        """Empty answer, fingerprint and scope of the requests of an org whose scope names the owner of the level (a
        digest; at the level of the org: of all), except of the one with the token `but`; those answered become
        forgotten. Returns how many requests it found, emptied ones left out.
        """
        ...

    def forget(self, before: datetime) -> int:
        """Remove the requests of every org that were begun earlier; returns how many."""
        ...


class ResearchSteps(Protocol):
    """Replies of a language model about documents, so that work which was interrupted pays for none twice.

    A step belongs to the partition of who asked, and is about a document, which may lie in another partition of the
    same org. It is gone as soon as either is: when the document is erased or filled anew, and when either partition is
    wiped. Steps are no items, and move no version.
    """

    def put(self, partition: Partition, document: Document, steps: Sequence[Step]) -> int:
        """Insert each, or replace the one with its key; returns how many. None, when the document is not stored any
        more as it is given (by partition, id and `updated_at`), so that no reply about a text outlives it.
        """
        ...

    def get(self, partition: Partition, document: Document, keys: Collection[str]) -> dict[str, Step]:
        """Those that exist, by key."""
        ...

    def forget(self, before: datetime) -> int:
        """Remove the steps of every org that were answered earlier; returns how many."""
        ...
