"""The port of the store: the only truth. One unit of work is one transaction that exposes small ports over rows.

Every read names what may be seen (`Visibility` or `Partition`), every write carries its partition, so that no call can
reach a row outside. All errors of the technology arrive as `BackendError` and its children.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from mnemic.model.change import Change
from mnemic.model.conversation import Conversation
from mnemic.model.health import Finding
from mnemic.model.item import Memory, Message
from mnemic.model.query import Counts, MemoryQuery
from mnemic.model.scope import Partition, Visibility
from mnemic.model.terms import Terms
from mnemic.ports.access import Audit, Keys
from mnemic.ports.conversations import Conversations, Upkeep
from mnemic.ports.dependants import Dependants
from mnemic.ports.documents import Documents
from mnemic.ports.entity_vectors import EntityVectors
from mnemic.ports.erasure import Erasure
from mnemic.ports.graph import Graph
from mnemic.ports.history import History
from mnemic.ports.jobs import Jobs
from mnemic.ports.profiles import Profiles
from mnemic.ports.requests import Requests
from mnemic.ports.research import ResearchSteps

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
    """A change whose stored terms are of another analyser: `text` must be analysed anew."""

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
        """Remove their text, author name, terms, metadata and vectors and leave tombstones, which keep the external id;
        returns how many there were.
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
        """Add to access counts, set the time of last access and undo fading; this is no change of the memory and moves
        no version.
        """
        ...

    def erase(self, partition: Partition, ids: Sequence[str], at: datetime) -> int:
        """Remove all that they say (text, context, snippet, source, categories, provenance, metadata, dedup key, terms,
        vectors) and leave tombstones; returns how many there were.
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
        """The last, by id, of the items with a main vector in `space` and in none of `others`; None when there is
        none.
        """
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
        no time and waits for nobody. Never raises for what it is there to find.
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
