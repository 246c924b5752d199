"""What `Store` promises: units of work, threads, closing, and, where declared, durability and sharing."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace

import pytest

from mnemic.errors import BackendError, ConflictError, UnsupportedError
from mnemic.model.health import Condition
from mnemic.model.scope import Level
from mnemic.ports.store import Store, UnitOfWork
from mnemic.testing.samples import (
    ANNA,
    BERT,
    HERS,
    MINUTE,
    NOW,
    a_document,
    a_job,
    a_memory,
    a_message,
    a_profile_entry,
    a_query,
    a_vector,
    add_memories,
    add_messages,
    an_entry,
    counted,
    passages,
    terms,
    version_of,
)

THREADS = 8
Reopen = Callable[[Store], Store]


class Stopped(Exception):  # noqa: N818 -- it is no error: it ends a unit of work on purpose
    """Raised within a unit of work to end it."""


def texts(store: Store) -> list[str]:
    """The texts of Anna's active memories, newest first."""
    with store.read() as work:
        return [memory.text for memory in work.memories.list(ANNA.visibility, a_query())]


class UnitsContract:
    """Tests of `Store` itself; each takes an empty open store."""

    def test_what_is_written_is_seen_within_its_unit_of_work_and_after_it(self, store: Store):
        memory = a_memory("tea")
        with store.write() as work:
            work.memories.add([(memory, terms("tea"))])
            assert work.memories.get(ANNA.visibility, [memory.id]) == [memory]
            assert work.partitions.versions([HERS]) == {HERS: 1}
        assert texts(store) == ["tea"]

    def test_a_unit_of_work_that_raises_leaves_no_trace(self, store: Store):
        memory = a_memory("tea")
        add_memories(store, memory)

        def write(work: UnitOfWork) -> None:
            write_everything(work)
            work.memories.touch(HERS, {memory.id: 1}, NOW)

        stop_after(store, write)
        with store.read() as work:
            assert work.memories.list(ANNA.visibility, a_query()) == [memory]
            assert work.partitions.count([HERS]) == counted(memories=1)
            assert work.partitions.all() == [HERS]
            assert work.partitions.versions([HERS]) == {HERS: 1}
            assert work.jobs.list(None, [a_job().state], 9) == []
            assert work.profiles.of(HERS) == []
            assert work.conversations.cursor(HERS, "s1", "summarised") == 0
            assert work.upkeep.last_run("evict") is None
            assert work.history.of(ANNA.visibility, "m1") == []
            assert work.vectors.spaces() == {}

    def test_an_error_of_a_port_ends_the_unit_of_work_without_a_trace(self, store: Store):
        memory = a_memory("tea")
        add_memories(store, memory)
        taken = replace(memory, dedup_key="another")
        with pytest.raises(ConflictError):
            add_memories(store, a_memory("coffee"), taken)
        assert texts(store) == ["tea"]

    def test_a_store_goes_on_working_after_a_unit_of_work_that_raised(self, store: Store):
        for _ in range(3):
            stop_after(store, write_everything)
            with pytest.raises(Stopped), store.read():
                raise Stopped
        assert add_memories(store, a_memory("tea")) == [True]
        assert texts(store) == ["tea"]

    def test_writing_in_a_unit_of_work_that_reads_is_refused(self, store: Store):
        memory, message, job = a_memory(), a_message(1), a_job()
        add_memories(store, memory)
        add_messages(store, message)
        with store.write() as work:
            work.jobs.add([job])
            running = work.jobs.claim(["curate"], "w1", NOW, NOW + MINUTE)
            work.history.add([an_entry(memory.id)])
        assert running is not None
        calls: list[Callable[[UnitOfWork], object]] = [
            lambda work: work.messages.conversation(HERS, "s1", NOW),
            lambda work: work.messages.add([(a_message(2), terms(""))]),
            lambda work: work.messages.erase(HERS, [message.id]),
            lambda work: work.memories.add([(a_memory("new"), terms(""))]),
            lambda work: work.memories.replace(replace(memory, text="x"), terms("x"), NOW),
            lambda work: work.memories.touch(HERS, {memory.id: 1}, NOW),
            lambda work: work.memories.erase(HERS, [memory.id], NOW),
            lambda work: work.conversations.move(HERS, "s1", "summarised", 0, 1),
            lambda work: work.conversations.move(HERS, "s1", "summarised", 1, 2),
            lambda work: work.upkeep.fade(HERS, {memory.id: 0.1}),
            lambda work: work.upkeep.start_run("evict", None, NOW),
            lambda work: work.upkeep.forget_jobs(NOW),
            lambda work: work.vectors.put(HERS, [a_vector(memory.id)], NOW),
            lambda work: work.jobs.add([a_job("new")]),
            lambda work: work.jobs.claim(["curate"], "w2", NOW + MINUTE, NOW + 2 * MINUTE),
            lambda work: work.jobs.finish(running),
            lambda work: work.jobs.fail(running, "", None),
            lambda work: work.jobs.retry(None, [job.id], NOW),
            lambda work: work.history.add([an_entry(memory.id)]),
            lambda work: work.history.scrub(HERS, [memory.id]),
            lambda work: work.profiles.put([a_profile_entry("age")]),
            lambda work: work.profiles.remove(HERS, ["age"]),
        ]
        for call in calls:
            with pytest.raises(UnsupportedError), store.read() as work:
                call(work)
        with store.read() as work:
            assert work.memories.get(ANNA.visibility, [memory.id]) == [memory]

    def test_a_unit_of_work_that_reads_sees_one_state_while_others_write(self, store: Store):
        add_memories(store, a_memory("tea"))
        with store.read() as work, ThreadPoolExecutor(1) as pool:
            before = work.partitions.versions([HERS])
            pool.submit(add_memories, store, a_memory("coffee")).result()
            assert len(work.memories.list(ANNA.visibility, a_query())) == 1
            assert work.partitions.versions([HERS]) == before
        assert texts(store) == ["coffee", "tea"]

    def test_what_is_not_committed_is_seen_by_nobody_else(self, store: Store):
        with store.write() as work, ThreadPoolExecutor(1) as pool:
            work.memories.add([(a_memory("tea"), terms(""))])
            assert pool.submit(texts, store).result() == []

    @pytest.mark.requirement("J-51", "J-52")
    def test_threads_that_add_one_dedup_key_at_once_leave_one_row_and_get_no_error(self, store: Store):
        start = threading.Barrier(THREADS)

        def add(_: int) -> bool:
            memory = a_memory("tea")
            start.wait()
            return add_memories(store, memory)[0]

        with ThreadPoolExecutor(THREADS) as pool:
            assert sum(pool.map(add, range(THREADS))) == 1
        assert texts(store) == ["tea"]

    def test_threads_that_write_at_once_each_get_a_version_of_their_own(self, store: Store):
        def add(number: int) -> int:
            with store.write() as work:
                work.memories.add([(a_memory(f"memory {number}"), terms(""))])
                return work.partitions.versions([HERS])[HERS]

        with ThreadPoolExecutor(THREADS) as pool:
            assert sorted(pool.map(add, range(4 * THREADS))) == list(range(1, 4 * THREADS + 1))

    def test_threads_that_claim_at_once_never_share_a_job(self, store: Store):
        with store.write() as work:
            work.jobs.add([a_job(str(number)) for number in range(THREADS)])

        def claim(number: int) -> str:
            with store.write() as work:
                job = work.jobs.claim(["curate"], f"w{number}", NOW, NOW + MINUTE)
            assert job is not None
            return job.key

        with ThreadPoolExecutor(THREADS) as pool:
            assert len(set(pool.map(claim, range(THREADS)))) == THREADS

    def test_capabilities_are_constant(self, store: Store):
        before = store.capabilities
        add_memories(store, a_memory())
        assert store.capabilities == before

    def test_a_healthy_store_finds_nothing_broken_in_itself(self, store: Store):
        findings = store.diagnose()
        assert findings
        assert [finding for finding in findings if finding.condition == Condition.BROKEN] == []

    def test_a_healthy_store_is_not_damaged(self, store: Store):
        add_memories(store, a_memory())
        store.check()

    def test_a_closed_store_is_unavailable_and_closing_twice_is_harmless(self, store: Store):
        store.close()
        store.close()
        with pytest.raises(BackendError), store.read():
            pass
        with pytest.raises(BackendError), store.write():
            pass

    def test_a_store_that_declares_to_be_durable_or_shared_is_tested_for_it(self, store: Store):
        declared = store.capabilities
        assert isinstance(self, DurableContract) == (declared.is_durable or declared.is_shared)


