"""A whole memory that PostgreSQL searches: the answers are those of the exact engine, and nothing erased stays."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg import sql

from mnemic.adapters.indexes import postgres_index
from mnemic.adapters.indexes.bounded import BoundedIndex
from mnemic.adapters.indexes.postgres_index import PostgresIndex
from mnemic.adapters.indexes.scan import ScanIndex
from mnemic.adapters.indexes.tiered import SpacesIndex
from mnemic.adapters.observers.counters import CounterObserver
from mnemic.adapters.stores.postgres import PostgresStore
from mnemic.api import Mnemic
from mnemic.build import build
from mnemic.config import Config
from mnemic.engine.engine import Engine
from mnemic.engine.indexing import owner_of
from mnemic.evaluation.embedders import SyntheticEmbedder
from mnemic.model.scope import Scope
from mnemic.text.analyser import Analyser
from tests.conformance.conftest import MakePostgres
from tests.conformance.test_base_files import NOUNS, StandingClock, text, write_much
from tests.conformance.test_postgres_index import target_of
from tests.unit.engine.ingest_kit import reading
from tests.unit.engine.kit import WordEmbedder

ANNA = Scope(user="anna", session="s1")
JARVIS = Scope(user="anna", agent="jarvis")
QUESTIONS = ("the red tea boat", "Where is the drum of Carl?", "kite fern moss lamp", "coin 17", "who told of the crow")
NOW = datetime(2026, 5, 1, tzinfo=UTC)
OPTIONS: tuple[dict[str, Any], ...] = (
    {"limit": 10},
    {"limit": None},
    {"kinds": ["document"]},
    {"kinds": ["fact", "message"]},
    {"filter": {"importance": {"gt": 0.4}}},
    {"as_of": NOW + timedelta(days=2)},
)
TABLES = ("search_partitions", "search_groups", "search_rows", "search_postings")


class World:
    """Opens memories over one store, with an index in memory or in the database."""

    def __init__(self, store: PostgresStore, url: str, closing: ExitStack) -> None:
        self.store, self._url, self._closing = store, url, closing
        self.index: PostgresIndex | None = None

    def open(self, bound: int | None = 0, further: tuple[WordEmbedder, ...] = ()) -> Mnemic:
        """`bound` None: everything in memory."""
        embedder, scan = SyntheticEmbedder(), ScanIndex()
        memory = SpacesIndex(scan, [ScanIndex() for _ in further]) if further else scan
        parts = Engine(self.store, memory, embedder, StandingClock(), CounterObserver(), further_embedders=further)
        if bound is not None:
            spaces = [each.space.id for each in (embedder, *further)]
            target = target_of(self._url, self.store.schema)
            self.index = PostgresIndex(target, spaces=spaces, analyser=Analyser().name, owner_of=owner_of)
            whole = BoundedIndex(memory, self.index, bound, scan.rows) if bound else self.index
            parts = replace(parts, index=whole, served_index=whole)
            self._closing.callback(whole.close)
        return Mnemic(reading(parts), has_worker=False)


@pytest.fixture
def world(make_postgres: MakePostgres, ordinary_url: str) -> Iterator[World]:
    with ExitStack() as closing:
        store = make_postgres()
        closing.callback(store.close)
        yield World(store, ordinary_url, closing)


@pytest.fixture
def rows(world: World, postgres_url: str) -> Iterator[Callable[[str], int]]:
    """The number of rows of a table of the store, of all orgs."""
    with psycopg.connect(postgres_url, autocommit=True) as admin:

        def count(table: str) -> int:
            place = sql.Identifier(world.store.schema, table)
            found = admin.execute(sql.SQL("SELECT count(*) FROM {}").format(place)).fetchone()
            return -1 if found is None else int(found[0])

        yield count


def answers(mnemic: Mnemic, **options: Any) -> list[list[tuple[str, object, object]]]:
    found = [mnemic.recall(ANNA, question, **options) for question in QUESTIONS]
    assert all(each.degraded == () for each in found)
    return [
        [(hit.id, pytest.approx(hit.score, abs=1e-4), pytest.approx(hit.similarity, abs=1e-5)) for hit in each]
        for each in found
    ]


@pytest.mark.parametrize("bound", [0, 60])
@pytest.mark.parametrize("seed", range(2))
def test_answers_are_those_of_the_exact_engine_after_random_writes(world: World, seed: int, bound: int):
    rng = random.Random(seed)
    for _ in range(2):
        mnemic = world.open(bound)
        for _ in range(2):
            write_much(mnemic, rng, may_erase=True)
            mnemic.remember(ANNA, text(rng), expires_at=NOW + timedelta(days=rng.choice((-1, 1))))
            mnemic.remember(JARVIS, text(rng), is_private=True)
            answers(mnemic)
        exact = world.open(None)
        for options in OPTIONS:
            assert answers(mnemic, **options) == answers(exact, **options)
        assert answers(world.open(bound)) == answers(exact)


def test_large_partitions_are_answered_by_hnsw_and_a_sample(world: World, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(postgres_index, "COMPARED_ROWS", 50)
    monkeypatch.setattr(postgres_index, "GRAPH_ROWS", 50)
    mnemic = world.open()
    mnemic.remember_many(ANNA, [f"The {noun} of number {number}" for number in range(12) for noun in NOUNS])
    mnemic.capture(ANNA, user="Where is the red tea boat?", assistant="The boat is beside the moss.")
    answers(mnemic)
    mnemic.remember(ANNA, "The red tea boat of Carl")
    assert world.index is not None
    world.index.settle()
    assert "1 of them with HNSW" in world.index.diagnose(())[0].message
    exact = world.open(None)
    for options in ({}, {"filter": {"importance": {"gt": 0.4}}}, {"kinds": ["message"]}):
        mine, theirs = ([[hit[0] for hit in each] for each in answers(one, **options)] for one in (mnemic, exact))
        assert [set(each[:3]) for each in mine] == [set(each[:3]) for each in theirs]


def test_several_spaces_and_one_that_is_added_later_are_searched(world: World):
    second = WordEmbedder(revision="2", dims=16)
    world.open().remember_many(ANNA, [f"The {noun} of Carl" for noun in NOUNS])
    with_both = world.open(further=(second,))
    with_both.remember(ANNA, "The tea boat is late")
    assert answers(with_both) == answers(world.open(None, further=(second,)))
    with_both.reembed()
    with_both.work()
    assert answers(with_both) == answers(world.open(None, further=(second,)))
    assert answers(world.open()) == answers(world.open(None))


@pytest.mark.parametrize("way", ["delete", "erase", "clear"])
def test_nothing_erased_is_in_the_index_when_the_verb_answers(world: World, rows: Callable[[str], int], way: str):
    mnemic = world.open()
    kept = mnemic.remember(Scope(user="bob"), "quokkaphone players unite")
    memory = mnemic.remember(ANNA, "Wilhelmina plays the quokkaphone")
    mnemic.recall(Scope(user="bob"), "quokkaphone")
    before = {table: rows(table) for table in TABLES}
    mnemic.recall(ANNA, "quokkaphone")
    assert rows("search_rows") == before["search_rows"] + 1
    if way == "delete":
        mnemic.delete(ANNA, memory.id)
    elif way == "erase":
        mnemic.erase(Scope(user="anna"))
    else:
        mnemic.clear(ANNA)
    assert {table: rows(table) for table in TABLES[2:]} == {table: before[table] for table in TABLES[2:]}
    assert [hit.id for hit in mnemic.recall(Scope(user="bob"), "quokkaphone")] == [kept.id]


def test_a_partition_that_outgrows_its_bound_moves_to_the_database(world: World, rows: Callable[[str], int]):
    mnemic = world.open(20)
    mnemic.remember_many(ANNA, [f"The {noun} of Carl" for noun in NOUNS])
    answers(mnemic)
    assert rows("search_partitions") == 0
    mnemic.remember_many(ANNA, [f"A red {noun}" for noun in NOUNS])
    assert answers(mnemic) == answers(world.open(None))
    assert rows("search_rows") == 24


def test_rows_of_the_index_are_seen_by_their_org_only(world: World, ordinary_url: str):
    mnemic = world.open()
    mnemic.remember(ANNA, "The red tea boat")
    answers(mnemic)
    with psycopg.connect(ordinary_url, autocommit=True) as connection:
        for table in TABLES:
            place = sql.SQL("SELECT count(*) FROM {}").format(sql.Identifier(world.store.schema, table))
            assert connection.execute(place).fetchone() == (0,)


def test_a_restored_backup_is_what_is_found(world: World, tmp_path: Path):
    mnemic = world.open()
    mnemic.remember(ANNA, "The cat fears thunder")
    mnemic.recall(ANNA, "cat")
    mnemic.backup(tmp_path / "kept.zip")
    mnemic.remember(ANNA, "The cat is gone")
    assert len(mnemic.recall(ANNA, "cat")) == 2
    mnemic.restore(tmp_path / "kept.zip", is_replacing=True)
    assert [hit.text for hit in mnemic.recall(ANNA, "cat")] == ["The cat fears thunder"]


@pytest.mark.parametrize("bound, said", [(None, ""), (0, "1 partitions with 1 rows"), (5, "up to 5 rows")])
def test_the_setting_chooses_and_the_doctor_shows_who_searches(server: str, bound: int | None, said: str):
    with Mnemic(build(Config(store=server, embedder="none", database_rows=bound)), has_worker=False) as mnemic:
        mnemic.remember(ANNA, "The red tea boat")
        assert [hit.text for hit in mnemic.recall(ANNA, "tea boat")] == ["The red tea boat"]
        (found, *_) = [each.message for each in mnemic.doctor().findings if each.part == "index"] or [""]
        assert said in found
        assert ("PostgreSQL at" in found) == (bound is not None)
