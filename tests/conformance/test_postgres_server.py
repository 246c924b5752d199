"""What only a server can do to a store: locks, lost connections, other processes, another schema."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress

import psycopg
import pytest

from mnemic.adapters.stores.postgres import PostgresStore, migration
from mnemic.adapters.stores.postgres.connections import migrations
from mnemic.errors import BackendError, ConfigError, TimedOutError, UnavailableError
from mnemic.model.chat import Usage
from mnemic.model.health import Condition
from mnemic.model.item import Memory
from mnemic.model.records import JobState
from mnemic.model.scope import Level
from mnemic.testing.samples import (
    ANNA,
    BERT,
    HERS,
    NOW,
    a_memory,
    a_message,
    a_query,
    add_memories,
    add_messages,
    terms,
    version_of,
)

HIS = BERT.partition(Level.USER)
THREADS = 8
ADD_ALL = """
import sys
from concurrent.futures import Future, ThreadPoolExecutor
from mnemic.adapters.stores.postgres import PostgresStore
from mnemic.testing.samples import a_memory, add_memories
store = PostgresStore(sys.argv[1], schema=sys.argv[2])
add = lambda number: add_memories(store, a_memory(f"fact {number % 20}", id=f"{sys.argv[3]}-{number}"))[0]
with ThreadPoolExecutor(8) as pool:
    print(sum(pool.map(add, range(80))))
store.close()
"""
WIN_ALL = """
import sys
from concurrent.futures import ThreadPoolExecutor
from mnemic.adapters.stores.postgres import PostgresStore
from mnemic.testing.samples import HERS, NOW
store = PostgresStore(sys.argv[1], schema=sys.argv[2])
def attempt(number):
    with store.write() as work:
        name = str(number % 40)
        return work.conversations.move(HERS, "s1", name, 0, 1) + work.upkeep.start_run(name, None, NOW)
with ThreadPoolExecutor(8) as pool:
    print(sum(pool.map(attempt, range(80))))
store.close()
"""
FIRST_ROWS = """
INSERT INTO partitions (org, level, owner, version) VALUES ('acme', 'user', 'anna', 1);
INSERT INTO memories (pid, org, id, changed, dedup_key, text, kind, importance, confidence, categories, context,
    snippet, source, observed_at, created_at, updated_at, state, trust, provenance, metadata, filterable, analyser,
    terms)
SELECT pid, org, 'm1', 1, 'tea', 'tea', 'fact', 0.5, 1.0, '{}', '', '', '', 0, 0, 0, 'active', 'user', '[]', '{}', '{}',
    'sample-1', 'tea' FROM partitions;
INSERT INTO conversations (pid, org, session, turns, messages, started_at, last_at)
SELECT pid, org, 's1', 1, 1, 0, 0 FROM partitions;
INSERT INTO jobs (pid, org, id, kind, key, payload, state, attempts, created_at, run_at, error)
SELECT pid, org, 'j1', 'embed', 'm1', '{}', 'pending', 0, 0, 0, '' FROM partitions;
"""
MakePostgres = Callable[..., PostgresStore]


@pytest.fixture
def store(make_postgres: MakePostgres) -> Iterator[PostgresStore]:
    store = make_postgres()
    yield store
    store.close()


@pytest.fixture
def admin(postgres_url: str) -> Iterator[psycopg.Connection]:
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        yield connection


def texts(store: PostgresStore) -> list[str]:
    with store.read() as work:
        return [memory.text for memory in work.memories.list(ANNA.visibility, a_query())]


def wait_for_a_lock(admin: psycopg.Connection, store: PostgresStore) -> None:
    """Until a connection of the store waits for a lock. pytest's timeout ends a wait that never ends."""
    waiting = "SELECT 1 FROM pg_stat_activity WHERE application_name = %s AND wait_event_type = 'Lock'"
    while admin.execute(waiting, [store.schema]).fetchone() is None:
        pass


def kill_connections(admin: psycopg.Connection, store: PostgresStore) -> None:
    """End all connections of the store, in use or not."""
    kill = "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE application_name = %s"
    admin.execute(kill, [store.schema])


@pytest.mark.parametrize("is_committed", [True, False])
def test_a_duplicate_waits_for_the_transaction_that_has_the_key_and_then_sees_what_became_of_it(
    store: PostgresStore, admin: psycopg.Connection, *, is_committed: bool
):
    seconds: list[Future[list[bool]]] = []
    with ThreadPoolExecutor(1) as pool:
        with suppress(InterruptedError), store.write() as work:
            work.memories.add([(a_memory("tea"), terms("tea"))])
            seconds.append(pool.submit(add_memories, store, a_memory("tea")))
            wait_for_a_lock(admin, store)
            if not is_committed:
                raise InterruptedError
        assert [second.result() for second in seconds] == [[not is_committed]]
    assert texts(store) == ["tea"]


