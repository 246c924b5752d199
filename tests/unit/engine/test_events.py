"""Events: what each says, that it is there with its cause or not at all, who handles it, and that twice is once."""

from __future__ import annotations

import threading
from contextlib import suppress
from dataclasses import fields, replace
from datetime import timedelta
from itertools import count

import pytest

from mnemic.adapters.stores.memory import MemoryStore
from mnemic.engine.events import KINDS, as_job, publish, read
from mnemic.engine.handlers import HANDLERS
from mnemic.engine.jobs import Worker
from mnemic.engine.kinds import CONSOLIDATE_SUMMARY, REFLECT, SUMMARISE
from mnemic.errors import UnavailableError
from mnemic.model.chat import Prompt
from mnemic.model.item import Kind
from mnemic.model.records import ConsolidationRequest, Event, JobState, ReflectionRequest, SummarisationRequest
from mnemic.ports.store import Store
from mnemic.testing.faults import Fault, FaultyStore
from tests.unit.engine.kit import ANNA, START, Clock
from tests.unit.engine.life_kit import jobs, made, numbered, opened, parts_over, say, small

HERS = ANNA.message_partition
EVENTS: tuple[Event, ...] = (
    SummarisationRequest(partition=HERS, session="s1", first=3, last=7),
    ConsolidationRequest(partition=HERS, session="s1", summary="m1"),
    ReflectionRequest(partition=HERS, session="s1"),
)


def said(store: Store) -> int:
    """How many messages her session has."""
    with store.read() as work:
        talk = work.conversations.get(HERS, "s1")
    return 0 if talk is None else talk.messages


class TestWhatTheySay:
    @pytest.mark.requirement("D-03")
    def test_there_are_three_and_each_says_what_its_name_asks_for(self):
        told = {kind: {field.name for field in fields(kind)} - {"partition"} for kind in KINDS}
        assert told == {
            SummarisationRequest: {"session", "first", "last"},
            ConsolidationRequest: {"session", "summary"},
            ReflectionRequest: {"session"},
        }
        assert set(KINDS.values()) <= set(HANDLERS)

    @pytest.mark.requirement("D-03")
    @pytest.mark.parametrize("event", EVENTS, ids=lambda event: type(event).__name__)
    def test_an_event_is_read_from_the_queue_as_it_was_published(self, store: Store, event: Event):
        with store.write() as work:
            assert publish(work, event, START)
        with store.read() as work:
            (job,) = work.jobs.list(None, (JobState.PENDING,), 10)
        assert read(type(event), job) == event

    def test_one_like_it_is_not_published_again_while_the_first_waits(self, store: Store):
        with store.write() as work:
            assert [publish(work, event, START) for event in (*EVENTS, *EVENTS)] == [True] * 3 + [False] * 3
            assert publish(work, replace(EVENTS[1], summary="m2"), START)

    def test_what_an_earlier_version_left_in_the_queue_is_handled(self, store: Store, clock: Clock):
        mnemic, _ = opened(store, clock, settings=small())
        say(mnemic, 3)
        with store.write() as work:
            job = as_job(EVENTS[0], clock.now())
            work.jobs.add([replace(job, payload={"session": "s1", "is_flush": True})])
        report = mnemic.work()
        assert (report.done, report.retried, report.dead) == (1, 0, 0)

    def test_a_job_that_no_part_published_fails_with_the_reason(self, store: Store, clock: Clock):
        mnemic, _ = opened(store, clock, settings=small())
        with store.write() as work:
            work.jobs.add([replace(as_job(EVENTS[1], clock.now()), payload={"session": "s1"})])
        assert mnemic.work().retried == 1
        (job,) = jobs(mnemic, CONSOLIDATE_SUMMARY)
        assert "ConsolidationRequest" in job.error


