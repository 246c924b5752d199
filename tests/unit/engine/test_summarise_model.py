"""Summaries by a language model: what it is asked, and what happens when it is away, slow, or answers nonsense."""

from __future__ import annotations

import logging

import pytest

from mnemic.api import Mnemic
from mnemic.engine.kinds import REMAKE, SUMMARISE
from mnemic.errors import BadReplyError, MnemicError, RateLimitedError, TimedOutError, UnavailableError
from mnemic.model.chat import Completion, Finish
from mnemic.model.health import Condition
from mnemic.model.item import Memory
from mnemic.model.records import JobState
from mnemic.ports.store import Store
from tests.unit.engine.kit import ANNA, Clock
from tests.unit.engine.life_kit import Answers, failing_after_the_reply, jobs, made, numbered, opened, say, small

RAW = "user: I bought the boat 1 in harbour 1.\nuser: I bought the boat 2 in harbour 2."
FAILURES = (
    UnavailableError("the model is away"),
    TimedOutError("no reply within 60 s"),
    RateLimitedError("slow down", retry_after_s=1),
    BadReplyError("no choices"),
    "",
    "   \n",
    Completion("Anna bought the bo", finish=Finish.LENGTH),
    "I'm sorry, but I cannot help with that.",
    "Please provide the conversation.",
    '{"title": "none"}',
)


def failed(store: Store, clock: Clock, answers: Answers) -> tuple[Mnemic, list[str]]:
    """A Mnemic whose job has run as often as it wants; and the errors it showed before the last run."""
    mnemic, _ = opened(store, clock, answers, settings=small())
    say(mnemic, 4)
    errors: list[str] = []
    for _ in range(10):
        mnemic.work()
        errors += [job.error for job in jobs(mnemic, SUMMARISE) if job.state is JobState.PENDING]
        clock.turn(minutes=2)
    return mnemic, errors


class TestModel:
    @pytest.mark.requirement("D-23", "D-25", "D-51")
    def test_its_reply_is_the_summary_and_its_name_is_in_the_provenance(self, store: Store, clock: Clock):
        mnemic, llm = opened(store, clock, ["Anna bought boats 1 and 2."], settings=small())
        say(mnemic, 4)
        mnemic.work()
        (memory,) = made(mnemic)
        assert (memory.text, memory.importance) == ("Anna bought boats 1 and 2.", 0.5)
        assert [(s.start, s.end, s.extractor, s.version) for s in memory.provenance] == [
            (0, 33, "summarise", "scripted prompt-1"),
            (0, 33, "summarise", "scripted prompt-1"),
        ]
        assert 0 < memory.provenance[0].support < 1
        assert RAW in llm.prompts[0].messages[1].content
        assert jobs(mnemic, SUMMARISE)[0].usage.calls == 1

    @pytest.mark.requirement("D-26", "D-51", "R-08", "R-30")
    @pytest.mark.parametrize("failure", FAILURES, ids=lambda failure: repr(failure)[:30])
    def test_each_failure_is_tried_again_and_shown_and_then_the_raw_text_is_the_summary(
        self, store: Store, clock: Clock, failure: MnemicError | str | Completion
    ):
        mnemic, errors = failed(store, clock, lambda _: failure)
        assert len(errors) == 2
        assert all(error.split(":")[0].endswith("Error") for error in errors)
        (memory,) = made(mnemic)
        assert (memory.text, memory.importance) == (RAW, 0.3)
        assert memory.importance < 0.4
        assert str(memory.bookkeeping["fallback"]).partition(":")[0] == errors[0].partition(":")[0]
        assert [job.state for job in jobs(mnemic, SUMMARISE)] == [JobState.DONE]

    @pytest.mark.requirement("D-26", "D-51")
    def test_a_model_that_comes_back_in_time_writes_the_summary(self, store: Store, clock: Clock):
        mnemic, errors = failed(store, clock, [UnavailableError("away"), "", "Anna bought two boats."])
        assert len(errors) == 2
        (memory,) = made(mnemic)
        assert (memory.text, memory.importance) == ("Anna bought two boats.", 0.5)
        assert "fallback" not in memory.bookkeeping

    @pytest.mark.requirement("R-30")
    def test_a_failure_is_a_finding_of_the_doctor_and_reaches_no_chat(self, store: Store, clock: Clock):
        mnemic, _ = opened(store, clock, lambda _: UnavailableError("the model is away"), settings=small())
        say(mnemic, 4)
        mnemic.work()
        degraded = [each.message for each in mnemic.doctor().findings if each.condition is Condition.DEGRADED]
        assert any("the model is away" in message for message in degraded)
        say(mnemic, 1, start=5)
        assert mnemic.context(ANNA, "Which boat is red?").degraded == ()

    def test_while_the_model_is_away_a_backlog_gives_up_one_summary_at_a_time(self, store: Store, clock: Clock):
        mnemic, llm = opened(store, clock, lambda _: UnavailableError("away"), settings=small())
        say(mnemic, 62)
        for _ in range(3):
            mnemic.work()
            clock.turn(minutes=1)
        assert len(made(mnemic)) == 1
        back, _ = opened(store, clock, numbered(), settings=small())
        clock.turn(minutes=30)
        back.work()
        assert [memory.importance for memory in made(back)] == [0.5, 0.5, 0.5]
        assert len(llm.prompts) == 4

    def test_by_hand_a_failure_is_raised_and_what_was_made_stays(self, store: Store, clock: Clock):
        answers = ["Anna bought many boats.", UnavailableError("away"), "Anna bought even more."]
        mnemic, _ = opened(store, clock, answers, settings=small())
        say(mnemic, 42)
        with pytest.raises(UnavailableError):
            mnemic.summarise(ANNA)
        assert [memory.text for memory in made(mnemic)] == ["Anna bought many boats."]
        report = mnemic.summarise(ANNA)
        assert [(each.first, each.last) for each in report.entries] == [(21, 40)]

    def test_the_same_summary_of_other_messages_is_kept_once(self, store: Store, clock: Clock):
        mnemic, _ = opened(store, clock, lambda _: "Anna bought a boat.", settings=small())
        say(mnemic, 42)
        report = mnemic.summarise(ANNA)
        assert [each.memory_id is None for each in report.entries] == [False, True]
        assert len(made(mnemic)) == 1

    @pytest.mark.requirement("D-12", "D-28")
    @pytest.mark.parametrize("step", range(1, 8))
    def test_a_store_that_fails_between_reply_and_commit_is_a_warning_and_the_job_is_done_again(
        self, store: Store, clock: Clock, caplog: pytest.LogCaptureFixture, step: int
    ):
        mnemic = failing_after_the_reply(store, clock, step, small())
        say(mnemic, 4)
        report = mnemic.work()
        assert (report.retried, report.done, made(mnemic)) == (1, 0, [])
        assert [record.levelname for record in caplog.records if record.name == "mnemic.jobs"] == ["WARNING"]
        clock.turn(minutes=1)
        assert mnemic.work().done == 1 + 1  # and it is consolidated
        assert [memory.bookkeeping["positions"] for memory in made(mnemic)] == [[1, 2]]

    @pytest.mark.requirement("D-53")
    def test_every_step_is_logged_and_nothing_that_was_said_nor_a_session_above_debug(
        self, store: Store, clock: Clock, caplog: pytest.LogCaptureFixture
    ):
        caplog.set_level(logging.DEBUG, "mnemic")
        failed(store, clock, [UnavailableError("away"), "Anna bought two boats."])
        told = [record for record in caplog.records if record.name in ("mnemic.summarise", "mnemic.jobs")]
        assert {record.name for record in told} == {"mnemic.summarise", "mnemic.jobs"}
        ids = [(record.levelno == logging.DEBUG, "s1" in record.getMessage()) for record in told]
        assert {(True, True), (False, False)} == set(ids)  # an id may be a name, so only the level debug shows it
        assert not any("harbour" in record.getMessage() for record in told)

    @pytest.mark.requirement("R-29")
    def test_a_chinese_session_is_summarised_in_chinese(self, store: Store, clock: Clock):
        mnemic, llm = opened(store, clock, ["安娜搬到了上海。"], settings=small())
        for text in ("我搬到了上海。", "我在一家银行工作。", "我喜欢喝茶。"):
            mnemic.capture(ANNA, user=text)
        mnemic.summarise(ANNA, is_flush=True)
        assert "不超过100字" in llm.prompts[0].messages[0].content
        found = mnemic.recall(ANNA, "安娜搬到了哪里").hits[0].item
        assert isinstance(found, Memory)


