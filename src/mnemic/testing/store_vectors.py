"""What `Vectors` promises: one per (partition, item, view, space), and spaces never mix."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from mnemic.errors import InvalidInputError
from mnemic.model.scope import Level
from mnemic.ports.store import MAIN_VIEW, Store, VectorRow
from mnemic.testing.samples import (
    ANNA,
    BERT,
    HERS,
    MINUTE,
    NOW,
    SPACE,
    a_memory,
    a_message,
    a_vector,
    add_memories,
    add_messages,
    add_vectors,
    unit,
)


def kept(store: Store, item_id: str, view: str = MAIN_VIEW, space: str = SPACE) -> list[float] | None:
    """The components of one vector, None when there is none."""
    with store.read() as work:
        vector = work.vectors.get(HERS, [item_id], view, space).get(item_id)
    return None if vector is None else vector.tolist()


class VectorsContract:
    """Tests of `Vectors`; each takes an empty open store."""

    def test_a_vector_returns_bit_by_bit_as_float32(self, store: Store):
        memory = a_memory()
        add_memories(store, memory)
        row = a_vector(memory.id, 0.1, -0.2, 1e-30)
        assert add_vectors(store, row) == 1
        with store.read() as work:
            found = work.vectors.get(HERS, [memory.id], MAIN_VIEW, SPACE)[memory.id]
        assert (found.dtype, found.shape) == (np.float32, (3,))
        assert found.tobytes() == row.vector.tobytes()

    def test_a_stored_vector_does_not_change_with_the_callers_array(self, store: Store):
        memory = a_memory()
        add_memories(store, memory)
        vector = unit(1, 0, 0)
        add_vectors(store, VectorRow(memory.id, MAIN_VIEW, SPACE, vector))
        vector[:] = 0.5
        assert kept(store, memory.id) == [1, 0, 0]

    def test_a_later_vector_replaces_the_older_one(self, store: Store):
        memory = a_memory()
        add_memories(store, memory)
        add_vectors(store, a_vector(memory.id, 1, 0, 0))
        add_vectors(store, a_vector(memory.id, 0, 1, 0))
        assert kept(store, memory.id) == [0, 1, 0]

    def test_of_two_vectors_in_one_call_the_last_is_kept(self, store: Store):
        memory = a_memory()
        add_memories(store, memory)
        assert add_vectors(store, a_vector(memory.id, 1, 0, 0), a_vector(memory.id, 0, 1, 0)) == 2
        assert kept(store, memory.id) == [0, 1, 0]

    @pytest.mark.requirement("J-16")
    def test_storing_a_vector_sets_the_memorys_updated_at(self, store: Store):
        memory = a_memory()
        add_memories(store, memory)
        with store.write() as work:
            work.vectors.put(HERS, [a_vector(memory.id)], NOW + MINUTE)
        with store.read() as work:
            assert work.memories.get(ANNA.visibility, [memory.id]) == [replace(memory, updated_at=NOW + MINUTE)]

    @pytest.mark.requirement("J-17")
    def test_a_vector_of_a_missing_or_erased_item_is_left_out_and_no_error(self, store: Store):
        present, gone, message = a_memory("present"), a_memory("gone"), a_message(1)
        add_memories(store, present, gone)
        add_messages(store, message)
        with store.write() as work:
            work.memories.erase(HERS, [gone.id], NOW)
            work.messages.erase(HERS, [message.id])
        assert add_vectors(store, *(a_vector(i) for i in (present.id, gone.id, message.id, "missing"))) == 1
        assert [kept(store, i) is None for i in (present.id, gone.id, message.id, "missing")] == [
            False,
            True,
            True,
            True,
        ]

    def test_a_vector_for_an_item_of_another_partition_is_left_out(self, store: Store):
        memory = a_memory()
        add_memories(store, memory, a_memory(partition=BERT.partition(Level.USER)))
        assert add_vectors(store, a_vector(memory.id), partition=BERT.partition(Level.USER)) == 0
        assert kept(store, memory.id) is None

    @pytest.mark.requirement("N-30")
    def test_a_vector_whose_dims_are_not_the_spaces_is_refused_and_nothing_stored(self, store: Store):
        first, second = a_memory("one"), a_memory("two")
        add_memories(store, first, second)
        add_vectors(store, a_vector(first.id))
        with pytest.raises(InvalidInputError):
            add_vectors(store, a_vector(second.id), a_vector(first.id, 1, 2, 3, 4))
        assert (kept(store, first.id), kept(store, second.id)) == ([1, 0, 0], None)

    @pytest.mark.requirement("N-30")
    def test_the_vectors_of_two_spaces_and_views_stay_apart(self, store: Store):
        memory = a_memory()
        add_memories(store, memory)
        add_vectors(
            store,
            a_vector(memory.id, 1, 0, 0),
            a_vector(memory.id, 0, 1, 0, view="window"),
            a_vector(memory.id, 1, 0, space="space-of-2"),
        )
        assert kept(store, memory.id) == [1, 0, 0]
        assert kept(store, memory.id, "window") == [0, 1, 0]
        assert kept(store, memory.id, MAIN_VIEW, "space-of-2") == [1, 0]
        assert kept(store, memory.id, "window", "space-of-2") is None
        assert kept(store, memory.id, MAIN_VIEW, "unknown") is None

    def test_get_answers_the_vectors_that_exist_by_item(self, store: Store):
        first, second = a_memory("one"), a_memory("two")
        add_memories(store, first, second)
        add_vectors(store, a_vector(first.id))
        with store.read() as work:
            assert set(work.vectors.get(HERS, [first.id, second.id, "missing"], MAIN_VIEW, SPACE)) == {first.id}
            assert work.vectors.get(BERT.partition(Level.USER), [first.id], MAIN_VIEW, SPACE) == {}

    @pytest.mark.requirement("J-08")
    def test_missing_names_items_without_a_main_vector_in_the_space(self, store: Store):
        embedded, bare, message = a_memory("embedded"), a_memory("bare"), a_message(1, "said")
        add_memories(store, embedded, bare)
        add_messages(store, message)
        add_vectors(store, a_vector(embedded.id), a_vector(bare.id, view="window"))
        with store.read() as work:
            assert work.vectors.missing(HERS, SPACE, 9) == [(bare.id, "bare"), (message.id, "said")]
            assert len(work.vectors.missing(HERS, "another", 9)) == 3
            assert len(work.vectors.missing(HERS, "another", 2)) == 2
            assert work.vectors.missing(BERT.partition(Level.USER), SPACE, 9) == []

    def test_missing_leaves_out_blank_and_erased_items(self, store: Store):
        blank, gone = a_memory(" \t\n"), a_memory("gone")
        add_memories(store, blank, gone)
        with store.write() as work:
            work.memories.erase(HERS, [gone.id], NOW)
        with store.read() as work:
            assert work.vectors.missing(HERS, SPACE, 9) == []

    def test_spaces_counts_the_vectors_of_each_space_in_the_whole_store(self, store: Store):
        hers, his = a_memory(), a_memory(partition=BERT.partition(Level.USER))
        add_memories(store, hers, his)
        add_vectors(store, a_vector(hers.id), a_vector(hers.id, 1, 2, space="space-of-2"))
        add_vectors(store, a_vector(his.id), partition=BERT.partition(Level.USER))
        with store.read() as work:
            assert work.vectors.spaces() == {SPACE: 2, "space-of-2": 1}
            assert work.vectors.known() == {SPACE, "space-of-2"}

    @pytest.mark.requirement("P-14")
    def test_coverage_counts_what_should_have_a_vector_and_what_has_one(self, store: Store):
        embedded, bare, blank, gone = (a_memory(text) for text in ("embedded", "bare", " \n", "gone"))
        add_memories(store, embedded, bare, blank, gone)
        add_messages(store, a_message(1, "said"))
        add_vectors(store, a_vector(embedded.id), a_vector(bare.id, view="window"), a_vector(gone.id))
        with store.write() as work:
            work.memories.erase(HERS, [gone.id], NOW)
        with store.read() as work:
            assert work.vectors.coverage(HERS, SPACE) == (3, 1)
            assert work.vectors.coverage(HERS, "another") == (3, 0)
            assert work.vectors.coverage(BERT.partition(Level.USER), SPACE) == (0, 0)

    @pytest.mark.requirement("P-14")
    def test_alone_names_the_last_item_that_only_this_space_has(self, store: Store):
        first, second, third = sorted((a_memory(text) for text in ("one", "two", "three")), key=lambda m: m.id)
        add_memories(store, first, second, third)
        add_vectors(store, *(a_vector(each.id) for each in (first, second, third)))
        add_vectors(store, a_vector(third.id, 1, 2, space="new"), a_vector(second.id, 1, 2, space="new", view="window"))
        with store.read() as work:
            assert work.vectors.alone(HERS, SPACE, []) == third.id
            assert work.vectors.alone(HERS, SPACE, ["new", "newer"]) == second.id
            assert work.vectors.alone(HERS, "new", [SPACE]) is None
            assert work.vectors.alone(BERT.partition(Level.USER), SPACE, []) is None
        add_vectors(store, *(a_vector(each.id, 1, 2, space="new") for each in (first, second)))
        with store.read() as work:
            assert work.vectors.alone(HERS, SPACE, ["new"]) is None

    @pytest.mark.requirement("P-14")
    def test_a_removed_space_is_gone_without_a_change_of_the_items(self, store: Store):
        hers, his = a_memory(), a_memory(partition=BERT.partition(Level.USER))
        add_memories(store, hers, his)
        add_vectors(store, a_vector(hers.id), a_vector(hers.id, view="window"), a_vector(hers.id, 1, 2, space="new"))
        add_vectors(store, a_vector(his.id), partition=BERT.partition(Level.USER))
        with store.read() as work:
            before = work.partitions.versions([HERS]), work.memories.get(ANNA.visibility, [hers.id])
        with store.write() as work:
            assert work.vectors.remove(HERS, SPACE) == 2
            assert work.vectors.remove(HERS, SPACE) == 0
        with store.read() as work:
            assert work.vectors.spaces() == {SPACE: 1, "new": 1}
            assert work.vectors.known() == {SPACE, "new"}
            assert (work.partitions.versions([HERS]), work.memories.get(ANNA.visibility, [hers.id])) == before
        with store.write() as work:
            assert work.vectors.remove(None, SPACE) == 1
        with store.read() as work:
            assert (work.vectors.spaces(), work.vectors.known()) == ({"new": 1}, {"new"})
        add_vectors(store, a_vector(hers.id, 0, 0, 0, 1))  # its dims are free again
        assert kept(store, hers.id) == [0, 0, 0, 1]
