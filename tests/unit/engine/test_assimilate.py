"""Facts are compared with what is known: what repeats it, what ends it, what stays beside it."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mnemic.adapters.llms.registry import ScriptedLlm
from mnemic.api import Mnemic
from mnemic.engine.assimilate import Place, assimilate, prepare
from mnemic.engine.engine import Engine
from mnemic.errors import UnavailableError
from mnemic.model.item import Decision, Fact, Kind, Memory, Provenance, State, Trust, Verdict
from mnemic.model.records import Action
from mnemic.model.scope import Level
from tests.unit.engine.kit import ANNA, BERT, START, Clock

PLACE = Place(ANNA.partition(Level.USER), agent="jarvis")
ALL = [state for state in State if state is not State.ERASED]
NUMBERS = itertools.count()
LATER = START + timedelta(days=1)


def fact(text: str, at: datetime = START, **fields: Any) -> Fact:
    given: dict[str, Any] = {"kind": Kind.FACT, **fields}
    return Fact(text=text, observed_at=at, **given)


def write(parts: Engine, *facts: Fact, place: Place = PLACE) -> list[Decision]:
    ready = prepare(parts, place, facts)
    with parts.store.write() as work:
        return assimilate(parts, work, place, ready, actor="tester")


def by_text(mnemic: Mnemic) -> dict[str, Memory]:
    return {memory.text: memory for memory in mnemic.list(ANNA, states=ALL).memories}


def source(mnemic: Mnemic, text: str, at: datetime = START, session: str = "s1") -> tuple[Provenance, ...]:
    """The provenance of a fact from the whole of a message that is captured now."""
    turn = mnemic.capture(replace(ANNA, session=session), user=text, observed_at=at)
    return (Provenance(turn.messages[0].id, 0, len(text), "rules", "1", 0.0),)


class TestRepetition:
    @pytest.mark.requirement("R-14", "T-23")
    def test_the_same_words_are_kept_once_with_every_place_where_they_were_said(self, parts: Engine, mnemic: Mnemic):
        first, second = source(mnemic, "I own a boat"), source(mnemic, "well, I own a boat!")
        added = write(parts, fact("User owns a boat", provenance=first))[0]
        again = write(parts, fact("user owns a boat!", provenance=second, importance=0.9))[0]
        assert (added.action, again.action, again.memory_id) == (Verdict.ADD, Verdict.MERGE, added.memory_id)
        (kept,) = by_text(mnemic).values()
        assert [entry.source_id for entry in kept.provenance] == [first[0].source_id, second[0].source_id]
        assert kept.importance == 0.9
        assert [e.action for e in mnemic.history(ANNA, kept.id)] == [Action.CREATED, Action.MERGED]
        undone = mnemic.undo(ANNA, kept.id)
        assert [entry.source_id for entry in undone.provenance] == [first[0].source_id]

    @pytest.mark.requirement("R-14", "T-23", "P-02")
    def test_a_near_repetition_is_merged_with_its_context_and_comes_back_by_undo(self, parts: Engine, mnemic: Mnemic):
        write(parts, fact("User owns a red boat", context="for the lake"))
        merged = write(parts, fact("The user now owns the red boat", LATER, context="for the summer"))[0]
        assert merged.action is Verdict.MERGE
        found = by_text(mnemic)
        kept, gone = found["User owns a red boat"], found["The user now owns the red boat"]
        assert (kept.state, kept.context) == (State.ACTIVE, "for the lake\nfor the summer")
        assert (gone.state, gone.other_id) == (State.SUPERSEDED, kept.id)
        mnemic.undo(ANNA, kept.id)
        assert [m.state for m in by_text(mnemic).values()] == [State.ACTIVE, State.ACTIVE]

    @pytest.mark.requirement("R-14")
    def test_what_adds_nothing_is_not_stored_and_what_says_more_takes_its_place(
        self, make_parts: Callable[..., Engine], embedder: object
    ):
        parts = make_parts(embedder)
        mnemic = Mnemic(parts)
        less, more = "User plans a trip to Miami", "User plans a week-long trip to Miami"
        write(parts, fact(less, kind=Kind.GOAL))
        assert write(parts, fact(more, LATER, kind=Kind.GOAL))[0].action is Verdict.ADD
        assert write(parts, fact(f"{less} still", LATER, kind=Kind.GOAL))[0].action is Verdict.MERGE
        assert {text: memory.state for text, memory in by_text(mnemic).items()} == {
            less: State.SUPERSEDED,
            more: State.ACTIVE,
        }
        write(parts, fact("User's sister plans a week-long trip to Miami", kind=Kind.GOAL))
        assert "User's sister plans a week-long trip to Miami" in by_text(mnemic)
        write(parts, fact("User plans to cycle from Rome to Oslo", kind=Kind.GOAL))
        assert write(parts, fact("User plans to cycle from Oslo to Rome", kind=Kind.GOAL))[0].action is Verdict.ADD
        write(parts, fact("User flew from Rome to Oslo", kind=Kind.EVENT))
        assert write(parts, fact("User flew to Rome from Oslo", kind=Kind.EVENT))[0].action is Verdict.ADD

    @pytest.mark.requirement("R-14")
    def test_facts_of_one_call_are_compared_with_each_other_too(self, parts: Engine):
        decisions = write(parts, fact("User owns a red boat"), fact("The user owns the red boat"))
        assert [decision.action for decision in decisions] == [Verdict.ADD, Verdict.MERGE]

    @pytest.mark.requirement("R-14")
    def test_two_visits_to_one_doctor_on_two_days_are_two_events(self, parts: Engine, mnemic: Mnemic):
        for day in (1, 8):
            when = START + timedelta(days=day)
            event = fact("User visited the doctor", when, kind=Kind.EVENT, valid_from=when)
            assert write(parts, event)[0].action is Verdict.ADD
            assert write(parts, event)[0].action is Verdict.MERGE
        assert [m.state for m in mnemic.list(ANNA, states=ALL).memories] == [State.ACTIVE, State.ACTIVE]

    @pytest.mark.requirement("R-14")
    def test_writers_that_assimilate_the_same_fact_at_once_leave_one_memory(self, parts: Engine, mnemic: Mnemic):
        barrier, decisions = threading.Barrier(4), list[Decision]()

        def run() -> None:
            ready = prepare(parts, PLACE, [fact("User owns a boat")])
            barrier.wait()
            with parts.store.write() as work:
                decisions.extend(assimilate(parts, work, PLACE, ready, actor="tester"))

        threads = [threading.Thread(target=run) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(decision.action for decision in decisions) == ["add", "merge", "merge", "merge"]
        assert len(by_text(mnemic)) == 1

    def test_a_near_repetition_written_after_the_preparation_is_seen(self, parts: Engine):
        early = prepare(parts, PLACE, [fact("The user owns the red boat")])
        write(parts, fact("User owns a red boat"))
        with parts.store.write() as work:
            assert assimilate(parts, work, PLACE, early, actor="tester")[0].action is Verdict.MERGE

    @pytest.mark.requirement("R-14")
    def test_other_words_for_the_same_value_of_a_slot_are_merged(self, parts: Engine):
        texts = ("User lives in Lisbon", "The user resides in Lisbon.", "User moved to Lisbon")
        decisions = [write(parts, fact(text))[0].action for text in texts]
        assert decisions == [Verdict.ADD, Verdict.MERGE, Verdict.ADD]


class TestContradiction:
    @pytest.mark.requirement("P-05", "P-02", "P-04")
    def test_a_later_value_of_a_slot_ends_the_one_before_which_stays_visible(
        self, parts: Engine, mnemic: Mnemic, clock: Clock
    ):
        clock.turn(days=2)
        write(parts, fact("User lives in Lisbon"))
        decision = write(parts, fact("User lives in Porto", LATER))[0]
        found = by_text(mnemic)
        old, new = found["User lives in Lisbon"], found["User lives in Porto"]
        assert (decision.action, decision.memory_id, decision.other_id) == (Verdict.SUPERSEDE, new.id, old.id)
        assert (old.state, old.other_id, old.valid_to, new.state) == (State.SUPERSEDED, new.id, LATER, State.ACTIVE)
        assert mnemic.history(ANNA, old.id)[-1].action is Action.SUPERSEDED
        assert [hit.id for hit in mnemic.recall(ANNA, "where does the user live", kinds=["fact"])] == [new.id]
        then = mnemic.recall(ANNA, "where does the user live", as_of=START, kinds=["fact"])
        assert [hit.id for hit in then] == [old.id]
        restored = mnemic.undo(ANNA, old.id)
        assert (restored.state, restored.valid_to, restored.other_id) == (State.ACTIVE, None, None)

    @pytest.mark.requirement("P-05")
    def test_what_arrives_late_is_kept_as_already_superseded(self, parts: Engine, mnemic: Mnemic):
        write(parts, fact("User lives in Porto", LATER))
        decision = write(parts, fact("User lives in Lisbon"))[0]
        found = by_text(mnemic)
        old, new = found["User lives in Lisbon"], found["User lives in Porto"]
        assert (decision.action, decision.memory_id) == (Verdict.SUPERSEDE, new.id)
        assert (old.state, old.other_id, old.valid_to) == (State.SUPERSEDED, new.id, LATER)
        assert new.state is State.ACTIVE

    @pytest.mark.requirement("P-05")
    def test_what_is_said_at_the_same_time_elsewhere_is_disputed_on_both_sides(self, parts: Engine, mnemic: Mnemic):
        one, other = source(mnemic, "I live in Lisbon"), source(mnemic, "I live in Porto", session="s2")
        write(parts, fact("User lives in Lisbon", provenance=one))
        decision = write(parts, fact("User lives in Porto", provenance=other))[0]
        assert decision.action is Verdict.DISPUTE
        found = by_text(mnemic)
        assert {m.state for m in found.values()} == {State.DISPUTED}
        assert found["User lives in Lisbon"].other_id == found["User lives in Porto"].id
        write(parts, fact("User lives in Porto", LATER))
        assert [m.text for m in mnemic.list(ANNA).memories] == ["User lives in Porto"]

    @pytest.mark.requirement("P-05")
    @pytest.mark.parametrize("session", ["s1", "s2"])
    def test_a_correction_counts_however_soon(self, parts: Engine, mnemic: Mnemic, session: str):
        soon = START + timedelta(seconds=1)
        one = source(mnemic, "I live in Lisbon")
        other = source(mnemic, "sorry, I live in Porto", soon, session=session)
        write(parts, fact("User lives in Lisbon", provenance=one))
        assert write(parts, fact("User lives in Porto", soon, provenance=other))[0].action is Verdict.SUPERSEDE

    @pytest.mark.requirement("P-05")
    def test_a_source_of_lower_trust_takes_nothing_out_of_recall(self, parts: Engine, mnemic: Mnemic):
        write(parts, fact("User lives in Lisbon"))
        decision = write(parts, fact("User lives in Porto", LATER, trust=Trust.DOCUMENT))[0]
        found = by_text(mnemic)
        old, new = found["User lives in Lisbon"], found["User lives in Porto"]
        assert (decision.action, old.state, new.state) == (Verdict.DISPUTE, State.ACTIVE, State.DISPUTED)
        assert (old.other_id, new.other_id) == (new.id, old.id)

    @pytest.mark.requirement("P-05")
    @pytest.mark.parametrize(
        "one, other",
        [
            ("User likes tea", "User no longer likes tea"),
            ("User likes tea", "User hates the tea"),
            ("User prefers tea to coffee", "User prefers coffee to tea"),
            ("User is vegetarian", "User is not vegetarian"),
            ("User does not have a dog", "User has a dog"),
            ("User smokes", "User quit smoking"),
            ("User's favourite colour is blue", "User's favorite color is green"),
        ],
    )
    def test_what_was_said_later_of_one_object_counts(self, parts: Engine, mnemic: Mnemic, one: str, other: str):
        write(parts, fact(one), fact(other, LATER))
        assert {text: memory.state for text, memory in by_text(mnemic).items()} == {
            one: State.SUPERSEDED,
            other: State.ACTIVE,
        }

    @pytest.mark.requirement("P-05")
    def test_a_slot_that_a_model_names_counts_too_and_one_that_holds_many_values_does_not(
        self, parts: Engine, mnemic: Mnemic
    ):
        write(parts, fact("The user's home is a house in Lisbon", slot="location", value="Lisbon"))
        write(parts, fact("User found a flat in Porto", LATER, slot="home", value="Porto"))
        write(parts, fact("User speaks French", slot="language", value="French"))
        write(parts, fact("User speaks Welsh", LATER, slot="language", value="Welsh"))
        superseded = [m.text for m in by_text(mnemic).values() if m.state is State.SUPERSEDED]
        assert superseded == ["The user's home is a house in Lisbon"]

    def test_a_context_never_shows_what_is_superseded(self, parts: Engine, mnemic: Mnemic):
        write(parts, fact("User lives in a house in Lisbon", slot="home", value="Lisbon"))
        write(parts, fact("User lives in a flat in Porto", LATER, slot="home", value="Porto"))
        for question in ("Where do I live?", "the house in Lisbon", "What do you know about me?"):
            for shown in (
                mnemic.context(ANNA, question),
                mnemic.context(ANNA, question, min_relevance=0.0),
                mnemic.context(ANNA, question, limits=None),
            ):
                assert "Lisbon" not in "\n".join(shown.blocks.values())
                assert [hit.text for hit in shown.recall.hits] == ["User lives in a flat in Porto"]

    def test_what_ends_in_the_future_stays_until_then(self, parts: Engine, mnemic: Mnemic, clock: Clock):
        write(parts, fact("User lives in Lisbon"))
        clock.turn(days=1)
        write(parts, fact("User lives in Porto", LATER, valid_from=START + timedelta(days=30)))
        old = by_text(mnemic)["User lives in Lisbon"]
        assert (old.state, old.valid_to) == (State.ACTIVE, START + timedelta(days=30))

    def test_a_value_that_is_over_contradicts_nothing(self, parts: Engine):
        write(parts, fact("User lives in Porto"))
        past = {"valid_from": START - timedelta(days=99), "valid_to": START - timedelta(days=9)}
        assert (
            write(parts, fact("User lived in Oslo", LATER, slot="home", value="Oslo", **past))[0].action is Verdict.ADD
        )

    def test_another_user_and_a_private_place_are_other_places(self, parts: Engine):
        write(parts, fact("User lives in Lisbon"))
        elsewhere = Place(BERT.partition(Level.USER)), replace(PLACE, private_agent="jarvis")
        decisions = [write(parts, fact("User lives in Porto", LATER), place=place)[0] for place in elsewhere]
        assert [decision.action for decision in decisions] == [Verdict.ADD, Verdict.ADD]

    def test_in_a_place_of_many_users_nobody_s_home_ends_another_s(self, parts: Engine):
        org = Place(ANNA.partition(Level.ORG))
        write(parts, fact("User lives in Lisbon"), place=org)
        assert write(parts, fact("User lives in Porto", LATER), place=org)[0].action is Verdict.ADD

    @pytest.mark.requirement("P-05")
    @settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(
        parts_of=st.lists(
            st.tuples(
                st.sampled_from(
                    ["User owns", "User lost", "User visited", "User likes", "Anna flew from", "User speaks"]
                ),
                st.sampled_from(["Lisbon", "tea", "two boats", "3 boats", "French", "the doctor on 3 May"]),
            ),
            max_size=6,
            unique=True,
        )
    )
    def test_unrelated_facts_never_retire_each_other(
        self, make_parts: Callable[..., Engine], parts_of: list[tuple[str, str]]
    ):
        parts = make_parts(None)
        user = Place(replace(ANNA, user=f"u{next(NUMBERS)}").partition(Level.USER))
        texts = [" ".join(words) for words in parts_of]
        decisions = write(parts, *(fact(text, START + timedelta(days=n)) for n, text in enumerate(texts)), place=user)
        assert [decision.action for decision in decisions] == [Verdict.ADD] * len(texts)


class TestSupport:
    @pytest.mark.requirement("P-03")
    def test_a_fact_that_nobody_said_is_kept_in_quarantine_and_never_recalled(self, parts: Engine, mnemic: Mnemic):
        said = source(mnemic, "I had pizza for lunch")
        decision = write(parts, fact("User loves Italian opera", provenance=said))[0]
        assert decision.action is Verdict.QUARANTINE
        assert "0.00" in decision.reason
        (listed,) = mnemic.list(ANNA, states=[State.QUARANTINED]).memories
        assert [entry.support for entry in listed.provenance] == [0.0]
        assert decision.memory_id not in [hit.id for hit in mnemic.recall(ANNA, "Italian opera")]
        assert mnemic.history(ANNA, listed.id)[-1].reason == decision.reason

    @pytest.mark.requirement("P-03")
    @pytest.mark.parametrize(
        "said, text, fields",
        [
            ("I live in Porto", "User lives in Porto", {"slot": "home", "value": "Porto"}),
            ("I'm single", "User's relationship status is single", {"slot": "relationship", "value": "single"}),
            ("we adopted two cats", "User adopted 2 cats", {}),
            (
                "I flew to Oslo yesterday",
                "User flew to Oslo on 30 April 2026",
                {"valid_from": START - timedelta(days=1)},
            ),
            ("我住在上海", "用户住在上海", {}),
        ],
    )
    def test_stems_numbers_dates_and_the_name_of_a_slot_count_as_said(
        self, parts: Engine, mnemic: Mnemic, said: str, text: str, fields: dict[str, Any]
    ):
        assert write(parts, fact(text, provenance=source(mnemic, said), **fields))[0].action is Verdict.ADD

    @pytest.mark.requirement("P-03")
    def test_an_unsupported_fact_ends_nothing_and_becomes_active_when_it_is_said(self, parts: Engine, mnemic: Mnemic):
        write(parts, fact("User lives in Lisbon"))
        write(parts, fact("User lives in Porto", LATER, provenance=source(mnemic, "what a day")))
        assert by_text(mnemic)["User lives in Lisbon"].state is State.ACTIVE
        write(parts, fact("User lives in Porto", LATER, provenance=source(mnemic, "I live in Porto")))
        assert by_text(mnemic)["User lives in Porto"].state is State.ACTIVE

    @pytest.mark.requirement("P-03")
    def test_what_an_agent_learns_is_carried_by_what_its_user_said(self, parts: Engine, mnemic: Mnemic):
        learnt = fact("Invoices need two signatures", provenance=source(mnemic, "invoices need two signatures"))
        agent = Place(ANNA.partition(Level.AGENT), "jarvis", heard=ANNA.partition(Level.USER))
        assert write(parts, learnt, place=agent)[0].action is Verdict.ADD

    @pytest.mark.requirement("P-03")
    def test_a_fact_whose_sources_are_gone_is_dropped(self, parts: Engine, mnemic: Mnemic):
        said = source(mnemic, "I live in Porto")
        ready = prepare(parts, PLACE, [fact("User lives in Porto", provenance=said)])
        mnemic.delete(ANNA, said[0].source_id)
        with parts.store.write() as work:
            assert assimilate(parts, work, PLACE, ready, actor="tester")[0].action is Verdict.DROP
        assert by_text(mnemic) == {}


class TestModel:
    def parts(self, make_parts: Callable[..., Engine], embedder: object, *answers: Any) -> tuple[Engine, ScriptedLlm]:
        llm = ScriptedLlm(answers)
        return replace(make_parts(embedder), llm=llm), llm

    def test_only_open_pairs_are_asked_and_a_paraphrase_is_merged(
        self, make_parts: Callable[..., Engine], embedder: object
    ):
        parts, llm = self.parts(make_parts, embedder, '{"items": [{"pair": 1, "relation": "same"}]}')
        write(parts, fact("User will use the blue database for orders"))
        write(parts, fact("User sleeps late"))
        assert llm.prompts == []
        merged = write(parts, fact("User will take the blue database for orders", LATER))[0]
        assert (merged.action, len(llm.prompts)) == (Verdict.MERGE, 1)

    def test_what_a_model_calls_changed_supersedes(self, make_parts: Callable[..., Engine], embedder: object):
        parts, _ = self.parts(make_parts, embedder, '{"items": [{"pair": 1, "relation": "changed"}]}')
        write(parts, fact("User will use the blue database for orders"))
        decision = write(parts, fact("User will use the red database for orders", LATER))[0]
        assert decision.action is Verdict.SUPERSEDE

    @pytest.mark.parametrize(
        "answer",
        [
            UnavailableError("away"),
            "I think they are the same!",
            '{"items": [{"pair": 7, "relation": "same"}]}',
            '{"items": [{"pair": 1, "relation": "same"}, {"pair": 1, "relation": "other"}]}',
        ],
    )
    def test_a_model_that_fails_or_babbles_merges_and_retires_nothing(
        self, make_parts: Callable[..., Engine], embedder: object, answer: object
    ):
        parts, _ = self.parts(make_parts, embedder, answer)
        write(parts, fact("User will use the blue database for orders"))
        assert write(parts, fact("User will take the blue database for orders", LATER))[0].action is Verdict.ADD

    def test_no_model_makes_one_of_other_numbers(self, make_parts: Callable[..., Engine], embedder: object):
        parts, _ = self.parts(make_parts, embedder, '{"items": [{"pair": 1, "relation": "same"}]}')
        write(parts, fact("User ran 5 kilometres in the park today"))
        assert write(parts, fact("User ran 9 kilometres in the park today", LATER))[0].action is Verdict.ADD
