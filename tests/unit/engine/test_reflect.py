"""Reflections: when one is due, what it is made of, what it puts into the profile, and that it is made once."""

from __future__ import annotations

import json
from contextlib import suppress
from itertools import count

import pytest

from mnemic.adapters.stores.memory import MemoryStore
from mnemic.api import Mnemic
from mnemic.engine.kinds import REFLECT
from mnemic.errors import UnavailableError
from mnemic.model.chat import Prompt
from mnemic.model.item import UNREFLECTED, Kind, Role, Trust
from mnemic.model.records import JobState
from mnemic.model.scope import Scope
from mnemic.ports.store import Store
from mnemic.testing.faults import Fault, FaultyStore
from mnemic.testing.observation import state_of
from tests.unit.engine.kit import ANNA, Clock
from tests.unit.engine.life_kit import Answers, failing_after_the_reply, jobs, made, numbered, opened, say, small


def talk(mnemic: Mnemic, clock: Clock, summaries: int, scope: Scope = ANNA) -> None:
    """Messages, and so many summaries made of them by the worker."""
    for number in range(summaries):
        say(mnemic, 2, scope, start=1 + number * 2)
        mnemic.summarise(scope, is_flush=True)
        clock.turn(minutes=1)


def reflected(mnemic: Mnemic, clock: Clock) -> None:
    """Jobs, with time for all their tries."""
    for _ in range(6):
        mnemic.work()
        clock.turn(minutes=5)


def unreflected(store: Store) -> int:
    with store.read() as work:
        return work.conversations.cursor(ANNA.message_partition, "s1", UNREFLECTED)


class TestConsolidator:
    @pytest.mark.requirement("D-29", "D-51")
    def test_the_count_goes_up_with_each_summary_and_begins_anew_at_the_threshold(self, store: Store, clock: Clock):
        mnemic, _ = opened(store, clock, settings=small())
        counts: list[tuple[int, int]] = []
        for number in range(6):
            talk(mnemic, clock, 1)
            mnemic.work()
            say(mnemic, 1, start=100 + number)
            counts.append((unreflected(store), len(jobs(mnemic, REFLECT))))
        assert counts == [(1, 0), (2, 0), (3, 0), (0, 1), (1, 1), (2, 1)]

    @pytest.mark.requirement("D-27", "D-51")
    def test_ten_summaries_make_a_reflection_unless_told_otherwise(self, store: Store, clock: Clock):
        mnemic, _ = opened(store, clock)
        talk(mnemic, clock, 9)
        mnemic.work()
        assert made(mnemic, Kind.REFLECTION) == []
        say(mnemic, 2, start=50)
        mnemic.summarise(ANNA, is_flush=True)
        mnemic.work()
        assert len(made(mnemic, Kind.REFLECTION)) == 1

    @pytest.mark.requirement("D-28", "D-29", "D-51")
    def test_a_summary_that_could_not_be_written_is_not_counted(self, clock: Clock):
        for nth in count(1):
            store, fault = MemoryStore(), Fault(nth)
            say(opened(store, clock)[0], 2)
            broken, _ = opened(FaultyStore(store, fault), clock)
            with suppress(UnavailableError):
                broken.summarise(ANNA, is_flush=True)
            mnemic, _ = opened(store, clock)
            mnemic.work()
            assert unreflected(store) == len(made(mnemic))
            if fault.steps < nth:
                break


