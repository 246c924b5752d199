"""The store's port: the only source of truth. One unit of work is one transaction, which exposes small ports over rows.
Every read names what it may see (`Visibility` or `Partition`) and every write its partition, so no call reaches other
rows. All errors of the technology become `BackendError` or a subclass. A copy of any store is a file of the embedded
store. So a backup of one kind restores into another, and old backups are migrated like that store.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from mnemic.model.candidates import Change, Terms
from mnemic.model.health import Finding
from mnemic.model.item import Conversation, Memory, Message
from mnemic.model.recall import Counts, MemoryQuery
from mnemic.model.records import Receipt
from mnemic.model.scope import Partition, Visibility
from mnemic.ports.tables import (
    Audit,
    Contexts,
    Conversations,
    Documents,
    EntityVectors,
    Graph,
    History,
    Jobs,
    Keys,
    Profiles,
    Requests,
    ResearchSteps,
    Tokens,
    Upkeep,
)


class Erasure(Protocol):
    """Removes rows without tombstones and keeps the proof. Only for the verb `erase`."""

    def count(self, partition: Partition) -> Mapping[str, int]:
        """What `wipe` would remove: rows by table, without empty tables."""
        ...

    def wipe(self, partition: Partition) -> Mapping[str, int]:
        """Remove every row of a partition, its tombstones and the partition itself. Returns what `count` returns. Later
        writes continue above the old version, so that no index mistakes new rows for old ones. Must be the last call on
        this partition in its unit of work.
        """
        ...

    def derived(
        self, org: str, partitions: Sequence[Partition], ids: Collection[str]
    ) -> Sequence[tuple[Partition, str]]:
        """(partition, id) of the org's memories outside `partitions` that were made from an item in one of them, or
        from one of `ids` (by `Memory.provenance`). Excludes erased ones; ignores private agents.
        """
        ...

    def private(self, org: str, agent: str) -> Sequence[tuple[Partition, str]]:
        """(partition, id) of all memories, documents and messages of the org that are private to the agent."""
        ...

    def key(self, inherited: bytes = b"") -> bytes:
        """The store's secret for keyed hashes, 32 bytes. Made on first use in a unit of work that writes; empty before
        that. `inherited`: adopt another store's secret, whose receipts are moving here.
        """
        ...

    def add(self, receipt: Receipt) -> None:
        """Keep a receipt. Raises `ConflictError` if its org has one with this id."""
        ...

    def receipts(self, org: str) -> Sequence[Receipt]:
        """The receipts of an org, oldest first."""
        ...

    def orgs(self) -> Sequence[str]:
        """The orgs that have receipts, in order. For maintenance only, never for verbs of a scope."""
        ...


@dataclass(frozen=True, slots=True)
class SourceText:
    """A source of a memory, as stored now."""

    partition: Partition
    id: str
    text: str


class Dependants(Protocol):
    """Which memories were made from which items (`Memory.source_ids`), across all partitions of one org. Ids are unique
    only within a partition. A memory's source id means the item of its own partition, erased ones included; only
    if there is none does it mean an item elsewhere in the org. Private agents are ignored.
    """

    def of(self, partition: Partition, ids: Collection[str]) -> Sequence[Memory]:
        """The memories made from any of these items of a partition, without erased ones. A unit of work that writes
        locks this partition and theirs until it ends.
        """
        ...

    def flagged(self, org: str, source_id: str) -> Sequence[Memory]:
        """The org's memories with a flag that names the source, without erased ones."""
        ...

    def sources(self, memory: Memory) -> Sequence[SourceText]:
        """The remaining sources of a memory: messages, memories, passages, and documents as texts."""
        ...


STORE_SECRET_BYTES = 32  # as long as the SHA-256 hashes that it keys: longer adds nothing
MAIN_VIEW = "item"


@dataclass(frozen=True, slots=True)
class VectorRow:
    """A vector of an item: `view` names the part, `space` the model; `(dims,) float32`, L2-normalised."""

    item_id: str
    view: str
    space: str
    vector: NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Reading:
    """How to read changes: vectors of `space` (None: no vectors), terms of `analyser`. `is_of_chunks`: only chunks, or
    only messages and memories; None: all.
    """

    space: str | None
    analyser: str
    is_of_chunks: bool | None = None


@dataclass(frozen=True, slots=True)
class StaleTerms:
    """A change whose stored terms come from another analyser, so `text` needs analysing again."""

    change: Change
    text: str


