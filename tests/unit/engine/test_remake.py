"""What is made anew after something that it was made of was erased: digests, preferences, profiles; and what fails."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import asdict
from itertools import count

import pytest

from mnemic.adapters.llms.registry import Script
from mnemic.adapters.stores.memory import MemoryStore
from mnemic.api import Mnemic
from mnemic.engine.consolidate import consolidate
from mnemic.engine.kinds import REMAKE
from mnemic.engine.remember import remember
from mnemic.errors import NotFoundError, UnavailableError
from mnemic.model.chat import Prompt
from mnemic.model.item import Cause, Kind, Memory, MemoryDraft, Provenance
from mnemic.model.records import Action, JobState
from mnemic.model.settings import LifeSettings, Settings
from mnemic.ports.store import Store
from mnemic.testing.faults import Fault, FaultyStore
from tests.unit.engine.kit import ANNA, Clock
from tests.unit.engine.life_kit import jobs, made, numbered, opened, parts_over, say, small
from tests.unit.engine.test_consolidate import CHOICES, remembered


def message(mnemic: Mnemic, memory: Memory, place: int = 0) -> str:
    """The text of a message that a memory was made of."""
    return mnemic.get(ANNA, memory.provenance[place].source_id).text


def tell(mnemic: Mnemic, about: str = "") -> None:
    """Three messages, of each of which a summary by rules takes something."""
    for text in ("I bought a red boat", "My brother Paul repairs engines", "The doctor wants me to swim every morning"):
        mnemic.capture(ANNA, user=f"{text}{about}.")


def present(mnemic: Mnemic, memory: Memory) -> Memory:
    found = mnemic.get(ANNA, memory.id)
    assert isinstance(found, Memory)
    return found


def everything(mnemic: Mnemic) -> str:
    """All that can be read of Anna's memories, and of their history."""
    found = mnemic.list(ANNA, states=["active", "quarantined", "superseded", "archived"], limit=1000).memories
    return repr([(asdict(memory), mnemic.history(ANNA, memory.id)) for memory in found])


