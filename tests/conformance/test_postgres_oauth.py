"""OAuth tokens in PostgreSQL: concurrent transactions, and several orgs."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from time import monotonic

import psycopg
import pytest

from mnemic import Scope
from mnemic.adapters.stores.postgres import PostgresStore
from mnemic.model.records import Right
from mnemic.testing.store_access import ORG, a_token
from tests.conformance.conftest import MakePostgres
from tests.doors.oauth_site import Site, answered


@pytest.fixture
def site(server: str) -> Iterator[Site]:
    opened = Site(server)
    yield opened
    opened.close()


@pytest.fixture
def store(make_postgres: MakePostgres) -> Iterator[PostgresStore]:
    opened = make_postgres()
    yield opened
    opened.close()


def wait_for_lock(url: str, schema: str) -> None:
    """Return when a transaction in the schema waits for another."""
    waiting = b"SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND application_name = %s"
    end = monotonic() + 30
    with psycopg.connect(url, autocommit=True) as connection:
        while connection.execute(waiting, [schema]).fetchone() is None:
            assert monotonic() < end, "the other transaction does not wait"


def test_a_connection_that_ends_during_an_exchange_ends_with_its_new_tokens(store: PostgresStore, postgres_url: str):
    with store.write() as work:
        work.tokens.add([a_token("01")])

    def end() -> None:
        with store.write() as work:
            work.tokens.end("c1")

    ending = threading.Thread(target=end)
    with store.write() as work:
        assert work.tokens.remove(ORG, "01")
        work.tokens.add([a_token("02"), a_token("03")])
        ending.start()
        wait_for_lock(postgres_url, store.schema)
    ending.join()
    with store.read() as work:
        assert [work.tokens.get(each) for each in ("01", "02", "03")] == [None, None, None]


def test_tokens_of_several_orgs_work_once_and_for_their_own_org(site: Site):
    site.mnemic.remember(Scope(user="ana"), "Ana keeps a zebrafinch")
    site.key = site.mnemic.keys.create(Scope(org="acme", user="ana"), rights=[Right.READ, Right.WRITE])
    asked = site.request()
    code = answered(site.consent(asked))["code"]
    tokens = site.exchange(client_id=asked["client_id"], code=code).json()
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call"}
    params = {"name": "recall", "arguments": {"query": "Who keeps a zebrafinch?"}}
    headers = {"Authorization": f"Bearer {tokens['access_token']}", "Accept": "application/json, text/event-stream"}
    told = site.http.post("/mcp", json={**call, "params": params}, headers=headers)
    assert told.status_code == 200
    assert "Ana keeps" not in told.text
    threads = [
        threading.Thread(target=site.refresh, args=(asked["client_id"], tokens["refresh_token"])) for _ in "1234"
    ]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert site.call(tokens["access_token"]) == 401
    assert site.exchange(client_id=asked["client_id"], code=code).status_code == 400
