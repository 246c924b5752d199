"""Weeks of conversations under a clock that is turned: with a model, with a failing one, and with none."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from mnemic.adapters.stores.memory import MemoryStore
from mnemic.api import Mnemic
from mnemic.errors import UnavailableError
from mnemic.model.chat import Prompt
from mnemic.model.item import Kind
from mnemic.model.records import JobState
from mnemic.model.scope import Scope
from tests.unit.engine.kit import Clock
from tests.unit.engine.life_kit import ALL, Answers, made, numbered, opened, positions

DAYS = 21
TURNS = 14
"""Exchanges of one day, each of a session of its own."""

ANA = Scope(user="ana", agent="quill")


def failing_every_third() -> Callable[[Prompt], str | UnavailableError]:
    """A model that is away for every third question."""
    answer, asked = numbered(), 0

    def answered(prompt: Prompt) -> str | UnavailableError:
        nonlocal asked
        asked += 1
        return UnavailableError("away") if asked % 3 == 0 else str(answer(prompt))

    return answered


def session(day: int) -> Scope:
    """Sessions go over three days each."""
    return Scope(user="ana", agent="quill", session=f"week {day // 3}")


def lived(answers: Answers | None, clock: Clock) -> Mnemic:
    """Three weeks: talks by day, a worker that looks once an hour, and quiet nights."""
    mnemic, _ = opened(MemoryStore(), clock, answers)
    for day in range(DAYS):
        for hour in range(24):
            if 8 <= hour < 8 + TURNS:
                said = f"On day {day} at {hour} I sailed to harbour {day * 24 + hour}."
                mnemic.capture(session(day), user=said, assistant=f"A fine trip to harbour {day * 24 + hour}.")
            clock.turn(hours=1)
            mnemic.work()
    for _ in range(20):
        clock.turn(minutes=30)
        mnemic.work()
    return mnemic


@pytest.mark.requirement("D-01", "D-11", "D-29", "R-23")
@pytest.mark.parametrize("answers", [None, numbered, failing_every_third], ids=["none", "model", "failing"])
def test_every_message_of_three_weeks_is_in_exactly_one_summary(answers: Callable[[], Answers] | None, clock: Clock):
    mnemic = lived(None if answers is None else answers(), clock)
    for first in range(0, DAYS, 3):
        scope = session(first)
        of_session = [each for each in made(mnemic, scope=scope) if each.bookkeeping["session"] == scope.session]
        covered = [place for start, end in positions(of_session) for place in range(start, end + 1)]
        assert covered == list(range(1, 3 * TURNS * 2 + 1))
        assert all(memory.importance == 0.5 for memory in of_session)
    reflections = len(made(mnemic, Kind.REFLECTION, ANA))
    assert (0 < reflections <= len(made(mnemic, scope=ANA)) // 10 + 7) == (answers is not None)
    states = {job.state for job in mnemic.jobs.list(ANA, states=ALL, limit=10_000)}
    assert states <= {JobState.DONE}


def test_a_second_worker_after_three_weeks_finds_nothing_to_do(clock: Clock):
    mnemic = lived(None, clock)
    summaries = [memory.id for memory in made(mnemic, scope=ANA)]
    report = mnemic.work()
    assert (report.done, report.retried, report.dead) == (0, 0, 0)
    assert [memory.id for memory in made(mnemic, scope=ANA)] == summaries
