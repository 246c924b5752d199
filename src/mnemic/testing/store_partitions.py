"""What `Partitions` promises: versions, changes since one, counts."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from mnemic.model.candidates import MESSAGE, Change
from mnemic.model.document import DocumentStatus
from mnemic.model.item import Kind, Role, State
from mnemic.model.recall import Counts
from mnemic.model.scope import Level, Partition, Scope, to_microseconds
from mnemic.ports.store import Reading, StaleTerms, Store
from mnemic.testing.samples import (
    ANALYSER,
    ANNA,
    BERT,
    HERS,
    MINUTE,
    NOW,
    READING,
    SPACE,
    a_document,
    a_job,
    a_memory,
    a_message,
    a_vector,
    add_memories,
    add_messages,
    add_vectors,
    an_entry,
    counted,
    fill_document,
    terms,
    unit,
    version_of,
)


def changes_of(store: Store, since: int, reading: Reading = READING) -> list[Change | StaleTerms]:
    """The changes of Anna's partition, all of them read."""
    with store.read() as work:
        return list(work.partitions.changes(HERS, since, reading))


def ids_since(store: Store, since: int) -> list[str]:
    """The ids of those changes."""
    return [c.item_id if isinstance(c, Change) else c.change.item_id for c in changes_of(store, since)]


def tallied(store: Store, scope: Scope = ANNA) -> Counts:
    """What a scope sees, counted."""
    with store.read() as work:
        return work.partitions.tally(scope.visibility, NOW)