@pytest.mark.requirement("P-06")
class TestDigests:
    def test_a_summary_is_made_anew_without_the_message_and_nothing_of_it_stays(self, store: Store, clock: Clock):
        mnemic, _ = opened(store, clock, settings=small())
        tell(mnemic)
        mnemic.summarise(ANNA, is_flush=True)
        (summary,) = made(mnemic)
        gone = message(mnemic, summary)
        mnemic.delete(ANNA, summary.provenance[0].source_id)
        flagged = present(mnemic, summary)
        assert [flag.cause for flag in flagged.flags] == [Cause.ERASED]
        assert gone not in everything(mnemic)
        assert len(flagged.text.splitlines()) == len(summary.text.splitlines()) - 1
        mnemic.work()
        anew = present(mnemic, summary)
        assert anew.flags == ()
        assert gone not in everything(mnemic)
        assert anew.text != summary.text
        assert {entry.source_id for entry in anew.provenance} == {e.source_id for e in summary.provenance[1:]}
        assert anew.bookkeeping["positions"] == summary.bookkeeping["positions"]
        assert mnemic.history(ANNA, summary.id)[-1].action is Action.REMADE
        assert jobs(mnemic, REMAKE)[0].state is JobState.DONE

    def test_a_reflection_follows_its_summaries_one_after_the_other(self, store: Store, clock: Clock):
        def answer(prompt: Prompt) -> str:
            said = " ".join(prompt.messages[1].content.split("\n")[1:-1])
            return json.dumps({"reflection": said}) if prompt.schema else said

        mnemic, _ = opened(store, clock, answer, settings=small(reflection_threshold=99))
        for number in range(4):
            tell(mnemic, about=f" in harbour {number}")
            mnemic.summarise(ANNA, is_flush=True)
            clock.turn(minutes=1)
        mnemic.reflect(ANNA)
        (reflection,) = made(mnemic, Kind.REFLECTION)
        summary = present(mnemic, made(mnemic)[0])
        gone = message(mnemic, summary)
        mnemic.delete(ANNA, summary.provenance[0].source_id)
        assert {flag.source_id for flag in present(mnemic, reflection).flags} == {summary.provenance[0].source_id}
        mnemic.work()
        assert (present(mnemic, summary).flags, present(mnemic, reflection).flags) == ((), ())
        assert gone not in everything(mnemic)

    def test_a_summary_that_told_of_it_alone_goes_and_one_is_made_of_the_other_messages(
        self, store: Store, clock: Clock
    ):
        mnemic, _ = opened(store, clock, settings=small())
        say(mnemic, 4)
        mnemic.summarise(ANNA, is_flush=True)
        (summary,) = made(mnemic)
        (entry,) = summary.provenance
        gone = message(mnemic, summary)
        mnemic.delete(ANNA, entry.source_id)
        assert made(mnemic) == []
        mnemic.work()
        (anew,) = made(mnemic)
        assert anew.bookkeeping["positions"] == summary.bookkeeping["positions"]
        assert gone not in everything(mnemic)
        mnemic.work()
        assert made(mnemic) == [anew]

    def test_a_summary_of_which_nothing_is_left_goes(self, store: Store, clock: Clock):
        mnemic, _ = opened(store, clock, settings=small())
        say(mnemic, 2)
        mnemic.summarise(ANNA, is_flush=True)
        assert len(made(mnemic)) == 1
        for said in mnemic.window(ANNA):
            mnemic.delete(ANNA, said.id)
        mnemic.work()
        assert made(mnemic) == []

    def test_a_model_makes_it_anew_and_where_it_fails_rules_do(self, store: Store, clock: Clock):
        is_away = False
        told = numbered()

        def answer(prompt: Prompt) -> Script:
            if is_away:
                raise UnavailableError("the model is away")
            return told(prompt)

        mnemic, llm = opened(store, clock, answer, settings=small())
        tell(mnemic)
        mnemic.summarise(ANNA, is_flush=True)
        (summary,) = made(mnemic)
        gone = message(mnemic, summary)
        mnemic.delete(ANNA, summary.provenance[0].source_id)
        mnemic.work()
        assert present(mnemic, summary).text == "Summary number 2."
        assert gone not in llm.prompts[-1].messages[-1].content
        is_away, gone = True, message(mnemic, present(mnemic, summary))
        mnemic.delete(ANNA, present(mnemic, summary).provenance[0].source_id)
        for _ in range(6):
            mnemic.work()
            clock.turn(minutes=5)
        assert present(mnemic, summary).flags == ()
        assert gone not in everything(mnemic)

    def test_a_summary_that_a_person_trusts_meanwhile_is_left_alone(self, store: Store, clock: Clock):
        mnemic, _ = opened(store, clock, settings=small())
        tell(mnemic)
        mnemic.summarise(ANNA, is_flush=True)
        (summary,) = made(mnemic)
        mnemic.delete(ANNA, summary.provenance[0].source_id)
        left = present(mnemic, summary).text
        mnemic.trust(ANNA, summary.id)
        mnemic.work()
        assert present(mnemic, summary).text == left


@pytest.mark.requirement("P-06")
class TestPreferences:
    def test_a_preference_forgets_a_choice_that_was_deleted(self, store: Store, clock: Clock):
        mnemic, _ = opened(store, clock)
        ids = remembered(mnemic, clock)
        consolidate(parts_over(store, clock), ANNA, actor="tester")
        (preference,) = mnemic.list(ANNA, kinds=["preference"]).memories
        assert "shop" in preference.context
        mnemic.delete(ANNA, ids[1])
        mnemic.work()
        anew = present(mnemic, preference)
        assert anew.flags == ()
        assert anew.bookkeeping["chosen_ids"] == [ids[0], *ids[2:]]
        assert CHOICES[1] not in everything(mnemic)
        mnemic.delete(ANNA, ids[0])
        mnemic.work()
        assert [flag.source_id for flag in present(mnemic, preference).flags] == [ids[0]]
        assert CHOICES[0] not in everything(mnemic)
        for left in ids[2:]:
            mnemic.delete(ANNA, left)
        with pytest.raises(NotFoundError):
            mnemic.get(ANNA, preference.id)


