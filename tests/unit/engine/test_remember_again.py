"""What a program remembers again, or otherwise than before."""

from __future__ import annotations

from datetime import timedelta

import pytest

from mnemic.api import Mnemic
from mnemic.model.item import State
from tests.unit.engine.kit import ANNA, START, Clock

ALL = [state for state in State if state is not State.ERASED]


@pytest.mark.requirement("P-05")
def test_a_plain_contradiction_by_a_program_ends_the_known_memory_at_once(mnemic: Mnemic):
    mnemic.remember(ANNA, "User lives in Lisbon")
    new = mnemic.remember(ANNA, "User lives in Porto")
    (old,) = mnemic.list(ANNA, states=[State.SUPERSEDED]).memories
    assert (new.state, old.state, old.other_id) == (State.ACTIVE, State.SUPERSEDED, new.id)


def test_another_wording_by_a_program_is_kept_beside_and_both_end_together(mnemic: Mnemic):
    mnemic.remember(ANNA, "User lives in Lisbon")
    mnemic.remember(ANNA, "The user resides in Lisbon.")
    assert len(mnemic.list(ANNA).memories) == 2
    mnemic.remember(ANNA, "User lives in Porto")
    assert [memory.text for memory in mnemic.list(ANNA).memories] == ["User lives in Porto"]


def test_what_had_ended_gives_way_when_it_is_said_anew(mnemic: Mnemic, clock: Clock):
    ended = mnemic.remember(ANNA, "User lives in Lisbon")
    clock.turn(days=1)
    mnemic.feedback(ANNA, ended.id, "outdated")
    clock.turn(days=1)
    anew = mnemic.remember(ANNA, "User lives in Lisbon")
    (gone,) = mnemic.list(ANNA, states=[State.SUPERSEDED]).memories
    assert (anew.id == ended.id, [gone.other_id]) == (False, [anew.id])


def test_what_has_expired_neither_ends_anything_nor_is_ended(mnemic: Mnemic, clock: Clock):
    mnemic.remember(ANNA, "User lives in Lisbon", expires_at=START + timedelta(hours=1))
    mnemic.remember(ANNA, "User lives in Oslo", expires_at=START - timedelta(hours=1))
    assert [memory.text for memory in mnemic.list(ANNA).memories] == ["User lives in Lisbon"]
    clock.turn(hours=2)
    assert mnemic.remember(ANNA, "User lives in Porto").state is State.ACTIVE


@pytest.mark.requirement("R-14")
def test_restatements_leave_one_memory_each_with_history(mnemic: Mnemic):
    texts = [f"User keeps note {number}" for number in range(5)]
    forms = ("{}", "{}.", "{}!", "\u201c{}\u201d", "  {} \u2026")
    mnemic.remember_many(ANNA, texts)
    for form in forms:
        mnemic.remember_many(ANNA, [form.format(text.upper()) for text in texts])
    kept = mnemic.list(ANNA, states=ALL).memories
    assert sorted(memory.text for memory in kept) == texts
    assert {len(mnemic.history(ANNA, memory.id)) for memory in kept} == {1 + len(forms)}


def test_metadata_of_the_caller_is_kept_and_never_overwritten(mnemic: Mnemic):
    memory = mnemic.remember(ANNA, "User lives in Porto", metadata={"slot": "A7", "level": 3})
    assert memory.metadata == {"slot": "A7", "level": 3}
