"""Row security keeps orgs apart where our own statements would not: what they forget, and what they never should do."""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from random import Random

import psycopg
import pytest
from psycopg.pq import TransactionStatus

from mnemic.adapters.stores.postgres import PostgresStore, migration
from mnemic.adapters.stores.postgres.connections import Connections, Target, query
from mnemic.adapters.stores.postgres.session import Session
from mnemic.adapters.stores.postgres.statements import migrations, statements
from mnemic.errors import BackendError, ConfigError
from mnemic.model.change import Change
from mnemic.model.document import DocumentQuery
from mnemic.model.health import Condition
from mnemic.model.history import Receipt
from mnemic.model.job import JobState
from mnemic.model.profile import ProfileEntry
from mnemic.model.query import MemoryQuery
from mnemic.model.scope import Level, Scope
from mnemic.ports.store import StaleTerms, UnitOfWork
from mnemic.testing.isolation import IsolationRun
from mnemic.testing.random_nouns import every_scope
from mnemic.testing.samples import (
    ANNA,
    ANNA_ELSEWHERE,
    HERS,
    MINUTE,
    NOW,
    READING,
    SPACE,
    a_document,
    a_job,
    a_memory,
    a_message,
    a_query,
    a_vector,
    add_memories,
    add_messages,
    add_vectors,
    an_entry,
    fill_document,
)
from mnemic.testing.store_access import a_key, a_note, add_keys
from tests.conformance.conftest import TABLES

MakePostgres = Callable[..., PostgresStore]
OF_ORGS = sorted({*TABLES} - {"spaces", "schedules"})
OF_THE_STORE = {"spaces", "schedules", "erasing", "schema_version"}
ORGS = " UNION ALL ".join(f"SELECT org FROM {table}" for table in OF_ORGS)  # noqa: S608 -- names of our own tables
FORGOTTEN = re.compile(
    r"(\w+\.)?pid = (ANY\(%\(pids\)s(::bigint\[\])?\)|%\(pid\)s)|(\w+\.)?org = (%\(org\)s|asked\.org)", re.ASCII
)
READS = {"where_visible", "where_latest", "where_page", "where_ids", "where_turn"}
THEIRS = ANNA_ELSEWHERE.partition(Level.USER)


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
    memory = a_memory(said, partition)
    add_memories(store, memory)
    add_messages(store, a_message(1, said, scope))
    add_vectors(store, a_vector(memory.id), partition=partition)
    (chunk,) = fill_document(store, a_document(f"{scope.org}.md", partition), said)
    add_vectors(store, a_vector(chunk.id), partition=partition)
    add_keys(store, a_key(scope.org))
    with store.write() as work:
        work.jobs.add([a_job(said, partition, payload={"text": said})])
        work.history.add([an_entry(memory.id, partition, reason=said)])
        work.profiles.put([ProfileEntry(partition, "drink", said, "user", NOW, NOW)])
        work.conversations.move(partition, "s1", "summarised", 0, 1)
        work.audit.add([a_note(org=scope.org)])
        work.erasure.add(Receipt(NOW, {}, id="r1", org=scope.org))


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
        rows = admin.execute(f"SELECT t::text FROM {table} AS t WHERE org = %s ORDER BY 1".encode(), [org])  # noqa: S608
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
    assert {row[0]: row[1:] for row in rows if row[3]} == dict.fromkeys(OF_ORGS, (True, ["orgs"], 1))
    assert all(everything(admin, "acme").values())  # the tests below look at something in each


@pytest.mark.requirement("P-17")
def test_a_statement_without_a_condition_sees_the_rows_of_the_org_that_was_named_alone(
    bare: Bare,
):
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
        order = ("vectors", "chunks", "document_texts", "documents", "messages", "memories", "conversations", "jobs")
        for table in (*order, "history", "profiles", "cursors", "api_keys", "audit", "receipts", "partitions"):
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
        with pytest.raises(BackendError, match="does not name") as raised:
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


def forget(monkeypatch: pytest.MonkeyPatch, names: set[str] | None = None) -> int:
    """Take partition and org out of statements that ask for one, of all or of these; returns out of how many."""
    count = 0
    topics = ("access", "conversations", "documents", "erasure", "history", "jobs", "memories", "messages")
    for topic in (*topics, "partitions", "profiles", "upkeep", "vectors"):
        named = statements(topic)
        for name, sql in list(named.items()):
            changed = FORGOTTEN.sub("true", sql)
            if changed != sql and (names is None or name in names):
                count += 1
                monkeypatch.setitem(named, name, changed)
    return count


def reads(ids: dict[str, str]) -> dict[str, Callable[[UnitOfWork], object]]:
    """What the other org asks for, with ids of `acme`."""
    visible, memory, document = ANNA_ELSEWHERE.visibility, ids["memories"], ids["documents"]
    return {
        "list": lambda work: work.memories.list(visible, a_query()),
        "ids": lambda work: work.memories.ids(visible, a_query()),
        "get": lambda work: work.memories.get(visible, [memory]),
        "holder": lambda work: work.memories.holder(THEIRS, None, "said in acme"),
        "turn": lambda work: work.messages.of_turn(visible, "turn-1"),
        "latest": lambda work: work.messages.latest(visible, "s1", 9),
        "page": lambda work: work.messages.page(visible, None, 9),
        "conversation": lambda work: work.conversations.messages(THEIRS, "s1", 0, 9),
        "documents": lambda work: work.documents.list(visible, DocumentQuery()),
        "text": lambda work: work.documents.text(visible, document),
        "passages": lambda work: work.documents.passages(visible, document, 0, 9),
        "vectors": lambda work: sorted(work.vectors.get(THEIRS, [memory], "item", SPACE)),
        "missing": lambda work: work.vectors.missing(THEIRS, "no space", 9),
        "changes": lambda work: [change.item_id for change in changes(work)],
        "count": lambda work: work.partitions.count([THEIRS]),
        "jobs": lambda work: work.jobs.list([THEIRS], tuple(JobState), 9),
        "history": lambda work: work.history.of(visible, memory),
        "profile": lambda work: work.profiles.of(THEIRS),
        "idle": lambda work: work.upkeep.idle("read", NOW + MINUTE, 9, THEIRS),
        "upkeep": lambda work: work.upkeep.memories(THEIRS, "", 9),
        "keys": lambda work: work.keys.list("other"),
        "audit": lambda work: work.audit.list("other", None, 9),
        "receipts": lambda work: work.erasure.receipts("other"),
        "erasure": lambda work: work.erasure.count(THEIRS),
    }


