"""Eviction: what is archived, what is deleted, what stays, and that a failure leaves nothing half done."""

from __future__ import annotations

import logging
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import replace
from itertools import count
from typing import Any, cast

import pytest

from mnemic.adapters.stores.memory import MemoryStore
from mnemic.api import Mnemic
from mnemic.engine import sweep
from mnemic.engine.engine import Engine
from mnemic.engine.handlers import HANDLERS
from mnemic.engine.jobs import work
from mnemic.engine.kinds import EVICT
from mnemic.engine.upkeep import evict_partition
from mnemic.errors import NotFoundError, UnavailableError
from mnemic.model.item import Kind, Memory, State
from mnemic.model.records import Action, Job
from mnemic.model.scope import Level, Scope
from mnemic.ports.store import Store
from mnemic.testing.faults import Fault, FaultyStore
from mnemic.testing.observation import state_of
from tests.unit.engine.kit import ANNA, BERT, Clock, WordEmbedder

HERS = ANNA.partition(Level.USER)


def evicted(mnemic: Mnemic, scope: Scope = ANNA, **options: Any) -> tuple[set[str], set[str]]:
    """The ids of what was archived, and of what was deleted."""
    report = mnemic.evict(scope, **options)
    return {each.id for each in report.archived}, {each.id for each in report.deleted}


def state(mnemic: Mnemic, memory: Memory) -> State:
    found = mnemic.get(ANNA, memory.id)
    assert isinstance(found, Memory)
    return found.state


def add_job(parts: Engine) -> None:
    """The job that a schedule adds for a partition."""
    now = parts.clock.now()
    with parts.store.write() as unit:
        unit.jobs.add([Job(id="night", partition=HERS, kind=EVICT, key="night", created_at=now, run_at=now)])


