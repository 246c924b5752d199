"""HNSW indexes of large partitions: built one at a time without blocking searches, and dropped with their rows."""

from __future__ import annotations

import logging
import os
import signal
import threading
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager

import psycopg
import pytest
from psycopg import sql

from mnemic.adapters.indexes import postgres_index, postgres_link
from mnemic.adapters.indexes.postgres_index import PostgresIndex
from mnemic.api import Mnemic
from mnemic.model.scope import Scope
from tests.conformance.test_base_files import NOUNS
from tests.conformance.test_postgres_answers import World, world
from tests.redis_servers import eventually
from tests.unit.engine.kit import WordEmbedder

__all__ = ["world"]
PEOPLE = [Scope(user=name) for name in ("anna", "bert", "carl", "dora", "emil", "fred")]
LIMIT = 20
Graphs = Callable[[], dict[str, bool]]


@pytest.fixture(autouse=True)
def limits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small partitions count as large."""
    monkeypatch.setattr(postgres_index, "COMPARED_ROWS", LIMIT)
    monkeypatch.setattr(postgres_index, "GRAPH_ROWS", LIMIT)


@pytest.fixture
def graphs(world: World, postgres_url: str) -> Iterator[Graphs]:
    """The store's HNSW indexes by name, and whether each is complete."""
    with psycopg.connect(postgres_url, autocommit=True) as admin:
        statement = """
            SELECT c.relname, i.indisvalid FROM pg_class AS c JOIN pg_index AS i ON i.indexrelid = c.oid
            WHERE c.relnamespace = %s::regnamespace AND starts_with(c.relname, 'search_hnsw_')
        """
        yield lambda: dict(admin.execute(statement, [world.store.schema]).fetchall())


def fill(mnemic: Mnemic, *people: Scope) -> None:
    """Enough memories for an HNSW index, and a search that requests it."""
    texts = [f"The {noun} of number {number}" for number in range(3) for noun in NOUNS]
    assert len(texts) > LIMIT
    for scope in people:
        mnemic.remember_many(scope, texts)
    search(mnemic, *people)


def search(mnemic: Mnemic, *people: Scope) -> None:
    for scope in people:
        assert mnemic.recall(scope, "the red tea boat").degraded == ()


@contextmanager
def long_reader(world: World, url: str) -> Generator[None]:
    """A transaction that has seen the vectors, so no index can be completed until it ends."""
    with psycopg.connect(url) as reader:
        reader.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        reader.execute(sql.SQL("SELECT count(*) FROM {}").format(sql.Identifier(world.store.schema, "vectors")))
        yield


def settle(world: World) -> None:
    assert world.index is not None
    world.index.settle()


def test_two_processes_build_the_indexes_of_several_partitions_at_once(
    world: World, postgres_url: str, graphs: Graphs, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, "mnemic.index")
    indexes: list[PostgresIndex | None] = []
    with long_reader(world, postgres_url):
        for _ in range(2):
            mnemic = world.open()
            fill(mnemic, *PEOPLE)
            indexes.append(world.index)
        eventually(lambda: graphs() != {})
    for index in indexes:
        assert index is not None
        index.settle()
    assert [*graphs().values()] == [True] * len(PEOPLE)
    assert caplog.messages == []


def test_a_build_that_waits_holds_neither_searches_nor_the_end_of_the_process(
    world: World, postgres_url: str, graphs: Graphs
) -> None:
    mnemic = world.open()
    with long_reader(world, postgres_url):
        fill(mnemic, *PEOPLE)  # more partitions than connections
        search(mnemic, *PEOPLE)
        eventually(lambda: graphs() != {})
        assert world.index is not None
        closing = threading.Thread(target=world.index.close, daemon=True)
        closing.start()
        closing.join(30)
        assert not closing.is_alive()
    assert False in graphs().values()
    search(world.open(), *PEOPLE)
    settle(world)
    assert [*graphs().values()] == [True] * len(PEOPLE)


def test_a_server_that_does_not_respond_does_not_hold_the_end_of_the_process(
    world: World, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres_link, "CLOSE_S", 0.5)
    mnemic = world.open()
    with long_reader(world, postgres_url), psycopg.connect(postgres_url, autocommit=True) as admin:
        pids = list[int]()
        fill(mnemic, PEOPLE[0])
        waiting = """
            SELECT DISTINCT pid FROM pg_locks JOIN pg_stat_activity USING (pid)
            WHERE relation = %s::regclass AND mode = 'ShareUpdateExclusiveLock' AND wait_event_type = 'Lock'
        """
        table = f'"{world.store.schema}".vectors'
        eventually(lambda: pids.extend(each[0] for each in admin.execute(waiting, [table])) or pids)
        (pid,) = pids
        os.kill(pid, signal.SIGSTOP)
        try:
            assert world.index is not None
            closing = threading.Thread(target=world.index.close, daemon=True)
            closing.start()
            closing.join(30)
            assert not closing.is_alive()
        finally:
            os.kill(pid, signal.SIGCONT)
    settle(world)
    assert "mnemic-graph" not in {each.name for each in threading.enumerate()}


@pytest.mark.parametrize("way", ["erase", "erase_org", "clear", "delete", "reembed"])
def test_an_index_goes_with_its_partition_its_rows_or_its_space(world: World, graphs: Graphs, way: str) -> None:
    second = WordEmbedder(revision="2", dims=16)
    mnemic = world.open(further=(second,) if way == "reembed" else ())
    fill(mnemic, *PEOPLE[:2])
    settle(world)
    before = graphs()
    assert len(before) == (4 if way == "reembed" else 2)
    if way == "erase":
        mnemic.erase(PEOPLE[0])
    elif way == "erase_org":
        mnemic.erase(PEOPLE[0], level="org")
    elif way == "clear":
        mnemic.clear(PEOPLE[0])
    elif way == "delete":
        for memory in mnemic.list(PEOPLE[0], limit=20).memories:
            mnemic.delete(PEOPLE[0], memory.id)
    else:
        mnemic = world.open()
        mnemic.reembed(is_pruning=True)
    settle(world)
    assert graphs().items() <= before.items()
    assert len(graphs()) == {"erase_org": 0, "reembed": 2}.get(way, 1)
    if way in ("clear", "delete"):
        fill(mnemic, PEOPLE[0])
        settle(world)
        assert graphs() == before
    search(mnemic, *PEOPLE[:2])


def test_what_another_process_left_goes_with_the_next_look_of_the_doctor(world: World, graphs: Graphs) -> None:
    fill(world.open(), PEOPLE[0])
    settle(world)
    assert len(graphs()) == 1
    world.open(None).erase(PEOPLE[0])
    assert len(graphs()) == 1
    world.open().doctor()
    settle(world)
    assert graphs() == {}
