"""Which attribute a plain sentence fills, and when two values of it cannot both hold."""

from __future__ import annotations

import pytest

from mnemic.text.slots import Filled, Relation, canonical, is_single, relation, slot_of


@pytest.mark.requirement("P-05")
@pytest.mark.parametrize(
    "text, slot, value",
    [
        ("User lives in Porto", "home", "Porto"),
        ("The user now lives in Rio de Janeiro.", "home", "Rio de Janeiro"),
        ("User lives in Lisbon, Portugal", "home", "Lisbon, Portugal"),
        ("User works as a paediatric nurse", "job", "paediatric nurse"),
        ("User works at Acme & Sons", "employer", "Acme & Sons"),
        ("User's favorite color is dark blue", "favourite colour", "dark blue"),
        ("User's date of birth is 3 May 1990", "birthday", "3 May 1990"),
        ("User is married", "relationship", "married"),
        ("User is 34 years old", "age", "34"),
        ("User's email is anna@example.org", "email", "anna@example.org"),
        ("User likes the smoked tea", "likes smoked tea", "like"),
        ("User cannot stand smoked tea", "likes smoked tea", "hate"),
        ("User does not like tea anymore", "likes tea", "no longer"),
        ("User prefers tea to coffee", "prefers coffee | tea", "tea"),
        ("User prefers coffee over tea", "prefers coffee | tea", "coffee"),
        ("Anna Berg lives in Porto", "home of anna berg", "Porto"),
        ("Anna does not like tea", "likes tea of anna", "dislike"),
        ("I live in Porto", "home", "Porto"),
        ("My favourite colour is blue", "favourite colour", "blue"),
        ("用户住在上海。", "home", "上海"),
        ("用户不喜欢茶", "likes 茶", "dislike"),
    ],
)
def test_a_sentence_that_says_one_thing_fills_its_slot(text: str, slot: str, value: str):
    assert slot_of(text) == Filled(slot, value)


@pytest.mark.requirement("P-05")
@pytest.mark.parametrize(
    "text",
    [
        "User lives in a flat with a view",
        "User lives in Lisbon and Porto",
        "User lives in Lisbon with two dogs",
        "User lived in Lisbon",
        "User wants to live in Lisbon",
        "User's sister lives in Porto",
        "She lives in Porto",
        "It is called Rex",
        "User works as a nurse at Acme",
        "User likes tea but hates coffee",
        "User likes tea when it rains",
        "Does User live in Porto?",
        "User visited Porto in May",
        "User is single-minded",
        "User is 34 minutes late",
    ],
)
def test_a_sentence_that_says_more_or_something_else_fills_none(text: str):
    assert slot_of(text) is None


def test_a_change_is_told_apart_from_a_state():
    assert slot_of("User moved to Porto") == Filled("home", "Porto", is_change=True)


@pytest.mark.parametrize(
    "slot, one, other, expected",
    [
        ("home", "Porto", "porto", Relation.SAME),
        ("home", "Lisbon", "Lisbon, Portugal", Relation.COMPATIBLE),
        ("home", "Lisbon", "Porto", Relation.OTHER),
        ("home", "Lisbon", "Portugal", Relation.COMPATIBLE),
        ("home", "Graz", "Österreich", Relation.COMPATIBLE),
        ("home", "杭州", "浙江省", Relation.COMPATIBLE),
        ("home", "Portugal", "the Netherlands", Relation.OTHER),
        ("employer", "Lisbon", "Portugal", Relation.OTHER),
        ("job", "nurse", "a nurse", Relation.SAME),
        ("home", "", "Porto", Relation.COMPATIBLE),
        ("likes tea", "like", "love", Relation.COMPATIBLE),
        ("likes tea", "love", "no longer", Relation.OTHER),
        ("likes tea", "hate", "dislike", Relation.COMPATIBLE),
    ],
)
def test_values_are_the_same_compatible_or_others(slot: str, one: str, other: str, expected: Relation):
    assert relation(slot, one, other) is expected is relation(slot, other, one)


@pytest.mark.requirement("P-05")
def test_a_move_to_another_country_replaces_the_town():
    assert relation("home", "Lyon", "Portugal", is_change=True) is Relation.OTHER


def test_a_slot_has_one_name_and_some_hold_many_values():
    assert [canonical(name) for name in ("Location", "job_title", "favorite color")] == [
        "home",
        "job",
        "favourite colour",
    ]
    assert [is_single(slot) for slot in ("home", "likes tea", "hobby", "language")] == [True, True, False, False]
