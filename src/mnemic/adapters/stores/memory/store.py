"""The reference store: one writer at a time changes a copy of the tables; committing replaces them."""

import threading
from collections.abc import Generator
from contextlib import contextmanager

from mnemic.adapters.stores.checks import lazy_port
from mnemic.adapters.stores.memory import records
from mnemic.adapters.stores.memory.documents import (
    MemoryDependants,
    MemoryDocuments,
    MemoryErasure,
    MemoryResearchSteps,
)
from mnemic.adapters.stores.memory.graph import MemoryEntityVectors, MemoryGraph
from mnemic.adapters.stores.memory.items import MemoryConversations, MemoryMemories, MemoryMessages
from mnemic.adapters.stores.memory.tables import Tables, Transaction
from mnemic.errors import UnavailableError
from mnemic.model.health import Condition, Finding
from mnemic.ports.store import Store, StoreCapabilities, UnitOfWork


class MemoryUnitOfWork:
    """The ports of one transaction."""

    partitions = lazy_port(records.MemoryPartitions)
    messages = lazy_port(MemoryMessages)
    conversations = lazy_port(MemoryConversations)
    upkeep = lazy_port(records.MemoryUpkeep)
    memories = lazy_port(MemoryMemories)
    documents = lazy_port(MemoryDocuments)
    graph = lazy_port(MemoryGraph)
    entity_vectors = lazy_port(MemoryEntityVectors)
    vectors = lazy_port(records.MemoryVectors)
    jobs = lazy_port(records.MemoryJobs)
    history = lazy_port(records.MemoryHistory)
    profiles = lazy_port(records.MemoryProfiles)
    keys = lazy_port(records.MemoryKeys)
    tokens = lazy_port(records.MemoryTokens)
    audit = lazy_port(records.MemoryAudit)
    requests = lazy_port(records.MemoryRequests)
    contexts = lazy_port(records.MemoryContexts)
    research = lazy_port(MemoryResearchSteps)
    erasure = lazy_port(MemoryErasure)
    dependants = lazy_port(MemoryDependants)

    def __init__(self, transaction: Transaction) -> None:
        self.transaction = transaction


class MemoryStore:
    """The `Store` port over dictionaries."""

    capabilities = StoreCapabilities(is_durable=False, is_shared=False)

    def __init__(self) -> None:
        self._tables = Tables()
        self._writer = threading.Lock()
        self._is_closed = False

    @contextmanager
    def read(self) -> Generator[UnitOfWork]:
        self._check_open()
        yield MemoryUnitOfWork(Transaction(self._tables, is_writing=False))

    @contextmanager
    def write(self, *, is_erasing: bool = False) -> Generator[UnitOfWork]:
        del is_erasing
        self._check_open()
        with self._writer:
            tables = self._tables.copy()
            yield MemoryUnitOfWork(Transaction(tables, is_writing=True))
            self._tables = tables

    def diagnose(self, *, is_quick: bool = False) -> list[Finding]:
        del is_quick
        message = "data is kept in memory and lost when this process ends"
        return [Finding("store", Condition.DEGRADED, message, "open a file to keep the data")]

    def check(self) -> None:
        return

    def scrub(self) -> tuple[str, ...]:
        return ()

    def close(self) -> None:
        self._is_closed = True

    def _check_open(self) -> None:
        if self._is_closed:
            raise UnavailableError("the store is closed; open it again")


_: type[Store] = MemoryStore
