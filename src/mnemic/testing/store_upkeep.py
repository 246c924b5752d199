"""What `Upkeep` promises: idle conversations, fading, schedules, old jobs."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from mnemic.model.item import Memory, State
from mnemic.model.recall import Order
from mnemic.model.records import JobState
from mnemic.model.scope import Level, Partition
from mnemic.ports.store import Store
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
    a_query,
    add_memories,
    add_messages,
    version_of,
)
from mnemic.testing.store_conversations import CURSOR, race

HIS = BERT.partition(Level.USER)
ELSEWHERE = Partition("acme", Level.AGENT, "nobody")


def idle(store: Store, since: datetime = NOW + MINUTE, limit: int = 99, cursor: str = CURSOR) -> list[str]:
    """The owners and sessions of idle conversations."""
    with store.read() as work:
        return [f"{talk.partition.owner} {talk.session}" for talk in work.upkeep.idle(cursor, since, limit)]


def fade(store: Store, faded: float | None, *memories: Memory) -> None:
    """Set what Anna's memories have faded to."""
    with store.write() as work:
        work.upkeep.fade(HERS, {memory.id: faded for memory in memories})


def hers(store: Store, order: Order = Order.NEWEST) -> list[Memory]:
    """Anna's memories in any state but erased."""
    with store.read() as work:
        return work.memories.list(ANNA.visibility, a_query(states=(), order=order))


