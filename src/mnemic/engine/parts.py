"""What every use case is given: the ports it may call and the numbers it needs."""

from __future__ import annotations

import os
import threading
import uuid
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from mnemic.engine.accesses import AccessLog
from mnemic.engine.readers import ReaderPool
from mnemic.engine.retired import RetiredSpace
from mnemic.model.clocktime import to_microseconds
from mnemic.model.scope import Partition
from mnemic.model.settings import Settings
from mnemic.model.terms import Terms
from mnemic.ports.clock import Clock
from mnemic.ports.detector import Detector
from mnemic.ports.embedder import Embedder
from mnemic.ports.files import Files
from mnemic.ports.index import Index, ServedIndex
from mnemic.ports.keyring import Keyring
from mnemic.ports.llm import Llm
from mnemic.ports.observer import Observer
from mnemic.ports.reranker import Reranker
from mnemic.ports.store import Reading, Store
from mnemic.ports.tool import Tool
from mnemic.ports.window import Window
from mnemic.text.analyser import Analyser
from mnemic.text.writing import Writing, writing_of

POOL_THREADS = 8
"""Threads for what waits: enough for every source of a few contexts at once. They start on first use."""


class QueryCache:
    """The vectors of the queries asked last, by space and text."""

    def __init__(self, size: int = 1024) -> None:
        self._size = size
        self._vectors: OrderedDict[tuple[str, str], NDArray[np.float32]] = OrderedDict()
        self._guard = threading.Lock()

    def get(self, space: str, text: str) -> NDArray[np.float32] | None:
        """The vector, None when it is not held."""
        with self._guard:
            vector = self._vectors.get((space, text))
            if vector is not None:
                self._vectors.move_to_end((space, text))
            return vector

    def put(self, space: str, text: str, vector: NDArray[np.float32]) -> None:
        """Hold a vector, and let go of the one that was not asked for longest."""
        with self._guard:
            self._vectors[space, text] = vector
            while len(self._vectors) > self._size:
                self._vectors.popitem(last=False)


class PartitionLocks:
    """One lock per partition, shared by a few, so that their number is bounded."""

    def __init__(self, number: int = 64) -> None:
        self._locks = [threading.Lock() for _ in range(number)]

    def of(self, partition: Partition) -> threading.Lock:
        """The lock of a partition."""
        return self._locks[hash(partition) % len(self._locks)]


class PassagePlaces:
    """Which partitions hold passages of documents, as far as this process has seen; about a `size` of them."""

    def __init__(self, size: int = 65_536) -> None:
        self._size = size
        self._holds: dict[Partition, bool] = {}

    def holds(self, partition: Partition) -> bool | None:
        """True when passages were seen, False when none were, None when nobody has looked."""
        return self._holds.get(partition)

    def note(self, partition: Partition, *, holds: bool) -> bool:
        """Remember what was seen; what held passages once counts as holding them. The answer is what is known now."""
        known = holds or bool(self._holds.get(partition))
        if len(self._holds) >= self._size and partition not in self._holds:
            self._holds.clear()
        self._holds[partition] = known
        return known


@dataclass(frozen=True, slots=True)
class Parts:
    """The parts of one open Mnemic. `embedder` None: everything works, by keyword alone. `reranker`: used by every
    recall that does not say otherwise. `llm` None: summaries and their like are made by rules. `detector` None: secrets
    stay in what is stored. `window` None: that of the store. `further_embedders` fill spaces of their own beside that
    of `embedder`. `retired`: the space of the embedder before these, searched until they have filled theirs.
    `writings`: to which embedder, by the id of its space, only texts of some writings are given.
    `served_index`: the service that holds the rows of `index`, None where there is none.
    `tools`: looks for the tools beside Mnemic's own. `database_lines`: a database that is imported, as lines of JSON.
    `keyring`: the keys of sealed backups, None where none are made.
    """

    store: Store
    index: Index
    embedder: Embedder | None
    clock: Clock
    observer: Observer
    reranker: Reranker | None = None
    llm: Llm | None = None
    detector: Detector | None = None
    window: Window | None = None
    further_embedders: tuple[Embedder, ...] = ()
    retired: RetiredSpace | None = None
    writings: Mapping[str, frozenset[Writing]] = field(default_factory=dict[str, frozenset[Writing]])
    served_index: ServedIndex | None = None
    files: Files | None = None
    readers: ReaderPool = field(default_factory=ReaderPool)
    analyser: Analyser = field(default_factory=Analyser)
    settings: Settings = field(default_factory=Settings)
    tools: Callable[[], Sequence[Tool]] = tuple
    database_lines: Callable[[bytes], str] | None = None
    keyring: Keyring | None = None
    queries: QueryCache = field(default_factory=QueryCache)
    accesses: AccessLog = field(default_factory=AccessLog)
    catching_up: PartitionLocks = field(default_factory=PartitionLocks)
    passage_places: PassagePlaces = field(default_factory=PassagePlaces)
    pool: Executor = field(default_factory=lambda: ThreadPoolExecutor(POOL_THREADS, thread_name_prefix="mnemic-wait"))

    @property
    def embedders(self) -> tuple[Embedder, ...]:
        """One per space that is filled, the main one first."""
        return () if self.embedder is None else (self.embedder, *self.further_embedders)

    @property
    def known_embedders(self) -> tuple[Embedder, ...]:
        """The same, and behind them that of the retired space."""
        return self.embedders if self.retired is None else (*self.embedders, self.retired.embedder)

    def reads(self, embedder: Embedder, text: str) -> bool:
        """True when a text is given to this embedder; one without letters is given to all."""
        wanted = self.writings.get(embedder.space.id) if self.writings else None
        return wanted is None or writing_of(text) in (None, *wanted)

    @property
    def readings(self) -> tuple[Reading, ...]:
        """How the index wants changes read: once for each space, the main one first and the retired one last."""
        spaces = [embedder.space.id for embedder in self.known_embedders] or [None]
        return tuple(Reading(space, self.analyser.name) for space in spaces)

    def terms(self, *texts: str | None) -> Terms:
        """The analysed form of some texts together."""
        terms = [term for text in texts if text for term in self.analyser.terms(text)]
        return Terms(self.analyser.name, " ".join(terms))


def new_id(at: datetime) -> str:
    """A UUIDv7 (RFC 9562) of the moment `at` (of 1970 for an earlier one): its milliseconds, and 74 bits by chance.

    Made here, since `uuid_utils` takes the moment under other names in each of its major versions.
    """
    bits = (max(to_microseconds(at), 0) // 1000 << 80) | int.from_bytes(os.urandom(10))
    bits = bits & ~(0xF << 76) | 0x7 << 76
    return str(uuid.UUID(int=bits & ~(0b11 << 62) | 0b10 << 62))