def test_two_processes_of_eight_threads_that_add_the_same_facts_leave_each_once(
    store: PostgresStore, ordinary_url: str
):
    command = [sys.executable, "-c", ADD_ALL, ordinary_url, store.schema]
    processes = [subprocess.Popen([*command, name], stdout=subprocess.PIPE, text=True) for name in ("a", "b")]
    added = [int(process.communicate()[0]) for process in processes]
    assert sum(added) == 20
    assert len(set(texts(store))) == len(texts(store)) == 20
    assert version_of(store) == 20


def test_calls_that_touch_the_same_partitions_in_any_order_never_stand_in_each_others_way(store: PostgresStore):
    def add(number: int) -> list[bool]:
        places = [HERS, HIS, ANNA.partition(Level.ORG)]
        ordered = places if number % 2 else places[::-1]
        return add_memories(store, *(a_memory(f"fact {number}", place) for place in ordered))

    with ThreadPoolExecutor(THREADS) as pool:
        assert all(all(added) for added in pool.map(add, range(40)))


def test_of_two_units_of_work_that_lock_in_opposite_orders_one_may_try_again(store: PostgresStore):
    add_memories(store, a_memory("hers", HERS), a_memory("his", HIS))
    both_hold_one = threading.Barrier(2)

    def add(text: str, *places: Memory) -> bool:
        with store.write() as work:
            work.memories.add([(places[0], terms(text))])
            both_hold_one.wait()
            work.memories.add([(places[1], terms(text))])
        return True

    def answer(text: str, *places: Memory) -> bool:
        try:
            return add(text, *places)
        except UnavailableError as error:
            return not error.is_retryable

    with ThreadPoolExecutor(2) as pool:
        one = pool.submit(answer, "one", a_memory("one", HERS), a_memory("one", HIS))
        two = pool.submit(answer, "two", a_memory("two", HIS), a_memory("two", HERS))
        assert sorted([one.result(), two.result()]) == [False, True]
    assert version_of(store, HERS) == version_of(store, HIS) == 2


def test_two_processes_that_move_the_same_cursors_and_start_the_same_runs_win_each_once(
    store: PostgresStore, ordinary_url: str
):
    command = [sys.executable, "-c", WIN_ALL, ordinary_url, store.schema]
    processes = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    won = [int(process.communicate()[0]) for process in processes]
    assert sum(won) == 2 * 40


def test_reading_how_far_a_conversation_was_worked_on_waits_for_no_writer(store: PostgresStore):
    add_messages(store, a_message(1))

    def look(_: int) -> tuple[object, ...]:
        with store.write() as work:
            conversations = work.conversations
            talk = conversations.get(HERS, "s1")
            return talk and talk.messages, len(conversations.messages(HERS, "s1", 0, 9)), work.upkeep.idle("c", NOW, 9)

    with ThreadPoolExecutor(1) as pool, store.write() as work:
        work.messages.conversation(HERS, "s1", NOW)
        assert pool.submit(look, 1).result(timeout=5) == (1, 1, [])


def test_a_schema_of_an_older_mnemic_is_brought_up_to_date_with_its_rows(
    make_postgres: MakePostgres, postgres_url: str, monkeypatch: pytest.MonkeyPatch
):
    with monkeypatch.context() as patch:
        patch.setattr(migration, "migrations", lambda: migrations()[:3])
        make_postgres("older").close()
    with psycopg.connect(postgres_url, options="-c search_path=older,public") as connection:
        connection.execute(FIRST_ROWS)
    store = make_postgres("older")
    with store.write() as work:
        (memory,) = work.memories.list(ANNA.visibility, a_query())
        (job,) = work.jobs.list(None, tuple(JobState), 9)
        assert (memory.text, memory.faded, job.key, job.usage) == ("tea", None, "m1", Usage())
        assert [talk.session for talk in work.upkeep.idle("summarised", NOW, 9)] == ["s1"]
        work.upkeep.fade(HERS, {memory.id: 0.25})
        assert [memory.faded for memory in work.memories.list(ANNA.visibility, a_query())] == [0.25]
        assert work.conversations.move(HERS, "s1", "summarised", 0, 1)
    store.close()


def test_a_unit_of_work_whose_connection_is_killed_is_undone_and_says_so(
    store: PostgresStore, admin: psycopg.Connection
):
    add_memories(store, a_memory("tea"))

    def write() -> None:
        with store.write() as work:
            work.memories.add([(a_memory("coffee"), terms("coffee"))])
            kill_connections(admin, store)
            work.memories.add([(a_memory("milk"), terms("milk"))])

    with pytest.raises(UnavailableError, match="PostgreSQL at"):
        write()
    assert texts(store) == ["tea"]
    assert add_memories(store, a_memory("milk")) == [True]


def test_a_connection_killed_before_the_commit_tells_that_the_outcome_is_unknown(
    store: PostgresStore, admin: psycopg.Connection
):
    def write() -> None:
        with store.write() as work:
            work.memories.add([(a_memory("coffee"), terms("coffee"))])
            kill_connections(admin, store)

    with pytest.raises(UnavailableError, match="may have been committed"):
        write()
    assert texts(store) == []


def test_connections_that_died_while_nobody_used_them_are_replaced(store: PostgresStore, admin: psycopg.Connection):
    with store.read(), store.read(), store.read():
        pass
    kill_connections(admin, store)
    assert add_memories(store, a_memory("tea")) == [True]


