"""The health of memories over a server: the same findings, fixes and scores as in the embedded store."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from mnemic.adapters.indexes.scan import ScanIndex
from mnemic.adapters.observers.counters import CounterObserver
from mnemic.adapters.stores.postgres import PostgresStore
from mnemic.api import Mnemic
from mnemic.engine.engine import Engine
from mnemic.model.item import State
from tests.unit.engine.kit import ANNA, BERT, Clock, WordEmbedder

NOTES = "# Boat\n- The mast is of spruce\n- Ines sails on Sundays\n"


@pytest.fixture
def mnemic(make_postgres: Callable[[], PostgresStore]) -> Iterator[Mnemic]:
    store = make_postgres()
    parts = Engine(store, ScanIndex(), WordEmbedder(), Clock(), CounterObserver())
    yield Mnemic(parts, actor="tester")
    store.close()


@pytest.mark.requirement("P-28")
def test_faults_are_found_ended_and_scored_over_postgresql(mnemic: Mnemic):
    mnemic.remember(ANNA, "User keeps bees and two hens behind the house")
    mnemic.remember(ANNA, "The user keeps bees and two hens behind the house")
    junk = mnemic.remember(ANNA, "Thank you so much!")
    older = mnemic.remember(ANNA, "User lives in Porto")
    newer = mnemic.remember(ANNA, "User lives in Oslo")
    mnemic.delete(ANNA, newer.id)
    mnemic.remember(BERT, "Thank you so much!")
    report = mnemic.health(ANNA)
    assert report.score.counts == {"orphaned": 1, "junk": 1, "duplicate": 1}
    assert {one.ids[0] for one in report.findings} >= {junk.id, older.id}
    report = mnemic.health(ANNA, fix=["junk", "duplicate"])
    assert (report.score.counts, len(report.fixed)) == ({"orphaned": 1}, 2)
    assert mnemic.get(ANNA, junk.id).state is State.ARCHIVED
    assert mnemic.undo(ANNA, junk.id).state is State.ACTIVE
    assert len(mnemic.health(ANNA).scores) == 2
    assert mnemic.health(BERT).scores == ()


@pytest.mark.requirement("P-08")
def test_notes_are_taken_in_once_over_postgresql(mnemic: Mnemic):
    assert mnemic.import_(ANNA, NOTES, name="MEMORY.md").added == {"memory": 2}
    assert mnemic.import_(ANNA, NOTES, name="MEMORY.md").known == {"memory": 2}
    report = mnemic.import_(ANNA, NOTES.replace("of spruce", "of carbon"), name="MEMORY.md")
    assert (report.added, len(report.changed)) == ({"memory": 1}, 1)
    assert mnemic.import_(ANNA, NOTES, name="MEMORY.md").changed[0].startswith("MEMORY.md:2: was changed back")
