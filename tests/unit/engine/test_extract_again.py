"""Saying the same again and again: the sources are bounded, and the history holds only differences."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from itertools import pairwise
from pathlib import Path

import pytest

from mnemic.adapters.stores.sqlite.store import SqliteStore
from mnemic.engine.edit import MOST_CONTEXT_LINES, MOST_SOURCES
from mnemic.model.item import Kind
from mnemic.model.settings import LifeSettings, Settings
from mnemic.ports.store import Store
from tests.unit.engine.kit import ANNA, Clock
from tests.unit.engine.life_kit import opened

TIMES = 40


@pytest.mark.requirement("P-02")
def test_what_is_said_forty_times_names_its_first_sources_and_its_history_stays_small(store: Store, clock: Clock):
    mnemic, _ = opened(store, clock, settings=Settings(life=LifeSettings(extracts=True)))
    turns = [mnemic.capture(ANNA, user="My sister Jana lives in Graz.") for _ in range(TIMES)]
    mnemic.work()
    (known,) = (m for m in mnemic.list(ANNA).memories if m.kind is not Kind.SUMMARY)
    assert [entry.source_id for entry in known.provenance] == [turn.messages[0].id for turn in turns[:MOST_SOURCES]]
    entries = mnemic.history(ANNA, known.id)
    assert len(entries) == TIMES
    sizes = [len(json.dumps([dict(entry.before), dict(entry.after)], default=str)) for entry in entries]
    assert max(sizes[MOST_SOURCES:]) < 200
    assert entries[-1].after["sources"] == [turns[-1].messages[0].id]


@pytest.mark.requirement("P-02")
@pytest.mark.parametrize("verb", ["capture", "remember"])
def test_the_history_grows_by_as_much_with_each_repetition(tmp_path: Path, clock: Clock, verb: str):
    place, text = tmp_path / "memory.db", "My sister Jana lives in Graz."
    sizes = [0]
    with closing(SqliteStore(str(place))) as store:
        mnemic, _ = opened(store, clock, settings=Settings(life=LifeSettings(extracts=True)))
        for _ in range(3):
            for number in range(100):
                if verb == "capture":
                    mnemic.capture(ANNA, user=text)
                else:
                    mnemic.remember(ANNA, text, context=f"told in talk {number}", metadata={"talk": number})
            mnemic.work()
            with closing(sqlite3.connect(place)) as file:
                sizes.append(file.execute("SELECT sum(length(before) + length(after)) FROM history").fetchone()[0])
    first, second, third = (after - before for before, after in pairwise(sizes))
    assert third <= second <= first
    assert second < 100 * 200


@pytest.mark.requirement("P-06")
def test_it_goes_with_the_sources_that_it_names(store: Store, clock: Clock):
    mnemic, _ = opened(store, clock, settings=Settings(life=LifeSettings(extracts=True)))
    turns = [mnemic.capture(ANNA, user="My sister Jana lives in Graz.") for _ in range(MOST_SOURCES + 1)]
    mnemic.work()
    assert any(memory.kind is not Kind.SUMMARY for memory in mnemic.list(ANNA).memories)
    for turn in turns[:-1]:
        mnemic.delete(ANNA, turn.messages[0].id)
    mnemic.work()
    assert [m for m in mnemic.list(ANNA).memories if m.kind is not Kind.SUMMARY] == []


def test_contexts_that_are_told_again_and_again_are_bounded(store: Store, clock: Clock):
    mnemic, _ = opened(store, clock)
    *_, memory = [
        mnemic.remember(ANNA, "User prefers tea", context=f"told in talk {number}") for number in range(TIMES)
    ]
    assert memory.context.splitlines() == [f"told in talk {number}" for number in range(MOST_CONTEXT_LINES)]
