"""What is promised of requests that are sent again holds over PostgreSQL too, under row security."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.doors import test_idempotency as idempotency
from tests.doors.repeating import ANA, Servers, keyed, kind
from tests.doors.test_idempotency import MEMORIES, TEA

ONCE = idempotency.TestOnce()


@pytest.fixture
def servers(tmp_path: Path, database: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Servers]:
    monkeypatch.setenv("HOME", str(tmp_path))
    opened = Servers(database)
    yield opened
    opened.close()


@pytest.mark.parametrize(
    "holds",
    [
        ONCE.test_a_write_that_is_sent_again_is_done_once,
        ONCE.test_a_server_that_was_started_again_knows_the_answer,
        ONCE.test_another_server_on_the_store_knows_the_answer,
        ONCE.test_a_key_belongs_to_one_org_and_to_one_caller,
    ],
    ids=lambda test: test.__name__.removeprefix("test_"),
)
def test_over_postgresql(servers: Servers, holds: Callable[[Servers], None]):
    holds(servers)


def test_of_two_servers_the_second_to_write_does_nothing(servers: Servers, monkeypatch: pytest.MonkeyPatch):
    idempotency.TestAtTheSameTime().test_of_two_servers_the_second_to_write_does_nothing(servers, monkeypatch)


def test_what_was_deleted_is_in_no_kept_answer(servers: Servers):
    served, client = servers.start()
    tea = client.post(MEMORIES, **TEA, **keyed("k")).json()
    client.delete(f"{MEMORIES}/{tea['id']}", **keyed("d"))
    assert kind(client.post(MEMORIES, **TEA, **keyed("k"))) == (409, "answer_gone")
    assert served.mnemic.list(ANA).memories == ()
