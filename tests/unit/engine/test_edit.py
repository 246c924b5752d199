"""Corrections, judgements, merges, and their way back."""

from __future__ import annotations

from datetime import timedelta

import pytest

from mnemic.api import Mnemic
from mnemic.errors import ConflictError, InvalidInputError, NotFoundError
from mnemic.model.item import State
from mnemic.model.records import Action
from mnemic.model.scope import Level, Scope
from tests.unit.engine.kit import Clock

ANNA = Scope(user="anna", agent="jarvis")
BERT = Scope(user="bert", agent="jarvis")


def texts(mnemic: Mnemic) -> list[str]:
    return sorted(memory.text for memory in mnemic.list(ANNA).memories)


@pytest.mark.requirement("P-02")
def test_an_update_is_in_the_history_with_before_and_after(mnemic: Mnemic):
    memory = mnemic.remember(ANNA, "Anna lives in Paris", importance="medium")
    mnemic.update(ANNA, memory.id, text="Anna lives in Berlin", importance="high", reason="she moved")
    entry = mnemic.history(ANNA, memory.id)[-1]
    assert (entry.action, entry.actor, entry.reason) == (Action.UPDATED, "tester", "she moved")
    assert entry.before["text"] == "Anna lives in Paris"
    assert entry.after["text"] == "Anna lives in Berlin"
    assert (entry.before["importance"], entry.after["importance"]) == (0.6, 0.9)


def test_an_updated_text_is_found_by_its_new_words_and_no_longer_by_its_old_ones(mnemic: Mnemic):
    memory = mnemic.remember(ANNA, "Anna plays the violin")
    mnemic.remember(ANNA, "Anna has a cat")
    mnemic.update(ANNA, memory.id, text="Anna plays the trumpet")
    best = mnemic.recall(ANNA, "trumpet").hits[0]
    assert best.text == "Anna plays the trumpet"
    assert mnemic.why_not(ANNA, memory.id, "violin").stage in ("found", "index")
    assert all("violin" not in hit.text for hit in mnemic.recall(ANNA, "violin"))


def test_a_corrected_text_fills_its_slot_with_the_new_value(mnemic: Mnemic):
    memory = mnemic.remember(ANNA, "User moved to Porto.")
    mnemic.update(ANNA, memory.id, text="User moved to Faro.")
    (corrected,) = mnemic.list(ANNA).memories
    assert corrected.bookkeeping["value"] == "Faro"
    assert mnemic.remember(ANNA, "User moved to Porto.").id != memory.id
    assert mnemic.get(ANNA, memory.id).state is State.SUPERSEDED
    other = mnemic.remember(ANNA, "User lives near Porto in a mill.")
    joined = mnemic.merge(ANNA, [other.id, mnemic.remember(ANNA, "User rents a mill.").id], text="User lives in Braga.")
    assert joined.bookkeeping["value"] == "Braga"
    assert "value" not in mnemic.undo(ANNA, joined.id).bookkeeping


def test_an_update_that_changes_nothing_leaves_no_trace(mnemic: Mnemic):
    memory = mnemic.remember(ANNA, "Anna likes tea")
    assert mnemic.update(ANNA, memory.id, text="Anna likes tea") == memory
    assert [entry.action for entry in mnemic.history(ANNA, memory.id)] == [Action.CREATED]


def test_an_update_to_what_another_memory_says_is_a_conflict(mnemic: Mnemic):
    memory = mnemic.remember(ANNA, "Anna likes tea")
    mnemic.remember(ANNA, "Anna likes coffee")
    with pytest.raises(ConflictError):
        mnemic.update(ANNA, memory.id, text="anna likes COFFEE")
    assert texts(mnemic) == ["Anna likes coffee", "Anna likes tea"]


def test_a_time_can_be_ended_and_opened_again(mnemic: Mnemic):
    memory = mnemic.remember(ANNA, "Anna works at Acme", valid_from="2020-01-01")
    ended = mnemic.update(ANNA, memory.id, valid_to="2024-01-01")
    assert ended.valid_to is not None
    assert ended.valid_to.year == 2024
    assert mnemic.update(ANNA, memory.id, valid_to=None).valid_to is None
    with pytest.raises(InvalidInputError, match="later"):
        mnemic.update(ANNA, memory.id, valid_to="2019-01-01")


def test_what_cannot_be_changed_is_named_in_the_error(mnemic: Mnemic):
    memory = mnemic.remember(ANNA, "Anna likes tea")
    with pytest.raises(InvalidInputError, match="nothing to change"):
        mnemic.update(ANNA, memory.id)
    with pytest.raises(InvalidInputError, match="created_at"):
        mnemic.update(ANNA, memory.id, created_at="2020-01-01")  # pyright: ignore[reportCallIssue] -- what an untyped caller would write


@pytest.mark.parametrize("verb", ["update", "pin", "undo", "feedback", "merge"])
def test_nobody_can_change_what_belongs_to_somebody_else(mnemic: Mnemic, verb: str):
    memory, other = mnemic.remember(ANNA, "Anna likes tea"), mnemic.remember(ANNA, "Anna likes jam")
    calls = {
        "update": lambda: mnemic.update(BERT, memory.id, text="taken"),
        "pin": lambda: mnemic.pin(BERT, memory.id),
        "undo": lambda: mnemic.undo(BERT, memory.id),
        "feedback": lambda: mnemic.feedback(BERT, memory.id, "outdated"),
        "merge": lambda: mnemic.merge(BERT, [memory.id, other.id]),
    }
    with pytest.raises(NotFoundError):
        calls[verb]()
    assert mnemic.get(ANNA, memory.id) == memory


