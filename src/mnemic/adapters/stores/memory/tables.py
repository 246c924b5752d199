"""The rows of the reference store at one moment."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from mnemic.model.candidates import Terms
from mnemic.model.document import Document, Step
from mnemic.model.graph import Entity, Mention, Relation, Support
from mnemic.model.item import Chunk, Conversation, Item, Memory, Message, ProfileEntry
from mnemic.model.records import ApiKey, AuditEntry, HistoryEntry, Job, KeptRequest, Receipt
from mnemic.model.scope import Partition

ItemT = TypeVar("ItemT", bound=Item)
Key = tuple[Partition, str]
LinkKey = tuple[Partition, str, str]
StepKey = tuple[Partition, Partition, str, str]


@dataclass(frozen=True, slots=True)
class Row(Generic[ItemT]):
    """An item, its terms, and the partition version and running number at which it was last written."""

    item: ItemT
    terms: Terms
    changed: int
    number: int


@dataclass(slots=True)
class Tables:
    """Every table as a dictionary by key; a unit of work writes into its own copy."""

    versions: dict[Partition, int] = field(default_factory=dict[Partition, int])
    horizons: dict[Partition, int] = field(default_factory=dict[Partition, int])
    conversations: dict[Key, Conversation] = field(default_factory=dict[Key, Conversation])
    messages: dict[Key, Row[Message]] = field(default_factory=dict[Key, Row[Message]])
    memories: dict[Key, Row[Memory]] = field(default_factory=dict[Key, Row[Memory]])
    documents: dict[Key, Document] = field(default_factory=dict[Key, Document])
    texts: dict[Key, str] = field(default_factory=dict[Key, str])
    chunks: dict[Key, Row[Chunk]] = field(default_factory=dict[Key, Row[Chunk]])
    vectors: dict[tuple[Partition, str, str, str], NDArray[np.float32]] = field(
        default_factory=dict[tuple[Partition, str, str, str], NDArray[np.float32]]
    )
    spaces: dict[str, int] = field(default_factory=dict[str, int])
    jobs: dict[Key, Job] = field(default_factory=dict[Key, Job])
    history: dict[Key, HistoryEntry] = field(default_factory=dict[Key, HistoryEntry])
    profiles: dict[Key, ProfileEntry] = field(default_factory=dict[Key, ProfileEntry])
    cursors: dict[tuple[Partition, str, str], int] = field(default_factory=dict[tuple[Partition, str, str], int])
    schedules: dict[str, datetime] = field(default_factory=dict[str, datetime])
    keys: dict[str, ApiKey] = field(default_factory=dict[str, ApiKey])
    audit: dict[int, AuditEntry] = field(default_factory=dict[int, AuditEntry])
    receipts: dict[tuple[str, str], Receipt] = field(default_factory=dict[tuple[str, str], Receipt])
    requests: dict[tuple[str, str, str], KeptRequest] = field(default_factory=dict[tuple[str, str, str], KeptRequest])
    entities: dict[Key, Entity] = field(default_factory=dict[Key, Entity])
    entity_vectors: dict[LinkKey, tuple[str, NDArray[np.float32]]] = field(
        default_factory=dict[LinkKey, tuple[str, NDArray[np.float32]]]
    )
    relations: dict[Key, Relation] = field(default_factory=dict[Key, Relation])
    mentions: dict[LinkKey, tuple[Mention, str]] = field(default_factory=dict[LinkKey, tuple[Mention, str]])
    supports: dict[LinkKey, Support] = field(default_factory=dict[LinkKey, Support])
    read_items: dict[Key, str] = field(default_factory=dict[Key, str])
    research_steps: dict[StepKey, Step] = field(default_factory=dict[StepKey, Step])
    secret: bytes = b""
    floor: int = 0  # versions of new partitions begin above it
    number: int = 0  # the running number of the row written last

    def copy(self) -> Tables:
        """A copy whose tables may be changed without changing these."""
        return Tables(
            self.versions.copy(),
            self.horizons.copy(),
            self.conversations.copy(),
            self.messages.copy(),
            self.memories.copy(),
            self.documents.copy(),
            self.texts.copy(),
            self.chunks.copy(),
            self.vectors.copy(),
            self.spaces.copy(),
            self.jobs.copy(),
            self.history.copy(),
            self.profiles.copy(),
            self.cursors.copy(),
            self.schedules.copy(),
            self.keys.copy(),
            self.audit.copy(),
            self.receipts.copy(),
            self.requests.copy(),
            self.entities.copy(),
            self.entity_vectors.copy(),
            self.relations.copy(),
            self.mentions.copy(),
            self.supports.copy(),
            self.read_items.copy(),
            self.research_steps.copy(),
            self.secret,
            self.floor,
            self.number,
        )