class Partitions(Protocol):
    """Versions and changes. Writing messages, memories or vectors advances the partition's version once per unit of
    work, under the partition's lock, and marks the rows with it. A call that writes no row advances nothing.
    """

    def versions(self, partitions: Sequence[Partition]) -> dict[Partition, int]:
        """The version of each, 0 if never written."""
        ...

    def changes(self, partition: Partition, since: int, reading: Reading) -> Iterable[Change | StaleTerms]:
        """The current form of every message, memory and chunk written after version `since`, ordered by version. Within
        a version: messages, memories, chunks, each in insertion order. Erased items come as gone. A new vector counts
        as a write of its item.
        """
        ...

    def count(self, partitions: Sequence[Partition]) -> dict[str, int]:
        """Rows that are not erased, by table: messages, memories, documents, chunks, vectors."""
        ...

    def tally(self, visible: Visibility, now: datetime) -> Counts:
        """The number of visible memories not expired at `now`, and of visible documents."""
        ...

    def horizon(self, partition: Partition) -> int:
        """The version below which `changes` may miss deletions. A reader at an older version (above 0) must drop the
        partition and read it from the start. 0 if nothing was removed without a tombstone.
        """
        ...

    def tombstones(self, partition: Partition) -> int:
        """The number of chunk tombstones that `compact` may remove: all that no memory was made from."""
        ...

    def compact(self, partition: Partition, limit: int) -> int:
        """Remove up to `limit` such tombstones, oldest first, and raise the horizon to the last one's version. Advances
        no version. Returns the number removed.
        """
        ...

    def all(self) -> list[Partition]:
        """Every partition ever written, in order. For maintenance only, never for verbs of a scope."""
        ...


class Messages(Protocol):
    """Messages, verbatim and in order. Rows are immutable, except for erasure."""

    def conversation(self, partition: Partition, session: str, at: datetime) -> Conversation:
        """The conversation, created if new, and locked until this unit of work ends."""
        ...

    def add(self, rows: Sequence[tuple[Message, Terms]]) -> None:
        """Append messages and count them in their conversation, which `conversation` must have locked. Raises
        `ConflictError` for a second message with the same external id or position in a conversation, or the same id in
        a partition.
        """
        ...

    def get(self, visible: Visibility, ids: Sequence[str]) -> list[Message]:
        """Existing, visible messages in the order of `ids`, without erased ones."""
        ...

    def of_turn(self, visible: Visibility, turn_id: str) -> list[Message]:
        """The messages of a turn in order. Empty if the turn is unknown or not visible."""
        ...

    def by_external_id(self, partition: Partition, session: str, external_ids: Collection[str]) -> dict[str, Message]:
        """Existing messages by external id, erased ones included, so that an import does not restore them."""
        ...

    def latest(self, visible: Visibility, session: str, limit: int) -> list[Message]:
        """The last `limit` messages of a session by position, oldest first. Ties (a user's session and the nameless
        user's session of the same name) are ordered by id.
        """
        ...

    def page(self, visible: Visibility, after: str | None, limit: int) -> list[Message]:
        """The first `limit` visible messages after the id `after`, by id, without erased ones."""
        ...

    def erase(self, partition: Partition, ids: Sequence[str]) -> int:
        """Remove their text, author name, terms, metadata, bookkeeping and vectors. Tombstones keep the external id.
        Returns the number erased.
        """
        ...


class Memories(Protocol):
    """What is worth keeping about users, agents and the org."""

    def add(self, rows: Sequence[tuple[Memory, Terms]]) -> list[bool]:
        """Insert each memory unless its dedup key is taken. Returns True where inserted. The key is unique per
        partition and private agent among active and quarantined memories. Two concurrent writers leave one row and get
        no error. Raises `ConflictError` if a new row's id is taken in its partition.
        """
        ...

    def get(self, visible: Visibility, ids: Sequence[str]) -> list[Memory]:
        """Existing, visible memories in the order of `ids`, in any state but erased."""
        ...

    def holder(self, partition: Partition, private_agent: str | None, dedup_key: str) -> Memory | None:
        """The active or quarantined memory with this dedup key."""
        ...

    def list(self, visible: Visibility, query: MemoryQuery) -> list[Memory]:
        """The visible memories that match the query, in its order."""
        ...

    def ids(self, visible: Visibility, query: MemoryQuery) -> set[str]:
        """The ids of all visible memories that match the query. Ignores its order, limit and `after`."""
        ...

    def replace(self, memory: Memory, terms: Terms, was_updated_at: datetime) -> bool:
        """Replace the row with `memory`'s id and partition if it was last updated at `was_updated_at`; False if not.
        Raises `ConflictError` if the new dedup key is taken. Vectors of a changed text are removed.
        """
        ...

    def touch(self, partition: Partition, accesses: Mapping[str, int], at: datetime) -> None:
        """Add to access counts, set the last access and undo decay. The memory keeps its version."""
        ...

    def erase(self, partition: Partition, ids: Sequence[str], at: datetime) -> int:
        """Remove all their content (text, context, snippet, source, categories, provenance, metadata, bookkeeping,
        dedup key, terms, vectors) and leave tombstones. Returns the number erased.
        """
        ...


