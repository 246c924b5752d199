"""Reflections: when one is due, what it is made of, what it puts into the profile, and that it is made once."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import replace
from itertools import count

import pytest

from mnemic.adapters.stores.memory import MemoryStore
from mnemic.api import Mnemic
from mnemic.engine.kinds import REFLECT
from mnemic.errors import UnavailableError
from mnemic.model.chat import Prompt
from mnemic.model.item import Kind, Role, State, Trust
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


class TestConsolidator:
    @pytest.mark.requirement("D-29", "D-51", "R-44")
    def test_summaries_of_all_talks_count_and_the_count_begins_again_at_the_threshold(self, store: Store, clock: Clock):
        mnemic, _ = opened(store, clock, numbered(), settings=small())
        asked: list[int] = []
        for number in range(9):
            talk(mnemic, clock, 1, ANNA if number % 2 else replace(ANNA, session=f"s{number}"))
            mnemic.work()
            asked.append(len(made(mnemic, Kind.REFLECTION)))
        assert asked == [0, 0, 0, 1, 1, 1, 1, 2, 2]

    @pytest.mark.requirement("D-46", "R-45")
    def test_after_a_failure_the_next_summary_asks_again(self, store: Store, clock: Clock):
        is_away = True

        def answer(prompt: Prompt) -> Exception | str:
            if prompt.schema and is_away:
                return UnavailableError("away")
            return '{"reflection": "Anna likes boats."}' if prompt.schema else f"Anna bought {clock.now():%H:%M}."

        mnemic, _ = opened(store, clock, answer, settings=small())
        talk(mnemic, clock, 4)
        reflected(mnemic, clock)
        assert made(mnemic, Kind.REFLECTION) == []
        is_away = False
        talk(mnemic, clock, 1)
        reflected(mnemic, clock)
        assert len(made(mnemic, Kind.REFLECTION)) == 1

    @pytest.mark.requirement("D-27", "D-51")
    def test_ten_summaries_make_a_reflection_unless_told_otherwise(self, store: Store, clock: Clock):
        mnemic, _ = opened(store, clock, numbered())
        talk(mnemic, clock, 9)
        mnemic.work()
        assert made(mnemic, Kind.REFLECTION) == []
        say(mnemic, 2, start=50)
        mnemic.summarise(ANNA, is_flush=True)
        mnemic.work()
        assert len(made(mnemic, Kind.REFLECTION)) == 1


class TestReflection:
    @pytest.mark.requirement("D-42", "D-45", "D-51", "R-08")
    def test_it_is_made_of_the_newest_summaries_of_its_user(self, store: Store, clock: Clock):
        mnemic, llm = opened(store, clock, numbered(), settings=small(reflection_threshold=8))
        talk(mnemic, clock, 6)
        talk(mnemic, clock, 2, replace(ANNA, session="s2"))
        mnemic.work()
        (memory,) = made(mnemic, Kind.REFLECTION)
        summaries = made(mnemic)[-4:]
        assert {each.bookkeeping["session"] for each in summaries} == {"s1", "s2"}
        assert [source.source_id for source in memory.provenance] == [each.id for each in summaries]
        assert llm.prompts[-1].messages[1].content.split("\n")[1:-1:2] == [each.text for each in summaries]
        assert (memory.importance, memory.kind, memory.expires_at) == (0.9, Kind.REFLECTION, None)
        assert memory.importance >= 0.8
        told = {"type": "reflection", "session": "s2", "newest_summary": summaries[-1].id}
        assert (memory.bookkeeping, memory.created_at) == (told, clock.now())
        assert mnemic.history(ANNA, memory.id)[0].reason == "reflection on 4 summaries"

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
    def test_a_failing_model_is_tried_again_and_shown_and_then_nothing_is_stored(
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
        assert (jobs(mnemic, REFLECT)[0].state, jobs(mnemic, REFLECT)[0].attempts) == (JobState.DONE, 3)
        assert made(mnemic, Kind.REFLECTION) == []

    @pytest.mark.requirement("D-46")
    @pytest.mark.parametrize("step", range(1, 6))
    def test_a_store_that_fails_between_reply_and_commit_is_a_warning_and_nothing_is_stored(
        self, store: Store, clock: Clock, caplog: pytest.LogCaptureFixture, step: int
    ):
        talk(opened(store, clock, numbered(), settings=small())[0], clock, 4)
        mnemic = failing_after_the_reply(store, clock, step, small())
        assert (mnemic.work().retried, made(mnemic, Kind.REFLECTION)) == (1, [])
        assert [record.levelname for record in caplog.records if record.name == "mnemic.jobs"] == ["WARNING"]
        reflected(mnemic, clock)
        assert len(made(mnemic, Kind.REFLECTION)) == 1

    def facts(self, mnemic: Mnemic, *texts: str) -> None:
        for text in texts:
            kind = "preference" if "prefers" in text else "context" if "usually" in text else "fact"
            mnemic.remember(ANNA, text, kind=kind, importance=0.5)

    @pytest.mark.requirement("D-44", "D-45")
    def test_without_a_model_it_joins_lasting_facts_and_replaces_the_last_one(self, store: Store, clock: Clock):
        mnemic, _ = opened(store, clock, settings=small())
        self.facts(mnemic, "User prefers tea", "User lives in Lyon", "User usually swims at noon", "User bought a boat")
        talk(mnemic, clock, 4)
        mnemic.work()
        (first,) = made(mnemic, Kind.REFLECTION)
        assert first.text == "User lives in Lyon. User prefers tea. User usually swims at noon."
        clock.turn(hours=2)
        self.facts(mnemic, "User lives in Lille", "User usually runs before work")
        talk(mnemic, clock, 8)
        mnemic.work()
        (second,) = made(mnemic, Kind.REFLECTION)
        assert second.text.startswith("User lives in Lille. User prefers tea. User usually swims at noon.")
        assert second.text.endswith(" User usually runs before work.")
        assert mnemic.get(ANNA, first.id).state is State.SUPERSEDED

    def test_without_a_model_and_lasting_facts_there_is_none(self, store: Store, clock: Clock):
        mnemic, _ = opened(store, clock, settings=small())
        talk(mnemic, clock, 8)
        mnemic.work()
        assert made(mnemic, Kind.REFLECTION) == []
        assert mnemic.reflect(ANNA).skipped == "no lasting facts are known yet"

    def test_trust_is_the_lowest_of_the_summaries(self, store: Store, clock: Clock):
        mnemic, _ = opened(store, clock, numbered(), settings=small())
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
        assert slow.reflect(ANNA).skipped == "a summary was deleted or rewritten during the reflection"
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
        assert mnemic.profile.get(ANNA) == {}

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
