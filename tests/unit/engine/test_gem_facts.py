"""One object for a decision: wordings of a night become one gem, and a gem takes in what was extracted."""

from __future__ import annotations

import json

import pytest

from mnemic.api import Mnemic
from mnemic.model.item import Kind, State, gem_of
from mnemic.model.scope import Scope
from mnemic.model.settings import LifeSettings, Settings
from mnemic.ports.store import Store
from tests.unit.engine.curate_kit import gem
from tests.unit.engine.kit import ANNA, Clock
from tests.unit.engine.life_kit import opened

WITH_FACTS = Settings(life=LifeSettings(extracts=True))
SAID = "For the archive we chose PostgreSQL over InfluxDB, because the team already knows SQL."


def night(mnemic: Mnemic, clock: Clock) -> None:
    """What the worker does until the next morning."""
    mnemic.work()
    clock.turn(days=1)
    mnemic.work()
    mnemic.curate(ANNA)


@pytest.mark.requirement("T-14", "T-26", "R-46")
class TestOneObject:
    def test_a_fact_that_the_curator_keeps_too_becomes_the_gem(self, store: Store, clock: Clock):
        mnemic, _ = opened(store, clock, settings=WITH_FACTS)
        mnemic.capture(ANNA, user=SAID, assistant="SQL it is.")
        mnemic.work()
        (fact,) = mnemic.list(ANNA).memories
        night(mnemic, clock)
        found = mnemic.list(ANNA, kinds=["gem"], filter={"categories": {"contains": "decision"}}).memories
        assert [memory.text for memory in found] == [fact.text]
        assert {memory.kind for memory in mnemic.list(ANNA).memories} == {Kind.GEM, Kind.SUMMARY}
        told = gem_of(found[0])
        assert (told.gem, told.context) == (fact.text, "")
        assert (told.date, told.conversation_id, told.turn_range, told.source_turns) == (
            "2026-05-01",
            "s1",
            "1-1",
            (1,),
        )
        assert SAID.rstrip(".") in told.snippet

    def test_a_gem_of_a_model_takes_in_the_facts_that_it_says_and_undo_brings_them_back(
        self, store: Store, clock: Clock
    ):
        plain, _ = opened(store, clock, settings=WITH_FACTS)
        plain.capture(ANNA, user=SAID, assistant="SQL it is.")
        plain.work()
        (fact,) = plain.list(ANNA).memories
        text = "The team chose PostgreSQL over InfluxDB for the forecast archive because everybody already knows SQL"
        mnemic, _ = opened(store, clock, lambda _: json.dumps([gem(1, "x", gem=text, snippet=SAID)]))
        clock.turn(days=1)
        mnemic.curate(ANNA)
        (kept,) = mnemic.list(ANNA).memories
        assert (kept.kind, kept.text) == (Kind.GEM, text)
        assert mnemic.get(ANNA, fact.id).state is State.SUPERSEDED
        mnemic.undo(ANNA, kept.id)
        assert mnemic.get(ANNA, fact.id).state is State.ACTIVE

    def test_a_sentence_without_a_fact_is_no_gem_once_extraction_has_read_it(self, store: Store, clock: Clock):
        mnemic, _ = opened(store, clock, settings=WITH_FACTS)
        mnemic.capture(ANNA, user="lol", assistant="I decided to use Rust because it is fast.")
        night(mnemic, clock)
        assert mnemic.list(ANNA, kinds=["gem"]).memories == ()


@pytest.mark.requirement("T-23", "R-46")
class TestOneNight:
    @pytest.mark.parametrize("is_one_talk", [True, False])
    def test_two_wordings_of_one_decision_in_one_night_are_one_gem(
        self, store: Store, clock: Clock, *, is_one_talk: bool
    ):
        wordings = (
            "User chose PostgreSQL for the billing service because of its row locks",
            "User has chosen PostgreSQL for the billing service because of its row locks",
        )
        sessions = [ANNA, ANNA if is_one_talk else Scope(org="acme", user="anna", agent="jarvis", session="s2")]
        said = (
            "I chose PostgreSQL for the billing service because of its row locks.",
            "As I said, I have chosen PostgreSQL for the billing service because of its row locks.",
        )
        replies = [gem(n + 1, "x", gem=text, snippet=said[n]) for n, text in enumerate(wordings)]
        mnemic, _ = opened(store, clock, lambda _: json.dumps(replies), embedder=True)
        for scope, text in zip(sessions, said, strict=True):
            mnemic.capture(scope, user=text, assistant="Good.")
        clock.turn(days=1)
        mnemic.curate(ANNA)
        (kept,) = mnemic.list(ANNA, kinds=["gem"]).memories
        assert kept.text == wordings[0]

    def test_decisions_that_name_other_things_stay_two(self, store: Store, clock: Clock):
        replies = [
            gem(n + 1, "x", gem=f"User chose {what} for the billing service of the shop", snippet=f"I chose {what}")
            for n, what in enumerate(("PostgreSQL", "Redis"))
        ]
        mnemic, _ = opened(store, clock, lambda _: json.dumps(replies), embedder=True)
        for what in ("PostgreSQL", "Redis"):
            mnemic.capture(ANNA, user=f"I chose {what} for the billing service of the shop.", assistant="Good.")
        clock.turn(days=1)
        mnemic.curate(ANNA)
        assert len(mnemic.list(ANNA, kinds=["gem"]).memories) == 2