def changes(work: UnitOfWork) -> Iterator[Change]:
    for change in work.partitions.changes(THEIRS, 0, READING):
        yield change.change if isinstance(change, StaleTerms) else change


def writes(ids: dict[str, str]) -> list[Callable[[UnitOfWork], object]]:
    """What the other org does, with ids of `acme`."""
    memory, later = ids["memories"], NOW + MINUTE
    return [
        lambda work: work.memories.touch(THEIRS, {memory: 1}, later),
        lambda work: work.upkeep.fade(THEIRS, {memory: 0.1}),
        lambda work: work.vectors.put(THEIRS, [a_vector(memory)], later),
        lambda work: work.history.scrub(THEIRS, [memory]),
        lambda work: work.profiles.remove(THEIRS, ["drink"]),
        lambda work: work.conversations.move(THEIRS, "s1", "summarised", 1, 2),
        lambda work: work.keys.end("other", ids["api_keys"], revoked_at=NOW),
        lambda work: work.memories.erase(THEIRS, [memory], later),
        lambda work: work.messages.erase(THEIRS, [ids["messages"]]),
        lambda work: work.documents.erase(THEIRS, [ids["documents"]], later),
        lambda work: work.erasure.wipe(THEIRS),
    ]


def done(store: PostgresStore, calls: Iterable[Callable[[UnitOfWork], object]]) -> list[object]:
    """What each call answers, in a unit of work of its own."""
    answers: list[object] = []
    for call in calls:
        with store.write() as work:
            answers.append(call(work))
    return answers


@pytest.fixture
def ids(admin: psycopg.Connection) -> dict[str, str]:
    """An id of `acme` in each of these tables."""
    found: dict[str, str] = {}
    for table in ("memories", "messages", "documents", "api_keys"):
        for row in admin.execute(f"SELECT id FROM {table} WHERE org = 'acme'".encode()):  # noqa: S608 -- our own tables
            found[table] = row[0]
    return found


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
    assert {table for table in OF_ORGS if after[table] != before[table]} >= {"memories", "messages", "api_keys"}
    unguarded.close()


class ForgetfulRun(IsolationRun):
    """The random run with one org in each unit of work, and an oracle that knows orgs alone."""

    seen_of_others = 0

    def unit(self) -> None:
        org = self.random.choice(("acme", "other"))
        self.use.scopes = [scope for scope in every_scope() if scope.org == org]
        super().unit()

    def ask(self, work: UnitOfWork) -> None:
        scope = self.use.scope()
        messages = work.messages.page(scope.visibility, None, 9999)
        memories = work.memories.list(scope.visibility, MemoryQuery(now=self.use.now, states=()))
        for item in (*messages, *memories, *work.documents.list(scope.visibility, DocumentQuery())):
            assert item.partition.org == scope.org
            self.seen_of_others += item.partition not in scope.visibility.partitions

    def ask_documents(self, work: UnitOfWork) -> None:
        self.ask(work)

    def erase(self, work: UnitOfWork) -> None:
        """Nothing: the contract's own names the org of any row, and a unit of work sees all that it names."""


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


@pytest.mark.parametrize(
    "sql, index",
    [
        (statements("partitions")["lock"], "key"),
        (statements("memories")["select"] + " " + statements("memories")["where_holder"], "dedup"),
        (statements("jobs")["is_open"], "open"),
    ],
)
def test_what_is_looked_up_by_a_digest_is_found_by_its_index_under_row_security(bare: Bare, sql: str, index: str):
    key = {"pid": 1, "private_agent": "", "dedup_key": "tea", "kind": "embed", "key": "k", "org": "acme"}
    key |= {"level": "user", "owner": "anna"}
    with bare.session() as asked:
        asked.see("acme")
        asked.run("SET LOCAL enable_seqscan = off")
        plan = [row[0] for row in asked.run(f"EXPLAIN {sql}", key)]
    assert any(f"_{index}" in line for line in plan)
    assert any("Index Cond" in line and "sha256 = " in line for line in plan)


@pytest.mark.requirement("P-17", "J-09")
def test_the_search_functions_show_the_org_that_they_are_asked_for_and_nothing_afterwards(bare: Bare):
    asking = "SELECT content FROM search_{}(%(org)s, 'anna', 'space-of-3', '[1,0,0]')"
    with bare.session() as asked:
        for name in ("memories", "chunks"):
            for org in ("acme", "other"):
                found = asked.run(asking.format(name), {"org": org}).fetchall()
                assert found == [(f"said in {org}",)]
        assert asked.run(ORGS).fetchall() == []
