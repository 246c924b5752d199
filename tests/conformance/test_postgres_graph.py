"""Recall that follows the graph, and vectors of entities, over PostgreSQL, where an ordinary role keeps the rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from mnemic.adapters.indexes.scan import ScanIndex
from mnemic.adapters.observers.counters import CounterObserver
from mnemic.adapters.stores.postgres import PostgresStore
from mnemic.api import Mnemic
from mnemic.engine.engine import Engine
from tests.unit.engine import test_graph_recall as recall
from tests.unit.engine.kit import Clock, WordEmbedder


@pytest.fixture
def embedder() -> WordEmbedder:
    return WordEmbedder()


@pytest.fixture
def parts(make_postgres: Callable[..., PostgresStore], embedder: WordEmbedder) -> Iterator[Engine]:
    store, index = make_postgres(), ScanIndex(budget_bytes=1 << 30)
    yield Engine(store=store, index=index, embedder=embedder, clock=Clock(), observer=CounterObserver())
    store.close()


@pytest.fixture
def mnemic(parts: Engine) -> Mnemic:
    return Mnemic(parts, actor="tester")


@pytest.mark.requirement("N-24", "N-27", "P-26")
class TestOverPostgresql:
    def test_a_memory_and_a_document_that_share_one_name_answer_together(self, mnemic: Mnemic, parts: Engine):
        recall.TestTwoFacts().test_a_memory_and_a_document_that_share_one_name_answer_together(mnemic, parts)

    @pytest.mark.parametrize(
        "holds",
        [
            recall.TestTwoFacts().test_what_no_word_and_no_vector_finds_is_found_by_the_way_to_it,
            recall.TestTwoFacts().test_so_many_relations_are_followed_as_asked,
            recall.TestWhatAScopeMaySee().test_nobody_is_led_over_what_is_anothers,
            recall.TestWhatAScopeMaySee().test_another_agent_is_led_over_nothing_private,
            recall.TestVectorsOfEntities().test_a_thing_is_found_by_its_meaning,
        ],
        ids=lambda test: test.__name__.removeprefix("test_"),
    )
    def test_it_holds(self, mnemic: Mnemic, holds: Callable[[Mnemic], None]):
        holds(mnemic)

    def test_reembed_makes_vectors_in_another_space(self, mnemic: Mnemic, parts: Engine, embedder: WordEmbedder):
        made = recall.TestVectorsOfEntities().test_reembed_makes_them_in_the_space_of_another_embedder
        made(mnemic, parts, embedder)