@pytest.mark.requirement("P-06")
class TestProfile:
    def test_what_a_deleted_message_said_leaves_the_profile_unless_it_was_said_elsewhere(
        self, store: Store, clock: Clock
    ):
        mnemic, _ = opened(store, clock, settings=Settings(life=LifeSettings(extracts=True)))
        first = mnemic.capture(ANNA, user="My name is Anna. I live in Lyon.").messages[0]
        mnemic.work()
        assert mnemic.profile.get(ANNA)["name"] == "Anna"
        mnemic.profile.set(ANNA, {"drink": "tea"})
        clock.turn(minutes=5)
        mnemic.capture(ANNA, user="Good morning! My name is Anna.")
        mnemic.work()
        receipt = mnemic.delete(ANNA, first.id)
        assert receipt.counts["profiles"] == 2
        assert mnemic.profile.get(ANNA) == {"drink": "tea"}
        mnemic.work()
        assert mnemic.profile.get(ANNA) == {"drink": "tea", "name": "Anna"}

    def test_what_is_said_beyond_the_limit_of_facts_fills_the_profile_and_is_erased_with_its_message(
        self, store: Store, clock: Clock
    ):
        mnemic, _ = opened(store, clock, settings=Settings(life=LifeSettings(extracts=True)))
        told = "Hi, I'm Anna. I live in Lyon. I work at Airbus. I'm vegetarian. I'm allergic to peanuts."
        said = mnemic.capture(ANNA, user=told).messages[0]
        mnemic.work()
        assert len(mnemic.list(ANNA).memories) == LifeSettings().facts_per_message
        profile = {"name": "Anna", "home": "Lyon", "employer": "Airbus", "diet": "vegetarian"}
        assert mnemic.profile.get(ANNA) == {**profile, "allergy to peanuts": "yes"}
        mnemic.delete(ANNA, said.id)
        mnemic.work()
        assert mnemic.profile.get(ANNA) == {}

    def test_an_allergy_is_erased_with_what_told_it_unless_another_message_tells_it(self, store: Store, clock: Clock):
        mnemic, _ = opened(store, clock, settings=Settings(life=LifeSettings(extracts=True)))
        said = [mnemic.capture(ANNA, user="I'm allergic to peanuts.").messages[0] for _ in range(2)]
        mnemic.work()
        mnemic.delete(ANNA, said[0].id)
        mnemic.work()
        assert mnemic.profile.get(ANNA) == {"allergy to peanuts": "yes"}
        mnemic.delete(ANNA, said[1].id)
        mnemic.work()
        assert mnemic.profile.get(ANNA) == {}

    @pytest.mark.parametrize("erased", ["message", "session"])
    def test_what_a_memory_was_corrected_to_is_erased_with_its_message(self, store: Store, clock: Clock, erased: str):
        mnemic, _ = opened(store, clock, settings=Settings(life=LifeSettings(extracts=True)))
        said = mnemic.capture(ANNA, user="I live in Lyon.").messages[0]
        mnemic.work()
        mnemic.update(ANNA, mnemic.list(ANNA).memories[0].id, text="User lives in Porto")
        assert mnemic.profile.get(ANNA) == {"home": "Porto"}
        if erased == "session":
            assert mnemic.erase(ANNA, level="session").counts["profiles"] == 1
        else:
            mnemic.delete(ANNA, said.id)
        assert mnemic.profile.get(ANNA) == {}

    def test_what_a_person_calls_outdated_leaves_the_profile_and_comes_back_with_undo(self, store: Store, clock: Clock):
        mnemic, _ = opened(store, clock, settings=Settings(life=LifeSettings(extracts=True)))
        mnemic.capture(ANNA, user="I live in Lyon.")
        mnemic.work()
        assert mnemic.profile.get(ANNA) == {"home": "Lyon"}
        (home,) = mnemic.list(ANNA).memories
        mnemic.feedback(ANNA, home.id, "outdated")
        assert mnemic.profile.get(ANNA) == {}
        mnemic.undo(ANNA, home.id)
        mnemic.work()
        assert mnemic.profile.get(ANNA) == {"home": "Lyon"}
        clock.turn(hours=2)
        mnemic.remember(ANNA, "User lives in Porto")
        assert mnemic.profile.get(ANNA) == {}
        mnemic.capture(ANNA, user="I live in Porto.")
        mnemic.work()
        assert mnemic.profile.get(ANNA) == {"home": "Porto"}

    def test_a_reflection_does_not_bring_back_what_is_outdated(self, store: Store, clock: Clock):
        life = LifeSettings(extracts=True, window_messages=2, summary_batch=2, reflection_episodes=2)
        mnemic, _ = opened(store, clock, settings=Settings(life=life))
        mnemic.capture(ANNA, user="I live in Lyon.")
        tell(mnemic)
        mnemic.work()
        mnemic.summarise(ANNA, is_flush=True)
        (home,) = [each for each in mnemic.list(ANNA, kinds=["fact", "context"]).memories if "Lyon" in each.text]
        mnemic.feedback(ANNA, home.id, "outdated")
        mnemic.reflect(ANNA)
        assert mnemic.profile.get(ANNA) == {}

    def test_what_a_person_set_stays(self, store: Store, clock: Clock):
        mnemic, _ = opened(store, clock, settings=Settings(life=LifeSettings(extracts=True)))
        mnemic.profile.set(ANNA, {"name": "Anna"})
        said = mnemic.capture(ANNA, user="My name is Anna.").messages[0]
        mnemic.work()
        mnemic.delete(ANNA, said.id)
        assert mnemic.profile.get(ANNA) == {"name": "Anna"}


