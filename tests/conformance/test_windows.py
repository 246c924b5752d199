"""Every window keeps the contract of the port."""

from __future__ import annotations

import pytest

from mnemic.adapters.windows.store import StoreWindow
from mnemic.ports.store import Store
from mnemic.testing.window_contract import MakeWindow, WindowContract


@pytest.mark.requirement("D-08", "D-09", "D-15", "D-16", "D-21")
class TestStoreWindow(WindowContract):
    @pytest.fixture
    def make_window(self) -> MakeWindow:
        def make(store: Store, ttl_s: float) -> StoreWindow:
            return StoreWindow(store, ttl_s=ttl_s)

        return make
