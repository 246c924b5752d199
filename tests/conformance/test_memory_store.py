"""The reference store keeps the contract of stores."""

from __future__ import annotations

import pytest

from mnemic.adapters.stores.memory import MemoryStore
from mnemic.testing.conformance import StoreContract


class TestMemoryStore(StoreContract):
    @pytest.fixture
    def make_store(self) -> type[MemoryStore]:
        return MemoryStore
