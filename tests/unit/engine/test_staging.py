"""Turns wait for the curator in their rows: captured by two hooks, without a delay, and never cleared before they are
curated.
"""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from mnemic.adapters.llms.registry import ScriptedLlm
from mnemic.adapters.stores.memory import MemoryStore
from mnemic.api import Mnemic
from mnemic.errors import InvalidInputError
from mnemic.model.item import Message, Role
from mnemic.model.records import JobState
from tests.unit.engine.curate_kit import curator, turns_of
from tests.unit.engine.kit import ANNA, Clock
from tests.unit.engine.life_kit import ALL, opened


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def both(clock: Clock) -> tuple[Mnemic, ScriptedLlm]:
    return opened(MemoryStore(), clock, curator())


def seven_fields(messages: Sequence[Message]) -> dict[str, object]:
    """What a staged turn is asked for."""
    first = messages[0]
    said = {role: "\n".join(m.text for m in messages if m.role is role) for role in (Role.USER, Role.ASSISTANT)}
    return {
        "user_id": first.partition.owner,
        "user_message": said[Role.USER],
        "ai_response": said[Role.ASSISTANT],
        "turn": first.turn,
        "timestamp": first.observed_at.isoformat(),
        "date": first.observed_at.date().isoformat(),
        "conversation_id": first.session,
    }


@pytest.mark.requirement("T-01", "T-03")
def test_every_turn_is_staged_by_its_capture_alone_and_no_model_is_asked_meanwhile(both: tuple[Mnemic, ScriptedLlm]):
    mnemic, llm = both
    for number in range(30):
        mnemic.capture(ANNA, user=f"I decided to read book {number}.", assistant="Do that.")
    assert llm.prompts == []
    assert sum('"type":"message"' in line for line in mnemic.export(ANNA)) == 60


@pytest.mark.requirement("T-04", "T-07")
def test_a_staged_turn_has_its_seven_fields_when_both_hooks_have_fired(both: tuple[Mnemic, ScriptedLlm]):
    mnemic, _ = both
    mnemic.capture(ANNA, user="Good morning", assistant="Good morning, Anna")
    staged = mnemic.capture(ANNA, user="Which database?")
    whole = mnemic.complete(ANNA, staged.id, assistant="Take pgvector.")
    assert seven_fields(whole.messages) == {
        "user_id": "anna",
        "user_message": "Which database?",
        "ai_response": "Take pgvector.",
        "turn": 2,
        "timestamp": "2026-05-01T12:00:00+00:00",
        "date": "2026-05-01",
        "conversation_id": "s1",
    }


@pytest.mark.requirement("T-08", "T-09")
def test_several_texts_of_one_output_are_one_answer_and_an_empty_one_is_refused(both: tuple[Mnemic, ScriptedLlm]):
    mnemic, _ = both
    staged = mnemic.capture(ANNA, user="Which database?")
    for empty in ("", "  ", [""], ["", " \n"]):
        with pytest.raises(InvalidInputError, match="blank"):
            mnemic.complete(ANNA, staged.id, assistant=empty)
    whole = mnemic.complete(ANNA, staged.id, assistant=["  Take pgvector.", "It is there already. \n"])
    assert [message.text for message in whole.messages] == ["Which database?", "Take pgvector.\nIt is there already."]
    at_once = mnemic.capture(ANNA, user="Which one?", assistant=["  Take pgvector.", "It is there already. \n"])
    assert at_once.messages[1].text == whole.messages[1].text


@pytest.mark.requirement("T-07", "T-09", "T-31")
def test_the_curator_reads_both_sides_of_every_turn(both: tuple[Mnemic, ScriptedLlm], clock: Clock):
    mnemic, llm = both
    open_turns = [mnemic.capture(ANNA, user=f"Question {number}") for number in range(3)]
    for number, turn in enumerate(open_turns):
        mnemic.complete(ANNA, turn.id, assistant=f"Answer {number}")
    clock.turn(days=1)
    mnemic.curate(ANNA)
    told = [line for lines in turns_of(llm.prompts[0]).values() for line in lines]
    for number in range(3):
        assert f"user: Question {number}" in told
        assert f"assistant: Answer {number}" in told


def test_what_nobody_curated_for_a_month_is_curated_then(both: tuple[Mnemic, ScriptedLlm], clock: Clock):
    mnemic, _ = both
    mnemic.capture(ANNA, user="I decided to use pgvector.", assistant="Fine.")
    clock.turn(days=30)
    mnemic.work()
    clock.turn(days=1)
    mnemic.work()
    assert [memory.text for memory in mnemic.list(ANNA, kinds=["gem"]).memories] == ["User decided to use pgvector"]
    assert not [job for job in mnemic.jobs.list(ANNA, states=ALL) if job.state is JobState.DEAD]