class TestReflection:
    @pytest.mark.requirement("D-42", "D-45", "D-51", "R-08")
    def test_it_is_made_of_the_newest_summaries_of_its_session(self, store: Store, clock: Clock):
        mnemic, llm = opened(store, clock, numbered(), settings=small(reflection_threshold=6))
        talk(mnemic, clock, 2, Scope(org="acme", user="anna", agent="jarvis", session="s2"))
        talk(mnemic, clock, 6)
        mnemic.work()
        (memory,) = made(mnemic, Kind.REFLECTION)
        summaries = [each for each in made(mnemic) if each.bookkeeping["session"] == "s1"][-4:]
        assert [source.source_id for source in memory.provenance] == [each.id for each in summaries]
        assert llm.prompts[-1].messages[1].content.split("\n")[1:-1:2] == [each.text for each in summaries]
        assert (memory.importance, memory.kind, memory.expires_at) == (0.9, Kind.REFLECTION, None)
        assert memory.importance >= 0.8
        told = {"type": "reflection", "session": "s1", "newest_summary": summaries[-1].id}
        assert (memory.bookkeeping, memory.created_at) == (told, clock.now())
        assert mnemic.history(ANNA, memory.id)[0].reason == "reflection on 4 summaries of session s1"

    @pytest.mark.requirement("D-43", "D-51", "R-19")
    @pytest.mark.parametrize("episodes, least", [(10, 5), (3, 2), (4, 2), (1, 1)])
    def test_fewer_than_half_of_the_summaries_rounded_up_are_too_few_and_no_model_is_asked(
        self, store: Store, clock: Clock, episodes: int, least: int
    ):
        settings = small(reflection_threshold=99, reflection_episodes=episodes)
        mnemic, llm = opened(store, clock, numbered(), settings=settings)
        talk(mnemic, clock, least - 1)
        asked = len(llm.prompts)
        report = mnemic.reflect(ANNA)
        assert (report.memory_id, report.summaries, len(llm.prompts)) == (None, least - 1, asked)
        assert f"at least {least}" in report.skipped
        talk(mnemic, clock, 1)
        assert mnemic.reflect(ANNA, is_dry_run=True).skipped == ""
        assert made(mnemic, Kind.REFLECTION) == []
        assert mnemic.reflect(ANNA).memory_id is not None

    @pytest.mark.requirement("D-46", "D-51")
    @pytest.mark.parametrize("reply", [UnavailableError("away"), "", "She likes boats.", '{"reflection": "She li'])
    def test_a_failing_model_is_tried_again_and_shown_and_then_rules_reflect(
        self, store: Store, clock: Clock, reply: Exception | str
    ):
        def answer(prompt: Prompt) -> Exception | str:
            return reply if prompt.schema else f"Anna bought a boat, {prompt.messages[1].content[40:70]}."

        mnemic, _ = opened(store, clock, answer, settings=small())
        talk(mnemic, clock, 4)
        mnemic.work()
        waiting = jobs(mnemic, REFLECT)[0]
        assert (waiting.state, waiting.attempts) == (JobState.PENDING, 1)
        assert waiting.error.split(":")[0] in ("UnavailableError", "BadReplyError")
        assert made(mnemic, Kind.REFLECTION) == []
        reflected(mnemic, clock)
        (memory,) = made(mnemic, Kind.REFLECTION)
        assert (jobs(mnemic, REFLECT)[0].state, jobs(mnemic, REFLECT)[0].attempts) == (JobState.DONE, 3)
        assert memory.text in "\n".join(summary.text for summary in made(mnemic)) or "\n" in memory.text
        assert "Error" in str(memory.bookkeeping["fallback"])

    @pytest.mark.requirement("D-46")
    @pytest.mark.parametrize("step", range(1, 6))
    def test_a_store_that_fails_between_reply_and_commit_is_a_warning_and_nothing_is_stored(
        self, store: Store, clock: Clock, caplog: pytest.LogCaptureFixture, step: int
    ):
        talk(opened(store, clock, settings=small())[0], clock, 4)
        mnemic = failing_after_the_reply(store, clock, step, small())
        assert (mnemic.work().retried, made(mnemic, Kind.REFLECTION)) == (1, [])
        assert [record.levelname for record in caplog.records if record.name == "mnemic.jobs"] == ["WARNING"]
        reflected(mnemic, clock)
        assert len(made(mnemic, Kind.REFLECTION)) == 1

    def test_without_a_model_it_is_what_the_summaries_say_word_for_word(self, store: Store, clock: Clock):
        mnemic, _ = opened(store, clock, settings=small())
        talk(mnemic, clock, 4)
        mnemic.work()
        (memory,) = made(mnemic, Kind.REFLECTION)
        summaries = {summary.id: summary.text for summary in made(mnemic)}
        assert memory.provenance
        for source in memory.provenance:
            assert summaries[source.source_id][source.start : source.end] in memory.text

    def test_trust_is_the_lowest_of_the_summaries(self, store: Store, clock: Clock):
        mnemic, _ = opened(store, clock, settings=small())
        mnemic.capture(ANNA, [{"role": "tool", "content": "The boat 0 has 7 sails."}])
        talk(mnemic, clock, 4)
        mnemic.work()
        assert made(mnemic, Kind.REFLECTION)[0].trust is Trust.TOOL

    def test_a_second_pass_changes_nothing(self, store: Store, clock: Clock):
        mnemic, llm = opened(store, clock, numbered(), settings=small())
        talk(mnemic, clock, 4)
        mnemic.work()
        before, asked = state_of(store), len(llm.prompts)
        assert "no new summary" in mnemic.reflect(ANNA).skipped
        mnemic.work()
        assert (state_of(store), len(llm.prompts)) == (before, asked)

    def test_a_failure_of_any_step_leaves_no_half_and_the_next_try_makes_one(self, clock: Clock):
        for is_after in (False, True):
            for nth in count(1):
                store, fault = MemoryStore(), Fault(nth, is_after)
                mnemic, _ = opened(store, clock, numbered(), settings=small(reflection_threshold=99))
                mnemic.capture(ANNA, user="My name is Anna.")
                talk(mnemic, clock, 4)
                broken, _ = opened(FaultyStore(store, fault), clock, numbered(), settings=small())
                with suppress(UnavailableError):
                    broken.reflect(ANNA)
                assert bool(made(mnemic, Kind.REFLECTION)) == (mnemic.profile.get(ANNA) == {"name": "Anna"})
                mnemic.reflect(ANNA)
                assert len(made(mnemic, Kind.REFLECTION)) == 1
                if fault.steps < nth:
                    break

    def test_a_summary_that_is_deleted_while_the_model_writes_is_in_no_reflection(self, store: Store, clock: Clock):
        mnemic, _ = opened(store, clock, numbered(), settings=small(reflection_threshold=99))
        talk(mnemic, clock, 4)

        def deleting(_: Prompt) -> str:
            mnemic.delete(ANNA, made(mnemic)[0].id)
            return '{"reflection": "Anna likes boats."}'

        slow, _ = opened(store, clock, deleting, settings=small())
        assert slow.reflect(ANNA).skipped == "a summary was deleted or made anew meanwhile"
        assert made(mnemic, Kind.REFLECTION) == []

    @pytest.mark.requirement("D-51", "P-32")
    def test_it_never_fades_is_never_evicted_and_stands_in_the_profile(self, store: Store, clock: Clock):
        mnemic, _ = opened(store, clock, numbered(), settings=small())
        talk(mnemic, clock, 4)
        mnemic.work()
        (memory,) = made(mnemic, Kind.REFLECTION)
        assert memory.id in {each.id for each in mnemic.profile.all(ANNA).dynamic}
        clock.turn(days=900)
        mnemic.decay(ANNA)
        mnemic.evict(ANNA)
        assert [(each.id, each.faded) for each in made(mnemic, Kind.REFLECTION)] == [(memory.id, None)]
        assert made(mnemic) == []
        assert memory.id in {each.id for each in mnemic.profile.all(ANNA).dynamic}