class UpkeepContract:
    """Tests of `Upkeep`; each takes an empty open store."""

    def test_a_conversation_is_idle_when_it_was_last_heard_of_before_that_time(self, store: Store):
        add_messages(store, a_message(1))
        assert idle(store, NOW + MINUTE) == ["anna s1"]
        assert idle(store, NOW) == []
        add_messages(store, a_message(2, observed_at=NOW + MINUTE))
        assert idle(store, NOW + MINUTE) == []

    def test_of_one_partition_only_its_own_conversations_are_idle(self, store: Store):
        for scope in (ANNA, BERT):
            add_messages(store, a_message(1, scope=scope))
            add_messages(store, a_message(1, scope=scope, session="s2"))
        with store.read() as work:
            found = work.upkeep.idle(CURSOR, NOW + MINUTE, 9, HIS)
            assert [(talk.partition, talk.session) for talk in found] == [(HIS, "s1"), (HIS, "s2")]
            assert work.upkeep.idle(CURSOR, NOW + MINUTE, 9, BERT.partition(Level.AGENT)) == []

    def test_a_conversation_whose_cursor_stands_at_its_last_message_is_done_with(self, store: Store):
        add_messages(store, a_message(1), a_message(2))
        for was, to, expected in ((0, 1, ["anna s1"]), (1, 2, []), (2, 3, [])):
            with store.write() as work:
                work.conversations.move(HERS, "s1", CURSOR, was, to)
            assert idle(store) == expected
        assert idle(store, cursor="another") == ["anna s1"]

    def test_a_conversation_in_which_nothing_was_said_is_not_idle(self, store: Store):
        with store.write() as work:
            work.messages.conversation(HERS, "s1", NOW)
        assert idle(store) == []

    def test_idle_conversations_come_from_all_partitions(self, store: Store):
        nobody = replace(ANNA, user=None)
        for message in (a_message(1, scope=nobody), a_message(1), a_message(1, session="s2"), a_message(1, scope=BERT)):
            add_messages(store, message)
        found = idle(store)
        assert sorted(found) == sorted([f"{nobody.message_partition.owner} s1", "anna s1", "anna s2", "bert s1"])
        assert idle(store, limit=2) == found[:2]
        assert idle(store, limit=0) == []

    def test_an_ephemeral_conversation_is_never_idle(self, store: Store):
        own = ANNA.partition(Level.SESSION)
        with store.write() as work:
            work.messages.conversation(own, "s1", NOW)
        add_messages(store, replace(a_message(1), partition=own))
        assert own.is_ephemeral
        assert idle(store) == []
        with store.read() as work:
            assert work.upkeep.idle(CURSOR, NOW + MINUTE, 9, own) == []

    def test_the_conversation_that_waits_longest_is_the_first(self, store: Store):
        for minutes, session in enumerate(("now", "before", "long ago")):
            with store.write() as work:
                work.messages.conversation(HERS, session, NOW - minutes * MINUTE)
            add_messages(store, a_message(1, session=session, observed_at=NOW - minutes * MINUTE))
        assert idle(store) == ["anna long ago", "anna before", "anna now"]
        assert idle(store, limit=1) == ["anna long ago"]
        assert idle(store, since=NOW) == ["anna long ago", "anna before"]

    def test_an_idle_conversation_comes_whole(self, store: Store):
        add_messages(store, a_message(1), a_message(2))
        with store.read() as work:
            assert work.upkeep.idle(CURSOR, NOW + MINUTE, 9) == [work.conversations.get(HERS, "s1")]

    def test_fading_is_set_and_taken_back_and_leaves_the_importance_as_it_was_stored(self, store: Store):
        memory = a_memory(importance=0.8)
        add_memories(store, memory)
        fade(store, 0.30000000000000004, memory)
        assert hers(store) == [replace(memory, faded=0.30000000000000004)]
        fade(store, None, memory)
        assert hers(store) == [memory]

    def test_fading_is_no_change_of_the_memory_and_moves_no_version(self, store: Store):
        memory = a_memory()
        add_memories(store, memory)
        fade(store, 0.1, memory)
        assert version_of(store) == 1
        assert hers(store)[0].updated_at == NOW

    def test_fading_meets_only_memories_of_its_partition_that_are_not_erased(self, store: Store):
        kept, gone = a_memory("tea"), a_memory("coffee")
        add_memories(store, kept, gone)
        with store.write() as work:
            work.memories.erase(HERS, [gone.id], NOW)
            work.upkeep.fade(HERS, {gone.id: 0.1, "unknown": 0.1})
            work.upkeep.fade(HIS, {kept.id: 0.1})
        with store.read() as work:
            found = work.memories.list(ANNA.visibility, a_query(states=tuple(State)))
        assert [memory.faded for memory in found] == [None, None]

    def test_an_access_undoes_fading(self, store: Store):
        touched, other = a_memory("tea"), a_memory("coffee")
        add_memories(store, touched, other)
        fade(store, 0.1, touched, other)
        with store.write() as work:
            work.memories.touch(HERS, {touched.id: 1}, NOW + MINUTE)
        assert [memory.faded for memory in hers(store, Order.OLDEST)] == [None, 0.1]

    def test_importance_orders_by_what_it_has_faded_to_page_by_page(self, store: Store):
        faded = [a_memory(str(number), importance=1.0 - number / 10) for number in range(4)]
        add_memories(store, *faded)
        fade(store, 0.75, faded[0])
        fade(store, 0.0, faded[1])
        assert [memory.text for memory in hers(store, Order.IMPORTANCE)] == ["2", "0", "3", "1"]
        with store.read() as work:
            after = a_query(order=Order.IMPORTANCE, after=faded[0].id)
            assert [memory.text for memory in work.memories.list(ANNA.visibility, after)] == ["3", "1"]

    def test_a_schedule_that_never_ran_is_started_from_nothing(self, store: Store):
        with store.write() as work:
            assert work.upkeep.last_run("evict") is None
            assert work.upkeep.start_run("evict", NOW - MINUTE, NOW) is False
            assert work.upkeep.last_run("evict") is None
            assert work.upkeep.start_run("evict", None, NOW) is True
        with store.read() as work:
            assert work.upkeep.last_run("evict") == NOW
            assert work.upkeep.last_run("curate") is None

    def test_a_schedule_that_ran_for_another_time_is_not_started(self, store: Store):
        with store.write() as work:
            work.upkeep.start_run("evict", None, NOW)
            assert work.upkeep.start_run("evict", None, NOW + MINUTE) is False
            assert work.upkeep.start_run("evict", NOW - MINUTE, NOW + MINUTE) is False
            assert work.upkeep.last_run("evict") == NOW
            assert work.upkeep.start_run("evict", NOW, NOW + MINUTE) is True
            assert work.upkeep.last_run("evict") == NOW + MINUTE

    def test_of_threads_that_start_one_run_exactly_one_does(self, store: Store):
        for was, at in ((None, NOW), (NOW, NOW + MINUTE)):
            started = race(store, lambda work, _, was=was, at=at: work.upkeep.start_run("evict", was, at))
            assert sum(started) == 1
        with store.read() as work:
            assert work.upkeep.last_run("evict") == NOW + MINUTE

    def test_only_old_jobs_that_are_done_are_forgotten(self, store: Store):
        with store.write() as work:
            work.jobs.add([a_job("done"), a_job("new", created_at=NOW + MINUTE), a_job("dead"), a_job("running")])
            work.jobs.add([a_job("pending", run_at=NOW + MINUTE)])
            for _ in range(4):
                job = work.jobs.claim(["curate"], "w1", NOW, NOW + MINUTE)
                assert job is not None
                if job.key in ("done", "new"):
                    work.jobs.finish(job)
                elif job.key == "dead":
                    work.jobs.fail(job, "no use", None)
        with store.write() as work:
            assert work.upkeep.forget_jobs(NOW) == 0
            assert work.upkeep.forget_jobs(NOW + MINUTE) == 1
            left = [job.key for job in work.jobs.list(None, tuple(JobState), 9)]
        assert left == ["new", "dead", "running", "pending"]

    def test_the_agents_that_something_is_private_to_are_told_until_it_is_erased(self, store: Store):
        hers = [a_memory("Tea", private_agent="jarvis"), a_memory("Milk", private_agent="hal"), a_memory("Cups")]
        add_memories(store, *hers, a_memory("Rum", HIS, private_agent="marvin"))
        document = a_document(private_agent="ada")
        with store.write() as work:
            work.documents.put([document])
        with store.read() as work:
            assert work.upkeep.private_agents(HERS) == ["ada", "hal", "jarvis"]
            assert work.upkeep.private_agents(ELSEWHERE) == []
        with store.write() as work:
            work.memories.erase(HERS, [hers[1].id], NOW)
            work.documents.erase(HERS, [document.id], NOW)
        with store.read() as work:
            assert work.upkeep.private_agents(HERS) == ["jarvis"]
