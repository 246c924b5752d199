"""What `Erasure` promises: nothing of a partition is left, and everything of the others."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

import pytest

from mnemic.errors import ConflictError, UnsupportedError
from mnemic.model.item import Provenance
from mnemic.model.records import Receipt
from mnemic.model.scope import Level, Partition, Scope
from mnemic.ports.store import Store, UnitOfWork
from mnemic.testing.samples import (
    ANNA,
    ANNA_ELSEWHERE,
    BERT,
    HERS,
    MINUTE,
    NOW,
    READING,
    a_document,
    a_job,
    a_memory,
    a_message,
    a_profile_entry,
    a_vector,
    add_memories,
    an_entry,
    new_id,
    passages,
    terms,
    version_of,
)

HIS = BERT.partition(Level.USER)
AGENTS = ANNA.partition(Level.AGENT)
WRITTEN = {
    "conversations": 1,
    "messages": 1,
    "cursors": 1,
    "memories": 1,
    "documents": 1,
    "chunks": 2,
    "vectors": 1,
    "jobs": 1,
    "profiles": 1,
    "history": 1,
}
RECEIPT = Receipt(NOW, {"messages": 3}, id="r1", org="acme", scope_hash="ab" * 32, hashes=("cd" * 32,), notes=("Ω",))


def write_a_row_of_everything(work: UnitOfWork, scope: Scope) -> None:
    """The rows that `WRITTEN` counts, in the partition of the scope's user."""
    partition = scope.partition(Level.USER)
    memory, document = a_memory(partition=partition), a_document(partition=partition)
    work.messages.conversation(partition, "s1", NOW)
    work.messages.add([(a_message(1, scope=scope), terms("good morning"))])
    work.conversations.move(partition, "s1", "summarised", 0, 1)
    work.memories.add([(memory, terms("tea"))])
    chunks = passages(document, "Tea", "Milk")
    work.documents.fill(document, "TeaMilk", [(chunk, terms(chunk.text)) for chunk in chunks])
    work.vectors.put(partition, [a_vector(memory.id)], NOW)
    work.jobs.add([a_job(partition=partition)])
    work.profiles.put([a_profile_entry("age", partition)])
    work.history.add([an_entry(memory.id, partition)])


def counts(store: Store, partition: Partition) -> dict[str, int]:
    """What `count` tells; how a store keeps the text of a document is its own affair."""
    with store.read() as work:
        told = dict(work.erasure.count(partition))
    told.pop("document_texts", None)
    return told


def derived_from(*sources: str) -> tuple[Provenance, ...]:
    """The provenance of a memory that was made of these items."""
    return tuple(Provenance(source, 0, 1, "rules", "1", 1.0) for source in sources)


