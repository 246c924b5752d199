"""Summaries: what is pending, when the job comes, what it makes, and that nothing is lost or done twice."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import timedelta
from itertools import count

import pytest

from mnemic.adapters.stores.memory import MemoryStore
from mnemic.api import Mnemic
from mnemic.engine.kinds import REFLECT, SUMMARISE
from mnemic.engine.summaries import Summarising
from mnemic.errors import InvalidInputError, UnavailableError
from mnemic.model.chat import Prompt
from mnemic.model.item import Kind, Memory, Message, MessageDraft, Role, Trust
from mnemic.model.records import JobState
from mnemic.model.scope import Level, Scope
from mnemic.ports.store import Store
from mnemic.testing.faults import Fault, FaultyStore
from mnemic.testing.observation import state_of
from tests.unit.engine.kit import ANNA, BERT, Clock
from tests.unit.engine.life_kit import jobs, made, numbered, opened, parts_over, positions, say, small


@pytest.fixture
def mnemic(store: Store, clock: Clock) -> Mnemic:
    """No language model, the usual numbers."""
    return opened(store, clock)[0]


class TestMemoryService:
    @pytest.mark.requirement("D-08", "D-11", "D-20", "D-51")
    def test_the_fifth_message_that_leaves_the_window_leaves_a_job(self, mnemic: Mnemic):
        say(mnemic, 24)
        assert jobs(mnemic, SUMMARISE) == []
        say(mnemic, 1, start=25)
        job = jobs(mnemic, SUMMARISE)[0]
        assert (job.key, job.payload) == ("s1", {"session": "s1", "first": 1, "last": 5})
        mnemic.work()
        assert positions(made(mnemic)) == [(1, 5)]

    @pytest.mark.requirement("D-10", "D-11", "D-51")
    def test_pending_messages_are_drained_at_once_and_less_than_a_batch_waits(self, mnemic: Mnemic):
        say(mnemic, 25)
        mnemic.work()
        say(mnemic, 4, start=26)
        mnemic.work()
        assert positions(made(mnemic)) == [(1, 5)]
        say(mnemic, 1, start=30)
        mnemic.work()
        assert positions(made(mnemic)) == [(1, 5), (6, 10)]
        mnemic.work()
        assert len(jobs(mnemic, SUMMARISE)) == 2

    @pytest.mark.requirement("D-11", "D-51")
    def test_an_empty_batch_makes_nothing(self, mnemic: Mnemic):
        say(mnemic, 3)
        assert mnemic.summarise(ANNA).entries == ()
        assert mnemic.summarise(Scope(org="acme", user="anna", session="never")).entries == ()
        assert mnemic.work().done == 0

    @pytest.mark.requirement("D-10", "D-51", "N-20")
    def test_what_waits_is_read_from_the_rows_and_never_lost(self, mnemic: Mnemic):
        say(mnemic, 27)
        report = mnemic.summarise(ANNA, is_dry_run=True)
        assert [(each.first, each.last, each.memory_id) for each in report.entries] == [(1, 7, None)]
        assert made(mnemic) == []
        mnemic.work()
        assert len(mnemic.window(ANNA)) == 20
        found = [mnemic.get(ANNA, source.source_id) for memory in made(mnemic) for source in memory.provenance]
        assert all(isinstance(item, Message) for item in found)

    @pytest.mark.requirement("D-12", "D-35")
    def test_capture_and_complete_add_the_job_and_never_wait_for_a_model(self, store: Store, clock: Clock):
        def never(_: Prompt) -> UnavailableError:
            raise AssertionError("a model was asked while something was captured")

        mnemic, llm = opened(store, clock, never, settings=small())
        say(mnemic, 3)
        turn = mnemic.capture(ANNA, user="Which one is red?")
        mnemic.complete(ANNA, turn.id, assistant="The third one is red.")
        assert len(jobs(mnemic, SUMMARISE)) == 1
        assert llm.prompts == []

    @pytest.mark.requirement("D-35")
    def test_the_reply_that_completes_a_turn_counts_too(self, store: Store, clock: Clock):
        mnemic, _ = opened(store, clock, settings=small())
        say(mnemic, 2)
        turn = mnemic.capture(ANNA, user="Which one is red?")
        assert jobs(mnemic, SUMMARISE) == []
        mnemic.complete(ANNA, turn.id, assistant="The second one is red.")
        assert len(jobs(mnemic, SUMMARISE)) == 1

    @pytest.mark.requirement("D-05")
    def test_a_session_that_nobody_named_is_summarised_under_its_random_name(self, store: Store, clock: Clock):
        mnemic, _ = opened(store, clock, settings=small())
        session = mnemic.capture(Scope(user="anna"), user="I bought a boat.").session
        scope = Scope(user="anna", session=session)
        say(mnemic, 5, scope)
        mnemic.work()
        assert made(mnemic, scope=scope)[0].bookkeeping["session"] == session


class TestSummaries:
    @pytest.mark.requirement("D-04", "D-25", "D-27", "R-08")
    def test_a_summary_tells_what_it_is_and_where_it_came_from(self, mnemic: Mnemic, clock: Clock):
        clock.turn(hours=1)
        say(mnemic, 25)
        clock.turn(minutes=5)
        mnemic.work()
        (memory,) = made(mnemic)
        assert (memory.kind, memory.importance, memory.level) == (Kind.SUMMARY, 0.5, Level.USER)
        assert memory.bookkeeping == {"type": "summary", "session": "s1", "positions": [1, 5]}
        assert (memory.created_at, memory.last_accessed_at, memory.access_count) == (clock.now(), clock.now(), 0)
        assert memory.observed_at == clock.now() - timedelta(minutes=5)
        assert (memory.expires_at, memory.agent, memory.trust) == (None, "jarvis", Trust.USER)
        assert {(source.extractor, source.version) for source in memory.provenance} == {("summarise", "extract-1")}
        entry = mnemic.history(ANNA, memory.id)[0]
        assert (entry.actor, entry.reason) == ("summarise", "summary of the messages 1 to 5 of session s1")

    def test_without_a_model_it_is_what_was_said_word_for_word_by_whom(self, mnemic: Mnemic):
        mnemic.capture(
            ANNA,
            [
                {"role": "user", "content": "Hello! I moved to Oslo in March."},
                {"role": "assistant", "content": "Hi! Do you like it there?"},
                {"role": "user", "content": "Yes. My flat is near the harbour."},
            ],
        )
        mnemic.summarise(ANNA, is_flush=True)
        (memory,) = made(mnemic)
        assert memory.text == "user: I moved to Oslo in March.\nuser: My flat is near the harbour."
        for source in memory.provenance:
            message = mnemic.get(ANNA, source.source_id)
            assert message.text[source.start : source.end] in memory.text

    @pytest.mark.requirement("D-53")
    def test_trust_is_the_lowest_of_the_messages_that_count(self, store: Store, clock: Clock):
        mnemic, _ = opened(store, clock, settings=small())
        said = [
            {"role": "system", "content": "You are a helper.", "trust": "imported"},
            {"role": "user", "content": "I bought a boat."},
            {"role": "tool", "content": "Price of the boat: 7"},
        ]
        mnemic.capture(ANNA, said)
        mnemic.summarise(ANNA, is_flush=True)
        assert made(mnemic)[0].trust is Trust.TOOL

    def test_where_no_user_is_named_it_belongs_to_the_session_and_does_not_expire(self, store: Store, clock: Clock):
        mnemic, _ = opened(store, clock, settings=small())
        nobody = Scope(org="acme", agent="jarvis", session="s1")
        say(mnemic, 6, nobody)
        mnemic.work()
        clock.turn(days=3)
        memory = made(mnemic, scope=nobody)[0]
        assert (memory.level, memory.expires_at) == (Level.SESSION, None)
        assert made(mnemic, scope=Scope(org="acme", user="anna", session="s2")) == []

    def test_messages_that_say_nothing_are_passed_over_without_a_summary(self, mnemic: Mnemic):
        for text in ("Hello!", "ok", "thanks", "👍", "bye"):
            mnemic.capture(ANNA, user=text)
        report = mnemic.summarise(ANNA, is_flush=True)
        assert [(each.first, each.last, each.memory_id) for each in report.entries] == [(1, 5, None)]
        assert (report.left, made(mnemic)) == (0, [])
        assert mnemic.summarise(ANNA, is_flush=True).entries == ()

    def test_erased_messages_are_in_no_summary(self, store: Store, clock: Clock):
        mnemic, _ = opened(store, clock, settings=small())
        turns = [mnemic.capture(ANNA, user=f"I bought the boat {n} in harbour {n}.") for n in range(1, 6)]
        for turn in (turns[0], turns[2]):
            mnemic.delete(ANNA, turn.messages[0].id)
        mnemic.work()
        (memory,) = made(mnemic)
        assert memory.text == "user: I bought the boat 2 in harbour 2."
        assert mnemic.summarise(ANNA).entries == ()

    def test_a_message_that_is_erased_while_the_model_writes_is_not_summarised(self, store: Store, clock: Clock):
        mnemic, llm = opened(store, clock, numbered(), settings=small())
        turn = mnemic.capture(ANNA, user="My secret is a red boat.")
        say(mnemic, 2)
        answer = numbered()

        def erasing(prompt: Prompt) -> str:
            if "secret" in prompt.messages[1].content:
                mnemic.delete(ANNA, turn.messages[0].id)
                return "Anna's secret is a red boat."
            return str(answer(prompt))

        mnemic, llm = opened(store, clock, erasing, settings=small())
        mnemic.summarise(ANNA, is_flush=True)
        assert [memory.text for memory in made(mnemic)] == ["Summary number 1."]
        assert "secret" not in llm.prompts[-1].messages[1].content

    @pytest.mark.requirement("D-11")
    def test_an_import_of_a_thousand_messages_gives_about_fifty_summaries(self, clock: Clock):
        mnemic, _ = opened(MemoryStore(), clock)
        exchanges = [[MessageDraft(role=Role.USER, text=f"I bought the boat {n} in harbour {n}.")] for n in range(1000)]
        mnemic.capture_many(ANNA, exchanges)
        mnemic.work()
        assert len(made(mnemic)) == 49
        assert positions(made(mnemic))[:2] == [(1, 20), (21, 40)]
        assert len(jobs(mnemic, REFLECT)) > 0

    def test_long_messages_make_smaller_batches(self, store: Store, clock: Clock):
        mnemic, llm = opened(store, clock, numbered(), settings=small())
        for number in range(12):
            mnemic.capture(ANNA, user=f"I bought the boat {number}. " * 150)
        mnemic.summarise(ANNA, is_flush=True)
        assert all(len(prompt.messages[1].content) < 8500 for prompt in llm.prompts)
        assert len(made(mnemic)) == len(llm.prompts) == 6

    def test_summaries_are_recalled_by_their_user_alone(self, mnemic: Mnemic):
        say(mnemic, 25)
        mnemic.work()
        assert mnemic.recall(BERT, "boat").hits == ()
        assert any(isinstance(hit.item, Memory) for hit in mnemic.recall(ANNA, "boat harbour", limit=50))


class TestOnce:
    @pytest.mark.requirement("D-51")
    def test_a_second_pass_changes_nothing(self, mnemic: Mnemic, store: Store):
        say(mnemic, 27)
        mnemic.work()
        before = state_of(store)
        assert mnemic.summarise(ANNA).entries == ()
        mnemic.work()
        assert state_of(store) == before

    @pytest.mark.requirement("D-11", "D-51")
    def test_two_workers_on_one_session_make_every_summary_once(self, store: Store, clock: Clock):
        mnemic, _ = opened(store, clock)
        mnemic.capture_many(ANNA, [[MessageDraft(role=Role.USER, text=f"I bought the boat {n}.")] for n in range(120)])
        ready = threading.Barrier(4)

        def race(_: int) -> None:
            ready.wait()
            mnemic.summarise(ANNA, is_flush=True)

        with ThreadPoolExecutor(4) as pool:
            list(pool.map(race, range(4)))
        assert positions(made(mnemic)) == [(first, first + 19) for first in range(1, 121, 20)]

    def test_two_that_asked_the_model_for_the_same_messages_keep_one_answer(self, store: Store, clock: Clock):
        ready, asked = threading.Barrier(2), count(1)

        def waiting(_: Prompt) -> str:
            ready.wait(timeout=10)  # the answer comes when the other one is being asked too
            return f"Summary number {next(asked)}."

        racers = [opened(store, clock, waiting, settings=small())[0] for _ in range(2)]
        say(racers[0], 4)
        with ThreadPoolExecutor(2) as pool:
            waits = [pool.submit(racer.summarise, ANNA, is_flush=True) for racer in racers]
        assert sorted(len(wait.result().entries) for wait in waits) == [0, 1]
        assert len(made(racers[0])) == 1

    @pytest.mark.requirement("D-28", "D-51")
    def test_a_failure_of_any_step_between_the_reply_and_the_commit_loses_nothing_and_doubles_nothing(
        self, clock: Clock
    ):
        for is_after in (False, True):
            for nth in count(1):
                store, fault = MemoryStore(), Fault(nth, is_after)
                say(opened(store, clock, settings=small())[0], 6)
                broken, _ = opened(FaultyStore(store, fault), clock, numbered(), settings=small())
                with suppress(UnavailableError):
                    broken.summarise(ANNA, is_flush=True)
                mnemic, _ = opened(store, clock, numbered(), settings=small())
                mnemic.summarise(ANNA, is_flush=True)
                assert positions(made(mnemic)) == [(1, 6)], f"step {nth} ({is_after=})"
                assert len(mnemic.history(ANNA, made(mnemic)[0].id)) == 1
                if fault.steps < nth:
                    break

    def test_a_worker_that_is_killed_after_a_commit_goes_on_behind_it(self, store: Store, clock: Clock):
        mnemic, _ = opened(store, clock, settings=small())
        mnemic.capture_many(ANNA, [[MessageDraft(role=Role.USER, text=f"I bought the boat {n}.")] for n in range(42)])
        with store.write() as work:  # a worker took the job, made a summary, and was never heard of again
            assert work.jobs.claim([SUMMARISE], "killed", clock.now(), clock.now() + timedelta(minutes=10))
        run = Summarising(parts_over(store, clock, settings=small()), ANNA.message_partition, "s1", "killed")
        run.run(run.due(), 1)
        clock.turn(minutes=11)
        assert mnemic.work().done == 1 + 2  # the rest, and both summaries are consolidated
        assert positions(made(mnemic)) == [(1, 20), (21, 40)]

    def test_messages_that_come_while_the_job_runs_are_the_work_of_the_next(self, store: Store, clock: Clock):
        other, _ = opened(store, clock, settings=small())
        answer = numbered()
        is_first = iter([True])

        def talking(prompt: Prompt) -> str:
            if next(is_first, False):
                say(other, 4, start=5)
            return str(answer(prompt))

        mnemic, _ = opened(store, clock, talking, settings=small())
        say(mnemic, 4)
        assert mnemic.work().done == 2 + 2  # each summary is consolidated
        assert positions(made(mnemic)) == [(1, 2), (3, 6)]


class TestFlush:
    @pytest.mark.requirement("R-23")
    def test_a_flush_takes_all_that_is_in_no_summary(self, mnemic: Mnemic):
        say(mnemic, 3)
        report = mnemic.summarise(ANNA, is_flush=True)
        assert [(each.first, each.last) for each in report.entries] == [(1, 3)]
        assert len(mnemic.window(ANNA)) == 3

    @pytest.mark.requirement("R-23")
    def test_a_session_that_went_quiet_is_flushed_by_the_worker(self, mnemic: Mnemic, clock: Clock):
        say(mnemic, 3)
        assert mnemic.work().done == 0
        clock.turn(minutes=31)
        assert mnemic.work().done == 1 + 1  # and it is consolidated
        assert positions(made(mnemic)) == [(1, 3)]
        clock.turn(minutes=31)
        assert mnemic.work().done == 0

    def test_a_session_must_be_named(self, mnemic: Mnemic):
        for verb in (mnemic.summarise, mnemic.end, mnemic.window):
            with pytest.raises(InvalidInputError, match="session"):
                verb(Scope(user="anna"))


class TestJobs:
    def test_a_message_that_is_gone_when_the_job_runs_is_no_failure(self, store: Store, clock: Clock):
        mnemic, _ = opened(store, clock, settings=small())
        turns = [mnemic.capture(ANNA, user=f"I bought the boat {n}.") for n in range(4)]
        for turn in turns[:2]:
            mnemic.delete(ANNA, turn.messages[0].id)
        assert (mnemic.work().retried, made(mnemic)) == (0, [])
        assert [job.state for job in jobs(mnemic, SUMMARISE)] == [JobState.DONE]
        assert mnemic.summarise(ANNA).entries == ()
