"""What a unit of work asks the server once, it does not ask again."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from psycopg import Connection

from mnemic.adapters.stores.postgres import PostgresStore
from mnemic.model.recall import MemoryQuery
from mnemic.model.scope import Scope

NOW = datetime(2026, 5, 1, tzinfo=UTC)
SCOPE = Scope(user="anna", agent="jarvis", session="today")


def test_partitions_that_are_not_there_are_asked_for_once_in_a_unit_that_reads(
    make_postgres: Callable[..., PostgresStore], monkeypatch: pytest.MonkeyPatch
):
    asked: list[str] = []
    execute = Connection[Any].execute

    def noted(self: Connection[Any], query: Any, *arguments: Any, **options: Any) -> Any:
        asked.append(str(query))
        return execute(self, query, *arguments, **options)

    store, visible = make_postgres(), SCOPE.visibility
    monkeypatch.setattr(Connection, "execute", noted)
    with store.read() as work:
        for _ in range(3):
            assert work.memories.list(visible, MemoryQuery(now=NOW)) == []
            assert work.messages.get(visible, ["none"]) == []
    assert sum("FROM unnest(%(orgs)s" in query for query in asked) == 1
    store.close()