class TestAge:
    """D-41, with archiving as the deletion that it checks: gone from recall at once (R-20)."""

    @pytest.mark.requirement("D-38", "D-41", "R-20")
    def test_importance_of_5_percent_at_200_days_goes(self, mnemic: Mnemic, clock: Clock):
        memory = mnemic.remember(ANNA, "Anna likes tea", importance=0.05)
        clock.turn(days=200)
        assert evicted(mnemic) == ({memory.id}, set())
        assert state(mnemic, memory) is State.ARCHIVED
        assert mnemic.recall(ANNA, "tea").hits == ()
        assert mnemic.recall(ANNA, "").hits == ()

    @pytest.mark.requirement("D-38", "D-41", "R-20")
    def test_importance_of_90_percent_at_200_days_stays(self, mnemic: Mnemic, clock: Clock):
        memory = mnemic.remember(ANNA, "Anna likes tea", importance=0.9)
        clock.turn(days=200)
        mnemic.decay(ANNA)
        assert evicted(mnemic) == (set(), set())
        assert [hit.id for hit in mnemic.recall(ANNA, "tea")] == [memory.id]

    @pytest.mark.requirement("D-38", "D-41", "R-20")
    def test_importance_of_5_percent_at_10_days_stays(self, mnemic: Mnemic, clock: Clock):
        mnemic.remember(ANNA, "Anna likes tea", importance=0.05)
        clock.turn(days=10)
        assert evicted(mnemic) == (set(), set())

    @pytest.mark.requirement("D-40", "D-41", "R-20")
    def test_a_store_that_fails_is_a_warning_no_exception_and_deletes_nothing(
        self, store: Store, make_parts: Callable[..., Engine], clock: Clock, caplog: pytest.LogCaptureFixture
    ):
        parts = make_parts(None)
        stale = Mnemic(parts).remember(ANNA, "Anna likes tea", importance=0.05)
        add_job(parts)
        clock.turn(days=200)
        before = state_of_memories(store)
        broken = replace(parts, store=cast("Store", _FailsToPage(store)))
        with caplog.at_level(logging.WARNING):
            report = work(broken, HANDLERS, worker="night")
        assert report.retried >= 1
        assert {r.levelno for r in caplog.records if "evict" in r.getMessage()} == {logging.WARNING}
        assert state_of_memories(store) == before
        clock.turn(minutes=5)
        assert Mnemic(parts).work().done >= 1
        assert state(Mnemic(parts), stale) is State.ARCHIVED

    @pytest.mark.requirement("D-38", "R-20")
    @pytest.mark.parametrize(
        "importance, days, is_stale",
        [(0.5, 181, True), (0.59, 181, True), (0.6, 3000, False), (0.05, 180, False), (0.05, 180.01, True)],
    )
    def test_the_borders_are_those_of_the_settings(
        self, mnemic: Mnemic, clock: Clock, importance: float, days: float, *, is_stale: bool
    ):
        memory = mnemic.remember(ANNA, "Anna likes tea", importance=importance)
        clock.turn(days=days)
        assert evicted(mnemic)[0] == ({memory.id} if is_stale else set())

    @pytest.mark.requirement("R-20")
    def test_importance_counts_as_it_has_faded_by_now_whether_decay_has_run_or_not(self, mnemic: Mnemic, clock: Clock):
        unread, read = mnemic.remember_many(
            ANNA, [{"text": text, "importance": 0.5} for text in ("Anna likes tea", "Bert has a cat")]
        )
        clock.turn(days=190)
        mnemic.recall(ANNA, "cat", limit=1)
        clock.turn(days=60)
        assert evicted(mnemic) == ({unread.id}, set())
        clock.turn(days=30)
        clock.turn(days=400)
        assert evicted(mnemic) == (set(), {unread.id})
        assert [memory.id for memory in mnemic.list(ANNA).memories] == [read.id]

    @pytest.mark.requirement("R-20")
    def test_pinned_memories_reflections_and_the_profile_stay(self, mnemic: Mnemic, clock: Clock):
        kept = mnemic.remember_many(
            ANNA,
            [
                {"text": "pinned", "importance": 0.05, "is_pinned": True},
                {"text": "reflected", "importance": 0.05, "kind": "reflection"},
                {"text": "pinned for a day", "is_pinned": True, "expires_at": clock.now().replace(day=2)},
            ],
        )
        mnemic.profile.set(ANNA, {"name": "Anna"})
        clock.turn(days=4000)
        assert evicted(mnemic) == (set(), set())
        assert [state(mnemic, memory) for memory in kept[:2]] == [State.ACTIVE] * 2
        assert mnemic.profile.get(ANNA) == {"name": "Anna"}

    @pytest.mark.requirement("D-37", "R-20")
    def test_every_memory_is_looked_at_and_not_what_some_question_finds(
        self, make_parts: Callable[..., Engine], embedder: WordEmbedder, clock: Clock, monkeypatch: pytest.MonkeyPatch
    ):
        monkeypatch.setattr(sweep, "PAGE", 40)
        mnemic, plain = Mnemic(make_parts(embedder)), Mnemic(make_parts(None))
        fresh = [{"text": f"Ana mag Tee {number}", "importance": 0.9} for number in range(150)]
        mnemic.remember_many(ANNA, fresh)
        stale = plain.remember_many(ANNA, [{"text": f"{number}", "importance": 0.05} for number in range(150)])
        clock.turn(days=200)
        embedder.calls.clear()
        report = mnemic.evict(ANNA)
        assert {each.id for each in report.archived} == {memory.id for memory in stale}
        assert (report.examined, embedder.calls) == (300, [])

    @pytest.mark.requirement("D-39")
    def test_a_memory_without_an_importance_or_a_time_of_its_own_stays(self, mnemic: Mnemic, clock: Clock):
        unsaid = mnemic.remember(ANNA, "Anna likes tea")
        clock.turn(days=4000)
        undated = mnemic.remember(ANNA, "Anna has a cat", importance=0.05, observed_at="2001-01-01")
        assert evicted(mnemic) == (set(), set())
        assert [state(mnemic, memory) for memory in (unsaid, undated)] == [State.ACTIVE] * 2

    @pytest.mark.requirement("D-40")
    def test_nothing_stale_is_a_word_in_the_debug_log_and_no_write(
        self, mnemic: Mnemic, parts: Engine, store: Store, caplog: pytest.LogCaptureFixture
    ):
        mnemic.remember(ANNA, "Anna likes tea")
        before = state_of(store)
        with caplog.at_level(logging.DEBUG, "mnemic.evict"):
            assert evict_partition(parts, HERS) is None
        assert [(r.levelno, r.getMessage()) for r in caplog.records] == [(logging.DEBUG, "there was nothing to evict")]
        assert state_of(store) == before


