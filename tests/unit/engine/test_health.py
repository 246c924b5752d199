"""How well what is remembered is: every seeded fault is found, nothing else is, and what can be ended ends."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from mnemic.api import Mnemic
from mnemic.engine.engine import Engine, new_id
from mnemic.engine.health import HealthReport
from mnemic.model.health import Ailment, HealthFinding
from mnemic.model.item import Cause, Flag, Memory, Provenance, State
from mnemic.model.records import Action, Job, JobState
from mnemic.model.scope import Scope
from tests.unit.engine.kit import ANNA, BERT, START, Clock

pytestmark = pytest.mark.requirement("P-28")
GOOD = (
    "User keeps bees and two hens behind the house",
    "User sails with Ines on Sundays",
    "User works at Nordwind as a rigger",
    "User is allergic to hazelnuts",
)


def told(mnemic: Mnemic, scope: Scope = ANNA, **fields: Any) -> HealthReport:
    return mnemic.health(scope, **fields)


def only(report: HealthReport) -> HealthFinding:
    """The one finding of a report."""
    assert len(report.findings) == 1, report.findings
    return report.findings[0]


def seeded(parts: Engine, memory: Memory, **changes: Any) -> Memory:
    """A memory changed behind the back of the engine."""
    with parts.store.write() as work:
        (known,) = work.memories.get(ANNA.visibility, [memory.id])
        new = replace(known, **changes)
        assert work.memories.replace(new, parts.terms(new.text), known.updated_at)
    return new


@pytest.fixture(autouse=True)
def good(mnemic: Mnemic) -> list[Memory]:
    """Memories that nothing is wrong with."""
    return mnemic.remember_many(ANNA, GOOD)


def test_where_nothing_is_wrong_nothing_is_found(mnemic: Mnemic, clock: Clock):
    mnemic.capture(ANNA, user="I moved to Lisbon", assistant="Nice")
    mnemic.remember(ANNA, "User lives in Porto")
    clock.turn(days=40)
    mnemic.remember(ANNA, "User lives in Oslo")  # supersedes: that is no fault
    report = told(mnemic)
    assert report.findings == ()
    assert (report.score.score, report.score.memories, report.score.counts) == (100.0, 5, {})


def test_an_empty_memory_is_well(mnemic: Mnemic):
    assert told(mnemic, BERT).score.score == 100.0


class TestDuplicates:
    def test_the_same_words_are_found_and_merged(self, mnemic: Mnemic):
        again = mnemic.remember(ANNA, "The user keeps bees and two hens behind the house")
        one = only(told(mnemic))
        assert (one.ailment, one.remedy.verb, one.remedy.is_safe) == (Ailment.DUPLICATE, "merge", True)
        assert again.id in one.ids
        assert one.text in (GOOD[0], again.text)
        report = told(mnemic, fix=["duplicate"])
        assert (report.findings, report.score.score, report.fixed) == ((), 100.0, (one,))
        assert mnemic.get(ANNA, one.ids[1]).state is State.SUPERSEDED
        mnemic.undo(ANNA, one.ids[0])
        assert mnemic.get(ANNA, one.ids[1]).state is State.ACTIVE

    def test_what_says_the_same_and_more_is_left_to_a_person(self, mnemic: Mnemic):
        mnemic.remember(ANNA, "User keeps bees and two hens behind the old house")
        one = only(told(mnemic, fix=["duplicate"]))
        assert (one.ailment, one.remedy.is_safe) == (Ailment.DUPLICATE, False)
        mnemic.merge(ANNA, one.remedy.arguments["ids"])  # type: ignore[arg-type] -- its ids
        assert told(mnemic).findings == ()

    def test_one_slot_filled_alike_is_found_without_shared_words(self, mnemic: Mnemic, parts: Engine):
        mnemic.remember(ANNA, "User lives in Porto")
        other = mnemic.remember(ANNA, "User is fond of whistling")
        slot = {"slot": "home", "value": "porto"}
        seeded(parts, other, text="User resides in Porto", dedup_key="user resides in porto", bookkeeping=slot)
        assert only(told(mnemic)).ailment is Ailment.DUPLICATE

    def test_the_same_at_another_level_is_found(self, mnemic: Mnemic):
        mnemic.remember(ANNA, GOOD[0], level="agent")
        one = only(told(mnemic))
        assert (one.ailment, one.remedy.verb, one.remedy.is_safe) == (Ailment.DUPLICATE, "delete", False)
        mnemic.delete(ANNA, str(one.remedy.arguments["id"]))
        assert told(mnemic).findings == ()

    @pytest.mark.parametrize(
        "other",
        [
            "User keeps bees and three hens behind the house",
            "User does not keep bees and two hens behind the house",
            "User keeps bees and two hens behind the house of Ines",
            "User keeps bees and two geese behind the house",
        ],
    )
    def test_what_says_otherwise_is_no_duplicate(self, mnemic: Mnemic, other: str):
        mnemic.remember(ANNA, other)
        assert all(one.ailment is not Ailment.DUPLICATE for one in told(mnemic).findings)

    def test_events_of_two_days_are_two(self, mnemic: Mnemic, clock: Clock):
        mnemic.remember(ANNA, "User met Ines for lunch", kind="event", valid_from=clock.now())
        clock.turn(days=1)
        mnemic.remember(ANNA, "User met Ines for lunch", kind="event", valid_from=clock.now())
        assert told(mnemic).findings == ()

    def test_without_an_embedder_words_alone_tell_and_a_note_says_so(self, make_parts: Callable[..., Engine]):
        mnemic = Mnemic(make_parts(None))
        mnemic.remember(ANNA, "User currently keeps bees and two hens behind the house")
        mnemic.remember(ANNA, "Behind the house User keeps bees and two hens")
        assert told(mnemic).notes == ("without an embedder, only duplicates with similar wording are found",)

    def test_a_very_long_list_is_found_by_index(self, mnemic: Mnemic, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setattr("mnemic.ranking.near_pairs.EXACT_TO", 0)
        mnemic.remember(ANNA, "User keeps bees and two hens behind the old house")
        assert only(told(mnemic)).ailment is Ailment.DUPLICATE


class TestJunk:
    def test_courtesies_are_found_and_archived(self, mnemic: Mnemic):
        junk = mnemic.remember(ANNA, "Thank you so much!")
        one = only(told(mnemic))
        assert (one.ailment, one.ids, one.reason) == (Ailment.JUNK, (junk.id,), "it is a courtesy")
        assert told(mnemic, fix=["junk"]).findings == ()
        assert mnemic.get(ANNA, junk.id).state is State.ARCHIVED
        assert mnemic.undo(ANNA, junk.id).state is State.ACTIVE

    def test_a_short_answer_below_its_question_is_none(self, mnemic: Mnemic):
        mnemic.remember(ANNA, "Yes", context="Wants a window seat")
        assert told(mnemic).findings == ()

    def test_what_is_pinned_is_none(self, mnemic: Mnemic):
        mnemic.remember(ANNA, "ok", is_pinned=True)
        assert told(mnemic).findings == ()


class TestStale:
    def test_what_expired_is_found_and_archived(self, mnemic: Mnemic, clock: Clock):
        memory = mnemic.remember(ANNA, "The window seat is free", expires_at=clock.now() + timedelta(days=1))
        assert told(mnemic).findings == ()
        clock.turn(days=2)
        one = only(told(mnemic))
        assert (one.ailment, one.ids, one.remedy.verb) == (Ailment.STALE, (memory.id,), "evict")
        assert told(mnemic, fix=["stale"]).findings == ()
        assert mnemic.history(ANNA, memory.id)[-1].action is Action.ARCHIVED

    def test_what_nothing_recalled_for_long_is_left_to_a_person(self, mnemic: Mnemic, clock: Clock):
        mnemic.recall(ANNA, "bees, sails, Nordwind, hazelnuts")
        clock.turn(days=200)
        assert told(mnemic).findings == ()
        mnemic.remember(ANNA, "User owns a kayak")
        clock.turn(days=200)
        one = only(told(mnemic, fix=["stale"]))
        assert (one.ailment, one.text, one.remedy.is_safe) == (Ailment.STALE, "User owns a kayak", False)
        mnemic.feedback(ANNA, one.ids[0], "relevant")
        assert told(mnemic).findings == ()

    def test_what_has_faded_is_archived(self, mnemic: Mnemic, clock: Clock):
        memory = mnemic.remember(ANNA, "User once saw a heron", importance=0.3)
        mnemic.recall(ANNA, "bees, sails, Nordwind, hazelnuts")
        clock.turn(days=400)
        one = only(told(mnemic))
        assert (one.ids, one.remedy.is_safe) == ((memory.id,), True)
        told(mnemic, fix=["stale"])
        assert mnemic.get(ANNA, memory.id).state is State.ARCHIVED

    def test_what_ended_long_ago_is_told(self, mnemic: Mnemic, clock: Clock, good: list[Memory]):
        mnemic.recall(ANNA, "bees, sails, Nordwind, hazelnuts")
        mnemic.feedback(ANNA, good[0].id, "outdated")
        clock.turn(days=100)
        assert told(mnemic).findings == ()
        clock.turn(days=100)
        one = only(told(mnemic))
        assert (one.ailment, one.ids, one.remedy.verb) == (Ailment.STALE, (good[0].id,), "delete")


class TestContradictory:
    def test_a_dispute_that_waits_is_found_once(self, mnemic: Mnemic, parts: Engine, good: list[Memory]):
        one, other = good[0], good[1]
        seeded(parts, one, state=State.DISPUTED, other_id=other.id)
        seeded(parts, other, state=State.DISPUTED, other_id=one.id)
        found = only(told(mnemic, fix=["contradictory"]))
        assert (found.ailment, set(found.ids), found.remedy.is_safe) == (
            Ailment.CONTRADICTORY,
            {one.id, other.id},
            False,
        )
        mnemic.trust(ANNA, str(found.remedy.arguments["id"]))
        assert told(mnemic).findings == ()

    def test_two_values_of_one_slot_are_found_and_settled(self, mnemic: Mnemic, parts: Engine, clock: Clock):
        older = mnemic.remember(ANNA, "User lives in Porto")
        clock.turn(days=2)
        newer = mnemic.remember(ANNA, "User is fond of whistling")
        slot = {"slot": "home", "value": "oslo"}
        seeded(parts, newer, text="User lives in Oslo", dedup_key="user lives in oslo", bookkeeping=slot)
        found = only(told(mnemic))
        assert (found.ailment, found.ids) == (Ailment.CONTRADICTORY, (older.id, newer.id))
        assert told(mnemic, fix=["contradictory"]).findings == ()
        assert mnemic.get(ANNA, older.id).state is State.SUPERSEDED
        assert mnemic.undo(ANNA, older.id).state is State.ACTIVE

    def test_a_sentence_and_its_denial_are_found(self, mnemic: Mnemic, good: list[Memory]):
        mnemic.remember(ANNA, "User is vegetarian")
        mnemic.update(ANNA, good[0].id, text="User is not vegetarian")
        assert only(told(mnemic)).ailment is Ailment.CONTRADICTORY

    def test_what_has_ended_contradicts_nothing(self, mnemic: Mnemic, clock: Clock, good: list[Memory]):
        vegetarian = mnemic.remember(ANNA, "User is vegetarian")
        mnemic.update(ANNA, good[0].id, text="User is not vegetarian")
        mnemic.feedback(ANNA, vegetarian.id, "outdated")
        clock.turn(seconds=1)
        assert told(mnemic).findings == ()


class TestUnsupported:
    def test_what_lost_all_its_sources_is_found_and_quarantined(
        self, mnemic: Mnemic, parts: Engine, good: list[Memory]
    ):
        lost = Provenance(source_id="gone", start=0, end=4, extractor="rules", version="1", support=1.0)
        seeded(parts, good[0], provenance=(lost,))
        found = only(told(mnemic))
        assert (found.ailment, found.ids, found.remedy.verb) == (Ailment.UNSUPPORTED, (good[0].id,), "delete")
        assert told(mnemic, fix=["unsupported"]).findings == ()
        assert [review.memory.id for review in mnemic.review(ANNA)] == [good[0].id]
        assert mnemic.undo(ANNA, good[0].id).state is State.ACTIVE

    def test_what_somebody_trusts_all_the_same_is_told_no_more(self, mnemic: Mnemic, parts: Engine, good: list[Memory]):
        lost = Provenance(source_id="gone", start=0, end=4, extractor="rules", version="1", support=1.0)
        seeded(parts, good[0], provenance=(lost,))
        told(mnemic, fix=["unsupported"])
        mnemic.trust(ANNA, good[0].id)
        assert told(mnemic).findings == ()

    def test_one_source_that_is_left_supports(self, mnemic: Mnemic, parts: Engine, good: list[Memory]):
        (message, _) = mnemic.capture(ANNA, user="I keep bees", assistant="Nice").messages
        lost = Provenance(source_id="gone", start=0, end=4, extractor="rules", version="1", support=1.0)
        seeded(parts, good[0], provenance=(lost, replace(lost, source_id=message.id)))
        assert told(mnemic).findings == ()

    def test_a_source_that_this_scope_cannot_see_supports(self, mnemic: Mnemic, parts: Engine):
        (message, _) = mnemic.capture(BERT, user="Answer shortly", assistant="Yes").messages
        learned = mnemic.remember(ANNA, "Users want short answers", level="agent")
        entry = Provenance(source_id=message.id, start=0, end=4, extractor="rules", version="1", support=1.0)
        seeded(parts, learned, provenance=(entry,))
        assert told(mnemic).findings == ()


class TestOrphaned:
    def test_what_was_made_of_something_no_longer_believed_is_found(
        self, mnemic: Mnemic, parts: Engine, good: list[Memory]
    ):
        flag = Flag(source_id="gone", cause=next(iter(Cause)), at=START, entry_id="e")
        seeded(parts, good[0], flags=(flag,))
        found = only(told(mnemic))
        assert (found.ailment, found.ids, found.remedy.verb) == (Ailment.ORPHANED, (good[0].id,), "trust")
        mnemic.trust(ANNA, good[0].id)
        assert told(mnemic).findings == ()

    def test_what_gave_way_to_something_deleted_is_found_and_brought_back(self, mnemic: Mnemic, clock: Clock):
        older = mnemic.remember(ANNA, "User lives in Porto")
        clock.turn(days=2)
        newer = mnemic.remember(ANNA, "User lives in Oslo")
        mnemic.delete(ANNA, newer.id)
        found = only(told(mnemic))
        assert (found.ailment, found.ids, found.remedy.verb) == (Ailment.ORPHANED, (older.id,), "undo")
        mnemic.undo(ANNA, older.id)
        assert told(mnemic).findings == ()

    def test_a_job_that_gave_up_is_found_and_tried_again(self, mnemic: Mnemic, parts: Engine, clock: Clock):
        job = dead_job(parts, clock)
        found = only(told(mnemic))
        assert (found.ailment, found.ids, found.remedy.verb) == (Ailment.ORPHANED, (job.id,), "jobs.retry")
        assert told(mnemic, fix=["orphaned"]).findings == ()
        assert [each.state for each in mnemic.jobs.list(ANNA)] == [JobState.PENDING]

    def test_those_of_others_are_theirs(self, mnemic: Mnemic, parts: Engine, clock: Clock):
        dead_job(parts, clock)
        assert told(mnemic, BERT).findings == ()


def dead_job(parts: Engine, clock: Clock) -> Job:
    now = clock.now()
    job = Job(id=new_id(now), partition=ANNA.message_partition, kind="extract", key="s1", created_at=now, run_at=now)
    with parts.store.write() as work:
        work.jobs.add([job])
        held = work.jobs.claim(["extract"], "w", now, now + timedelta(minutes=1))
        assert held is not None
        work.jobs.fail(held, "the model is away", None)
    return job