@pytest.mark.requirement("P-02")
def test_undo_takes_back_one_change_after_the_other(mnemic: Mnemic):
    memory = mnemic.remember(ANNA, "first")
    mnemic.update(ANNA, memory.id, text="second")
    mnemic.pin(ANNA, memory.id)
    mnemic.update(ANNA, memory.id, text="third")
    assert mnemic.undo(ANNA, memory.id).text == "second"
    assert not mnemic.undo(ANNA, memory.id).is_pinned
    assert mnemic.undo(ANNA, memory.id).text == "first"
    with pytest.raises(ConflictError, match="no more changes"):
        mnemic.undo(ANNA, memory.id)


def test_a_change_after_an_undo_can_be_undone_too(mnemic: Mnemic):
    memory = mnemic.remember(ANNA, "first")
    mnemic.update(ANNA, memory.id, text="second")
    mnemic.undo(ANNA, memory.id)
    mnemic.update(ANNA, memory.id, text="third")
    assert mnemic.undo(ANNA, memory.id).text == "first"
    assert mnemic.recall(ANNA, "first").hits[0].text == "first"


@pytest.mark.requirement("P-02", "R-14")
def test_a_merge_leaves_one_memory_and_undo_brings_the_others_back(mnemic: Mnemic):
    first = mnemic.remember(ANNA, "Anna likes tea", importance=0.4, categories=["preference"])
    second = mnemic.remember(ANNA, "Anna is fond of tea", importance=0.9, categories=["plan"], context="said twice")
    merged = mnemic.merge(ANNA, [first.id, second.id], text="Anna likes tea a lot")
    assert (merged.id, merged.importance, merged.categories) == (first.id, 0.9, ("preference", "plan"))
    assert texts(mnemic) == ["Anna likes tea a lot"]
    gone = mnemic.list(ANNA, states=["superseded"]).memories
    assert [(m.id, m.state, m.other_id) for m in gone] == [(second.id, State.SUPERSEDED, first.id)]
    back = mnemic.undo(ANNA, first.id)
    assert (back.text, back.importance, back.categories) == ("Anna likes tea", 0.4, ("preference",))
    assert texts(mnemic) == ["Anna is fond of tea", "Anna likes tea"]
    assert mnemic.recall(ANNA, "fond").hits[0].id == second.id


def test_a_merged_memory_is_not_recalled_beside_the_one_it_went_into(mnemic: Mnemic):
    first, second = mnemic.remember(ANNA, "Anna likes tea"), mnemic.remember(ANNA, "Anna loves tea")
    mnemic.merge(ANNA, [first.id, second.id])
    assert [hit.id for hit in mnemic.recall(ANNA, "tea")] == [first.id]


def test_only_active_memories_of_one_place_can_be_merged(mnemic: Mnemic):
    first, second = mnemic.remember(ANNA, "one"), mnemic.remember(ANNA, "two")
    elsewhere = mnemic.remember(ANNA, "three", level="agent")
    with pytest.raises(InvalidInputError, match="two different"):
        mnemic.merge(ANNA, [first.id, first.id])
    with pytest.raises(InvalidInputError, match="same level"):
        mnemic.merge(ANNA, [first.id, elsewhere.id])
    mnemic.merge(ANNA, [first.id, second.id])
    with pytest.raises(ConflictError, match="active"):
        mnemic.merge(ANNA, [first.id, second.id])


@pytest.mark.requirement("T-36")
def test_relevant_refreshes_a_memory_and_outdated_ends_its_validity(mnemic: Mnemic, clock: Clock):
    memory = mnemic.remember(ANNA, "Anna works at Acme")
    clock.turn(days=3)
    fresh = mnemic.feedback(ANNA, memory.id, "relevant")
    assert (fresh.access_count, fresh.last_accessed_at) == (1, clock.now())
    ended = mnemic.feedback(ANNA, memory.id, "outdated")
    assert ended.valid_to == clock.now()
    assert [hit.id for hit in mnemic.recall(ANNA, "Acme")] == []
    assert [entry.action for entry in mnemic.history(ANNA, memory.id)][1:] == [Action.FEEDBACK, Action.FEEDBACK]
    before = clock.now() - timedelta(days=1)
    assert [hit.id for hit in mnemic.recall(ANNA, "Acme", as_of=before)] == [memory.id]
    with pytest.raises(InvalidInputError, match="verdict"):
        mnemic.feedback(ANNA, memory.id, "nice")


@pytest.mark.requirement("J-10")
def test_recalled_memories_count_as_accessed_once_something_is_written(mnemic: Mnemic, clock: Clock):
    memory = mnemic.remember(ANNA, "Anna likes tea")
    mnemic.remember(ANNA, "Anna has a cat", level=Level.AGENT)
    clock.turn(hours=1)
    mnemic.recall(ANNA, "tea", limit=1)
    mnemic.recall(ANNA, "tea", limit=1)
    mnemic.remember(ANNA, "something else")
    seen = mnemic.list(ANNA, filter={"text": {"contains": "tea"}}).memories[0]
    assert (seen.id, seen.access_count, seen.last_accessed_at) == (memory.id, 2, clock.now())
