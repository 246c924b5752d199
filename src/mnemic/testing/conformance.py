"""The whole suite for stores, and a way to run it without pytest's runner.

    class TestMyStore(StoreContract):
        @pytest.fixture
        def make_store(self, tmp_path):
            return lambda: MyStore(tmp_path / uuid4().hex)

`make_store` returns a function that opens a new empty store at every call. A store that declares to be durable or
shared subclasses `DurableStoreContract` and gives a fixture `reopen` too: a function that opens the place of a store
once more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from mnemic.errors import MnemicError
from mnemic.ports.store import Store
from mnemic.testing.faults import FaultsContract
from mnemic.testing.isolation import IsolationContract
from mnemic.testing.machine import MachineContract
from mnemic.testing.store_access import AuditContract, KeysContract, TokensContract
from mnemic.testing.store_chunks import ChunksContract
from mnemic.testing.store_compaction import CompactionContract
from mnemic.testing.store_contexts import ContextsContract
from mnemic.testing.store_conversations import ConversationsContract, SaidContract
from mnemic.testing.store_dependants import DependantsContract
from mnemic.testing.store_documents import DocumentsContract
from mnemic.testing.store_entity_vectors import EntityVectorsContract
from mnemic.testing.store_erasure import ErasureContract
from mnemic.testing.store_graph import GraphContract
from mnemic.testing.store_history import HistoryContract
from mnemic.testing.store_jobs import JobsContract
from mnemic.testing.store_listing import ListingContract
from mnemic.testing.store_memories import MemoriesContract
from mnemic.testing.store_messages import MessagesContract
from mnemic.testing.store_partitions import PartitionsContract
from mnemic.testing.store_profiles import ProfilesContract
from mnemic.testing.store_requests import RequestsContract
from mnemic.testing.store_research import ResearchStepsContract
from mnemic.testing.store_units import DurableContract, UnitsContract
from mnemic.testing.store_upkeep import UpkeepContract
from mnemic.testing.store_vectors import VectorsContract

MakeStore = Callable[[], Store]
REJECTIONS = (AssertionError, MnemicError, LookupError, ValueError, pytest.fail.Exception)


class StoreContract(
    PartitionsContract,
    MessagesContract,
    ConversationsContract,
    SaidContract,
    UpkeepContract,
    MemoriesContract,
    ListingContract,
    DocumentsContract,
    ChunksContract,
    CompactionContract,
    GraphContract,
    EntityVectorsContract,
    VectorsContract,
    JobsContract,
    HistoryContract,
    ProfilesContract,
    KeysContract,
    TokensContract,
    AuditContract,
    RequestsContract,
    ContextsContract,
    ResearchStepsContract,
    ErasureContract,
    DependantsContract,
    UnitsContract,
    FaultsContract,
    MachineContract,
    IsolationContract,
):
    """Every promise of the store port. A subclass gives the fixture `make_store`."""

    @pytest.fixture
    def store(self, make_store: MakeStore) -> Iterator[Store]:
        """An empty open store, closed after the test."""
        store = make_store()
        yield store
        store.close()


class DurableStoreContract(StoreContract, DurableContract):
    """The same for a store that outlives its process. A subclass gives the fixture `reopen` too."""


def rejections(contract: type, make_store: MakeStore) -> dict[str, BaseException]:
    """Runs every test of a contract class that takes a `store`, each on a new one: what failed, by the test's name."""
    failed: dict[str, BaseException] = {}
    for name in dir(contract):
        test = getattr(contract(), name)
        if name.startswith("test_") and "store" in test.__annotations__ and len(test.__annotations__) == 1:
            store = make_store()
            try:
                test(store=store)
            except REJECTIONS as error:
                failed[name] = error
            finally:
                store.close()
    return failed
