"""Every window keeps the contract of the port."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from mnemic.adapters.observers.counters import CounterObserver
from mnemic.adapters.windows.redis import RedisWindow
from mnemic.adapters.windows.store import StoreWindow
from mnemic.ports.store import Store
from mnemic.testing.window_contract import MakeWindow, WindowContract
from tests.redis_servers import RedisServer


@pytest.mark.requirement("D-08", "D-09", "D-15", "D-16", "D-21")
class TestStoreWindow(WindowContract):
    @pytest.fixture
    def make_window(self) -> MakeWindow:
        def make(store: Store, ttl_s: float) -> StoreWindow:
            return StoreWindow(store, ttl_s=ttl_s)

        return make


@pytest.fixture(scope="module")
def server() -> Iterator[RedisServer]:
    server = RedisServer()
    yield server
    server.close()


@pytest.mark.requirement("D-08", "D-09", "D-16", "D-21", "J-55")
class TestRedisWindow(WindowContract):
    @pytest.fixture
    def make_window(self, server: RedisServer) -> MakeWindow:
        server.client.flushall()

        def make(store: Store, ttl_s: float) -> RedisWindow:
            return RedisWindow(store, server.url, observer=CounterObserver(), ttl_s=ttl_s)

        return make


@pytest.mark.requirement("J-55")
class TestRedisWindowOverPostgres(TestRedisWindow):
    @pytest.fixture
    def store(self, make_postgres: Callable[[], Store]) -> Iterator[Store]:
        store = make_postgres()
        yield store
        store.close()


@pytest.mark.requirement("D-19", "R-22")
class TestRedisWindowWithoutARedis(WindowContract):
    @pytest.fixture
    def make_window(self) -> MakeWindow:
        def make(store: Store, ttl_s: float) -> RedisWindow:
            return RedisWindow(store, "unix:///nowhere/socket", observer=CounterObserver(), ttl_s=ttl_s)

        return make
