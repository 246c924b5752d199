"""What `Partitions` promises of tombstones that are removed: of chunks only, and never behind an index's back."""

from __future__ import annotations

import pytest

from mnemic.errors import UnsupportedError
from mnemic.model.candidates import Change
from mnemic.model.item import Provenance
from mnemic.model.scope import Level, Partition
from mnemic.ports.store import Store
from mnemic.testing.samples import (
    ANNA,
    BERT,
    HERS,
    NOW,
    READING,
    a_document,
    a_memory,
    a_message,
    add_memories,
    add_messages,
    fill_document,
    version_of,
)

MANY = 1_000
HIS = BERT.partition(Level.USER)


def compact(store: Store, limit: int = MANY, partition: Partition = HERS) -> tuple[int, int]:
    """How many tombstones were removed, and how many are left that may be."""
    with store.write() as work:
        return work.partitions.compact(partition, limit), work.partitions.tombstones(partition)


def horizon(store: Store, partition: Partition = HERS) -> int:
    """The horizon of a partition."""
    with store.read() as work:
        return work.partitions.horizon(partition)


def gone(store: Store) -> list[bool]:
    """Of everything that changes tell of Anna's partition, whether it is gone."""
    with store.read() as work:
        told = list(work.partitions.changes(HERS, 0, READING))
    return [isinstance(change, Change) and change.is_gone for change in told]


class CompactionContract:
    """Tests of `tombstones`, `compact` and `horizon`; each takes an empty open store."""

    def test_tombstones_of_chunks_go_those_erased_first_first_and_the_horizon_tells(self, store: Store):
        document = a_document()
        for text in ("one", "two", "three"):
            fill_document(store, document, text, f"{text} more")
        assert gone(store) == [True] * 4 + [False] * 2
        assert compact(store, 2) == (2, 2)
        assert horizon(store) == 2
        assert compact(store) == (2, 0)
        assert (horizon(store), version_of(store)) == (3, 3)
        assert gone(store) == [False] * 2
        with store.read() as work:
            left = work.documents.passages(ANNA.visibility, document.id, 0, 9)
        assert [chunk.text for chunk in left] == ["three", "three more"]

    def test_the_chunks_of_an_erased_document_go_and_its_own_tombstone_stays(self, store: Store):
        document = a_document()
        fill_document(store, document, "one", "two")
        with store.write() as work:
            work.documents.erase(HERS, [document.id], NOW)
        assert compact(store) == (2, 0)
        with store.read() as work:
            assert work.erasure.count(HERS) == {"documents": 1}

    def test_nothing_else_goes_and_no_version_is_advanced(self, store: Store):
        memory, message = a_memory(), a_message(1)
        add_memories(store, memory)
        add_messages(store, message)
        fill_document(store, a_document(), "one")
        with store.write() as work:
            work.memories.erase(HERS, [memory.id], NOW)
            work.messages.erase(HERS, [message.id])
        before, version = gone(store), version_of(store)
        assert compact(store) == (0, 0)
        assert (gone(store), version_of(store)) == (before, version)

    def test_the_tombstone_of_what_a_memory_was_made_of_stays_while_the_memory_does(self, store: Store):
        document = a_document()
        (chunk,) = fill_document(store, document, "Anna likes tea")
        memory = a_memory(provenance=(Provenance(chunk.id, 0, 4, "test", "1", 1.0),))
        add_memories(store, memory)
        fill_document(store, document, "Anna likes coffee")
        assert compact(store) == (0, 0)
        with store.write() as work:
            work.memories.erase(HERS, [memory.id], NOW)
        assert compact(store) == (1, 0)

    def test_the_tombstones_of_others_stay(self, store: Store):
        for partition in (HERS, HIS):
            document = a_document(partition=partition)
            for text in ("one", "two"):
                fill_document(store, document, text)
        assert compact(store) == (1, 0)
        assert compact(store, 0, HIS) == (0, 1)

    def test_who_was_never_written_has_none_and_a_unit_that_reads_removes_none(self, store: Store):
        assert (compact(store), horizon(store)) == ((0, 0), 0)
        with store.read() as work, pytest.raises(UnsupportedError):
            work.partitions.compact(HERS, 1)

    def test_who_begins_anew_after_an_erasure_has_a_horizon_above_what_was_read_before(self, store: Store):
        add_memories(store, a_memory("one"), a_memory("two"))
        before = version_of(store)
        with store.write() as work:
            work.erasure.wipe(HERS)
        add_memories(store, a_memory("three"))
        assert before < horizon(store) <= version_of(store)
