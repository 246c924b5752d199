"""Fading: what importance becomes while nobody asks, what brings it back, and that a plan is what is done."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from mnemic.api import Mnemic
from mnemic.engine import sweep
from mnemic.engine.engine import Engine
from mnemic.engine.jobs import list_jobs
from mnemic.engine.kinds import DECAY
from mnemic.engine.upkeep import decay_partition
from mnemic.model.item import Kind, Memory
from mnemic.model.recall import Order
from mnemic.model.records import Job, JobState
from mnemic.model.scope import Level, Scope
from mnemic.ports.store import Store
from mnemic.testing.observation import state_of
from tests.unit.engine.kit import ANNA, BERT, Clock

HERS = ANNA.partition(Level.USER)


def present(mnemic: Mnemic, memory: Memory) -> float:
    found = mnemic.get(ANNA, memory.id)
    assert isinstance(found, Memory)
    return found.present_importance


def a_decay_job(mnemic_parts: Engine, clock: Clock) -> Job:
    """The job that a schedule adds for a partition."""
    job = Job(id="night", partition=HERS, kind=DECAY, key="night", created_at=clock.now(), run_at=clock.now())
    with mnemic_parts.store.write() as work:
        work.jobs.add([job])
    return job


@pytest.mark.requirement("R-21", "T-34")
def test_importance_halves_with_every_half_life_and_what_was_stored_stays(mnemic: Mnemic, clock: Clock):
    memory = mnemic.remember(ANNA, "Anna likes tea", importance=0.8)
    for expected in (0.4, 0.2, 0.1, 0.05, 0.05):
        clock.turn(days=30)
        (entry,) = mnemic.decay(ANNA).entries or [None]
        assert present(mnemic, memory) == expected
        assert entry is None or (entry.importance, entry.becomes) == (0.8, expected)
    kept = mnemic.get(ANNA, memory.id)
    assert isinstance(kept, Memory)
    assert kept.importance == 0.8


@pytest.mark.requirement("R-21")
def test_every_kind_fades_at_its_own_pace(mnemic: Mnemic, clock: Clock):
    memories = {kind: mnemic.remember(ANNA, f"of {kind}", kind=kind, importance=0.8) for kind in Kind}
    clock.turn(days=14)
    mnemic.decay(ANNA)
    assert present(mnemic, memories[Kind.EVENT]) == 0.4
    assert present(mnemic, memories[Kind.STATE]) == 0.2
    assert present(mnemic, memories[Kind.SCRATCHPAD]) == 0.05
    assert present(mnemic, memories[Kind.REFLECTION]) == 0.8
    assert present(mnemic, memories[Kind.FACT]) == pytest.approx(0.8 * 0.5 ** (14 / 30), abs=1e-4)


@pytest.mark.requirement("R-21")
def test_the_floor_raises_nothing_that_was_stored_below_it(mnemic: Mnemic, clock: Clock):
    memory = mnemic.remember(ANNA, "a trifle", importance=0.01)
    clock.turn(days=400)
    assert mnemic.decay(ANNA).entries == ()
    assert present(mnemic, memory) == 0.01


@pytest.mark.requirement("R-21", "T-34")
def test_an_access_refreshes(mnemic: Mnemic, clock: Clock):
    tea, cat = (mnemic.remember(ANNA, text, importance=0.8) for text in ("Anna likes tea", "Bert has a cat"))
    clock.turn(days=60)
    mnemic.decay(ANNA)
    mnemic.recall(ANNA, "likes tea", limit=1)
    report = mnemic.decay(ANNA)
    assert report.entries == ()
    assert (present(mnemic, tea), present(mnemic, cat)) == (0.8, 0.2)
    clock.turn(days=30)
    mnemic.decay(ANNA)
    assert (present(mnemic, tea), present(mnemic, cat)) == (0.4, 0.1)


@pytest.mark.requirement("R-21")
def test_the_verdict_relevant_refreshes_and_outdated_ends_validity(mnemic: Mnemic, clock: Clock):
    tea, flat = (mnemic.remember(ANNA, text, importance=0.8) for text in ("Anna likes tea", "Anna rents a flat"))
    clock.turn(days=60)
    mnemic.decay(ANNA)
    mnemic.feedback(ANNA, tea.id, "relevant")
    mnemic.feedback(ANNA, flat.id, "outdated")
    assert (present(mnemic, tea), present(mnemic, flat)) == (0.8, 0.2)
    assert {hit.id for hit in mnemic.recall(ANNA, "Anna tea flat")} == {tea.id}


@pytest.mark.requirement("R-21")
def test_a_corrected_memory_fades_anew_from_its_correction(mnemic: Mnemic, clock: Clock):
    memory = mnemic.remember(ANNA, "Anna likes tea", importance=0.4)
    clock.turn(days=300)
    mnemic.decay(ANNA)
    mnemic.update(ANNA, memory.id, importance=0.8)
    assert mnemic.decay(ANNA).entries == ()
    assert present(mnemic, memory) == 0.8


@pytest.mark.requirement("R-21")
def test_what_is_pinned_does_not_fade_and_gets_back_what_it_had_lost(mnemic: Mnemic, clock: Clock):
    pinned = mnemic.remember(ANNA, "Anna likes tea", importance=0.8, is_pinned=True)
    late = mnemic.remember(ANNA, "Anna likes jam", importance=0.8)
    clock.turn(days=60)
    assert [entry.id for entry in mnemic.decay(ANNA).entries] == [late.id]
    mnemic.pin(ANNA, late.id)
    clock.turn(days=60)
    mnemic.decay(ANNA)
    assert (present(mnemic, pinned), present(mnemic, late)) == (0.8, 0.8)


def test_an_import_of_old_conversations_does_not_fade_at_once(mnemic: Mnemic):
    mnemic.remember(ANNA, "Anna likes tea", importance=0.8, observed_at="2019-01-01")
    assert mnemic.decay(ANNA).entries == ()


@pytest.mark.requirement("P-19", "R-21")
def test_a_dry_run_is_the_plan_of_what_is_done_and_a_second_run_does_nothing(
    mnemic: Mnemic, clock: Clock, store: Store
):
    for number in range(5):
        mnemic.remember(ANNA, f"fact {number}", importance=number / 5)
    clock.turn(days=45)
    mnemic.recall(ANNA, "fact 3", limit=1)
    mnemic.decay(ANNA, is_dry_run=True)  # writes down what was recalled until now
    before = state_of(store)
    plan = mnemic.decay(ANNA, is_dry_run=True)
    assert state_of(store) == before
    deed = mnemic.decay(ANNA)
    assert replace(plan, is_dry_run=False) == deed
    assert len(deed.entries) > 0
    after = state_of(store)
    assert mnemic.decay(ANNA).entries == ()
    assert state_of(store) == after


def test_a_scope_lets_only_fade_what_it_may_see_and_nothing_of_the_org_unless_said(mnemic: Mnemic, clock: Clock):
    other = Scope(org="acme", user="anna", agent="friday")
    secret = mnemic.remember(other, "Friday's own", is_private=True, importance=0.8)
    his = mnemic.remember(BERT, "Bert has a cat", importance=0.8)
    shared = mnemic.remember(ANNA, "The office closes at six", level="org", importance=0.8)
    own = mnemic.remember(ANNA, "Anna likes tea", importance=0.8)
    clock.turn(days=30)
    assert [entry.id for entry in mnemic.decay(ANNA).entries] == [own.id]
    assert [entry.id for entry in mnemic.decay(ANNA, levels=["org"]).entries] == [shared.id]
    assert [entry.id for entry in mnemic.decay(other).entries] == [secret.id]
    assert [entry.id for entry in mnemic.decay(BERT, levels=[]).entries] == [his.id]


@pytest.mark.requirement("R-21", "T-34")
def test_a_job_lets_everything_of_its_partition_fade(mnemic: Mnemic, parts: Engine, clock: Clock):
    other = Scope(org="acme", user="anna", agent="friday")
    memories = [
        mnemic.remember(ANNA, "Anna likes tea", importance=0.8),
        mnemic.remember(other, "Friday's own", is_private=True, importance=0.8),
    ]
    clock.turn(days=30)
    a_decay_job(parts, clock)
    assert mnemic.work().done >= 1
    faded = [mnemic.get(other if place else ANNA, memory.id) for place, memory in enumerate(memories)]
    assert [memory.present_importance for memory in faded if isinstance(memory, Memory)] == [0.4, 0.4]


def test_a_large_partition_is_gone_over_by_several_jobs_in_pages(
    mnemic: Mnemic, parts: Engine, clock: Clock, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(sweep, "PAGE", 3)
    monkeypatch.setattr("mnemic.engine.upkeep.PAGES_A_JOB", 2)
    mnemic.remember_many(ANNA, [{"text": f"fact {number}", "importance": 0.8} for number in range(14)])
    clock.turn(days=30)
    a_decay_job(parts, clock)
    mnemic.work()
    memories = mnemic.list(ANNA).memories
    assert [memory.present_importance for memory in memories] == [0.4] * 14
    jobs = [job for job in list_jobs(parts, ANNA, list(JobState)) if job.key == "night"]
    assert [job.state for job in jobs] == [JobState.DONE] * 3


def test_a_partition_whose_size_is_a_whole_number_of_pages_comes_to_its_end(
    mnemic: Mnemic, parts: Engine, clock: Clock, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(sweep, "PAGE", 2)
    monkeypatch.setattr("mnemic.engine.upkeep.PAGES_A_JOB", 2)
    mnemic.remember_many(ANNA, ["a", "b", "c", "d"])
    clock.turn(days=30)
    following = decay_partition(parts, HERS)
    assert following is not None
    assert decay_partition(parts, HERS, following) is None


class TestUse:
    """Where the present importance counts instead of the stored one."""

    @pytest.fixture
    def memories(self, mnemic: Mnemic, clock: Clock) -> Sequence[Memory]:
        """One that was important long ago, one of less importance that is new."""
        old = mnemic.remember(ANNA, "Anna likes tea", importance=0.9)
        clock.turn(days=90)
        new = mnemic.remember(ANNA, "Anna has a cat", importance=0.5)
        mnemic.decay(ANNA)
        return old, new

    @pytest.mark.requirement("R-21")
    def test_listings_by_importance_and_profiles_show_what_is_important_now(
        self, mnemic: Mnemic, memories: Sequence[Memory]
    ):
        old, new = memories
        assert [m.id for m in mnemic.list(ANNA, order=Order.IMPORTANCE).memories] == [new.id, old.id]
        assert [m.id for m in mnemic.profile.all(ANNA).dynamic] == [new.id, old.id]

    @pytest.mark.requirement("J-32")
    def test_general_background_is_what_matters_for_years_and_its_score_says_so(
        self, mnemic: Mnemic, memories: Sequence[Memory], clock: Clock
    ):
        old, new = memories
        hits = mnemic.recall(ANNA, "").hits
        assert [(hit.id, round(hit.score, 2)) for hit in hits] == [(old.id, 0.76), (new.id, 0.5)]
        assert all(sum(part.points for part in hit.contributions) == hit.score for hit in hits)
        clock.turn(days=365)
        later = mnemic.remember(ANNA, "Anna sold the cat", importance=0.5)
        assert [hit.id for hit in mnemic.recall(ANNA, "").hits] == [later.id, old.id, new.id]