def derived(mnemic_parts: object, text: str, *sources: str) -> Memory:
    provenance = tuple(Provenance(source, 0, 200, "tests", "1", 1.0) for source in sources)
    return remember(mnemic_parts, ANNA, [MemoryDraft(text=text, provenance=provenance)], actor="tester")[0]  # pyright: ignore[reportArgumentType] -- parts of a test


@pytest.mark.requirement("P-06")
class TestFailures:
    def test_a_store_that_fails_at_any_step_of_a_deletion_has_done_all_of_it_or_nothing(self, clock: Clock):
        nth, is_there = 0, True
        for nth in count(1):
            store, fault = MemoryStore(), Fault((nth + 1) // 2, is_after=nth % 2 == 0)
            parts = parts_over(store, clock)
            mnemic = Mnemic(parts, actor="tester")
            one, two = (mnemic.capture(ANNA, user=text).messages[0] for text in ("I sail boats", "Boats sail"))
            alone, both = derived(parts, "Sails", one.id), derived(parts, "Sails boats", one.id, two.id)
            above = derived(parts, "Owns a boat", both.id)
            with suppress(UnavailableError):
                Mnemic(parts_over(FaultyStore(store, fault), clock), actor="tester").delete(ANNA, one.id)
            found = {m.text: m for m in mnemic.list(ANNA, limit=100).memories}
            flags = [[flag.source_id for flag in found[each.text].flags] for each in (both, above)]
            waiting = [job.key for job in jobs(mnemic, REMAKE)]
            is_there = alone.text in found
            assert (flags, waiting) == ([[], []], []) if is_there else ([[one.id], [one.id]], [both.id])
            with suppress(NotFoundError):
                assert is_there or not mnemic.get(ANNA, one.id)
            if fault.steps < fault.nth:
                break
        assert nth > 30
        assert not is_there

    def test_a_store_that_fails_at_any_step_of_making_anew_loses_nothing(self, clock: Clock):
        nth = 0
        for nth in count(1):
            store, fault = MemoryStore(), Fault((nth + 1) // 2, is_after=nth % 2 == 0)
            mnemic, _ = opened(store, clock, settings=small())
            tell(mnemic)
            mnemic.summarise(ANNA, is_flush=True)
            (summary,) = made(mnemic)
            gone = message(mnemic, summary)
            mnemic.delete(ANNA, summary.provenance[0].source_id)
            with suppress(UnavailableError):
                opened(FaultyStore(store, fault), clock, settings=small())[0].work()
            clock.turn(hours=1)
            mnemic.work()
            assert present(mnemic, summary).flags == ()
            assert gone not in everything(mnemic)
            if fault.steps < fault.nth:
                break
        assert nth > 20
