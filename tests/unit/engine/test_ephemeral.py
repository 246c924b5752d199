"""Ephemeral sessions: their messages belong to them alone, nothing is derived from them, and they are erased."""

from __future__ import annotations

from dataclasses import replace

import pytest

from mnemic.api import Mnemic
from mnemic.engine.engine import Engine
from mnemic.engine.handlers import HANDLERS
from mnemic.engine.jobs import IDLE_AT_ONCE, FollowUp, work
from mnemic.engine.kinds import EXPIRE, SUMMARISE
from mnemic.errors import InvalidInputError
from mnemic.model.records import Job, JobState
from mnemic.model.settings import LifeSettings, Settings
from mnemic.ports.store import Store
from tests.unit.engine.kit import ANNA, Clock
from tests.unit.engine.life_kit import jobs, opened, parts_over

OTHER = replace(ANNA, session="s2")
ON = Settings(life=LifeSettings(extracts=True, graphs=True, window_messages=2, summary_batch=2))
pytestmark = pytest.mark.requirement("N-20", "R-47")


@pytest.fixture
def mnemic(store: Store, clock: Clock) -> Mnemic:
    """A store in which a session was captured as ephemeral once, and went on without saying so."""
    mnemic, _ = opened(store, clock, settings=ON)
    mnemic.capture(ANNA, user="I live in Lyon with my cat Tom.", assistant="Noted.", is_ephemeral=True)
    for _ in range(3):
        mnemic.capture(ANNA, user="I decided to use pgvector because backups exist.", assistant="Fine.")
    return mnemic


def texts(mnemic: Mnemic) -> list[str]:
    return [message.text for message in mnemic.window(ANNA, include_closed=True, limit=1)]


def test_its_messages_are_found_in_their_session_and_in_no_other(mnemic: Mnemic):
    assert mnemic.recall(ANNA, "cat Tom").hits[0].text == "I live in Lyon with my cat Tom."
    assert len(mnemic.window(ANNA, include_closed=True, limit=100)) == 8
    assert "pgvector" in str(mnemic.context(ANNA, "Which database do I use?").messages)
    assert mnemic.recall(OTHER, "cat Tom").hits == ()
    assert mnemic.recall(replace(ANNA, session=None), "cat Tom").hits == ()


def test_no_job_derives_anything_from_them(mnemic: Mnemic, clock: Clock):
    mnemic.work()
    for hours in (0.6, 0.3):  # the rest of a quiet session would be summarised meanwhile
        clock.turn(hours=hours)
        mnemic.work()
    for derive in (mnemic.extract, mnemic.summarise, mnemic.curate, mnemic.reflect, mnemic.consolidate):
        derive(ANNA)
    assert mnemic.list(ANNA).memories == ()
    assert mnemic.profile.get(ANNA) == {}
    assert mnemic.graph.entities(ANNA).nodes == ()
    assert texts(mnemic) == ["Fine."]


def test_they_are_erased_an_hour_after_the_last_one(mnemic: Mnemic, clock: Clock):
    clock.turn(minutes=50)
    mnemic.capture(ANNA, user="I am still here.")
    clock.turn(minutes=50)
    mnemic.work()
    assert texts(mnemic) == ["I am still here."]
    mnemic.context(ANNA, "What is my cat called?")
    clock.turn(minutes=11)
    mnemic.work()
    assert texts(mnemic) == []
    assert mnemic.contexts(ANNA).contexts == ()
    assert len(mnemic.receipts(ANNA)) == 1
    assert {job.state for job in jobs(mnemic, EXPIRE)} == {JobState.DONE}


def test_they_are_erased_at_the_end_of_the_session_and_what_is_said_later_lasts(mnemic: Mnemic, clock: Clock):
    assert mnemic.end(ANNA).pending == 0
    mnemic.work()
    assert texts(mnemic) == []
    mnemic.capture(ANNA, user="I live in Porto.")
    for _ in range(3):
        clock.turn(hours=1)
        mnemic.work()
    assert texts(mnemic) == ["I live in Porto."]
    assert [memory.text for memory in mnemic.list(OTHER, kinds=["fact", "context"]).memories] == ["User lives in Porto"]


@pytest.mark.parametrize("is_ended", [False, True])
def test_a_message_captured_while_its_session_is_erased_expires_too(
    mnemic: Mnemic, store: Store, clock: Clock, *, is_ended: bool
):
    said: list[str] = []

    def expire(engine: Engine, job: Job) -> FollowUp:
        """Expires the session, and captures a message before the job ends."""
        follow_up = HANDLERS[EXPIRE](engine, job)
        if not said:
            said.append(mnemic.capture(ANNA, user="I am back.", is_ephemeral=True).id)
        return follow_up

    if is_ended:
        mnemic.end(ANNA)
    else:
        clock.turn(minutes=61)
    work(parts_over(store, clock), {EXPIRE: expire}, worker="tester")
    assert texts(mnemic) == ["I am back."]
    clock.turn(minutes=61)
    mnemic.work()
    assert texts(mnemic) == []


def test_a_session_that_went_on_after_its_end_can_be_ended_again(mnemic: Mnemic):
    mnemic.end(ANNA)
    mnemic.capture(ANNA, user="One more thing.")
    mnemic.work()
    assert texts(mnemic) == ["One more thing."]
    mnemic.end(ANNA)
    mnemic.work()
    assert texts(mnemic) == []


def test_quiet_ephemeral_sessions_do_not_keep_others_from_being_summarised(mnemic: Mnemic, clock: Clock):
    for number in range(IDLE_AT_ONCE):
        mnemic.capture(replace(ANNA, session=f"e{number}"), user="I like tea.", is_ephemeral=True)
    clock.turn(minutes=1)
    mnemic.capture(OTHER, user="I like tea.")
    clock.turn(minutes=31)
    mnemic.work()
    assert [job.key for job in jobs(mnemic, SUMMARISE)] == ["s2"]


def test_a_session_with_lasting_messages_or_without_a_user_cannot_be_ephemeral(mnemic: Mnemic):
    mnemic.capture(OTHER, user="I like tea.")
    with pytest.raises(InvalidInputError, match="lasting messages"):
        mnemic.capture(OTHER, user="I like tea.", is_ephemeral=True)
    with pytest.raises(InvalidInputError, match="requires a user"):
        mnemic.capture(replace(ANNA, user=None), user="I like tea.", is_ephemeral=True)
