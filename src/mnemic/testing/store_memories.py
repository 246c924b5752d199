"""What `Memories` promises for writing, and for reading by id."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from mnemic.errors import ConflictError
from mnemic.model.item import Kind, Memory, Provenance, State, Trust
from mnemic.model.scope import Level, Scope
from mnemic.ports.store import MAIN_VIEW, Reading, StaleTerms, Store
from mnemic.testing.samples import (
    ANNA,
    ANNA_ELSEWHERE,
    BERT,
    HERS,
    MINUTE,
    NOW,
    SPACE,
    a_memory,
    a_query,
    a_vector,
    add_memories,
    add_vectors,
    counted,
    terms,
    version_of,
)

FULL = a_memory(
    "Ω — \x00 \U0001f600 'quoted' \"twice\"\r\n\ttab  ",
    kind=Kind.GEM,
    importance=0.1,
    confidence=0.30000000000000004,
    categories=("b", "a", "ü"),
    context="because",
    snippet="she said: …",
    source="chat",
    agent="jarvis",
    private_agent="jarvis",
    valid_from=NOW - timedelta(days=365_000),
    valid_to=NOW + timedelta(days=365_000),
    retired_at=NOW + MINUTE,
    expires_at=NOW + 2 * MINUTE,
    last_accessed_at=NOW + timedelta(microseconds=1),
    access_count=3,
    faded=0.05,
    is_pinned=True,
    other_id="another",
    trust=Trust.DOCUMENT,
    provenance=(Provenance("m1", 0, 9, "rules", "1", 0.5), Provenance("m2", 3, 4, "llm", "2", 1.0)),
    metadata={"nested": {"list": [1, 2.5, True, None, "ü", {"a": []}]}, "big": 2**62, "float": 1.0},
    bookkeeping={"slot": "home", "merged_ids": ["m1"], "import": {"file": "ü.md", "line": 3}},
)


def got(store: Store, scope: Scope, *ids: str) -> list[Memory]:
    """The memories that this scope may see among `ids`."""
    with store.read() as work:
        return work.memories.get(scope.visibility, ids)


class MemoriesContract:
    """Tests of `Memories` but its listing; each takes an empty open store."""

    def test_a_memory_returns_as_it_was_stored(self, store: Store):
        add_memories(store, FULL)
        assert got(store, ANNA, FULL.id) == [FULL]

    def test_metadata_keeps_the_types_of_its_values(self, store: Store):
        add_memories(store, FULL)
        assert repr(dict(got(store, ANNA, FULL.id)[0].metadata)) == repr(dict(FULL.metadata))

    def test_what_is_stored_does_not_change_with_the_callers_metadata(self, store: Store):
        tags: list[str] = ["a"]
        memory = a_memory(metadata={"tags": tags})
        add_memories(store, memory)
        tags.append("b")
        assert got(store, ANNA, memory.id)[0].metadata == {"tags": ["a"]}

    def test_add_says_of_each_memory_that_it_was_inserted(self, store: Store):
        assert add_memories(store, a_memory("one"), a_memory("two")) == [True, True]

    @pytest.mark.requirement("J-51", "R-14")
    def test_a_memory_whose_dedup_key_is_taken_is_not_inserted(self, store: Store):
        first, second = a_memory("tea"), a_memory("tea")
        assert add_memories(store, first) == [True]
        assert add_memories(store, second, a_memory("coffee")) == [False, True]
        assert got(store, ANNA, first.id, second.id) == [first]

    def test_a_dedup_key_is_taken_within_one_call_too(self, store: Store):
        assert add_memories(store, a_memory("tea"), a_memory("tea")) == [True, False]

    @pytest.mark.requirement("R-14")
    def test_a_quarantined_memory_holds_its_dedup_key(self, store: Store):
        assert add_memories(store, a_memory("tea", state=State.QUARANTINED), a_memory("tea")) == [True, False]

    @pytest.mark.requirement("R-14")
    def test_a_memory_in_another_state_leaves_its_dedup_key_free(self, store: Store):
        for state in (State.SUPERSEDED, State.DISPUTED, State.ARCHIVED):
            assert add_memories(store, a_memory("tea", state=state)) == [True]
        assert add_memories(store, a_memory("tea")) == [True]

    @pytest.mark.requirement("R-14")
    def test_a_dedup_key_is_unique_per_partition_and_private_agent(self, store: Store):
        places = [
            a_memory("tea"),
            a_memory("tea", private_agent="jarvis"),
            a_memory("tea", private_agent="friday"),
            a_memory("tea", BERT.partition(Level.USER)),
        ]
        assert add_memories(store, *places) == [True] * 4

    def test_an_erased_memory_gives_its_dedup_key_back(self, store: Store):
        memory = a_memory("tea")
        add_memories(store, memory)
        with store.write() as work:
            work.memories.erase(HERS, [memory.id], NOW)
        assert add_memories(store, a_memory("tea")) == [True]

    def test_a_new_row_whose_id_is_taken_is_a_conflict(self, store: Store):
        memory = a_memory("tea")
        add_memories(store, memory)
        with pytest.raises(ConflictError):
            add_memories(store, replace(memory, dedup_key="coffee"))

    def test_adding_the_same_memory_again_is_no_error(self, store: Store):
        memory = a_memory("tea")
        add_memories(store, memory)
        assert add_memories(store, memory) == [False]

    def test_get_answers_in_the_order_of_the_ids_and_leaves_out_unknown_ones(self, store: Store):
        first, second = a_memory("one"), a_memory("two")
        add_memories(store, first, second)
        assert got(store, ANNA, second.id, "unknown", first.id) == [second, first]
        assert got(store, ANNA) == []

    def test_get_answers_whatever_the_state_but_not_the_erased(self, store: Store):
        memories = [a_memory(state.value, state=state) for state in State if state != State.ERASED]
        gone = a_memory("gone")
        add_memories(store, *memories, gone)
        with store.write() as work:
            work.memories.erase(HERS, [gone.id], NOW)
        assert got(store, ANNA, *(m.id for m in memories), gone.id) == memories

    @pytest.mark.requirement("J-11", "N-05", "N-17")
    def test_memories_of_another_user_or_org_are_not_got(self, store: Store):
        memory = a_memory()
        add_memories(store, memory)
        for stranger in (BERT, ANNA_ELSEWHERE, Scope(org="acme", agent="jarvis", session="s1")):
            assert got(store, stranger, memory.id) == []

    def test_a_private_memory_is_got_by_its_agent_only(self, store: Store):
        memory = a_memory(private_agent="jarvis")
        add_memories(store, memory)
        assert got(store, ANNA, memory.id) == [memory]
        assert got(store, replace(ANNA, agent="friday"), memory.id) == []
        assert got(store, replace(ANNA, agent=None), memory.id) == []

    @pytest.mark.requirement("R-17")
    def test_a_memory_of_the_org_is_got_by_every_agent_or_by_the_one_it_is_for(self, store: Store):
        org = ANNA.partition(Level.ORG)
        shared, for_jarvis = a_memory("shared", org), a_memory("for jarvis", org, private_agent="jarvis")
        add_memories(store, shared, for_jarvis)
        assert got(store, BERT, shared.id, for_jarvis.id) == [shared, for_jarvis]
        assert got(store, Scope(org="acme", agent="friday"), shared.id, for_jarvis.id) == [shared]
        assert got(store, Scope(org="other", agent="jarvis"), shared.id, for_jarvis.id) == []

    def test_holder_is_the_active_or_quarantined_memory_with_the_key(self, store: Store):
        old, present = a_memory("tea", state=State.SUPERSEDED), a_memory("tea")
        private = a_memory("tea", private_agent="jarvis", state=State.QUARANTINED)
        add_memories(store, old, present, private)
        with store.read() as work:
            assert work.memories.holder(HERS, None, "tea") == present
            assert work.memories.holder(HERS, "jarvis", "tea") == private
            assert work.memories.holder(HERS, "friday", "tea") is None
            assert work.memories.holder(HERS, None, "coffee") is None
            assert work.memories.holder(BERT.partition(Level.USER), None, "tea") is None

    def test_replace_puts_the_new_form_in_place(self, store: Store):
        memory = a_memory()
        add_memories(store, memory)
        new = replace(FULL, id=memory.id, created_at=NOW - MINUTE, updated_at=NOW + MINUTE)
        with store.write() as work:
            assert work.memories.replace(new, terms("new"), NOW) is True
        assert got(store, ANNA, memory.id) == [new]

    def test_replace_of_a_row_that_was_updated_meanwhile_changes_nothing(self, store: Store):
        memory = a_memory(updated_at=NOW + timedelta(microseconds=1))
        add_memories(store, memory)
        with store.write() as work:
            assert work.memories.replace(replace(memory, text="new"), terms("new"), NOW) is False
        assert got(store, ANNA, memory.id) == [memory]

    def test_replace_of_an_unknown_or_erased_row_or_in_another_partition_changes_nothing(self, store: Store):
        gone, kept = a_memory("gone"), a_memory("kept")
        add_memories(store, gone, kept)
        with store.write() as work:
            work.memories.erase(HERS, [gone.id], NOW)
            for memory in (a_memory(), gone, replace(kept, partition=BERT.partition(Level.USER))):
                assert work.memories.replace(replace(memory, text="new"), terms("new"), NOW) is False
        assert got(store, ANNA, kept.id, gone.id) == [kept]
        assert got(store, BERT, kept.id) == []

    def test_replace_with_a_dedup_key_that_is_taken_is_a_conflict(self, store: Store):
        tea, coffee = a_memory("tea"), a_memory("coffee")
        add_memories(store, tea, coffee)
        with pytest.raises(ConflictError), store.write() as work:
            work.memories.replace(replace(coffee, dedup_key="tea"), terms("tea"), NOW)
        assert got(store, ANNA, coffee.id) == [coffee]

    def test_vectors_of_a_changed_text_are_removed_and_of_an_unchanged_one_kept(self, store: Store):
        changed, kept = a_memory("one"), a_memory("two")
        add_memories(store, changed, kept)
        add_vectors(store, a_vector(changed.id), a_vector(changed.id, view="window"), a_vector(kept.id))
        with store.write() as work:
            work.memories.replace(replace(changed, text="three"), terms("three"), NOW)
            work.memories.replace(replace(kept, importance=1.0), terms("two"), NOW)
        with store.read() as work:
            assert set(work.vectors.get(HERS, [changed.id, kept.id], MAIN_VIEW, SPACE)) == {kept.id}
            assert work.partitions.count([HERS])["vectors"] == 1

    def test_touch_adds_to_access_counts_and_sets_the_time_of_last_access(self, store: Store):
        memory = a_memory(access_count=2)
        add_memories(store, memory)
        with store.write() as work:
            work.memories.touch(HERS, {memory.id: 3, "unknown": 1}, NOW + MINUTE)
            work.memories.touch(BERT.partition(Level.USER), {memory.id: 9}, NOW + 2 * MINUTE)
            work.memories.touch(HERS, {memory.id: 1}, NOW)
        assert got(store, ANNA, memory.id) == [replace(memory, access_count=6, last_accessed_at=NOW + MINUTE)]

    def test_touch_is_no_change_of_the_memory_and_moves_no_version(self, store: Store):
        memory = a_memory()
        add_memories(store, memory)
        with store.write() as work:
            work.memories.touch(HERS, {memory.id: 3}, NOW + MINUTE)
        assert version_of(store) == 1
        assert got(store, ANNA, memory.id)[0].updated_at == NOW

    def test_erasing_removes_all_that_a_memory_says_and_leaves_a_tombstone(self, store: Store):
        add_memories(store, FULL)
        add_vectors(store, a_vector(FULL.id))
        late = NOW + MINUTE
        with store.write() as work:
            assert work.memories.erase(HERS, [FULL.id, "unknown"], late) == 1
            assert work.memories.erase(HERS, [FULL.id], late) == 0
        empty = {"text": "", "context": "", "snippet": "", "source": "", "dedup_key": ""}
        tombstone = replace(
            FULL,
            **empty,
            categories=(),
            provenance=(),
            metadata={},
            bookkeeping={},
            state=State.ERASED,
            updated_at=late,
        )
        with store.read() as work:
            assert work.memories.list(ANNA.visibility, a_query(states=(State.ERASED,))) == [tombstone]
            assert work.partitions.count([HERS]) == counted()

    def test_an_erased_memory_has_no_terms_and_no_text_to_analyse(self, store: Store):
        add_memories(store, FULL)
        with store.write() as work:
            work.memories.erase(HERS, [FULL.id], NOW)
        with store.read() as work:
            found = list(work.partitions.changes(HERS, 0, Reading(SPACE, "another")))
        assert [isinstance(change, StaleTerms) for change in found] == [False]

    def test_erasing_in_another_partition_removes_nothing(self, store: Store):
        memory = a_memory()
        add_memories(store, memory)
        with store.write() as work:
            assert work.memories.erase(BERT.partition(Level.USER), [memory.id], NOW) == 0
        assert got(store, ANNA, memory.id) == [memory]

    def test_upkeep_pages_through_every_memory_of_a_partition_that_is_not_erased(self, store: Store):
        expired = a_memory("expired", expires_at=NOW - MINUTE)
        private = a_memory("private", private_agent="somebody else")
        archived = a_memory("archived", state=State.ARCHIVED)
        gone, his = a_memory("gone"), a_memory("his", BERT.partition(Level.USER))
        add_memories(store, archived, expired, private, gone, his)
        with store.write() as work:
            work.memories.erase(HERS, [gone.id], NOW)
        with store.read() as work:
            assert work.upkeep.memories(HERS, "", 2) == [expired, private]
            assert work.upkeep.memories(HERS, private.id, 2) == [archived]
            assert work.upkeep.memories(ANNA_ELSEWHERE.partition(Level.USER), "", 2) == []
