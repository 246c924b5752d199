"""The SQLite store keeps the contract of stores, durable and shared."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from pathlib import Path

import pytest

from mnemic.adapters.stores.sqlite import SqliteStore
from mnemic.testing.conformance import DurableStoreContract


class TestSqliteStore(DurableStoreContract):
    @pytest.fixture
    def make_store(self, tmp_path: Path) -> Callable[[], SqliteStore]:
        numbers = count(1)
        return lambda: SqliteStore(tmp_path / f"{next(numbers)}.db")

    @pytest.fixture
    def reopen(self) -> Callable[[SqliteStore], SqliteStore]:
        return lambda store: SqliteStore(store.path)