class TestArchive:
    """The way out: archived with a word, brought back, or deleted for good."""

    @pytest.mark.requirement("R-20")
    def test_what_is_archived_says_why_and_undo_brings_it_back_for_good(self, mnemic: Mnemic, clock: Clock):
        memory = mnemic.remember(ANNA, "Anna likes tea", importance=0.05)
        clock.turn(days=200)
        (eviction,) = mnemic.evict(ANNA).archived
        entry = mnemic.history(ANNA, memory.id)[-1]
        assert (entry.action, entry.actor, entry.reason) == (Action.ARCHIVED, "tester", eviction.reason)
        assert "faded to 0.05" in entry.reason
        assert mnemic.undo(ANNA, memory.id).state is State.ACTIVE
        assert evicted(mnemic) == (set(), set())
        clock.turn(days=181)
        assert evicted(mnemic)[0] == {memory.id}

    @pytest.mark.requirement("R-20", "R-03")
    def test_what_was_archived_30_days_ago_is_deleted_however_it_was_archived(
        self, make_parts: Callable[..., Engine], embedder: WordEmbedder, clock: Clock
    ):
        parts = make_parts(embedder)
        small = replace(parts.settings, max_session_memories=1)
        mnemic = Mnemic(replace(parts, settings=small))
        fields = {"level": "session", "expires_at": "2040-01-01"}
        crowded, _ = mnemic.remember_many(ANNA, [{"text": t, **fields} for t in ("first", "second")])
        clock.turn(days=30)
        assert evicted(mnemic) == (set(), set())
        clock.turn(minutes=1)
        assert evicted(mnemic) == (set(), {crowded.id})
        with pytest.raises(NotFoundError):
            mnemic.get(ANNA, crowded.id)
        *scrubbed, deleted = mnemic.history(ANNA, crowded.id)
        assert all((entry.before, entry.after, entry.reason) == ({}, {}, "") for entry in scrubbed)
        assert (deleted.action, deleted.reason) == (Action.DELETED, "it was archived for more than 30 days")
        assert "first" not in repr(state_of(parts.store))

    @pytest.mark.requirement("R-20")
    def test_what_is_pinned_in_the_archive_is_never_deleted(self, mnemic: Mnemic, clock: Clock):
        memory = mnemic.remember(ANNA, "Anna likes tea", importance=0.05)
        clock.turn(days=200)
        mnemic.evict(ANNA)
        mnemic.pin(ANNA, memory.id)
        clock.turn(days=400)
        assert evicted(mnemic) == (set(), set())

    def test_what_has_expired_is_archived_whatever_its_importance_and_deleted_in_time(
        self, mnemic: Mnemic, clock: Clock
    ):
        memory = mnemic.remember(ANNA, "a guest password", importance=1.0, expires_at="2026-05-02")
        assert evicted(mnemic) == (set(), set())
        clock.turn(days=1)
        (eviction,) = mnemic.evict(ANNA).archived
        assert (eviction.id, eviction.reason) == (memory.id, "it had expired")
        clock.turn(days=31)
        assert evicted(mnemic) == (set(), {memory.id})

    @pytest.mark.requirement("R-03")
    def test_a_full_session_archives_its_least_important_memories_but_no_reflection(
        self, make_parts: Callable[..., Engine], embedder: WordEmbedder
    ):
        parts = make_parts(embedder)
        mnemic = Mnemic(replace(parts, settings=replace(parts.settings, max_session_memories=2)))
        told = [("reflection", 0.01), ("fact", 0.5), ("fact", 0.4), ("fact", 0.3)]
        mnemic.remember_many(
            ANNA,
            [
                {"text": f"{place}", "kind": kind, "importance": i, "level": "session"}
                for place, (kind, i) in enumerate(told)
            ],
        )
        left = mnemic.list(ANNA, levels=["session"]).memories
        assert {(memory.kind, memory.importance) for memory in left} == {(Kind.REFLECTION, 0.01), (Kind.FACT, 0.5)}