class TestPublishing:
    @pytest.mark.requirement("D-02", "D-12")
    def test_an_event_is_there_if_and_only_if_its_cause_is(self, clock: Clock):
        for nth in count(1):
            store, fault = MemoryStore(), Fault(0)
            say(opened(store, clock, settings=small())[0], 3)
            fault.nth = nth
            with suppress(UnavailableError):
                say(opened(FaultyStore(store, fault), clock, settings=small())[0], 1, start=4)
            mnemic, _ = opened(store, clock, settings=small())
            asked = [read(SummarisationRequest, job) for job in jobs(mnemic, SUMMARISE)]
            whole = [SummarisationRequest(partition=HERS, session="s1", first=1, last=2)]
            assert asked == (whole if said(store) == 4 else [])
            if fault.steps < nth:
                break

    @pytest.mark.requirement("D-02", "D-03", "D-29")
    def test_each_step_asks_for_the_next_and_nothing_happens_before_somebody_works(self, store: Store, clock: Clock):
        mnemic, llm = opened(store, clock, numbered(), settings=small())
        for start in (1, 5, 7, 9):
            say(mnemic, 4 if start == 1 else 2, start=start)
            assert len(llm.prompts) == len(made(mnemic))
            mnemic.work()
            clock.turn(minutes=1)
        summaries = made(mnemic)
        asked = [read(ConsolidationRequest, job) for job in jobs(mnemic, CONSOLIDATE_SUMMARY)]
        assert [each.summary for each in asked] == [memory.id for memory in summaries]
        assert [read(ReflectionRequest, job) for job in jobs(mnemic, REFLECT)] == [EVENTS[2]]
        assert len(made(mnemic, Kind.REFLECTION)) == 1


class TestHandling:
    @pytest.mark.requirement("D-02", "D-52")
    def test_handlers_run_on_the_thread_of_the_worker_and_never_on_that_of_the_publisher(
        self, store: Store, clock: Clock
    ):
        answer, asked_on = numbered(), list[str]()

        def answered(prompt: Prompt) -> str:
            asked_on.append(threading.current_thread().name)
            return str(answer(prompt))

        mnemic, llm = opened(store, clock, answered, settings=small(reflection_threshold=1, reflection_episodes=1))
        say(mnemic, 4)
        assert asked_on == []
        parts = parts_over(store, clock, llm, small(reflection_threshold=1, reflection_episodes=1))
        worker = Worker(parts, HANDLERS, name="the worker")
        worker.start(until_idle=True)
        assert worker.join(30)
        assert worker.failure is None
        assert asked_on == ["the worker", "the worker"]
        assert len(made(mnemic, Kind.REFLECTION)) == 1

    @pytest.mark.requirement("D-02", "D-29")
    def test_a_summary_counts_once_although_the_first_worker_vanished_after_handling_it(
        self, store: Store, clock: Clock
    ):
        mnemic, _ = opened(store, clock, settings=small(reflection_threshold=2))
        say(mnemic, 2)
        mnemic.summarise(ANNA, is_flush=True)
        parts = parts_over(store, clock, settings=small(reflection_threshold=2))
        with store.write() as work:
            job = work.jobs.claim([CONSOLIDATE_SUMMARY], "killed", clock.now(), clock.now() + timedelta(minutes=10))
        assert job is not None
        HANDLERS[CONSOLIDATE_SUMMARY](parts, job)
        clock.turn(minutes=11)
        assert mnemic.work().done == 1
        with store.write() as work:
            assert not work.jobs.finish(job)
        assert jobs(mnemic, REFLECT) == []

    @pytest.mark.requirement("D-28", "D-29")
    def test_whatever_call_fails_a_summary_counts_once(self, clock: Clock):
        for nth in count(1):
            store, fault = MemoryStore(), Fault(0)
            mnemic, _ = opened(store, clock, settings=small(reflection_threshold=2))
            say(mnemic, 2)
            mnemic.summarise(ANNA, is_flush=True)
            broken, _ = opened(FaultyStore(store, fault), clock, settings=small(reflection_threshold=2))
            fault.nth = nth
            with suppress(UnavailableError):
                broken.work()
            clock.turn(minutes=11)
            mnemic.work()
            assert jobs(mnemic, REFLECT) == [], f"step {nth}"
            if fault.steps < nth:
                break

    def test_a_summary_that_was_erased_meanwhile_is_not_counted(self, store: Store, clock: Clock):
        mnemic, _ = opened(store, clock, settings=small(reflection_threshold=1))
        say(mnemic, 2)
        mnemic.summarise(ANNA, is_flush=True)
        mnemic.delete(ANNA, made(mnemic)[0].id)
        report = mnemic.work()
        assert (report.retried, report.dead, len(jobs(mnemic, REFLECT))) == (0, 0, 0)
