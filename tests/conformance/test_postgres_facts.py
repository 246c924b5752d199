"""Facts that several writers assimilate at once on a shared server."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest

from mnemic.adapters.indexes.scan import ScanIndex
from mnemic.adapters.observers.counters import CounterObserver
from mnemic.adapters.stores.postgres import PostgresStore
from mnemic.build import SystemClock
from mnemic.engine.assimilate import Place, assimilate, prepare
from mnemic.engine.engine import Engine
from mnemic.model.item import Fact, Kind, State
from mnemic.model.recall import MemoryQuery
from mnemic.model.scope import Level, Scope

PLACE = Place(Scope(user="anna").partition(Level.USER))
THEN = datetime(2026, 5, 1, tzinfo=UTC)


@pytest.mark.requirement("R-14", "P-05")
def test_writers_at_once_leave_one_memory_of_a_fact_and_one_live_value_of_a_slot(
    make_postgres: Callable[..., PostgresStore],
):
    store = make_postgres()
    parts = Engine(store=store, index=ScanIndex(), embedder=None, clock=SystemClock(), observer=CounterObserver())
    barrier = threading.Barrier(4)

    def run(number: int) -> None:
        at = THEN + timedelta(days=number)
        facts = [
            Fact(text=text, kind=Kind.FACT, observed_at=at)
            for text in ("User owns a boat", f"User lives in {('Lisbon', 'Porto', 'Oslo', 'Rome')[number]}")
        ]
        ready = prepare(parts, PLACE, facts)
        barrier.wait()
        with store.write() as work:
            assimilate(parts, work, PLACE, ready, actor="tester")

    threads = [threading.Thread(target=run, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    query = MemoryQuery(now=parts.clock.now(), states=(State.ACTIVE, State.SUPERSEDED, State.DISPUTED))
    with store.read() as work:
        kept = work.memories.list(PLACE.visibility, query)
    store.close()
    assert Counter(memory.state for memory in kept) == {State.ACTIVE: 2, State.SUPERSEDED: 3}
    assert {memory.text for memory in kept if memory.state is State.ACTIVE} == {
        "User owns a boat",
        "User lives in Rome",
    }
