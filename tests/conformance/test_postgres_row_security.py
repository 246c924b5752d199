"""Row security keeps orgs apart where our own statements would not: what they forget, and what they never should do."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from random import Random

import psycopg
import pytest
from psycopg.pq import TransactionStatus

from mnemic.adapters.stores.postgres import PostgresStore, migration
from mnemic.adapters.stores.postgres.connections import Connections, Target, migrations, query, statements
from mnemic.adapters.stores.postgres.session import Session
from mnemic.errors import BackendError, ConfigError
from mnemic.model.health import Condition
from mnemic.model.item import ProfileEntry
from mnemic.model.records import Placement, PlacementState, Receipt
from mnemic.model.scope import Level, Scope
from mnemic.testing.samples import (
    ANNA,
    ANNA_ELSEWHERE,
    HERS,
    NOW,
    a_document,
    a_job,
    a_memory,
    a_message,
    a_vector,
    add_memories,
    add_messages,
    add_vectors,
    an_entry,
    fill_document,
)
from mnemic.testing.store_access import a_key, a_note, a_token, add_keys
from mnemic.testing.store_contexts import a_record
from mnemic.testing.store_entity_vectors import an_entity_vector
from mnemic.testing.store_graph import a_sheet, named
from mnemic.testing.store_requests import a_request
from mnemic.testing.store_research import a_step
from tests.conformance.conftest import TABLES
from tests.conformance.forgetful_kit import READS, ForgetfulRun, done, forget, reads, writes

MakePostgres = Callable[..., PostgresStore]
OF_ORGS = sorted({*TABLES} - {"spaces", "schedules"})
OF_SEARCH = {"search_partitions", "search_groups", "search_rows", "search_postings"}
"""Filled by the index; see test_postgres_answers."""
OF_THE_STORE = {"spaces", "schedules", "erasing", "schema_version"}
ORGS = " UNION ALL ".join(f"SELECT org FROM {table}" for table in OF_ORGS)  # noqa: S608 -- names of our own tables


@pytest.fixture
def store(make_postgres: MakePostgres) -> Iterator[PostgresStore]:
    """A store with something of two orgs in every table."""
    store = make_postgres()
    for scope in (ANNA, ANNA_ELSEWHERE):
        fill(store, scope)
    yield store
    store.close()


@pytest.fixture
def admin(store: PostgresStore, postgres_url: str) -> Iterator[psycopg.Connection]:
    """A superuser, who sees every row."""
    with psycopg.connect(postgres_url, options=f"-c search_path={store.schema},public", autocommit=True) as connection:
        yield connection


def fill(store: PostgresStore, scope: Scope) -> None:
    partition, said = scope.partition(Level.USER), f"said in {scope.org}"
    memory = a_memory(said, partition, bookkeeping={"merged_ids": [said]})
    add_memories(store, memory)
    add_messages(store, a_message(1, said, scope))
    add_vectors(store, a_vector(memory.id), partition=partition)
    document = a_document(f"{scope.org}.md", partition)
    (chunk,) = fill_document(store, document, said)
    add_vectors(store, a_vector(chunk.id), partition=partition)
    add_keys(store, a_key(scope.org))
    with store.write() as work:
        work.jobs.add([a_job(said, partition, payload={"text": said})])
        work.history.add([an_entry(memory.id, partition, reason=said)])
        work.profiles.put([ProfileEntry(partition, "drink", said, "user", NOW, NOW)])
        work.conversations.move(partition, "s1", "summarised", 0, 1)
        work.audit.add([a_note(org=scope.org)])
        work.tokens.add([a_token(scope.org, scope.org)])
        work.erasure.add(Receipt(NOW, {}, id="r1", org=scope.org))
        work.research.put(partition, document, [a_step(said, reply=said)])
        work.contexts.add([a_record(partition=partition, query=said)])
        work.requests.add(a_request(org=scope.org, key=scope.org, user=scope.org), NOW)
        work.graph.put(partition, [a_sheet(memory.id, named(scope.org), named("tea"))])
        work.entity_vectors.put(partition, [an_entity_vector(scope.org)])
    with store.transfer(scope.org) as transfer:
        transfer.put(Placement(org=scope.org, state=PlacementState.HERE, place="a.db", token="t1", at=NOW))


class Bare:
    """One connection, made as the store makes it, for statements that no port would send."""

    def __init__(self, store: PostgresStore, url: str) -> None:
        target = Target(
            url=url, schema=store.schema, pool_size=1, connect_timeout_s=9, lock_wait_s=9, statement_timeout_s=0
        )
        self._place = target.place
        self._connections = Connections(target)

    @contextmanager
    def session(self) -> Generator[Session]:
        """A transaction that writes."""
        named = statements("connection")
        connection = self._connections.begin(named["begin_write"])
        try:
            yield Session(connection, self._place, is_writing=True)
            connection.execute(query(named["commit"]))
        finally:
            if connection.info.transaction_status is not TransactionStatus.IDLE:
                connection.execute(query(named["rollback"]))
            self._connections.give_back(connection)

    def close(self) -> None:
        self._connections.close()


@pytest.fixture
def bare(store: PostgresStore, ordinary_url: str) -> Iterator[Bare]:
    bare = Bare(store, ordinary_url)
    yield bare
    bare.close()


def everything(admin: psycopg.Connection, org: str) -> dict[str, list[str]]:
    """Every row of an org, by table, as text."""
    found: dict[str, list[str]] = {}
    for table in OF_ORGS:
        every_row = f"SELECT t::text FROM {table} AS t WHERE org = %s ORDER BY 1"  # noqa: S608 -- our own tables' names
        rows = admin.execute(every_row.encode(), [org])
        found[table] = [row[0] for row in rows]
    return found


@pytest.mark.requirement("P-17")
def test_every_table_with_rows_of_orgs_is_guarded_whoever_owns_it(store: PostgresStore, admin: psycopg.Connection):
    rows = admin.execute(
        "SELECT c.relname, c.relrowsecurity AND c.relforcerowsecurity, array_agg(p.polname::text), count(a.attname) "
        "FROM pg_class AS c LEFT JOIN pg_policy AS p ON p.polrelid = c.oid "
        "LEFT JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attname = 'org' "
        "WHERE c.relnamespace = %s::regnamespace AND c.relkind = 'r' GROUP BY c.oid",
        [store.schema],
    ).fetchall()
    assert {row[0] for row in rows if not row[3]} == OF_THE_STORE
    assert {row[0]: row[1:] for row in rows if row[3]} == dict.fromkeys({*OF_ORGS, *OF_SEARCH}, (True, ["orgs"], 1))
    assert all(everything(admin, "acme").values())  # the tests below look at something in each


@pytest.mark.requirement("P-17")
def test_a_statement_without_a_condition_sees_the_rows_of_the_org_that_was_named_alone(bare: Bare):
    with bare.session() as asked:
        assert asked.run(ORGS).fetchall() == []
        assert asked.versions([HERS])
        assert {row[0] for row in asked.run(ORGS)} == {"acme"}
        assert {row[0] for row in asked.run_across(ORGS)} == {"acme", "other"}
        assert {row[0] for row in asked.run(ORGS)} == {"acme"}


@pytest.mark.requirement("P-17")
def test_a_statement_without_a_condition_changes_and_deletes_nothing_of_another_org(
    bare: Bare, admin: psycopg.Connection
):
    before = everything(admin, "other")
    with bare.session() as asked:
        asked.see("acme")
        assert asked.write("UPDATE memories SET text = 'gone'", {}).rowcount == 1
        assert asked.write("UPDATE api_keys SET revoked_at = 1", {}).rowcount == 1
        order = (
            "context_records",
            "research_steps",
            "supports",
            "relations",
            "mentions",
            "entity_vectors",
            "entities",
            "read_items",
        )
        order += ("vectors", "chunks", "document_texts", "documents", "messages", "memories", "conversations", "jobs")
        for table in (
            *order,
            "sources",
            "history",
            "profiles",
            "cursors",
            "api_keys",
            "audit",
            "oauth_tokens",
            "placements",
            "receipts",
            "requests",
            "partitions",
        ):
            assert asked.write(f"DELETE FROM {table}", {}).rowcount > 0  # noqa: S608 -- names of our own tables
    assert everything(admin, "other") == before
    assert not any(everything(admin, "acme").values())


@pytest.mark.requirement("P-17")
@pytest.mark.parametrize(
    "sql",
    [
        "INSERT INTO partitions (org, level, owner) VALUES ('other', 'user', 'mallory')",
        "INSERT INTO audit (org, at, actor, verb, target, outcome) VALUES ('other', 0, '', '', '', '')",
        "UPDATE api_keys SET org = 'other'",
        "INSERT INTO receipts VALUES ('other', 'r1', 0, '', '', '', '') ON CONFLICT (org, id) DO UPDATE SET at = 1",
    ],
)
def test_a_row_cannot_be_put_into_another_org(bare: Bare, sql: str):
    with bare.session() as asked:
        asked.see("acme")
        with pytest.raises(BackendError, match="does not include its org") as raised:
            asked.write(sql, {})
    assert not isinstance(raised.value, ConfigError)


@pytest.mark.requirement("P-17")
def test_a_connection_that_is_used_again_shows_nothing_of_what_was_named_before(bare: Bare):
    with bare.session() as asked:
        (first,) = asked.run("SELECT pg_backend_pid()")
        asked.see("acme", "other")
        assert asked.run_across(ORGS).fetchall()
    with bare.session() as asked:
        asked.see("acme")
        assert asked.run(ORGS).fetchall()
        with pytest.raises(BackendError):
            asked.run("SELECT 1 / 0")
    with bare.session() as asked:
        assert asked.run("SELECT pg_backend_pid()").fetchone() == first
        assert asked.run(ORGS).fetchall() == []


@pytest.fixture
def ids(admin: psycopg.Connection) -> dict[str, str]:
    """An id of `acme` in each of these tables."""
    found: dict[str, str] = {}
    for table in ("memories", "messages", "documents", "api_keys"):
        for row in admin.execute(f"SELECT id FROM {table} WHERE org = 'acme'".encode()):  # noqa: S608 -- our own tables
            found[table] = row[0]
    return found | {"requests": "acme"}


@pytest.mark.requirement("P-17", "J-11")
def test_statements_that_forget_their_condition_still_answer_from_their_own_org_alone(
    store: PostgresStore, ids: dict[str, str], postgres_url: str, monkeypatch: pytest.MonkeyPatch
):
    unguarded = PostgresStore(postgres_url, schema=store.schema)
    calls = reads(ids)
    expected = done(store, calls.values())
    assert "acme" not in repr(expected)
    assert forget(monkeypatch) > 80
    assert done(store, calls.values()) == expected
    seen = dict(zip(calls, done(unguarded, calls.values()), strict=True))  # without row security the same is a leak
    told = [name for name, before in zip(calls, expected, strict=True) if seen[name] != before]
    assert set(calls) - set(told) == {"get", "text"}  # which look once more at the partition of what they got
    unguarded.close()


@pytest.mark.requirement("P-17")
def test_statements_that_forget_their_condition_change_nothing_of_another_org(
    store: PostgresStore,
    ids: dict[str, str],
    admin: psycopg.Connection,
    postgres_url: str,
    monkeypatch: pytest.MonkeyPatch,
):
    unguarded = PostgresStore(postgres_url, schema=store.schema)
    before = everything(admin, "acme")
    forget(monkeypatch)
    done(store, writes(ids))
    assert everything(admin, "acme") == before
    assert everything(admin, "other")["memories"] == []
    done(unguarded, writes(ids)[:-1])
    after = everything(admin, "acme")
    assert {table for table in OF_ORGS if after[table] != before[table]} >= {
        "memories",
        "messages",
        "api_keys",
        "requests",
    }
    unguarded.close()


@pytest.mark.requirement("P-17")
def test_random_reads_that_forget_their_partition_never_show_a_row_of_another_org(
    make_postgres: MakePostgres, monkeypatch: pytest.MonkeyPatch
):
    store = make_postgres()
    assert forget(monkeypatch, READS) == 6
    run = ForgetfulRun(store, Random(5))
    for _ in range(25):
        run.unit()
    assert run.seen_of_others > 1000
    assert {row.said_by.org for row in run.rows.values()} == {"acme", "other"}
    store.close()


@pytest.mark.requirement("P-17")
def test_the_doctor_says_when_row_security_does_not_hold(
    store: PostgresStore, admin: psycopg.Connection, postgres_url: str
):
    assert [finding.condition for finding in store.diagnose()] == [Condition.OK]
    unguarded = PostgresStore(postgres_url, schema=store.schema)
    assert [finding.condition for finding in unguarded.diagnose(is_quick=True)] == [Condition.OK]
    _, finding = unguarded.diagnose()
    assert (finding.condition, "ordinary role" in finding.remedy) == (Condition.DEGRADED, True)
    unguarded.close()
    admin.execute("ALTER TABLE memories NO FORCE ROW LEVEL SECURITY")
    _, finding = store.diagnose()
    assert (finding.condition, "memories" in finding.message) == (Condition.DEGRADED, True)
    admin.execute("ALTER TABLE memories FORCE ROW LEVEL SECURITY")


@pytest.mark.requirement("P-17")
def test_a_role_that_owns_nothing_works_with_rights_on_the_rows_alone(
    store: PostgresStore, admin: psycopg.Connection, postgres_url: str, monkeypatch: pytest.MonkeyPatch
):
    if admin.execute("SELECT 1 FROM pg_roles WHERE rolname = 'worker'").fetchone() is None:
        admin.execute("CREATE ROLE worker LOGIN")
    admin.execute(f"GRANT USAGE ON SCHEMA {store.schema} TO worker".encode())
    tables = f"ALL TABLES IN SCHEMA {store.schema}"
    admin.execute(f"GRANT SELECT, INSERT, UPDATE, DELETE ON {tables} TO worker".encode())
    url = postgres_url.replace("//postgres:@", "//worker@")
    worker = PostgresStore(url, schema=store.schema)
    fill(worker, Scope(org="third", user="anna", session="s1"))
    assert [finding.condition for finding in worker.diagnose()] == [Condition.OK]
    with worker.read() as work:
        assert {partition.org for partition in work.partitions.all()} == {"acme", "other", "third"}
    worker.close()
    with monkeypatch.context() as patch:
        patch.setattr(migration, "migrations", lambda: [*migrations(), (9999, "SELECT 1")])
        with pytest.raises(ConfigError):
            PostgresStore(url, schema=store.schema)
    admin.execute(f"REVOKE ALL ON {tables} FROM worker".encode())
    admin.execute(f"REVOKE ALL ON SCHEMA {store.schema} FROM worker".encode())


def test_what_is_looked_up_by_a_digest_is_found_by_its_index_under_row_security(
    store: PostgresStore, bare: Bare, admin: psycopg.Connection
):
    hers = ANNA.partition(Level.USER)
    others = [Scope(org="acme", user=f"user {number}").partition(Level.USER) for number in range(500)]
    add_memories(store, *(a_memory(f"note {number}", hers) for number in range(500)))
    add_memories(store, *(a_memory("note", partition) for partition in others))
    with store.write() as work:
        work.jobs.add([a_job(f"day-{number}", hers, kind="embed") for number in range(500)])
    admin.execute("ANALYZE")  # by so many rows no other index is as good
    (pid,) = admin.execute("SELECT pid FROM partitions WHERE org = 'acme' AND owner = 'anna'").fetchone() or (0,)
    given = {"pid": pid, "private_agent": "", "dedup_key": "note 7", "kind": "embed", "key": "day-7", "org": "acme"}
    given |= {"level": "user", "owner": "anna"}
    with bare.session() as asked:
        asked.see("acme")
        for sql, index in (
            (statements("partitions")["lock"], "partitions_key"),
            (statements("memories")["select"] + " " + statements("memories")["where_holder"], "memories_dedup"),
            (statements("jobs")["is_open"], "jobs_open"),
        ):
            plan = [row[0] for row in asked.run(f"EXPLAIN {sql}", given)]
            assert any(index in line for line in plan), plan
            assert any("Index Cond" in line and "sha256 = " in line for line in plan), plan


@pytest.mark.requirement("P-17", "J-09")
def test_the_search_functions_show_the_org_that_they_are_asked_for_and_nothing_afterwards(bare: Bare):
    asking = "SELECT content FROM search_{}(%(org)s, 'anna', 'space-of-3', '[1,0,0]')"
    with bare.session() as asked:
        for name in ("memories", "chunks"):
            for org in ("acme", "other"):
                found = asked.run(asking.format(name), {"org": org}).fetchall()
                assert found == [(f"said in {org}",)]
        assert asked.run(ORGS).fetchall() == []
