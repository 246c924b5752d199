"""A session: its window, and its end."""

from __future__ import annotations

from contextlib import suppress
from itertools import count

import pytest

from mnemic.adapters.stores.memory import MemoryStore
from mnemic.api import Mnemic
from mnemic.engine.kinds import SUMMARISE
from mnemic.errors import InvalidInputError, UnavailableError
from mnemic.model.item import Kind, State
from mnemic.model.scope import Scope
from mnemic.ports.store import Store
from mnemic.testing.faults import Fault, FaultyStore
from mnemic.testing.observation import state_of
from tests.unit.engine.kit import ANNA, BERT, Clock
from tests.unit.engine.life_kit import jobs, made, opened, positions, say, small


@pytest.fixture
def mnemic(store: Store, clock: Clock) -> Mnemic:
    return opened(store, clock)[0]


class TestWindow:
    @pytest.mark.requirement("D-07", "D-08")
    def test_it_holds_the_last_twenty_messages_with_role_and_content(self, mnemic: Mnemic):
        say(mnemic, 22)
        shown = mnemic.window(ANNA)
        assert [message.position for message in shown] == list(range(3, 23))
        assert (shown[0].role.value, shown[0].text) == ("user", "I bought the boat 3 in harbour 3.")
        assert len(mnemic.window(ANNA, limit=99)) == 22
        assert [message.position for message in mnemic.window(ANNA, limit=1)] == [22]

    @pytest.mark.requirement("D-09", "R-02")
    def test_it_closes_two_hours_after_the_last_write_and_every_write_holds_it_open(self, mnemic: Mnemic, clock: Clock):
        say(mnemic, 1)
        clock.turn(minutes=119)
        say(mnemic, 1, start=2)
        clock.turn(minutes=120)
        assert len(mnemic.window(ANNA)) == 2
        assert "boat 2" in mnemic.context(ANNA, "And now?").blocks["history"]
        clock.turn(seconds=1)
        assert mnemic.window(ANNA) == []
        assert "history" not in mnemic.context(ANNA, "And now?").blocks
        assert "boat 2" in mnemic.context(ANNA, "Which boat did I buy?").blocks["facts"]

    @pytest.mark.requirement("D-16", "D-21")
    def test_an_unknown_session_and_that_of_another_user_are_empty(self, mnemic: Mnemic):
        say(mnemic, 1)
        assert mnemic.window(BERT) == []
        assert mnemic.window(Scope(org="acme", user="anna", session="never")) == []

    @pytest.mark.parametrize("limit", [0, -1, True, 1.5])
    def test_a_limit_that_is_no_number_from_one_is_refused(self, mnemic: Mnemic, limit: int):
        with pytest.raises(InvalidInputError, match="limit"):
            mnemic.window(ANNA, limit=limit)

    @pytest.mark.requirement("R-02")
    def test_session_memories_live_for_a_time_of_their_own(self, mnemic: Mnemic, clock: Clock):
        say(mnemic, 1)
        mnemic.remember(ANNA, "Anna is at the harbour now", level="session")
        clock.turn(minutes=61)
        assert mnemic.list(ANNA, levels=["session"]).memories == ()
        assert len(mnemic.window(ANNA)) == 1