class Vectors(Protocol):
    """Vectors of items, one per (partition, item, view, space)."""

    def put(self, partition: Partition, rows: Sequence[VectorRow], at: datetime) -> int:
        """Store or replace vectors and set the memories' `updated_at` to `at`. Skips missing and erased items. Returns
        the number stored. Raises `InvalidInputError` if the dims differ from the space's.
        """
        ...

    def get(self, partition: Partition, ids: Sequence[str], view: str, space: str) -> dict[str, NDArray[np.float32]]:
        """The existing vectors, by item."""
        ...

    def missing(self, partition: Partition, space: str, limit: int) -> list[tuple[str, str]]:
        """(id, text) of items without a main vector in `space`. Excludes erased and blank ones."""
        ...

    def spaces(self) -> dict[str, int]:
        """The number of vectors of each space in the whole store."""
        ...

    def known(self) -> set[str]:
        """The spaces that ever held a vector and were not removed. Faster than their counts."""
        ...

    def coverage(self, partition: Partition, space: str) -> tuple[int, int]:
        """The number of items that are neither erased nor blank, and of those with a main vector in `space`."""
        ...

    def alone(self, partition: Partition, space: str, others: Collection[str]) -> str | None:
        """The last id of the items with a main vector in `space` and in none of `others`."""
        ...

    def remove(self, partition: Partition | None, space: str) -> int:
        """Remove all vectors of a space from a partition, entity vectors included. None: from every partition, and
        forget the space. Returns the number of item vectors. Changes no item and moves no version.
        """
        ...


class UnitOfWork(Protocol):
    """One transaction: all or nothing."""

    @property
    def partitions(self) -> Partitions:
        """Versions and changes."""
        ...

    @property
    def messages(self) -> Messages:
        """Messages."""
        ...

    @property
    def conversations(self) -> Conversations:
        """Conversations and their cursors."""
        ...

    @property
    def upkeep(self) -> Upkeep:
        """Queries for the worker alone."""
        ...

    @property
    def memories(self) -> Memories:
        """Memories."""
        ...

    @property
    def documents(self) -> Documents:
        """Documents and their passages."""
        ...

    @property
    def graph(self) -> Graph:
        """Entities and relations."""
        ...

    @property
    def entity_vectors(self) -> EntityVectors:
        """Vectors of entities."""
        ...

    @property
    def vectors(self) -> Vectors:
        """Vectors of items."""
        ...

    @property
    def jobs(self) -> Jobs:
        """Jobs and waiting events."""
        ...

    @property
    def history(self) -> History:
        """The history of items."""
        ...

    @property
    def profiles(self) -> Profiles:
        """Profiles of users."""
        ...

    @property
    def keys(self) -> Keys:
        """API keys."""
        ...

    @property
    def erasure(self) -> Erasure:
        """Permanent removal."""
        ...

    @property
    def dependants(self) -> Dependants:
        """Memories by their sources."""
        ...

    @property
    def tokens(self) -> Tokens:
        """OAuth tokens."""
        ...

    @property
    def audit(self) -> Audit:
        """The audit log."""
        ...

    @property
    def requests(self) -> Requests:
        """Requests with idempotency keys."""
        ...

    @property
    def contexts(self) -> Contexts:
        """What contexts showed to models."""
        ...

    @property
    def research(self) -> ResearchSteps:
        """Replies of models about documents, so that each is paid for once."""
        ...


@dataclass(frozen=True, slots=True)
class StoreCapabilities:
    """`is_durable`: commits survive the process. `is_shared`: several processes may use it at once. `is_blocking`: it
    waits for a server, so parallel reads run on the thread pool.
    """

    is_durable: bool
    is_shared: bool
    is_blocking: bool = False