class ErasureContract:
    """Tests of `Erasure`; each takes an empty open store."""

    def test_nothing_of_a_partition_is_left_and_everything_of_the_others(self, store: Store):
        with store.write() as work:
            for scope in (ANNA, BERT, ANNA_ELSEWHERE):
                write_a_row_of_everything(work, scope)
        assert counts(store, HERS) == WRITTEN
        with store.write() as work:
            removed = dict(work.erasure.wipe(HERS))
        removed.pop("document_texts", None)
        assert removed == WRITTEN
        assert counts(store, HERS) == {}
        with store.read() as work:
            assert HERS not in work.partitions.all()
            assert list(work.partitions.changes(HERS, 0, READING)) == []
            assert work.profiles.of(HERS) == []
        for partition in (HIS, ANNA_ELSEWHERE.partition(Level.USER)):
            assert counts(store, partition) == WRITTEN

    def test_tombstones_go_too(self, store: Store):
        memory = a_memory()
        add_memories(store, memory)
        with store.write() as work:
            work.memories.erase(HERS, [memory.id], NOW)
            assert work.erasure.wipe(HERS) == {"memories": 1}

    def test_a_partition_that_never_was_has_nothing_to_wipe(self, store: Store):
        with store.write() as work:
            assert work.erasure.wipe(HERS) == {}
            assert work.partitions.all() == []

    def test_who_writes_there_again_begins_above_every_version_that_was(self, store: Store):
        for text in ("tea", "coffee", "milk"):
            add_memories(store, a_memory(text))
        was = version_of(store)
        with store.write() as work:
            work.erasure.wipe(HERS)
        assert version_of(store) == 0
        add_memories(store, a_memory("water"))
        assert version_of(store) > was
        with store.read() as work:
            assert len(list(work.partitions.changes(HERS, was, READING))) == 1

    def test_what_was_wiped_may_be_written_again_in_the_same_unit_of_work(self, store: Store):
        memory = a_memory()
        add_memories(store, memory)
        with store.write() as work:
            work.erasure.wipe(HERS)
            assert work.memories.add([(memory, terms("tea"))]) == [True]
        assert counts(store, HERS) == {"memories": 1}

    def test_a_unit_of_work_that_fails_wipes_nothing(self, store: Store):
        add_memories(store, a_memory())
        with suppress(LookupError), store.write() as work:
            work.erasure.wipe(HERS)
            raise LookupError
        assert counts(store, HERS) == {"memories": 1}

    def test_memories_are_found_that_come_from_what_is_wiped(self, store: Store):
        message, hers = a_message(1), a_memory()
        learnt = a_memory("anna", AGENTS, provenance=derived_from("elsewhere", message.id))
        again = a_memory("anna again", AGENTS, provenance=derived_from(hers.id), private_agent="friday")
        later = a_memory("from what was learnt", AGENTS, provenance=derived_from(learnt.id))
        other = a_memory("bert", AGENTS, provenance=derived_from("elsewhere"))
        inside = a_memory("inside", provenance=derived_from(message.id))
        with store.write() as work:
            work.messages.conversation(HERS, "s1", NOW)
            work.messages.add([(message, terms("good morning"))])
        add_memories(store, hers, inside)
        add_memories(store, learnt, again, later, other, a_memory("nothing known", AGENTS))
        with store.read() as work:
            assert {*work.erasure.derived("acme", [HERS], [])} == {(AGENTS, learnt.id), (AGENTS, again.id)}
            assert {*work.erasure.derived("acme", [], [learnt.id])} == {(AGENTS, later.id)}
            assert {*work.erasure.derived("acme", [AGENTS], [message.id])} == {(HERS, inside.id)}
            assert list(work.erasure.derived("other", [HERS], [message.id])) == []

    def test_an_erased_memory_comes_from_nothing(self, store: Store):
        learnt = a_memory("anna", AGENTS, provenance=derived_from("m1"))
        add_memories(store, learnt)
        with store.write() as work:
            work.memories.erase(AGENTS, [learnt.id], NOW)
            assert list(work.erasure.derived("acme", [], ["m1"])) == []

    def test_what_is_private_to_an_agent_is_found_wherever_it_lies(self, store: Store):
        mine = a_memory("mine", private_agent="jarvis")
        his = a_memory("his", HIS, private_agent="jarvis")
        paper = a_document(private_agent="jarvis")
        elsewhere = a_memory("far", ANNA_ELSEWHERE.partition(Level.USER), private_agent="jarvis")
        add_memories(store, mine, a_memory("everybody's"), a_memory("friday's", private_agent="friday"))
        add_memories(store, his)
        add_memories(store, elsewhere)
        said = a_message(1, agent="project:boat")
        with store.write() as work:
            work.messages.conversation(HERS, "s1", NOW)
            work.messages.add([(said, terms("boat")), (a_message(2, agent="jarvis"), terms("tea"))])
            work.documents.put([paper, a_document("open.md")])
        with store.read() as work:
            found = {*work.erasure.private("acme", "jarvis")}
            assert [*work.erasure.private("acme", "project:boat")] == [(said.partition, said.id)]
        assert found == {(HERS, mine.id), (HIS, his.id), (HERS, paper.id)}

    def test_the_key_is_made_once(self, store: Store):
        with store.read() as work:
            assert work.erasure.key() == b""
        with store.write() as work:
            key = work.erasure.key()
        with store.write() as work:
            assert work.erasure.key() == key
        with store.read() as work:
            assert work.erasure.key() == key
        assert len(key) == 32

    def test_a_key_is_taken_over_where_there_is_none_and_stays_where_there_is_one(self, store: Store):
        with store.read() as work:
            assert work.erasure.key(b"k" * 32) == b""
        with store.write() as work:
            assert work.erasure.key(b"k" * 32) == b"k" * 32
            assert work.erasure.key(b"l" * 32) == b"k" * 32
        with store.read() as work:
            assert work.erasure.key() == b"k" * 32

    def test_the_orgs_that_have_receipts_are_told_whatever_else_they_hold(self, store: Store):
        with store.read() as work:
            assert list(work.erasure.orgs()) == []
        add_memories(store, a_memory())
        with store.write() as work:
            for org, number in (("zeta", "r1"), ("alpha", "r1"), ("zeta", "r2")):
                work.erasure.add(replace(RECEIPT, org=org, id=number))
        with store.read() as work:
            assert list(work.erasure.orgs()) == ["alpha", "zeta"]

    def test_receipts_return_as_they_were_kept_by_org(self, store: Store):
        later = replace(RECEIPT, at=NOW + MINUTE, id=new_id(), hashes=())
        with store.write() as work:
            work.erasure.add(later)
            work.erasure.add(RECEIPT)
            work.erasure.add(replace(RECEIPT, org="other"))
        with store.read() as work:
            assert sorted(work.erasure.receipts("acme"), key=lambda each: each.at) == [RECEIPT, later]
            assert list(work.erasure.receipts("nobody")) == []

    def test_a_receipt_is_kept_once(self, store: Store):
        with store.write() as work:
            work.erasure.add(RECEIPT)
        with pytest.raises(ConflictError), store.write() as work:
            work.erasure.add(RECEIPT)

    def test_a_reading_unit_of_work_wipes_nothing(self, store: Store):
        add_memories(store, a_memory())
        with store.read() as work:
            with pytest.raises(UnsupportedError):
                work.erasure.wipe(HERS)
            with pytest.raises(UnsupportedError):
                work.erasure.add(RECEIPT)
        assert counts(store, HERS) == {"memories": 1}
