"""Choices that are made again and again become one general preference; the singles are kept, and can come back."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

import pytest

from mnemic.adapters.llms.registry import Script, ScriptedLlm
from mnemic.api import Mnemic
from mnemic.engine.consolidate import ConsolidateReport, consolidate
from mnemic.engine.kinds import CONSOLIDATE
from mnemic.errors import UnavailableError
from mnemic.model.item import Kind, Memory, State, Trust
from mnemic.model.records import Action
from mnemic.model.scope import Scope
from mnemic.model.settings import LifeSettings, Settings
from mnemic.ports.store import Store
from mnemic.testing.observation import state_of
from tests.unit.engine.kit import ANNA, BERT, START, Clock
from tests.unit.engine.life_kit import Answers, opened, parts_over

WEEKS = (0, 5, 11, 20)
CHOICES = (
    "User and others decided to use PostgreSQL for the billing project because it has row locks.",
    "User chose PostgreSQL over MySQL for the shop",
    "User and others went with PostgreSQL again for the reports",
    "User decided to use PostgreSQL as the store of the map",
)
OTHERS = (
    "User chose Rust for the parser",
    "User decided not to use PostgreSQL for the cache",
    "User is considering PostgreSQL for the archive",
    "User chose PostgreSQL Monthly as a magazine for the office of a friend in Ulm",
    "User flew to Rome",
)


def remembered(
    mnemic: Mnemic, clock: Clock, texts: Sequence[str] = CHOICES, weeks: Sequence[int] = WEEKS, scope: Scope = ANNA
) -> list[str]:
    """Remember each so many weeks after the start; then half a year goes by."""
    ids: list[str] = []
    for text, week in zip(texts, weeks, strict=False):
        clock.at = START + timedelta(weeks=week)
        ids.append(mnemic.remember(scope, text, kind="gem", categories=["decision"]).id)
    clock.at = START + timedelta(days=240)
    return ids


def run(store: Store, clock: Clock, answers: Answers | None = None, *, is_dry_run: bool = False) -> ConsolidateReport:
    llm = None if answers is None else ScriptedLlm(answers)
    return consolidate(parts_over(store, clock, llm), ANNA, actor="tester", is_dry_run=is_dry_run)


def preference(mnemic: Mnemic) -> Memory:
    (memory,) = mnemic.list(ANNA, kinds=["preference"]).memories
    return memory


@pytest.fixture
def mnemic(store: Store, clock: Clock) -> Mnemic:
    return opened(store, clock)[0]


@pytest.mark.requirement("T-33")
class TestRules:
    def test_a_year_of_single_choices_becomes_one_preference(self, store: Store, clock: Clock, mnemic: Mnemic):
        ids = remembered(mnemic, clock)
        (entry,) = run(store, clock).entries
        assert (entry.is_new, entry.merged, entry.fallback) == (True, tuple(ids), "")
        general = preference(mnemic)
        assert general.id == entry.memory_id
        assert general.text == "User usually chooses PostgreSQL (4 times from 2026-05-01 to 2026-09-18)"
        assert general.categories == ("preference", "decision")
        assert general.trust is Trust.USER
        assert general.context.splitlines()[0] == f"2026-05-01: {CHOICES[0]}"
        assert [memory.id for memory in mnemic.list(ANNA).memories] == [general.id]

    def test_the_singles_are_kept_and_name_it(self, store: Store, clock: Clock, mnemic: Mnemic):
        ids = remembered(mnemic, clock)
        run(store, clock)
        general = preference(mnemic)
        for memory_id in ids:
            single = mnemic.get(ANNA, memory_id)
            assert isinstance(single, Memory)
            assert (single.state, single.other_id) == (State.SUPERSEDED, general.id)
            assert mnemic.history(ANNA, memory_id)[-1].action is Action.MERGED
        assert [entry.action for entry in mnemic.history(ANNA, general.id)] == [Action.CREATED, Action.MERGED]

    def test_a_question_about_one_of_them_still_finds_what_it_says(self, store: Store, clock: Clock, mnemic: Mnemic):
        remembered(mnemic, clock)
        run(store, clock)
        (hit, *_) = mnemic.recall(ANNA, "row locks billing").hits
        assert hit.item.id == preference(mnemic).id
        assert "row locks" in preference(mnemic).context

    def test_undo_brings_them_back_and_they_are_not_taken_again(self, store: Store, clock: Clock, mnemic: Mnemic):
        ids = remembered(mnemic, clock)
        run(store, clock)
        mnemic.undo(ANNA, preference(mnemic).id)
        assert {memory.id for memory in mnemic.list(ANNA).memories} == {*ids, preference(mnemic).id}
        assert run(store, clock).entries == ()

    def test_a_second_run_changes_nothing(self, store: Store, clock: Clock, mnemic: Mnemic):
        remembered(mnemic, clock)
        run(store, clock)
        before = state_of(store)
        assert run(store, clock).entries == ()
        assert state_of(store) == before

    def test_a_dry_run_says_what_would_be_and_writes_nothing(self, store: Store, clock: Clock, mnemic: Mnemic):
        ids = remembered(mnemic, clock)
        before = state_of(store)
        report = run(store, clock, is_dry_run=True)
        assert report.is_dry_run
        assert [(entry.merged, entry.memory_id) for entry in report.entries] == [(tuple(ids), None)]
        assert state_of(store) == before

    def test_a_later_choice_makes_the_preference_larger(self, store: Store, clock: Clock, mnemic: Mnemic):
        ids = remembered(mnemic, clock)
        run(store, clock)
        first = preference(mnemic)
        late = mnemic.remember(ANNA, "User picked PostgreSQL for the forum", kind="gem").id
        assert run(store, clock).entries == ()
        clock.turn(days=31)
        (entry,) = run(store, clock).entries
        assert (entry.is_new, entry.merged, entry.memory_id) == (False, (late,), first.id)
        larger = preference(mnemic)
        assert larger.text == "User usually chooses PostgreSQL (5 times from 2026-05-01 to 2026-12-27)"
        assert larger.bookkeeping["chosen_ids"] == [*ids, late]
        assert len(larger.context.splitlines()) == 5
        mnemic.undo(ANNA, first.id)
        assert mnemic.get(ANNA, late).state is State.ACTIVE
        assert mnemic.get(ANNA, ids[0]).state is State.SUPERSEDED
        assert preference(mnemic).text == first.text

    @pytest.mark.parametrize("weeks", [(0, 1, 2, 3), (0, 0, 20, 20), (32, 33, 34, 34)])
    def test_choices_of_a_short_time_stay_single(
        self, store: Store, clock: Clock, mnemic: Mnemic, weeks: tuple[int, ...]
    ):
        remembered(mnemic, clock, weeks=weeks)
        assert run(store, clock).entries == ()

    def test_other_things_refused_ones_and_stories_are_left_alone(self, store: Store, clock: Clock, mnemic: Mnemic):
        others = remembered(mnemic, clock, OTHERS, weeks=(0, 5, 9, 12, 20))
        ids = remembered(mnemic, clock)
        (entry,) = run(store, clock).entries
        assert entry.merged == tuple(ids)
        assert all(mnemic.get(ANNA, memory_id).state is State.ACTIVE for memory_id in others)

    def test_what_is_pinned_and_what_others_chose_is_left_alone(self, store: Store, clock: Clock, mnemic: Mnemic):
        ids = remembered(mnemic, clock)
        foreign = remembered(mnemic, clock, scope=BERT)
        mnemic.pin(ANNA, ids[1])
        (entry,) = run(store, clock).entries
        assert ids[1] not in entry.merged
        assert mnemic.get(ANNA, ids[1]).state is State.ACTIVE
        assert all(mnemic.get(BERT, memory_id).state is State.ACTIVE for memory_id in foreign)

    def test_a_preference_that_was_deleted_is_not_made_again(self, store: Store, clock: Clock, mnemic: Mnemic):
        remembered(mnemic, clock)
        run(store, clock)
        mnemic.delete(ANNA, preference(mnemic).id)
        assert run(store, clock).entries == ()

    def test_the_worker_does_it_by_its_schedule_unless_it_is_switched_off(self, store: Store, clock: Clock):
        off = Settings(life=LifeSettings(extracts=False, consolidates=False))
        mnemic, _ = opened(store, clock, settings=off)
        mnemic.work()
        ids = remembered(mnemic, clock)
        mnemic.work()
        assert mnemic.get(ANNA, ids[0]).state is State.ACTIVE
        on, _ = opened(store, clock, settings=Settings(life=LifeSettings(extracts=False)))
        on.work()
        clock.turn(days=8)
        on.work()
        assert mnemic.get(ANNA, ids[0]).state is State.SUPERSEDED
        assert str(preference(mnemic).bookkeeping["chosen"]).startswith("chooses: ")
        assert {entry.actor for entry in mnemic.history(ANNA, preference(mnemic).id)} == {CONSOLIDATE}

    def test_chinese_choices_too(self, store: Store, clock: Clock, mnemic: Mnemic):
        texts = ("用户选择了龙井茶，因为清淡", "用户又选择了龙井茶", "用户决定选择龙井茶来送人")
        remembered(mnemic, clock, texts)
        (entry,) = run(store, clock).entries
        assert entry.text == "用户通常选择龙井茶（2026-05-01至2026-07-17共3次）"


@pytest.mark.requirement("T-33")
class TestModel:
    def test_a_model_words_the_preference(self, store: Store, clock: Clock, mnemic: Mnemic):
        remembered(mnemic, clock)
        said = "User and others decided to use PostgreSQL for every project because of row locks."
        (entry,) = run(store, clock, [f'```json\n{{"gem": "{said}"}}\n```']).entries
        assert (entry.text, entry.fallback) == (said, "")
        assert preference(mnemic).text == said

    @pytest.mark.parametrize(
        "answer, fallback",
        [
            ('{"gem": "User adores expensive Oracle clusters and sailing boats."}', "BadReplyError"),
            ("no", "BadReplyError"),
            ('{"gem": ""}', "BadReplyError"),
            ('{"gem": "' + "PostgreSQL " * 60 + '"}', "BadReplyError"),
        ],
    )
    def test_what_a_model_makes_up_is_worded_by_the_rules(
        self, store: Store, clock: Clock, mnemic: Mnemic, answer: Script, fallback: str
    ):
        remembered(mnemic, clock)
        (entry,) = run(store, clock, [answer]).entries
        assert (entry.text.split(" (")[0], entry.fallback) == ("User usually chooses PostgreSQL", fallback)
        assert preference(mnemic).bookkeeping["fallback"] == fallback

    @pytest.mark.requirement("D-51")
    def test_while_a_model_is_away_nothing_is_stored_and_the_next_run_words_it(
        self, store: Store, clock: Clock, mnemic: Mnemic
    ):
        remembered(mnemic, clock)
        with pytest.raises(UnavailableError):
            run(store, clock, [UnavailableError("away")])
        assert mnemic.list(ANNA, kinds=["preference"]).memories == ()
        said = "User decided to use PostgreSQL for every project because of row locks."
        assert [entry.text for entry in run(store, clock, [f'{{"gem": "{said}"}}']).entries] == [said]

    def test_a_dry_run_asks_no_model(self, store: Store, clock: Clock, mnemic: Mnemic):
        remembered(mnemic, clock)
        assert len(run(store, clock, [], is_dry_run=True).entries) == 1


def test_kinds_that_the_choices_have_do_not_matter(store: Store, clock: Clock, mnemic: Mnemic):
    kinds = (Kind.GEM, Kind.EVENT, Kind.FACT, Kind.PREFERENCE)
    ids: list[str] = []
    for text, kind, week in zip(CHOICES, kinds, WEEKS, strict=True):
        clock.at = START + timedelta(weeks=week)
        ids.append(mnemic.remember(ANNA, text, kind=kind.value).id)
    clock.at = START + timedelta(days=240)
    assert run(store, clock).entries[0].merged == tuple(ids)
