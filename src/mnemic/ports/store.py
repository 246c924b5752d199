"""The port of the store: the only truth. One unit of work is one transaction that exposes small ports over rows.

Every read names what may be seen (`Visibility` or `Partition`), every write carries its partition, so that no call can
reach a row outside. All errors of the technology arrive as `BackendError` and its children.

A copy of the store is a file of the embedded store, whichever store wrote it. So a backup of one kind restores into
another, and a backup of an older version is migrated as that store is.
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
    Upkeep,
)


class Erasure(Protocol):
    """Removes rows without a tombstone, and keeps the proof. For the verb `erase` alone."""

    def count(self, partition: Partition) -> Mapping[str, int]:
        """What `wipe` would remove: rows by table, those of tables without any left out."""
        ...

    def wipe(self, partition: Partition) -> Mapping[str, int]:
        """Remove every row of a partition, tombstones and the partition itself too; rows by table, as `count`.

        Who writes there later begins at a version above the one it had, so that no index takes the new rows for the old
        ones. It must be the last call on this partition in its unit of work.
        """
        ...

    def derived(
        self, org: str, partitions: Sequence[Partition], ids: Collection[str]
    ) -> Sequence[tuple[Partition, str]]:
        """Memories of the org that lie outside `partitions` and have among their sources (`Memory.provenance`) an item
        of one of these, or of `ids`: (partition, id), erased ones left out. Whatever their private agent.
        """
        ...

    def private(self, org: str, agent: str) -> Sequence[tuple[Partition, str]]:
        """Memories and documents of the org that are private to the agent, wherever they lie: (partition, id)."""
        ...

    def key(self, inherited: bytes = b"") -> bytes:
        """The secret of this store for keyed hashes, 32 bytes, made when it is first asked for in a unit of work that
        writes; empty in one that reads before that. `inherited`: the secret of another store whose receipts come here,
        taken over instead of making one.
        """
        ...

    def add(self, receipt: Receipt) -> None:
        """Keep a receipt. One whose id is taken in its org raises `ConflictError`."""
        ...

    def receipts(self, org: str) -> Sequence[Receipt]:
        """The receipts of an org, oldest first."""
        ...

    def orgs(self) -> Sequence[str]:
        """The orgs that have receipts, in order. For maintenance; no verb of a scope may use it."""
        ...


@dataclass(frozen=True, slots=True)
class SourceText:
    """Something that a memory was made of, as it is stored now."""

    partition: Partition
    id: str
    text: str


class Dependants(Protocol):
    """What was made of what (`Memory.source_ids`), over all partitions of an org; never of another one.

    An id is one item's within a partition only. In a memory it means the item of its own partition, erased ones too;
    only where there is none it means one elsewhere in the org. Whatever agent a memory is private to.
    """

    def of(self, partition: Partition, ids: Collection[str]) -> Sequence[Memory]:
        """The memories, not erased, that were made of one of these items of a partition. In a unit of work that writes,
        no one else writes there, or where they lie, until its end.
        """
        ...

    def flagged(self, org: str, source_id: str) -> Sequence[Memory]:
        """The memories of the org, not erased, with a flag that names the source."""
        ...

    def sources(self, memory: Memory) -> Sequence[SourceText]:
        """What is left of what the memory was made of: messages, memories, passages, and documents as texts."""
        ...


STORE_SECRET_BYTES = 32  # as long as the SHA-256 hashes that it keys: longer adds nothing
MAIN_VIEW = "item"


@dataclass(frozen=True, slots=True)
class VectorRow:
    """One vector of one item: `view` says of what part, `space` by which model; `(dims,) float32`, L2-normalised."""

    item_id: str
    view: str
    space: str
    vector: NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Reading:
    """How changes are to be read: vectors of `space` (None: without vectors), terms of `analyser`."""

    space: str | None
    analyser: str


@dataclass(frozen=True, slots=True)
class StaleTerms:
    """A change whose stored terms come from another analyser: `text` must be analysed again."""

    change: Change
    text: str


class Partitions(Protocol):
    """Versions, and what changed since one. Writing messages, memories or vectors of a partition advances its version,
    once in a unit of work and under the partition's lock, and marks those rows with it; a call that writes no row
    advances nothing.
    """

    def versions(self, partitions: Sequence[Partition]) -> dict[Partition, int]:
        """The version of each; 0 for one that was never written."""
        ...

    def changes(self, partition: Partition, since: int, reading: Reading) -> Iterable[Change | StaleTerms]:
        """The present form of every message, memory and chunk written after version `since`, by version of its last
        writing; within one, messages, then memories, then chunks, each in the order they were added. An erased one
        comes as gone. A vector counts as a write of its item.
        """
        ...

    def count(self, partitions: Sequence[Partition]) -> dict[str, int]:
        """Rows that are not erased, by table: messages, memories, documents, chunks, vectors."""
        ...

    def tally(self, visible: Visibility, now: datetime) -> Counts:
        """How many visible memories that have not expired at `now` there are, and how many visible documents."""
        ...

    def horizon(self, partition: Partition) -> int:
        """The version below which `changes` may not tell of all that is gone: who has read up to one between 0 and this
        has to forget the partition and read it from the beginning. 0 when nothing ever went without a tombstone.
        """
        ...

    def tombstones(self, partition: Partition) -> int:
        """How many tombstones of chunks `compact` may remove: all but those of which a memory was made."""
        ...

    def compact(self, partition: Partition, limit: int) -> int:
        """Remove such tombstones, those erased first first, at most `limit`, and raise the horizon to the version of
        the last of them; advances no version. Returns how many went.
        """
        ...

    def all(self) -> list[Partition]:
        """Every partition that was ever written, in order. For maintenance; no verb of a scope may use it."""
        ...


class Messages(Protocol):
    """What was said, verbatim, in order. Rows are immutable but for erasure."""

    def conversation(self, partition: Partition, session: str, at: datetime) -> Conversation:
        """The conversation, begun now if it is new, and locked until the end of this unit of work."""
        ...

    def add(self, rows: Sequence[tuple[Message, Terms]]) -> None:
        """Append messages and count them in their conversation (which must be locked by `conversation`). A second
        message with the same external id or position in one conversation, or with the same id in one partition,
        raises `ConflictError`.
        """
        ...

    def get(self, visible: Visibility, ids: Sequence[str]) -> list[Message]:
        """Those that exist, are visible and not erased, in the order of `ids`."""
        ...

    def of_turn(self, visible: Visibility, turn_id: str) -> list[Message]:
        """The messages of a turn in order; none when it is unknown or not visible."""
        ...

    def by_external_id(self, partition: Partition, session: str, external_ids: Collection[str]) -> dict[str, Message]:
        """Those already there, by external id, erased ones included (so that an import does not bring them back)."""
        ...

    def latest(self, visible: Visibility, session: str, limit: int) -> list[Message]:
        """The last `limit` messages of a session by position, oldest first; ties (a user's session and the nameless one
        of the same name) end with the id.
        """
        ...

    def page(self, visible: Visibility, after: str | None, limit: int) -> list[Message]:
        """The first `limit` messages that are visible and not erased, ordered by id, behind the id `after`."""
        ...

    def erase(self, partition: Partition, ids: Sequence[str]) -> int:
        """Remove their text, author name, terms, metadata, bookkeeping and vectors and leave tombstones, which keep
        the external id; returns how many there were.
        """
        ...


class Memories(Protocol):
    """What is worth keeping."""

    def add(self, rows: Sequence[tuple[Memory, Terms]]) -> list[bool]:
        """Insert each unless its dedup key is taken (unique per partition and private agent among active and
        quarantined): True where inserted. Two writers at once leave one row, and neither gets an error. A new row whose
        id is taken in its partition raises `ConflictError`.
        """
        ...

    def get(self, visible: Visibility, ids: Sequence[str]) -> list[Memory]:
        """Those that exist, are visible and not erased, in the order of `ids`; whatever their other state."""
        ...

    def holder(self, partition: Partition, private_agent: str | None, dedup_key: str) -> Memory | None:
        """The active or quarantined memory that holds the key."""
        ...

    def list(self, visible: Visibility, query: MemoryQuery) -> list[Memory]:
        """The visible memories that meet the query, in its order."""
        ...

    def ids(self, visible: Visibility, query: MemoryQuery) -> set[str]:
        """The ids of all visible memories that meet the query; its order, limit and after are not regarded."""
        ...

    def replace(self, memory: Memory, terms: Terms, was_updated_at: datetime) -> bool:
        """Put `memory` in the place of the row with its id and partition, if that was last updated at `was_updated_at`;
        False when not. Raises `ConflictError` when the new dedup key is taken. Vectors of a changed text are removed.
        """
        ...

    def touch(self, partition: Partition, accesses: Mapping[str, int], at: datetime) -> None:
        """Add to access counts, set the last access, undo fading. The memory keeps its version."""
        ...

    def erase(self, partition: Partition, ids: Sequence[str], at: datetime) -> int:
        """Remove all that they say (text, context, snippet, source, categories, provenance, metadata, bookkeeping,
        dedup key, terms, vectors) and leave tombstones; returns how many there were.
        """
        ...


class Vectors(Protocol):
    """Vectors of items, one per (partition, item, view, space)."""

    def put(self, partition: Partition, rows: Sequence[VectorRow], at: datetime) -> int:
        """Store vectors, replacing older ones; a memory's `updated_at` becomes `at`. Returns how many were stored: a
        vector of a missing or erased item is left out. Raises `InvalidInputError` when the dims are not the space's.
        """
        ...

    def get(self, partition: Partition, ids: Sequence[str], view: str, space: str) -> dict[str, NDArray[np.float32]]:
        """The vectors that exist, by item."""
        ...

    def missing(self, partition: Partition, space: str, limit: int) -> list[tuple[str, str]]:
        """(id, text) of items that are not erased and have no main vector in `space`; blank texts are left out."""
        ...

    def spaces(self) -> dict[str, int]:
        """How many vectors each space has in the whole store."""
        ...

    def known(self) -> set[str]:
        """The spaces that a vector was ever kept in and that were not removed; quicker to ask for than their counts."""
        ...

    def coverage(self, partition: Partition, space: str) -> tuple[int, int]:
        """How many items are neither erased nor blank, and how many of them have a main vector in `space`."""
        ...

    def alone(self, partition: Partition, space: str, others: Collection[str]) -> str | None:
        """The last id of the items with a main vector in `space` and in none of `others`; None without one."""
        ...

    def remove(self, partition: Partition | None, space: str) -> int:
        """Remove all vectors of a space of one partition, those of its entities too, or with None of all that are left,
        and then the space itself is not known any more; returns how many of items. It is no change of the items and
        moves no version.
        """
        ...


class UnitOfWork(Protocol):
    """One transaction: all of it or nothing of it."""

    @property
    def partitions(self) -> Partitions:
        """Versions and changes."""
        ...

    @property
    def messages(self) -> Messages:
        """What was said."""
        ...

    @property
    def conversations(self) -> Conversations:
        """How far each conversation was worked on."""
        ...

    @property
    def upkeep(self) -> Upkeep:
        """What the worker alone does."""
        ...

    @property
    def memories(self) -> Memories:
        """What is worth keeping."""
        ...

    @property
    def documents(self) -> Documents:
        """Files that were read, and their passages."""
        ...

    @property
    def graph(self) -> Graph:
        """Entities and relations that items name."""
        ...

    @property
    def entity_vectors(self) -> EntityVectors:
        """Vectors of entities."""
        ...

    @property
    def vectors(self) -> Vectors:
        """Vectors of all of these."""
        ...

    @property
    def jobs(self) -> Jobs:
        """Work to do."""
        ...

    @property
    def history(self) -> History:
        """What happened."""
        ...

    @property
    def profiles(self) -> Profiles:
        """What is known for certain."""
        ...

    @property
    def keys(self) -> Keys:
        """Who may come in by a door."""
        ...

    @property
    def erasure(self) -> Erasure:
        """What is removed for good."""
        ...

    @property
    def dependants(self) -> Dependants:
        """What was made of what."""
        ...

    @property
    def audit(self) -> Audit:
        """What was done through the doors."""
        ...

    @property
    def requests(self) -> Requests:
        """What came with a key of its own, so that it is done once."""
        ...

    @property
    def research(self) -> ResearchSteps:
        """What a model said of documents, so that it is asked once."""
        ...


@dataclass(frozen=True, slots=True)
class StoreCapabilities:
    """`is_durable`: what was committed survives the process. `is_shared`: several processes may use it at once.
    `is_blocking`: it waits for a server, so that reads worth doing at the same time run on the pool.
    """

    is_durable: bool
    is_shared: bool
    is_blocking: bool = False


class Store(Protocol):
    """Keeps rows. Safe to use from several threads, each with its own unit of work."""

    @property
    def capabilities(self) -> StoreCapabilities:
        """Declared facts, constant for the life of the object."""
        ...

    def read(self) -> AbstractContextManager[UnitOfWork]:
        """A unit of work that sees one consistent state. Writing in it raises `UnsupportedError`."""
        ...

    def write(self) -> AbstractContextManager[UnitOfWork]:
        """A unit of work that commits durably when its block ends well and leaves no trace when it raises. Units of
        work that write are serialised where they touch the same partition.
        """
        ...

    def diagnose(self, *, is_quick: bool = False) -> list[Finding]:
        """What the technology says of itself: is it there, integrity, room, rights, schema. `is_quick`: only what takes
        no time and never waits. Never raises for what it is there to find.
        """
        ...

    def check(self) -> None:
        """Look for damage in every row, before all of them are copied or written out; an answer may be minutes old.
        Raises `DamagedError` if rows are lost or cannot be read.
        """
        ...

    def scrub(self) -> tuple[str, ...]:
        """Remove from the files what was deleted from the rows, as far as the technology can; what it cannot, in words
        for a person: what a reader still holds after the usual wait is among these.
        """
        ...

    def close(self) -> None:
        """Let go of connections and files; closing twice is harmless."""
        ...


VERSIONS_OF_AN_AGE = 1 << 32
"""Taking a copy begins a new age of a store: every partition goes on from a multiple of this number that is above all
versions that were, so that readers with older versions know that none of their rows need exist any
more.
"""

Told = Callable[[int, int], object]
"""Called with how much is done and how much there is, in units of the store's own; what it raises ends the work."""