class DurableContract:
    """Tests of what `is_durable` and `is_shared` declare; `reopen` opens the place of a store once more."""

    def test_what_was_committed_survives_closing(self, store: Store, reopen: Reopen):
        with store.write() as work:
            write_everything(work)
        before = version_of(store)
        store.close()
        again = reopen(store)
        assert texts(again) == ["coffee"]
        assert version_of(again) == before
        with again.read() as work:
            assert work.partitions.count([HERS]) == counted(messages=1, memories=1, documents=1, chunks=1, vectors=1)
            assert len(work.jobs.list(None, [a_job().state], 9)) == 1
            assert len(work.history.of(ANNA.visibility, "m1")) == 1
            assert len(work.profiles.of(HERS)) == 1
            assert work.conversations.cursor(HERS, "s1", "summarised") == 1
            assert work.upkeep.last_run("evict") == NOW
        again.close()

    def test_two_open_stores_of_one_place_read_each_others_writes_at_once(self, store: Store, reopen: Reopen):
        other = reopen(store)
        add_memories(store, a_memory("tea"))
        assert texts(other) == ["tea"]
        add_memories(other, a_memory("coffee"))
        assert texts(store) == ["coffee", "tea"]
        assert version_of(store) == version_of(other) == 2
        other.close()

    @pytest.mark.requirement("J-51", "J-52")
    def test_two_open_stores_of_one_place_share_one_dedup_key(self, store: Store, reopen: Reopen):
        other = reopen(store)
        assert [add_memories(place, a_memory("tea"))[0] for place in (store, other)] == [True, False]
        other.close()


def stop_after(store: Store, write: Callable[[UnitOfWork], object]) -> None:
    """A unit of work that writes and then raises."""
    with suppress(Stopped), store.write() as work:
        write(work)
        raise Stopped


def write_everything(work: UnitOfWork) -> None:
    """One write through every port."""
    memory = a_memory("coffee")
    work.memories.add([(memory, terms("coffee"))])
    work.messages.conversation(HERS, "s1", NOW)
    work.messages.add([(a_message(1), terms("good morning"))])
    work.conversations.move(HERS, "s1", "summarised", 0, 1)
    work.upkeep.start_run("evict", None, NOW)
    document = a_document()
    work.documents.fill(document, "Tea", [(chunk, terms("tea")) for chunk in passages(document, "Tea")])
    work.vectors.put(HERS, [a_vector(memory.id)], NOW)
    work.jobs.add([a_job()])
    work.profiles.put([a_profile_entry("age")])
    work.history.add([an_entry("m1"), an_entry("m1", BERT.partition(Level.USER))])