def test_a_server_that_does_not_answer_is_unavailable_and_the_message_holds_no_password():
    with pytest.raises(UnavailableError) as raised:
        PostgresStore("postgresql://anna:s3cret@127.0.0.1:1/notes", connect_timeout_s=2)
    assert "PostgreSQL at 127.0.0.1:1/notes" in str(raised.value)
    assert "s3cret" not in str(raised.value)


def test_an_address_that_cannot_be_read_is_a_config_error_without_the_password():
    with pytest.raises(ConfigError) as raised:
        PostgresStore("postgresql://anna:s3cret@host:port/notes?colour=red")
    assert "s3cret" not in str(raised.value)
    assert raised.value.__cause__ is None


def test_a_database_that_does_not_exist_is_a_config_error(postgres_url: str):
    with pytest.raises(ConfigError, match="does not exist"):
        PostgresStore(postgres_url.replace("/postgres?", "/nowhere?"))


def test_a_lock_held_too_long_and_a_statement_that_takes_too_long_are_told_apart(make_postgres: MakePostgres):
    holder = make_postgres()
    hasty = make_postgres(holder.schema, lock_wait_s=0.05)
    brisk = make_postgres(holder.schema, statement_timeout_s=0.05)
    with holder.write() as work:
        work.memories.add([(a_memory("tea"), terms("tea"))])
        with pytest.raises(UnavailableError, match="locked"):
            add_memories(hasty, a_memory("coffee"))
        with pytest.raises(TimedOutError):
            add_memories(brisk, a_memory("coffee"))
    assert texts(holder) == ["tea"]
    for store in (holder, hasty, brisk):
        store.close()


def test_more_units_of_work_than_connections_wait_and_are_then_refused(make_postgres: MakePostgres):
    store = make_postgres(pool_size=1, lock_wait_s=0.05)
    with store.read(), pytest.raises(UnavailableError, match="pool_size"), store.read():
        pass
    assert texts(store) == []
    store.close()


def test_threads_that_open_a_new_store_at_once_make_it_once(make_postgres: MakePostgres):
    with ThreadPoolExecutor(THREADS) as pool:
        stores = list(pool.map(make_postgres, ["made_at_once"] * THREADS))
    assert add_memories(stores[0], a_memory("tea")) == [True]
    assert [texts(store) for store in stores] == [["tea"]] * THREADS
    for store in stores:
        store.close()


def test_a_schema_of_a_newer_mnemic_is_refused_with_the_line_that_helps(
    admin: psycopg.Connection, make_postgres: MakePostgres
):
    make_postgres("newer").close()
    admin.execute("INSERT INTO newer.schema_version (version) VALUES (9999)")
    with pytest.raises(ConfigError, match="pip install --upgrade mnemic"):
        make_postgres("newer")


def test_a_schema_with_another_programs_tables_is_refused_and_left_alone(
    admin: psycopg.Connection, make_postgres: MakePostgres
):
    admin.execute("CREATE SCHEMA another_program AUTHORIZATION ordinary")
    admin.execute("CREATE TABLE another_program.messages (id integer)")
    with pytest.raises(ConfigError, match="another program"):
        make_postgres("another_program")
    tables = admin.execute("SELECT relname FROM pg_class WHERE relnamespace = 'another_program'::regnamespace")
    assert tables.fetchall() == [("messages",)]


@pytest.mark.requirement("J-07")
def test_a_new_database_gets_the_vector_extension_by_its_own_migration(admin: psycopg.Connection, postgres_url: str):
    admin.execute("CREATE DATABASE empty_one TEMPLATE template0")
    url = postgres_url.replace("/postgres?", "/empty_one?")
    store = PostgresStore(url)
    with psycopg.connect(url) as connection:
        found = connection.execute("SELECT extname FROM pg_extension WHERE extname = 'vector'").fetchall()
        assert found == [("vector",)]
        assert connection.execute("SELECT version FROM mnemic.schema_version ORDER BY version").fetchall()[0] == (1,)
    assert [finding.condition for finding in store.diagnose()] == [Condition.OK, Condition.DEGRADED]  # a superuser
    store.close()


def test_a_database_that_cannot_hold_every_text_is_refused(admin: psycopg.Connection, postgres_url: str):
    admin.execute("CREATE DATABASE latin ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0")
    with pytest.raises(ConfigError, match="UTF8"):
        PostgresStore(postgres_url.replace("/postgres?", "/latin?"))


def test_a_role_without_rights_is_a_config_error(admin: psycopg.Connection, postgres_url: str):
    admin.execute("CREATE ROLE guest LOGIN")
    with pytest.raises(ConfigError):
        PostgresStore(postgres_url.replace("//postgres:@", "//guest@"), schema="guests")


def test_a_store_whose_server_is_gone_says_so_when_it_is_diagnosed(store: PostgresStore):
    store.close()
    assert [finding.condition for finding in store.diagnose()] == [Condition.BROKEN]
    with pytest.raises(BackendError), store.read():
        pass
