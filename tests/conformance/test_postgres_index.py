"""The index in PostgreSQL keeps the contract of the port."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import psycopg
import pytest
from psycopg import sql

from mnemic.adapters.indexes.postgres_index import PostgresIndex
from mnemic.adapters.stores.postgres.connections import Target
from mnemic.model.candidates import Change
from mnemic.model.columns import dumps
from mnemic.model.scope import Partition
from mnemic.ports.index import Index
from mnemic.testing.index_contract import IndexContract
from tests.conformance.conftest import MakePostgres

SPACE = "test"


def target_of(url: str, schema: str) -> Target:
    """Where an index of a test is."""
    return Target(
        url=url, schema=schema, pool_size=4, connect_timeout_s=10.0, lock_wait_s=10.0, statement_timeout_s=0.0
    )


class FedPostgresIndex(PostgresIndex):
    """Writes partitions and vectors to the tables of the store, as a store would have done before."""

    def __init__(self, admin: psycopg.Connection, target: Target, close: Callable[[], None]) -> None:
        super().__init__(target, spaces=[SPACE], analyser="test", owner_of=lambda partition: partition)
        self._admin, self._close = admin, close

    def apply(self, partition: Partition, changes: Sequence[Change], version: int) -> None:
        key = (partition.org, partition.level.value, partition.owner)
        self._admin.execute(
            "INSERT INTO partitions (org, level, owner) VALUES (%s, %s, %s) ON CONFLICT DO NOTHING", key
        )
        found = self._admin.execute(
            "SELECT pid FROM partitions WHERE (org, level, owner) = (%s, %s, %s)", key
        ).fetchone()
        assert found is not None
        for change in changes:
            place = (found[0], change.item_id)
            self._admin.execute("DELETE FROM vectors WHERE pid = %s AND item_id = %s", place)
            if change.vector is not None:
                dims = change.vector.shape[0]
                self._admin.execute("INSERT INTO spaces VALUES (%s, %s) ON CONFLICT DO NOTHING", (SPACE, dims))
                row = (*place[:1], partition.org, change.item_id, SPACE, dumps(change.vector.tolist()))
                self._admin.execute("INSERT INTO vectors VALUES (%s, %s, %s, 'item', %s, %s::vector)", row)
        super().apply(partition, changes, version)

    def close(self) -> None:
        super().close()
        self._close()


class TestPostgresIndex(IndexContract):
    @pytest.fixture(autouse=True)
    def server(self, postgres_url: str, make_postgres: MakePostgres):
        self.url, self.make = postgres_url, make_postgres
        with psycopg.connect(postgres_url, autocommit=True) as self.admin:
            yield

    def new_index(self) -> Index:
        store = self.make()
        self.admin.execute(sql.SQL("SET search_path = {}, public").format(sql.Identifier(store.schema)))
        url = self.url.replace("//postgres:@", "//ordinary@")
        return FedPostgresIndex(self.admin, target_of(url, store.schema), store.close)
