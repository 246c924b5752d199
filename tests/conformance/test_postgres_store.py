"""The PostgreSQL store keeps the contract of stores, durable and shared."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from mnemic.adapters.stores.postgres import PostgresStore
from mnemic.testing.conformance import DurableStoreContract


class TestPostgresStore(DurableStoreContract):
    @pytest.fixture
    def make_store(self, make_postgres: Callable[..., PostgresStore]) -> Callable[[], PostgresStore]:
        return make_postgres

    @pytest.fixture
    def reopen(self, make_postgres: Callable[..., PostgresStore]) -> Callable[[PostgresStore], PostgresStore]:
        return lambda store: make_postgres(store.schema)