class TestProfile:
    def told(self, store: Store, clock: Clock, *texts: str, answers: Answers | None = None) -> Mnemic:
        """A session in which these texts were said, reflected on."""
        settings = small(reflection_threshold=1, reflection_episodes=1)
        mnemic, _ = opened(store, clock, answers, settings=settings)
        for text in texts:
            clock.turn(minutes=1)
            mnemic.capture(ANNA, user=text)
        mnemic.summarise(ANNA, is_flush=True)
        mnemic.work()
        return mnemic

    @pytest.mark.requirement("R-35")
    def test_what_the_user_says_of_themselves_fills_it(self, store: Store, clock: Clock):
        texts = "My name is Anna and I live in Porto.", "I work as a nurse.", "I moved from Porto to Oslo, a nice city."
        mnemic = self.told(store, clock, *texts)
        assert mnemic.profile.get(ANNA) == {"name": "Anna", "home": "Oslo", "job": "nurse"}
        assert {entry.source for entry in mnemic.profile.all(ANNA).static} == {"reflection"}
        assert "name: Anna" in mnemic.context(ANNA, "Hello").blocks["profile"]

    @pytest.mark.requirement("R-35")
    def test_what_somebody_set_always_stays(self, store: Store, clock: Clock):
        opened(store, clock)[0].profile.set(ANNA, {"home": "Lisbon"})
        mnemic = self.told(store, clock, "My name is Anna and I live in Porto.")
        assert mnemic.profile.get(ANNA) == {"name": "Anna", "home": "Lisbon"}
        mnemic.profile.set(ANNA, {"name": "Ann"})
        self.told(store, clock, "My name is Anne.")
        assert mnemic.profile.get(ANNA)["name"] == "Ann"

    def test_what_was_said_later_wins_over_what_was_said_before(self, store: Store, clock: Clock):
        self.told(store, clock, "I live in Porto.")
        mnemic = self.told(store, clock, "I live in Oslo.")
        assert mnemic.profile.get(ANNA)["home"] == "Oslo"
        old = {"role": "user", "content": "I live in Rome.", "observed_at": "2001-01-01T00:00:00Z"}
        mnemic.capture(ANNA, [old])
        mnemic.summarise(ANNA, is_flush=True)
        mnemic.work()
        assert mnemic.profile.get(ANNA)["home"] == "Oslo"

    @pytest.mark.requirement("D-34")
    def test_where_no_user_is_named_the_session_stands_for_one(self, store: Store, clock: Clock):
        mnemic, _ = opened(store, clock, settings=small(reflection_threshold=1, reflection_episodes=1))
        nobody = Scope(org="acme", session="s1")
        mnemic.capture(nobody, user="My name is Anna.")
        mnemic.summarise(nobody, is_flush=True)
        mnemic.work()
        assert mnemic.profile.get(nobody) == {"name": "Anna"}
        assert mnemic.profile.get(Scope(org="acme", session="s2")) == mnemic.profile.get(ANNA) == {}

    @pytest.mark.parametrize(
        "message",
        [
            {"role": Role.ASSISTANT, "content": "My name is Jarvis."},
            {"role": Role.TOOL, "content": "My name is Weather."},
            {"role": Role.USER, "content": "My name is Report.", "trust": "document"},
            {"role": Role.USER, "content": "Is my name Anna?"},
        ],
    )
    def test_nobody_else_can_fill_it(self, store: Store, clock: Clock, message: dict[str, object]):
        mnemic, _ = opened(store, clock, settings=small(reflection_threshold=1, reflection_episodes=1))
        mnemic.capture(ANNA, [message, {"role": "user", "content": "I bought a red boat."}])
        mnemic.summarise(ANNA, is_flush=True)
        mnemic.work()
        assert (mnemic.profile.get(ANNA), len(made(mnemic, Kind.REFLECTION))) == ({}, 1)

    def test_where_several_people_speak_as_the_user_nobody_is_taken_for_them(self, store: Store, clock: Clock):
        mnemic, _ = opened(store, clock, settings=small(reflection_threshold=1, reflection_episodes=1))
        said = [{"role": "user", "name": name, "content": f"My name is {name}."} for name in ("Anna", "Bert")]
        mnemic.capture(ANNA, said)
        mnemic.summarise(ANNA, is_flush=True)
        mnemic.work()
        assert mnemic.profile.get(ANNA) == {}

    @pytest.mark.requirement("R-35")
    def test_what_the_model_proposes_counts_only_where_the_user_said_it(self, store: Store, clock: Clock):
        proposed = {"job": "harbour  Pilot", "home": "Bergen", "language": "French", "employer": "Port", "shoes": "9"}
        reply = json.dumps({"reflection": "A pilot.", "profile": proposed})

        def answer(prompt: Prompt) -> str:
            return reply if prompt.schema else "Anna is a pilot."

        texts = (
            "I am a harbour pilot.",
            "I like the Portuguese sea.",
            "Is Bergen where I live?",
            "I do not speak French.",
        )
        mnemic = self.told(store, clock, *texts, answers=answer)
        assert mnemic.profile.get(ANNA) == {"job": "harbour Pilot"}