class PartitionsContract:
    """Tests of `Partitions`; each takes an empty open store."""

    def test_a_partition_that_was_never_written_has_version_0(self, store: Store):
        assert version_of(store) == 0

    def test_a_message_said_in_a_project_is_a_change_private_to_it(self, store: Store):
        with store.write() as work:
            work.messages.conversation(HERS, "s1", NOW)
            said = [a_message(1, agent="project:boat"), a_message(2, agent="jarvis"), a_message(3)]
            work.messages.add([(each, terms("tea")) for each in said])
        agents = [each.private_agent for each in changes_of(store, 0) if isinstance(each, Change)]
        assert agents == ["project:boat", None, None]

    def test_what_is_visible_is_tallied_by_state_kind_and_status(self, store: Store):
        assert tallied(store) == Counts({}, {}, {})
        org = ANNA.partition(Level.ORG)
        add_memories(store, a_memory("a"), a_memory("b", org, kind=Kind.GOAL), a_memory("c", state=State.ARCHIVED))
        add_memories(store, a_memory("d", expires_at=NOW), a_memory("e", private_agent="other"))
        add_memories(store, a_memory("f", BERT.partition(Level.USER)), (gone := a_memory("g")))
        fill_document(store, a_document("read.md"), "Tea")
        fill_document(store, a_document("hers.md", private_agent="other"), "Tea")
        with store.write() as work:
            work.memories.erase(HERS, [gone.id], NOW)
            work.documents.put([a_document("broken.pdf", status=DocumentStatus.FAILED)])
        kinds = {a_memory("a").kind.value: 1, "goal": 1}
        assert tallied(store) == Counts({"active": 2, "archived": 1}, kinds, {"failed": 1, "ready": 1})
        assert tallied(store, BERT).states == {"active": 2}

    def test_versions_answers_for_every_partition_asked(self, store: Store):
        add_memories(store, a_memory())
        with store.read() as work:
            versions = work.partitions.versions([HERS, BERT.partition(Level.USER)])
        assert versions == {HERS: 1, BERT.partition(Level.USER): 0}

    def test_writes_of_one_unit_of_work_advance_the_version_once(self, store: Store):
        memory = a_memory()
        with store.write() as work:
            work.memories.add([(memory, terms("")), (a_memory("other"), terms(""))])
            work.vectors.put(HERS, [a_vector(memory.id)], NOW)
        assert version_of(store) == 1

    def test_every_kind_of_write_advances_the_version(self, store: Store):
        memory, message = a_memory(), a_message(1)
        seen = [0]
        add_memories(store, memory)
        seen.append(version_of(store))
        add_messages(store, message)
        seen.append(version_of(store))
        add_vectors(store, a_vector(message.id))
        seen.append(version_of(store))
        with store.write() as work:
            work.memories.replace(replace(memory, text="new"), terms("new"), NOW)
        seen.append(version_of(store))
        with store.write() as work:
            work.memories.erase(HERS, [memory.id], NOW)
        seen.append(version_of(store))
        with store.write() as work:
            work.messages.erase(HERS, [message.id])
        seen.append(version_of(store))
        assert seen == sorted(set(seen))

    def test_a_call_that_writes_no_row_advances_nothing(self, store: Store):
        memory = a_memory()
        add_memories(store, memory)
        add_memories(store, a_memory(memory.text))
        add_vectors(store, a_vector("missing"))
        with store.write() as work:
            work.memories.replace(memory, terms(""), NOW + MINUTE)
            work.memories.erase(HERS, ["missing"], NOW)
            work.messages.erase(HERS, ["missing"])
            work.memories.touch(HERS, {memory.id: 1}, NOW)
            work.jobs.add([a_job()])
            work.history.add([an_entry(memory.id)])
        assert version_of(store) == 1

    def test_a_write_to_one_partition_leaves_the_version_of_another(self, store: Store):
        add_memories(store, a_memory())
        add_memories(store, a_memory(partition=BERT.partition(Level.USER)))
        assert version_of(store) == 1

    def test_changes_are_what_was_written_after_a_version(self, store: Store):
        first, second = a_memory("one"), a_memory("two")
        add_memories(store, first)
        add_memories(store, second)
        assert ids_since(store, 0) == [first.id, second.id]
        assert ids_since(store, 1) == [second.id]
        assert ids_since(store, 2) == []

    def test_a_row_that_was_updated_is_a_change_again_in_its_present_form(self, store: Store):
        memory, other = a_memory("one"), a_memory("two")
        add_memories(store, memory, other)
        with store.write() as work:
            work.memories.replace(replace(memory, text="three", importance=0.9), terms("three"), NOW)
        (change,) = changes_of(store, 1)
        assert isinstance(change, Change)
        assert (change.item_id, change.terms, change.importance) == (memory.id, "three", 0.9)
        assert ids_since(store, 0) == [other.id, memory.id]

    def test_within_one_version_messages_come_before_memories_in_the_order_they_were_added(self, store: Store):
        memories = [a_memory("one"), a_memory("two")]
        messages = [a_message(1), a_message(2)]
        with store.write() as work:
            work.memories.add([(memory, terms("")) for memory in memories])
            work.messages.conversation(HERS, "s1", NOW)
            work.messages.add([(message, terms("")) for message in messages])
        assert ids_since(store, 0) == [item.id for item in (*messages, *memories)]

    def test_a_change_of_a_memory_holds_its_searchable_side(self, store: Store):
        memory = a_memory(
            kind=Kind.GOAL, state=State.QUARANTINED, private_agent="jarvis", importance=0.75, expires_at=NOW + MINUTE
        )
        add_memories(store, memory)
        assert changes_of(store, 0) == [
            Change(
                item_id=memory.id,
                kind="goal",
                is_active=False,
                terms="anna likes tea",
                private_agent="jarvis",
                importance=0.75,
                observed_at=to_microseconds(NOW),
                expires_at=to_microseconds(NOW + MINUTE),
            )
        ]

    def test_a_change_of_a_message_holds_its_place_and_author(self, store: Store):
        named, nameless = a_message(1, name="Anna"), a_message(2)
        add_messages(store, named, nameless)
        found = changes_of(store, 0)
        first = Change(
            item_id=named.id,
            kind=MESSAGE,
            terms="good morning",
            session="s1",
            observed_at=to_microseconds(NOW),
            position=1,
            author="Anna",
            role="user",
        )
        assert found == [first, first._replace(item_id=nameless.id, position=2, author="")]

    def test_a_change_of_a_message_says_who_speaks_and_whether_it_asks(self, store: Store):
        texts = ["Tea?", "Tea? \n", "好吗？", "هل؟", "Tea? Yes", "?!"]
        add_messages(store, *(a_message(n, text=text, role=Role.TOOL) for n, text in enumerate(texts, start=1)))
        found = [change for change in changes_of(store, 0) if isinstance(change, Change)]
        assert [change.is_question for change in found] == [True, True, True, True, False, False]
        assert {change.role for change in found} == {"tool"}

    @pytest.mark.requirement("J-08")
    def test_a_change_holds_the_main_vector_of_the_space_asked_for_or_none(self, store: Store):
        memory, bare = a_memory("one"), a_memory("two")
        add_memories(store, memory, bare)
        add_vectors(
            store,
            a_vector(memory.id, 1, 2, 3),
            a_vector(memory.id, 3, 2, 1, view="window"),
            a_vector(memory.id, 1, 1, space="space-of-2"),
        )
        vectors = {c.item_id: c.vector for c in changes_of(store, 0) if isinstance(c, Change)}
        assert vectors[bare.id] is None
        np.testing.assert_array_equal(vectors[memory.id], unit(1, 2, 3))
        without = changes_of(store, 0, Reading(None, ANALYSER))
        assert [c.vector for c in without if isinstance(c, Change)] == [None, None]

    def test_an_erased_item_comes_as_gone(self, store: Store):
        memory, message = a_memory(), a_message(1)
        add_memories(store, memory)
        add_messages(store, message)
        with store.write() as work:
            work.memories.erase(HERS, [memory.id], NOW)
            work.messages.erase(HERS, [message.id])
        gone = [Change(item_id=item.id, is_gone=True) for item in (message, memory)]
        assert changes_of(store, 2) == gone

    def test_a_vector_counts_as_a_write_of_its_item(self, store: Store):
        memory, message = a_memory(), a_message(1)
        add_memories(store, memory)
        add_messages(store, message)
        add_vectors(store, a_vector(memory.id), a_vector(message.id))
        assert ids_since(store, 2) == [message.id, memory.id]

    def test_terms_of_another_analyser_come_as_stale_with_the_text(self, store: Store):
        memory, message = a_memory("Tea"), a_message(1, "Good day")
        add_memories(store, memory)
        add_messages(store, message)
        found = changes_of(store, 0, Reading(SPACE, "another"))
        assert [(c.change.item_id, c.text) for c in found if isinstance(c, StaleTerms)] == [
            (memory.id, "Tea"),
            (message.id, "Good day"),
        ]

    def test_changes_of_one_partition_show_nothing_of_another(self, store: Store):
        add_memories(store, a_memory(partition=BERT.partition(Level.USER)))
        add_messages(store, a_message(1, scope=BERT))
        assert changes_of(store, 0) == []

    def test_count_counts_rows_that_are_not_erased(self, store: Store):
        kept, gone, message = a_memory("one"), a_memory("two"), a_message(1)
        add_memories(store, kept, gone)
        add_messages(store, message, a_message(2))
        add_vectors(store, a_vector(kept.id), a_vector(gone.id), a_vector(kept.id, view="window"))
        with store.write() as work:
            work.memories.erase(HERS, [gone.id], NOW)
            work.messages.erase(HERS, [message.id])
        with store.read() as work:
            assert work.partitions.count([HERS]) == counted(messages=1, memories=1, vectors=2)

    def test_count_counts_only_the_partitions_named(self, store: Store):
        add_memories(store, a_memory(), a_memory(partition=BERT.partition(Level.USER)))
        with store.read() as work:
            assert work.partitions.count([BERT.partition(Level.USER)])["memories"] == 1
            assert work.partitions.count([]) == counted()

    def test_all_names_every_partition_ever_written_in_order(self, store: Store):
        written = [Partition("b", Level.USER, "y"), Partition("a", Level.USER, "z"), ANNA.partition(Level.ORG)]
        for partition in written:
            add_memories(store, a_memory(partition=partition))
        with store.read() as work:
            assert work.partitions.all() == sorted(written)