class Rows(Protocol):
    """Every row of a store as all of them were at one moment, in the form of the embedded store, org by org."""

    @property
    def work(self) -> UnitOfWork:
        """The same moment as use cases see it."""
        ...

    @property
    def tables(self) -> Mapping[str, Sequence[str]]:
        """The columns of every table that copies hold."""
        ...

    def orgs(self) -> Sequence[str]:
        """The orgs that have rows of any kind."""
        ...

    def count(self) -> int:
        """How many rows there are."""
        ...

    def of(self, table: str, org: str | None) -> Iterator[Sequence[object]]:
        """The rows of a table, fetched as they are used: those of one org, or (None) all of a table of
        `SHARED_TABLES`. Raises `UnsupportedError` for a table of which it is not known whose its rows are.
        """
        ...


@runtime_checkable
class CopyingStore(Protocol):
    """A `Store` that can be copied as a whole, keys, audit log and receipts included."""

    @property
    def kind(self) -> str:
        """Its technology in one word, for people."""
        ...

    @property
    def room(self) -> Path | None:
        """The folder where a copy has room, beside the store; None when the store is not on this machine."""
        ...

    def write_copy(self, path: Path, told: Told) -> None:
        """Write every row, as all of them were at one moment, to a new file at `path`; readers and writers go on
        meanwhile. Raises `UnavailableError` when the disk is full; what is at `path` then is of no use.
        """
        ...

    def rows(self) -> AbstractContextManager[Rows]:
        """Read every row, as all of them are at one moment; readers and writers go on meanwhile."""
        ...

    def take_copy(self, path: Path, ready: Callable[[UnitOfWork], Collection[str]], told: Told) -> None:
        """Put the rows of the copy at `path`, of the present version, in the place of all that there are, in one
        transaction: a process that dies leaves the old ones, and others that have the store open go on with the new.

        `ready` is called in that transaction, when no one else can write any more: it raises to leave all as it was, or
        answers the tables to keep as they are, of `KEPT_TABLES`.
        """
        ...


KEYS, AUDIT = "api_keys", "audit"
KEPT_TABLES = (KEYS, AUDIT)
"""Tables that belong to who runs the store rather than to what is remembered."""

PASSING_TABLES = ("requests",)
"""Tables that no copy holds, and that are empty when one was taken: answers that were given of the rows before."""

SHARED_TABLES = ("erasing", "schedules", "spaces")
"""Tables that belong to no org, and hold no text of any; every other one says by `org` or `pid` whose its rows are."""