class TestPlan:
    """A dry run says what would be done, and a run does it, all of it or none."""

    @pytest.fixture
    def crowd(self, mnemic: Mnemic, clock: Clock) -> None:
        """Something to archive for each reason, something to delete, something to keep."""
        old = [{"text": f"old {number}", "importance": 0.05} for number in range(4)]
        mnemic.remember_many(ANNA, old)
        clock.turn(days=181)
        mnemic.evict(ANNA)
        mnemic.remember_many(ANNA, [{"text": f"newer {number}", "importance": 0.1 * number} for number in range(6)])
        clock.turn(days=181)
        mnemic.remember(ANNA, "a guest password", expires_at=clock.now())

    @pytest.mark.requirement("P-19", "R-20")
    @pytest.mark.usefixtures("crowd")
    def test_a_dry_run_is_the_plan_of_what_is_done_and_a_second_run_does_nothing(self, mnemic: Mnemic, store: Store):
        before = state_of(store)
        plan = mnemic.evict(ANNA, is_dry_run=True)
        assert state_of(store) == before
        assert (len(plan.archived), len(plan.deleted)) == (7, 4)
        assert mnemic.evict(ANNA) == replace(plan, is_dry_run=False)
        after = state_of(store)
        assert evicted(mnemic) == (set(), set())
        assert state_of(store) == after

    def test_a_scope_evicts_only_what_it_may_see(self, mnemic: Mnemic, clock: Clock):
        other = Scope(org="acme", user="anna", agent="friday")
        secret = mnemic.remember(other, "Friday's own", is_private=True, importance=0.05)
        his = mnemic.remember(BERT, "Bert has a cat", importance=0.05)
        shared = mnemic.remember(ANNA, "The office closes at six", level="org", importance=0.05)
        clock.turn(days=200)
        assert evicted(mnemic) == (set(), set())
        assert evicted(mnemic, levels=["org"])[0] == {shared.id}
        assert evicted(mnemic, other)[0] == {secret.id}
        assert evicted(mnemic, BERT)[0] == {his.id}

    @pytest.mark.requirement("R-20")
    def test_a_job_evicts_everything_of_its_partition(self, mnemic: Mnemic, parts: Engine, clock: Clock):
        other = Scope(org="acme", user="anna", agent="friday")
        mnemic.remember(other, "Friday's own", is_private=True, importance=0.05)
        mnemic.remember(ANNA, "Anna likes tea", importance=0.05)
        clock.turn(days=200)
        add_job(parts)
        assert mnemic.work().done >= 1
        assert mnemic.list(other).memories == ()
        archived = mnemic.list(other, states=["archived"]).memories
        assert {mnemic.history(other, memory.id)[-1].actor for memory in archived} == {"upkeep"}
        assert len(archived) == 2

    @pytest.mark.requirement("D-40", "D-41")
    def test_a_failure_of_any_step_leaves_every_page_old_or_new(
        self, monkeypatch: pytest.MonkeyPatch, make_parts: Callable[..., Engine], clock: Clock
    ):
        monkeypatch.setattr(sweep, "PAGE", 2)
        archived = set[int]()
        for nth in count(1):
            clock.turn(days=1)
            parts, fault = replace(make_parts(None), store=MemoryStore()), Fault(nth)
            mnemic = Mnemic(parts)
            memories = mnemic.remember_many(ANNA, [{"text": f"{n}", "importance": 0.05} for n in range(4)])
            clock.turn(days=200)
            faulty = Mnemic(replace(parts, store=FaultyStore(parts.store, fault)))
            try:
                faulty.evict(ANNA)
            except UnavailableError:
                archived.add([state(mnemic, memory) for memory in memories].count(State.ARCHIVED))
            if fault.steps < nth:
                break
            mnemic.evict(ANNA)
            assert {state(mnemic, memory) for memory in memories} == {State.ARCHIVED}
        assert archived == {0, 2}


def state_of_memories(store: Store) -> object:
    with store.read() as unit:
        return unit.upkeep.memories(HERS, "", 100)


class _FailsToPage:
    """A store, or one of its units of work, that answers everything but upkeep's question for a page of memories."""

    def __init__(self, whole: Any) -> None:
        self._whole = whole

    def __getattr__(self, name: str) -> Any:
        part = getattr(self._whole, name)
        return _NoPages(part) if name == "upkeep" else part

    @contextmanager
    def read(self) -> Generator[Any]:
        with self._whole.read() as unit:
            yield _FailsToPage(unit)


class _NoPages:
    def __init__(self, upkeep: Any) -> None:
        self._upkeep = upkeep

    def __getattr__(self, name: str) -> Any:
        return getattr(self._upkeep, name)

    def memories(self, *_: object) -> Any:
        raise UnavailableError("the store does not answer")