@pytest.mark.requirement("D-26", "R-45")
def test_raw_text_is_made_again_within_the_hour_without_a_new_message(store: Store, clock: Clock):
    is_away, answer = True, numbered()
    mnemic, _ = opened(
        store,
        clock,
        lambda prompt: UnavailableError("away") if is_away else answer(prompt),
        settings=small(idle_flush_s=86_400.0),
    )
    say(mnemic, 4)
    for _ in range(3):
        mnemic.work()
        clock.turn(minutes=1)
    assert [memory.text for memory in made(mnemic)] == [RAW]
    clock.turn(hours=1)
    assert mnemic.work().done == 1
    assert [memory.text for memory in made(mnemic)] == [RAW]
    is_away = False
    clock.turn(hours=1)
    mnemic.work()
    (again,) = made(mnemic)
    assert (again.text, again.importance) == ("Summary number 1.", 0.5)
    assert [job.state for job in jobs(mnemic, REMAKE)] == [JobState.DONE] * 3


@pytest.mark.requirement("D-26", "R-45")
def test_what_was_left_as_raw_text_is_made_again_when_the_model_is_back(store: Store, clock: Clock):
    is_away, answer = True, numbered()
    mnemic, _ = opened(
        store, clock, lambda prompt: UnavailableError("away") if is_away else answer(prompt), settings=small()
    )
    say(mnemic, 4)
    for _ in range(10):
        mnemic.work()
        clock.turn(minutes=2)
    (raw,) = made(mnemic)
    assert (raw.text, raw.importance) == (RAW, 0.3)
    is_away = False
    say(mnemic, 2, start=5)
    mnemic.work()
    again, new = made(mnemic)
    assert (again.id, again.text, again.importance) == (raw.id, "Summary number 2.", 0.5)
    assert "fallback" not in again.bookkeeping
    assert again.bookkeeping["positions"] == raw.bookkeeping["positions"]
    assert new.text == "Summary number 1."
    assert mnemic.undo(ANNA, again.id).text == RAW
