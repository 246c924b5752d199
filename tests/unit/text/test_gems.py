"""From a curator's reply to gems: every defect is mended where the turns say what is right, else refused in words."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.model.item import IMPORTANCE_WORDS, Gem, importance_word, turn_range
from mnemic.text.gems import MAX_GEMS, checked_gems, known_categories, read_gems, reply_schema
from mnemic.text.narrative import numbered
from tests.broken_replies.corpus import cases as broken_replies
from tests.unit.text.gem_cases import CASES, DAY, SOUND, TALK, Case, turns

TRUE_VALUES = st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.lists(st.integers())


@pytest.mark.requirement("T-14", "T-15", "T-16", "T-17", "T-18", "T-19", "T-20", "T-21", "T-22", "T-25", "R-18")
@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.row} {case.name}")
def test_a_gem_is_mended_or_refused_with_a_reason(case: Case):
    gems = read_gems(json.dumps([case.item]), DAY)
    if case.reason:
        assert gems.found == ()
        (rejected,) = gems.rejected
        assert case.reason in rejected.reason
        return
    assert gems.rejected == ()
    (found,) = gems.found
    assert {name: getattr(found.gem, name) for name in case.fields} == case.fields


def test_the_cases_are_many():
    assert len(CASES) >= 60
    assert len({case.name for case in CASES}) == len(CASES)


@pytest.mark.requirement("T-14", "R-18")
def test_what_comes_out_has_exactly_the_eleven_fields():
    assert [field.name for field in fields(Gem)] == list(SOUND)
    assert len(SOUND) == 11
    (found,) = read_gems(json.dumps([{**SOUND, "more": 1}]), DAY).found
    assert list(asdict(found.gem)) == list(SOUND)


@pytest.mark.requirement("T-24")
@pytest.mark.parametrize(
    "wrapping",
    [
        "{}",
        "```json\n{}\n```",
        "```\n{}\n```",
        "```JSON\n{}```",
        "Here they are:\n```json\n{}\n```\nThat is all.",
        "<think>hm</think>{}",
    ],
)
def test_the_array_is_read_with_and_without_a_fence(wrapping: str):
    second = {**SOUND, "gem": "User hates long lists", "source_turns": [3], "turn_range": "3-3"}
    reply = wrapping.replace("{}", json.dumps([SOUND, second]))
    gems = read_gems(reply, DAY)
    assert [found.gem.gem for found in gems.found] == ["User chose pgvector for the archive", "User hates long lists"]
    assert gems.is_answer


def test_an_array_under_a_key_and_a_single_gem_are_read_too():
    for reply in (json.dumps({"gems": [SOUND]}), json.dumps(SOUND)):
        assert len(read_gems(reply, DAY).found) == 1


def test_an_empty_array_is_an_answer_and_prose_is_none():
    assert read_gems("[]", DAY).is_answer
    assert read_gems('{"gems": []}', DAY).is_answer
    assert not read_gems("Nothing much happened on this day.", DAY).is_answer


@pytest.mark.parametrize("case", broken_replies(), ids=lambda case: case.name)
def test_no_broken_reply_raises_or_makes_a_gem_of_nothing(case: Any):
    gems = read_gems(case.reply, DAY)
    assert gems.found == ()


def test_what_is_sound_beside_something_broken_is_kept_and_the_rest_is_told():
    gems = read_gems(json.dumps([SOUND, {**SOUND, "confidence": 85}, "no gem", {"fact": "x"}]), DAY)
    assert len(gems.found) == 1
    assert gems.rejected[0].reason.endswith("not 85")
    assert len(gems.rejected) == 3
    assert [turn.number for turn in gems.rejected[0].turns] == [1, 2]


def test_of_a_reply_without_measure_only_so_many_gems_are_taken():
    many = [{**SOUND, "gem": f"User chose pgvector {number}"} for number in range(MAX_GEMS + 5)]
    gems = read_gems(json.dumps(many), DAY)
    assert (len(gems.found), len(gems.rejected)) == (MAX_GEMS, 5)


@pytest.mark.requirement("T-23")
def test_gems_of_one_reply_that_say_the_same_become_one_with_both_reasons():
    again = {
        **SOUND,
        "gem": "user chose  PGVECTOR for the archive.",
        "context": "Long lists are hated",
        "snippet": "I hate long lists",
        "categories": ["architecture"],
        "importance": "low",
        "source_turns": [3],
        "turn_range": "3-3",
    }
    (found,) = read_gems(json.dumps([SOUND, again]), DAY).found
    gem = found.gem
    assert gem.context == f"{SOUND['context']} Long lists are hated"
    assert gem.categories == ("decision", "technical", "architecture")
    assert (gem.importance, gem.source_turns, gem.turn_range) == ("high", (1, 2, 3), "1-3")
    assert gem.snippet.endswith("anna: I hate long lists")


@pytest.mark.requirement("R-18", "T-12")
def test_a_gem_of_turns_of_two_conversations_belongs_to_that_of_most_and_names_its_own_turns():
    told = numbered([*turns(TALK[:1], "c1", first=7), *turns(TALK[1:], "c2", first=21)])
    item = {**SOUND, "conversation_id": None, "turn_range": "1-3", "source_turns": [1, 2, 3]}
    (found,) = checked_gems([item], told).found
    assert (found.gem.conversation_id, found.gem.turn_range, found.gem.source_turns) == ("c2", "21-22", (21, 22))
    assert [turn.number for turn in found.turns] == [1, 2, 3]


@given(st.dictionaries(st.sampled_from(sorted(SOUND)), TRUE_VALUES))
def test_whatever_a_gem_holds_it_is_whole_or_refused(changes: Mapping[str, object]):
    gems = checked_gems([{**SOUND, **changes}], DAY)
    assert len(gems.found) + len(gems.rejected) == 1
    for found in gems.found:
        gem = found.gem
        assert 0 <= gem.confidence <= 1
        assert gem.importance in IMPORTANCE_WORDS
        assert set(gem.categories) <= set(known_categories())
        assert gem.categories
        assert gem.date == gem.timestamp[:10] == "2026-05-01"
        assert gem.turn_range == turn_range(gem.source_turns)
        assert gem.gem
        assert gem.context
        assert ": " in gem.snippet


@given(st.text())
def test_no_reply_raises(reply: str):
    read_gems(reply, DAY)


@pytest.mark.requirement("R-08", "T-16")
def test_words_of_importance_and_numbers_lead_to_each_other():
    assert IMPORTANCE_WORDS == {"low": 0.3, "medium": 0.6, "high": 0.9}
    words = [importance_word(value) for value in (0.0, 0.3, 0.5, 0.6, 0.76, 1.0)]
    assert words == ["low", "low", "medium", "medium", "high", "high"]


def test_a_model_is_held_to_what_it_must_give():
    schema: Any = reply_schema()
    (gems,) = schema["properties"].values()
    asked = gems["items"]["properties"]
    assert set(asked) <= set(SOUND)
    assert asked["categories"]["items"]["enum"] == list(known_categories())
