"""A vector that cannot be stored is a warning and another try, never an error of the chat."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from mnemic.adapters.indexes.scan import ScanIndex
from mnemic.adapters.observers.counters import CounterObserver
from mnemic.adapters.stores.sqlite import SqliteStore
from mnemic.api import Mnemic
from mnemic.engine.engine import Engine
from mnemic.engine.handlers import HANDLERS
from mnemic.engine.jobs import list_jobs, work
from mnemic.engine.kinds import EMBED
from mnemic.model.scope import Scope
from mnemic.ports.store import Store
from mnemic.testing.faults import Fault, FaultyStore
from tests.unit.engine.kit import Clock, WordEmbedder

ANNA = Scope(user="anna")
EMBEDDING = {EMBED: HANDLERS[EMBED]}
"""Without the steps that schedules take."""


def opened(store: Store, clock: Clock) -> Engine:
    return Engine(store, ScanIndex(), WordEmbedder(is_local=False), clock, CounterObserver())


@pytest.mark.requirement("J-18", "R-30")
def test_a_vector_that_cannot_be_stored_is_a_warning_and_is_tried_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    clock = Clock()
    store = SqliteStore(tmp_path / "memory.db")
    Mnemic(opened(store, clock)).remember(ANNA, "the cat sleeps")
    put = 3  # the claim and its commit are the first two steps
    with caplog.at_level(logging.WARNING):
        report = work(opened(FaultyStore(store, Fault(nth=put)), clock), EMBEDDING, worker="w", until_idle=False)
    assert (report.done, report.retried) == (0, 1)
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert "cat" not in caplog.text
    assert "fails on purpose" in list_jobs(opened(store, clock), ANNA)[0].error
    found = Mnemic(opened(store, clock)).recall(ANNA, "cat")
    assert [hit.similarity for hit in found] == [None]
    clock.turn(minutes=1)
    assert work(opened(store, clock), EMBEDDING, worker="w").done == 1
    assert [hit.similarity is not None for hit in Mnemic(opened(store, clock)).recall(ANNA, "cat")] == [True]
