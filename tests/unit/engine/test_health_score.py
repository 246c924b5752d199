"""The score of what is remembered, what a report holds, and what a look may and may not do."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from mnemic.api import Mnemic
from mnemic.engine import health as engine_health
from mnemic.engine.engine import Engine
from mnemic.engine.health import HealthReport
from mnemic.errors import InvalidInputError
from mnemic.model.health import WEIGHTS, Ailment
from mnemic.model.item import State
from mnemic.model.scope import Scope
from mnemic.ports.store import Store
from mnemic.testing.observation import state_of
from tests.unit.engine.kit import ANNA, BERT, Clock

pytestmark = pytest.mark.requirement("P-28")
GOOD = (
    "User keeps bees and two hens behind the house",
    "User sails with Ines on Sundays",
    "User works at Nordwind as a rigger",
    "User is allergic to hazelnuts",
)


def told(mnemic: Mnemic, scope: Scope = ANNA, **fields: Any) -> HealthReport:
    return mnemic.health(scope, **fields)


@pytest.fixture(autouse=True)
def good(mnemic: Mnemic) -> None:
    """Memories that nothing is wrong with."""
    mnemic.remember_many(ANNA, GOOD)


class TestScore:
    def test_it_is_what_its_formula_says(self, mnemic: Mnemic):
        mnemic.remember(ANNA, "Thank you!")
        mnemic.remember(ANNA, "The user keeps bees and two hens behind the house")
        score = told(mnemic).score
        ailing = WEIGHTS[Ailment.JUNK] + WEIGHTS[Ailment.DUPLICATE]
        assert score.score == round(100 * (1 - ailing / 6), 1)
        assert (score.memories, score.counts) == (6, {"junk": 1, "duplicate": 1})

    def test_it_is_kept_over_time_by_whose_memories_they_are(self, mnemic: Mnemic, clock: Clock):
        told(mnemic)
        mnemic.remember(ANNA, "Thank you!")
        clock.turn(days=1)
        assert [each.score for each in told(mnemic).scores] == [100.0]
        clock.turn(days=1)
        told(mnemic, fix=["junk"])
        clock.turn(hours=1)
        told(mnemic)  # the same within a day is not kept again
        scores = told(mnemic).scores
        assert [each.score for each in scores] == [100.0, 82.0, 100.0]
        assert scores[1].at - scores[0].at == timedelta(days=1)
        assert told(mnemic, BERT).scores == ()

    def test_a_look_at_some_kinds_or_levels_is_not_kept(self, mnemic: Mnemic):
        mnemic.remember(ANNA, "Thank you!")
        report = told(mnemic, only=["duplicate"])
        assert (report.findings, report.score.score) == ((), 100.0)
        told(mnemic, levels=["user"])
        assert told(mnemic).scores == ()

    def test_erasing_the_user_takes_the_scores_along(self, mnemic: Mnemic):
        told(mnemic)
        mnemic.erase(ANNA, level="user")
        assert told(mnemic).scores == ()


def test_a_dry_run_says_what_would_be_ended_and_changes_nothing(store: Store, mnemic: Mnemic):
    mnemic.remember(ANNA, "Thank you!")
    mnemic.remember(ANNA, "The user keeps bees and two hens behind the house")
    before = state_of(store)
    plan = told(mnemic, fix=list(Ailment), is_dry_run=True)
    assert (state_of(store), plan.is_dry_run, len(plan.findings)) == (before, True, 2)
    assert told(mnemic, fix=list(Ailment)).fixed == plan.fixed


def test_nothing_is_ended_that_was_not_asked_for(mnemic: Mnemic):
    junk = mnemic.remember(ANNA, "Thank you!")
    assert told(mnemic, fix=["duplicate"]).fixed == ()
    assert mnemic.get(ANNA, junk.id).state is State.ACTIVE


def test_other_users_are_neither_looked_at_nor_changed(mnemic: Mnemic):
    theirs = mnemic.remember(BERT, "Thank you!")
    private = mnemic.remember(replace(ANNA, agent="friday"), "Thanks!", is_private=True)
    report = told(mnemic, fix=list(Ailment))
    assert (report.findings, report.fixed) == ((), ())
    assert mnemic.get(BERT, theirs.id).state is State.ACTIVE
    assert mnemic.get(replace(ANNA, agent="friday"), private.id).state is State.ACTIVE


def test_the_list_is_cut_and_the_counts_are_not(mnemic: Mnemic):
    mnemic.remember_many(ANNA, [f"{word}!" for word in ("Thanks", "Danke", "Merci", "Gracias")])
    report = told(mnemic, limit=2)
    assert (len(report.findings), report.score.counts) == (2, {"junk": 4})


def test_more_than_can_be_held_is_counted_and_told(mnemic: Mnemic, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(engine_health, "MAX_KEPT", 1)
    mnemic.remember_many(ANNA, ["Thanks!", "Danke!"])
    report = told(mnemic)
    assert report.notes == ("1 more junk findings were counted but not listed; run it again",)


def test_progress_rises_to_the_end(mnemic: Mnemic):
    told_of: list[tuple[int, int]] = []
    mnemic.health(ANNA, progress=lambda done, total: told_of.append((done, total)))
    assert told_of == sorted(told_of)
    assert told_of[-1] == (8, 8)


@pytest.mark.parametrize(
    "fields", [{"limit": 0}, {"limit": 1001}, {"only": ["rust"]}, {"fix": ["all"]}, {"limit": "3"}]
)
def test_what_cannot_be_is_refused(mnemic: Mnemic, fields: dict[str, Any]):
    with pytest.raises(InvalidInputError):
        mnemic.health(ANNA, **fields)


def test_a_scope_of_nobody_is_refused(mnemic: Mnemic):
    with pytest.raises(InvalidInputError):
        mnemic.health(Scope())


class TestByNight:
    """The schedule that keeps scores; it is off unless it is wanted."""

    @pytest.fixture
    def wanted(self, parts: Engine) -> Mnemic:
        life = replace(parts.settings.life, scores_health=True)
        return Mnemic(replace(parts, settings=replace(parts.settings, life=life)), actor="tester")

    def nights(self, mnemic: Mnemic, clock: Clock, number: int) -> None:
        for _ in range(number + 1):
            mnemic.work()
            clock.turn(days=1)

    def test_the_score_of_every_user_and_agent_is_kept_although_nobody_asked(self, wanted: Mnemic, clock: Clock):
        wanted.remember(BERT, "Thank you!")
        wanted.remember(ANNA, "Answer in German", level="agent")
        self.nights(wanted, clock, 3)
        whose = [Scope(org="acme", user="anna"), Scope(org="acme", user="bert"), Scope(org="acme", agent="jarvis")]
        scores = [[each.score for each in told(wanted, scope, is_dry_run=True).scores] for scope in whose]
        assert scores == [[100.0] * 3, [10.0] * 3, [100.0] * 3]

    def test_it_mends_nothing(self, wanted: Mnemic, clock: Clock):
        thanks = wanted.remember(BERT, "Thank you!")
        self.nights(wanted, clock, 1)
        assert [memory.id for memory in wanted.list(BERT).memories] == [thanks.id]

    def test_unless_it_is_wanted_nothing_is_kept(self, mnemic: Mnemic, clock: Clock):
        self.nights(mnemic, clock, 3)
        assert told(mnemic, is_dry_run=True).scores == ()
