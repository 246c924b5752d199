"""The reference store's rows at one moment, and a transaction over them."""

from __future__ import annotations

from collections.abc import Callable, MutableMapping
from copy import copy
from dataclasses import dataclass, field, fields
from datetime import datetime
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from mnemic.errors import InvalidInputError, UnsupportedError
from mnemic.model.candidates import Terms
from mnemic.model.document import Document, Step
from mnemic.model.graph import Entity, Mention, Relation, Support
from mnemic.model.item import Chunk, Conversation, Item, Memory, Message, ProfileEntry
from mnemic.model.recall import ContextRecord
from mnemic.model.records import ApiKey, AuditEntry, HistoryEntry, Job, KeptRequest, KeptToken, Receipt
from mnemic.model.scope import Partition

ItemT = TypeVar("ItemT", bound=Item)
Key = tuple[Partition, str]
LinkKey = tuple[Partition, str, str]
StepKey = tuple[Partition, Partition, str, str]
VectorKey = tuple[Partition, str, str, str]
EntityVectors = dict[LinkKey, tuple[str, NDArray[np.float32]]]
NO_TERMS = Terms("", "")


@dataclass(frozen=True, slots=True)
class Row(Generic[ItemT]):
    """An item, its terms, and the partition version and sequence number of its last write."""

    item: ItemT
    terms: Terms
    changed: int
    number: int


@dataclass(slots=True)
class Tables:
    """Every table as a dictionary by key. A unit of work changes its own copy."""

    versions: dict[Partition, int] = field(default_factory=dict[Partition, int])
    horizons: dict[Partition, int] = field(default_factory=dict[Partition, int])
    conversations: dict[Key, Conversation] = field(default_factory=dict[Key, Conversation])
    messages: dict[Key, Row[Message]] = field(default_factory=dict[Key, Row[Message]])
    memories: dict[Key, Row[Memory]] = field(default_factory=dict[Key, Row[Memory]])
    documents: dict[Key, Document] = field(default_factory=dict[Key, Document])
    texts: dict[Key, str] = field(default_factory=dict[Key, str])
    chunks: dict[Key, Row[Chunk]] = field(default_factory=dict[Key, Row[Chunk]])
    vectors: dict[VectorKey, NDArray[np.float32]] = field(default_factory=dict[VectorKey, NDArray[np.float32]])
    spaces: dict[str, int] = field(default_factory=dict[str, int])
    jobs: dict[Key, Job] = field(default_factory=dict[Key, Job])
    history: dict[Key, HistoryEntry] = field(default_factory=dict[Key, HistoryEntry])
    profiles: dict[Key, ProfileEntry] = field(default_factory=dict[Key, ProfileEntry])
    cursors: dict[tuple[Partition, str, str], int] = field(default_factory=dict[tuple[Partition, str, str], int])
    schedules: dict[str, datetime] = field(default_factory=dict[str, datetime])
    keys: dict[str, ApiKey] = field(default_factory=dict[str, ApiKey])
    tokens: dict[str, KeptToken] = field(default_factory=dict[str, KeptToken])
    audit: dict[int, AuditEntry] = field(default_factory=dict[int, AuditEntry])
    receipts: dict[tuple[str, str], Receipt] = field(default_factory=dict[tuple[str, str], Receipt])
    requests: dict[tuple[str, str, str], KeptRequest] = field(default_factory=dict[tuple[str, str, str], KeptRequest])
    entities: dict[Key, Entity] = field(default_factory=dict[Key, Entity])
    entity_vectors: EntityVectors = field(default_factory=EntityVectors)
    relations: dict[Key, Relation] = field(default_factory=dict[Key, Relation])
    mentions: dict[LinkKey, tuple[Mention, str]] = field(default_factory=dict[LinkKey, tuple[Mention, str]])
    supports: dict[LinkKey, Support] = field(default_factory=dict[LinkKey, Support])
    read_items: dict[Key, str] = field(default_factory=dict[Key, str])
    research_steps: dict[StepKey, Step] = field(default_factory=dict[StepKey, Step])
    context_records: dict[Key, ContextRecord] = field(default_factory=dict[Key, ContextRecord])
    secret: bytes = b""
    floor: int = 0  # versions of new partitions begin above it
    number: int = 0  # the sequence number of the last row

    def items(self) -> list[Row[Item]]:
        """The rows of all messages, memories and chunks."""
        return [*self.messages.values(), *self.memories.values(), *self.chunks.values()]  # pyright: ignore[reportReturnType] -- a row is read-only, hence covariant

    def copy(self) -> Tables:
        """A copy that can be changed independently."""
        values: list[Any] = [copy(getattr(self, each.name)) for each in fields(self)]
        return Tables(*values)


class Transaction:
    """`tables`, to read, and in a writing transaction also to change, as `writable`."""

    def __init__(self, tables: Tables, *, is_writing: bool) -> None:
        self.tables, self.is_writing = tables, is_writing
        self._advanced: set[Partition] = set()

    @property
    def writable(self) -> Tables:
        """The tables, to change. Raises `UnsupportedError` in a read transaction."""
        if not self.is_writing:
            raise UnsupportedError("this unit of work is read-only; open one with write()", capability="write")
        return self.tables

    def check_dims(self, space: str, dims: int) -> None:
        """Record a new space's dims. Raises `InvalidInputError` if they differ from the space's."""
        known = self.writable.spaces.setdefault(space, dims)
        if known != dims:
            raise InvalidInputError(
                f"a vector with {dims} dimensions does not fit space {space}, whose vectors have {known}"
            )

    def changed(self, partition: Partition) -> int:
        """The version for writing rows of this partition."""
        versions = self.writable.versions
        if partition not in self._advanced:
            self._advanced.add(partition)
            if not versions.get(partition):  # new, or begun without a row: no reader continues from its old state
                versions[partition] = self.tables.floor
                self.writable.horizons[partition] = self.tables.floor + 1
            versions[partition] += 1
        return versions[partition]

    def number(self) -> int:
        """The sequence number of a new row."""
        self.writable.number += 1
        return self.tables.number

    def forget_vectors(self, partition: Partition, *item_ids: str) -> None:
        """Remove all vectors of these items."""
        gone = {(partition, item_id) for item_id in item_ids}
        for key in [key for key in self.tables.vectors if key[:2] in gone]:
            del self.writable.vectors[key]


_RowT = TypeVar("_RowT")


def remove_if(rows: MutableMapping[Any, _RowT], is_gone: Callable[[_RowT], bool]) -> int:
    """Remove rows and count them."""
    gone = [key for key, row in rows.items() if is_gone(row)]
    for key in gone:
        del rows[key]
    return len(gone)


class Port:
    """A port over one transaction."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction
