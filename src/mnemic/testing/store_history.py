"""What `History` promises: what happened to an item, as far as one may see it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from mnemic.errors import ConflictError
from mnemic.model.records import Action, HistoryEntry
from mnemic.model.scope import Level, Scope
from mnemic.ports.store import Store
from mnemic.testing.samples import ANNA, ANNA_ELSEWHERE, BERT, HERS, a_memory, add_memories, an_entry


def add_entries(store: Store, *entries: HistoryEntry) -> None:
    """Write entries down in one unit of work."""
    with store.write() as work:
        work.history.add(entries)


def history_of(store: Store, item_id: str, scope: Scope = ANNA) -> list[HistoryEntry]:
    """The entries of one item that this scope may see."""
    with store.read() as work:
        return work.history.of(scope.visibility, item_id)


class HistoryContract:
    """Tests of `History`; each takes an empty open store."""

    def test_entries_return_as_they_were_written_in_that_order(self, store: Store):
        entries = [
            an_entry("m1", action=Action.CREATED, before={}, after={"metadata": {"n": [1, None, 0.5, "ü"]}}),
            an_entry("m1"),
            an_entry("m2"),
        ]
        add_entries(store, entries[0])
        add_entries(store, *entries[1:])
        assert history_of(store, "m1") == entries[:2]
        assert history_of(store, "unknown") == []

    def test_an_entry_whose_id_is_taken_is_a_conflict(self, store: Store):
        entry = an_entry("m1")
        add_entries(store, entry)
        with pytest.raises(ConflictError):
            add_entries(store, replace(entry, item_id="m2"))

    def test_the_history_of_an_item_that_is_not_visible_is_empty(self, store: Store):
        memory = a_memory()
        add_memories(store, memory)
        add_entries(store, an_entry(memory.id))
        assert [history_of(store, memory.id, scope) for scope in (BERT, ANNA_ELSEWHERE)] == [[], []]

    def test_the_history_of_a_private_memory_is_seen_by_its_agent_only(self, store: Store):
        memory = a_memory(private_agent="jarvis")
        add_memories(store, memory)
        entry = an_entry(memory.id)
        add_entries(store, entry)
        assert history_of(store, memory.id) == [entry]
        assert history_of(store, memory.id, replace(ANNA, agent="friday")) == []
        assert history_of(store, memory.id, replace(ANNA, agent=None)) == []

    def test_scrubbing_empties_before_after_and_reason(self, store: Store):
        entry, other = an_entry("m1"), an_entry("m2")
        add_entries(store, entry, other)
        with store.write() as work:
            assert work.history.scrub(HERS, ["m1", "unknown"]) == 1
        assert history_of(store, "m1") == [replace(entry, before={}, after={}, reason="")]
        assert history_of(store, "m2") == [other]

    def test_scrubbing_in_another_partition_changes_nothing(self, store: Store):
        entry = an_entry("m1")
        add_entries(store, entry)
        with store.write() as work:
            assert work.history.scrub(BERT.partition(Level.USER), ["m1"]) == 0
        assert history_of(store, "m1") == [entry]