class TestEnd:
    @pytest.mark.requirement("N-22")
    def test_memories_of_the_session_expire_and_can_be_looked_up_and_brought_back(self, mnemic: Mnemic):
        memory = mnemic.remember(ANNA, "Anna is at the harbour now", level="session")
        kept = mnemic.remember(ANNA, "Anna sails")
        assert mnemic.end(ANNA).expired == (memory.id,)
        assert [each.id for each in mnemic.list(ANNA).memories] == [kept.id]
        assert memory.id not in {hit.id for hit in mnemic.recall(ANNA, "harbour")}
        entry = mnemic.history(ANNA, memory.id)[-1]
        assert (entry.action.value, entry.actor, entry.reason) == ("archived", "tester", "the session ended")
        assert mnemic.undo(ANNA, memory.id).state is State.ACTIVE

    @pytest.mark.requirement("N-22", "R-23")
    def test_all_that_was_said_is_summarised_by_a_job(self, mnemic: Mnemic):
        say(mnemic, 3)
        assert mnemic.end(ANNA).pending == 3
        assert made(mnemic) == []
        mnemic.work()
        assert positions(made(mnemic)) == [(1, 3)]

    @pytest.mark.requirement("R-23")
    def test_a_job_that_waits_already_takes_the_rest_too(self, store: Store, clock: Clock):
        mnemic, _ = opened(store, clock, settings=small())
        say(mnemic, 5)
        assert len(jobs(mnemic, SUMMARISE)) == 1
        mnemic.end(ANNA)
        mnemic.work()
        assert positions(made(mnemic)) == [(1, 5)]

    def test_ending_it_again_changes_nothing(self, mnemic: Mnemic, store: Store):
        mnemic.remember(ANNA, "Anna is at the harbour now", level="session")
        say(mnemic, 3)
        mnemic.end(ANNA)
        mnemic.work()
        before = state_of(store)
        report = mnemic.end(ANNA)
        assert (report.expired, report.pending) == ((), 0)
        assert state_of(store) == before

    def test_talking_on_is_allowed_and_summarised_like_any_other(self, store: Store, clock: Clock):
        mnemic, _ = opened(store, clock, settings=small())
        say(mnemic, 3)
        mnemic.end(ANNA)
        mnemic.work()
        say(mnemic, 4, start=4)
        mnemic.work()
        assert positions(made(mnemic)) == [(1, 3), (4, 5)]
        assert [message.position for message in mnemic.window(ANNA)] == [6, 7]

    def test_a_session_in_which_nothing_was_said_ends_too(self, mnemic: Mnemic, store: Store):
        memory = mnemic.remember(ANNA, "Anna is at the harbour now", level="session")
        assert mnemic.end(ANNA).expired == (memory.id,)
        before = state_of(store)
        assert mnemic.end(Scope(org="acme", user="anna", session="never")).pending == 0
        assert state_of(store) == before

    def test_other_sessions_users_and_agents_keep_theirs(self, mnemic: Mnemic):
        elsewhere = Scope(org="acme", user="anna", agent="jarvis", session="s2")
        kept = [mnemic.remember(scope, "It is raining", level="session") for scope in (BERT, elsewhere)]
        other = Scope(org="acme", user="anna", agent="other", session="s1")
        private = mnemic.remember(other, "Anna dislikes jarvis", level="session", is_private=True)
        mnemic.end(ANNA)
        for scope, memory in zip((BERT, elsewhere, other), (*kept, private), strict=True):
            found = mnemic.list(scope, levels=["session"]).memories
            assert [each.id for each in found] == [memory.id]

    def test_what_is_pinned_and_the_summaries_of_a_session_without_user_stay(self, store: Store, clock: Clock):
        mnemic, _ = opened(store, clock, settings=small())
        nobody = Scope(org="acme", agent="jarvis", session="s1")
        pinned = mnemic.remember(nobody, "This ship is called Mira", level="session", is_pinned=True)
        passing = mnemic.remember(nobody, "It is raining", level="session")
        say(mnemic, 5, nobody)
        mnemic.work()
        assert mnemic.end(nobody).expired == (passing.id,)
        mnemic.work()
        clock.turn(minutes=1)
        left = mnemic.list(nobody).memories
        assert pinned.id in {memory.id for memory in left}
        assert [memory.kind for memory in made(mnemic, Kind.SUMMARY, nobody)] == [Kind.SUMMARY, Kind.SUMMARY]

    def test_a_failure_of_any_step_ends_it_wholly_or_not_at_all(self, clock: Clock):
        for is_after in (False, True):
            for nth in count(1):
                store, fault = MemoryStore(), Fault(nth, is_after)
                mnemic, _ = opened(store, clock)
                mnemic.remember(ANNA, "Anna is at the harbour now", level="session")
                say(mnemic, 3)
                with suppress(UnavailableError):
                    opened(FaultyStore(store, fault), clock)[0].end(ANNA)
                is_expired = mnemic.list(ANNA, levels=["session"]).memories == ()
                assert is_expired == bool(jobs(mnemic, SUMMARISE)), f"step {nth} ({is_after=})"
                if fault.steps < nth:
                    break
