"""One writer at a time on a copy of the tables; committing puts the copy in place."""

from __future__ import annotations

import threading
from collections.abc import Generator
from contextlib import contextmanager

from mnemic.adapters.stores.memory.access import MemoryAudit, MemoryKeys
from mnemic.adapters.stores.memory.conversations import MemoryConversations, MemoryUpkeep
from mnemic.adapters.stores.memory.dependants import MemoryDependants
from mnemic.adapters.stores.memory.documents import MemoryDocuments
from mnemic.adapters.stores.memory.entity_vectors import MemoryEntityVectors
from mnemic.adapters.stores.memory.erasure import MemoryErasure
from mnemic.adapters.stores.memory.graph import MemoryGraph
from mnemic.adapters.stores.memory.items import MemoryMemories, MemoryMessages
from mnemic.adapters.stores.memory.profiles import MemoryProfiles
from mnemic.adapters.stores.memory.records import MemoryHistory, MemoryJobs, MemoryPartitions, MemoryVectors
from mnemic.adapters.stores.memory.requests import MemoryRequests
from mnemic.adapters.stores.memory.research import MemoryResearchSteps
from mnemic.adapters.stores.memory.tables import Tables
from mnemic.adapters.stores.memory.transaction import Transaction
from mnemic.errors import UnavailableError
from mnemic.model.health import Condition, Finding
from mnemic.ports.store import Store, StoreCapabilities, UnitOfWork


class MemoryUnitOfWork:
    """The small ports over one transaction."""

    def __init__(self, transaction: Transaction) -> None:
        self.partitions = MemoryPartitions(transaction)
        self.messages = MemoryMessages(transaction)
        self.conversations = MemoryConversations(transaction)
        self.upkeep = MemoryUpkeep(transaction)
        self.memories = MemoryMemories(transaction)
        self.documents = MemoryDocuments(transaction)
        self.graph = MemoryGraph(transaction)
        self.entity_vectors = MemoryEntityVectors(transaction)
        self.vectors = MemoryVectors(transaction)
        self.jobs = MemoryJobs(transaction)
        self.history = MemoryHistory(transaction)
        self.profiles = MemoryProfiles(transaction)
        self.keys = MemoryKeys(transaction)
        self.audit = MemoryAudit(transaction)
        self.requests = MemoryRequests(transaction)
        self.research = MemoryResearchSteps(transaction)
        self.erasure = MemoryErasure(transaction)
        self.dependants = MemoryDependants(transaction)


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
    def write(self) -> Generator[UnitOfWork]:
        self._check_open()
        with self._writer:
            tables = self._tables.copy()
            yield MemoryUnitOfWork(Transaction(tables, is_writing=True))
            self._tables = tables

    def diagnose(self, *, is_quick: bool = False) -> list[Finding]:
        del is_quick
        message = "rows are kept in this process and are gone with it"
        return [Finding("store", Condition.DEGRADED, message, "open a path to keep them")]

    def scrub(self) -> tuple[str, ...]:
        return ()

    def close(self) -> None:
        self._is_closed = True

    def _check_open(self) -> None:
        if self._is_closed:
            raise UnavailableError("the store is closed; open it again")


_: type[Store] = MemoryStore