class Store(Protocol):
    """Keeps rows. Thread-safe: each thread has its own unit of work."""

    @property
    def capabilities(self) -> StoreCapabilities:
        """Declared facts. They never change."""
        ...

    def read(self) -> AbstractContextManager[UnitOfWork]:
        """A unit of work that sees one consistent state. Writing raises `UnsupportedError`."""
        ...

    def write(self, *, is_erasing: bool = False) -> AbstractContextManager[UnitOfWork]:
        """A unit of work that commits durably when its block succeeds and leaves no trace if it raises. Writers of the
        same partition are serialised. `is_erasing`: use the space reserved for erasures if the disk is full.
        """
        ...

    def diagnose(self, *, is_quick: bool = False) -> list[Finding]:
        """Findings about availability, integrity, disk space, permissions and schema. `is_quick`: only instant checks.
        Never raises for the problems it looks for.
        """
        ...

    def check(self) -> None:
        """Check every row for damage before a copy or export. The result may be minutes old. Raises `DamagedError` if
        rows are lost or unreadable.
        """
        ...

    def scrub(self) -> tuple[str, ...]:
        """Remove deleted data from the files as far as the technology can. Returns what remains, in words for people,
        including data that a reader still holds after the usual wait.
        """
        ...

    def close(self) -> None:
        """Close connections and files. Idempotent."""
        ...


VERSIONS_OF_AN_AGE = 1 << 32
"""Restoring a copy continues every partition at a multiple of this number above all earlier versions. Readers with
older versions then know that none of their rows may exist any more.
"""

Told = Callable[[int, int], object]
"""Progress callback: `(done, total)` in the store's own units. Raise to stop the work."""


class Rows(Protocol):
    """Every row of a store at one moment, in the form of the embedded store, org by org."""

    @property
    def work(self) -> UnitOfWork:
        """The same moment as a unit of work."""
        ...

    @property
    def tables(self) -> Mapping[str, Sequence[str]]:
        """The columns of every table in a copy."""
        ...

    def orgs(self) -> Sequence[str]:
        """The orgs that have rows of any kind."""
        ...

    def count(self) -> int:
        """The number of rows."""
        ...

    def of(self, table: str, org: str | None) -> Iterator[Sequence[object]]:
        """An org's rows in a table, fetched lazily, in insertion order if it is kept. For None, all rows of a table in
        `SHARED_TABLES`. Raises `UnsupportedError` for a table whose rows cannot be assigned to orgs.
        """
        ...

    @property
    def keys(self) -> Mapping[str, Sequence[str]]:
        """The columns that identify an org's row, by table, referenced tables first. None for the audit log."""
        ...


@runtime_checkable
class CopyingStore(Protocol):
    """A `Store` that can be copied whole, including keys, audit log and receipts."""

    @property
    def kind(self) -> str:
        """Its technology in one word, for people."""
        ...

    @property
    def room(self) -> Path | None:
        """A folder beside the store with room for a copy. None if the store is on another machine."""
        ...

    def write_copy(self, path: Path, told: Told) -> None:
        """Write a snapshot of the rows to a new file at `path` without blocking readers and writers. Leaves out the
        same rows as `rows`. Raises `UnavailableError` if the disk is full. The file is then unusable.
        """
        ...

    def rows(self, *, is_whole: bool = False) -> AbstractContextManager[Rows]:
        """Read a snapshot of all rows without blocking readers and writers. `is_whole`: include `PASSING_TABLES`, and
        orgs that have moved away or are still arriving. Otherwise, only the `LOG_TABLES` of these orgs are included.
        """
        ...

    def take_copy(self, path: Path, ready: Callable[[UnitOfWork], Collection[str]], told: Told) -> None:
        """Replace all rows with the copy at `path` (of the current version) in one transaction. If the process dies,
        the old rows stay. Other processes with the store open continue with the new rows. Calls `ready` in that
        transaction, when no one else can write. It raises to abort, or returns the tables of `KEPT_TABLES` to keep.
        """
        ...


KEYS, AUDIT = "api_keys", "audit"
KEPT_TABLES = (KEYS, AUDIT)
"""Tables about running the store, not about memories."""

RECEIPTS = "receipts"
LOG_TABLES = (AUDIT, RECEIPTS)
"""Tables whose rows stay in the source after an org has moved. Arriving rows are added to the target's own."""

PLACEMENTS = "placements"
PASSING_TABLES = ("requests", "context_records", "oauth_tokens", PLACEMENTS)
"""Tables that no copy contains. A restore empties them, except `PLACEMENTS`, because they briefly describe the earlier
rows.
"""

SHARED_TABLES = ("erasing", "schedules", "spaces")
"""Tables that belong to no org and hold none of its text. All others name their org by `org` or `pid`."""
