"""Fading and eviction over PostgreSQL do what they do over the reference store, night after night."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from mnemic.adapters.indexes.scan import ScanIndex
from mnemic.adapters.observers.counters import CounterObserver
from mnemic.adapters.stores.memory import MemoryStore
from mnemic.adapters.stores.postgres import PostgresStore
from mnemic.api import Mnemic
from mnemic.engine import sweep
from mnemic.engine.engine import Engine
from mnemic.engine.upkeep import decay_partition, evict_partition
from mnemic.model.item import Kind
from mnemic.model.scope import Level
from mnemic.ports.store import Store
from tests.unit.engine.kit import ANNA, Clock

HERS = ANNA.partition(Level.USER)
DRAFTS = [
    {"text": f"note {number} of {kind}", "importance": number / 10, "kind": kind, "is_private": number == 7}
    for number in range(10)
    for kind in (Kind.FACT, Kind.EVENT, Kind.REFLECTION)
]


def nights(store: Store) -> list[tuple[str, str, float]]:
    """Text, state and present importance of what is left after each of several nights, with a recall in between."""
    clock = Clock()
    parts = Engine(
        store=store, index=ScanIndex(budget_bytes=1 << 20), embedder=None, clock=clock, observer=CounterObserver()
    )
    mnemic = Mnemic(parts)
    mnemic.remember_many(ANNA, DRAFTS)
    seen: list[tuple[str, str, float]] = []
    for _ in range(6):
        clock.turn(days=45)
        mnemic.recall(ANNA, "note 3", limit=1)
        decay_partition(parts, HERS)
        evict_partition(parts, HERS)
        found = mnemic.list(ANNA, states=["active", "archived"]).memories
        seen += sorted((memory.text, memory.state.value, memory.present_importance) for memory in found)
    return seen


@pytest.mark.requirement("R-20", "R-21")
def test_the_same_memories_are_left_with_the_same_importance(
    make_postgres: Callable[[], PostgresStore], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(sweep, "PAGE", 4)
    store = make_postgres()
    left = nights(store)
    store.close()
    assert left == nights(MemoryStore())
    assert {state for _, state, _ in left} == {"active", "archived"}
    assert len(left) < 6 * len(DRAFTS)
