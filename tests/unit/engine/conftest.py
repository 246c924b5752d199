"""A Mnemic over each real store, with a clock to turn and a small embedder."""

from __future__ import annotations

from collections.abc import Callable, Generator
from functools import partial
from pathlib import Path

import pytest

from mnemic.adapters.indexes.scan import ScanIndex
from mnemic.adapters.observers.counters import CounterObserver
from mnemic.adapters.stores.memory import MemoryStore
from mnemic.adapters.stores.sqlite import SqliteStore
from mnemic.api import Mnemic
from mnemic.build import EXAMPLES
from mnemic.engine.engine import Engine
from mnemic.engine.tools.toolbox import find_tools
from mnemic.ports.store import Store
from tests.unit.engine.kit import Clock, WordEmbedder


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def embedder() -> WordEmbedder:
    return WordEmbedder()


@pytest.fixture
def observer() -> CounterObserver:
    return CounterObserver()


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Generator[Store]:
    opened: Store = MemoryStore() if request.param == "memory" else SqliteStore(tmp_path / "memory.db")
    yield opened
    opened.close()


@pytest.fixture
def make_parts(store: Store, clock: Clock, observer: CounterObserver) -> Callable[..., Engine]:
    """Parts over the store with another embedder or index."""

    def make(embedder: WordEmbedder | None, *, budget_bytes: int = 1 << 30) -> Engine:
        index = ScanIndex(budget_bytes=budget_bytes)
        tools = partial(find_tools, EXAMPLES)
        return Engine(store=store, index=index, embedder=embedder, clock=clock, observer=observer, tools=tools)

    return make


@pytest.fixture
def parts(make_parts: Callable[..., Engine], embedder: WordEmbedder) -> Engine:
    return make_parts(embedder)


@pytest.fixture
def mnemic(parts: Engine) -> Mnemic:
    return Mnemic(parts, actor="tester")
