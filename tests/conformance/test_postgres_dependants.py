"""What becomes of memories when something they were made of falls: the same on PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from mnemic.adapters.indexes.scan import ScanIndex
from mnemic.adapters.observers.counters import CounterObserver
from mnemic.api import Mnemic
from mnemic.engine.engine import Engine
from mnemic.ports.store import Store
from tests.conformance.conftest import MakePostgres
from tests.unit.engine.kit import Clock, WordEmbedder
from tests.unit.engine.test_dependants import TestErased, TestFlags, TestReview
from tests.unit.engine.test_remake import TestDigests, TestPreferences, TestProfile

__all__ = ["TestDigests", "TestErased", "TestFlags", "TestPreferences", "TestProfile", "TestReview"]


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def store(make_postgres: MakePostgres) -> Iterator[Store]:
    store = make_postgres()
    yield store
    store.close()


@pytest.fixture
def parts(store: Store, clock: Clock) -> Engine:
    return Engine(store=store, index=ScanIndex(), embedder=WordEmbedder(), clock=clock, observer=CounterObserver())


@pytest.fixture
def mnemic(parts: Engine) -> Mnemic:
    return Mnemic(parts, actor="tester")
