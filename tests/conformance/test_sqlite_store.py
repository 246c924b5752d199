"""The SQLite store keeps the contract of stores, durable and shared."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from pathlib import Path

import pytest

from mnemic.adapters.stores.sqlite import SqliteStore, session
from mnemic.model.scope import Level
from mnemic.testing.conformance import DurableStoreContract
from mnemic.testing.samples import ANNA, HERS
from mnemic.testing.store_entity_vectors import an_entity_vector, named_by, nearest, put_vectors


class TestSqliteStore(DurableStoreContract):
    @pytest.fixture
    def make_store(self, tmp_path: Path) -> Callable[[], SqliteStore]:
        numbers = count(1)
        return lambda: SqliteStore(tmp_path / f"{next(numbers)}.db")

    @pytest.fixture
    def reopen(self) -> Callable[[SqliteStore], SqliteStore]:
        return lambda store: SqliteStore(store.path)

    def test_vectors_of_entities_that_are_compared_in_parts_give_what_all_at_once_give(
        self, store: SqliteStore, monkeypatch: pytest.MonkeyPatch
    ):
        shared = ANNA.partition(Level.ORG)
        for number, partition in enumerate((HERS, shared, HERS, shared, HERS, shared, HERS)):
            name = f"Tea {number // 2}"
            named_by(store, name, partition=partition)
            put_vectors(store, an_entity_vector(name, 1.0, number / 3, 0.0), partition=partition)
        whole = nearest(store, 1.0, 0.5, 0.0, limit=3)
        for at_once in (1, 2, 3):
            monkeypatch.setattr(session, "AT_ONCE", at_once)
            found = nearest(store, 1.0, 0.5, 0.0, limit=3)
            assert [own for own, _ in found] == [own for own, _ in whole]
            assert [cosine for _, cosine in found] == pytest.approx([cosine for _, cosine in whole], abs=1e-5)
        assert len(whole) == 3
