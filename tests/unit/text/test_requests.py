"""What questions and requests say in passing of the user's people, pets, things and health."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from mnemic import Mnemic, Scope
from mnemic.text.facts.find import Said, find_candidates
from mnemic.text.sameness import introduces

AT = datetime(2026, 5, 6, tzinfo=UTC)
HER = Scope(user="zoe", session="s1")


def told(text: str) -> list[str]:
    return [fact.text for fact in find_candidates(Said("m1", text, AT))]


@pytest.mark.parametrize(
    "text, facts",
    [
        ("What is a good brush for my cat Pebble?", ["User's cat is called Pebble"]),
        ("why does my dog howl at night", ["User has a dog"]),
        ("Any ideas for a present for my manager Ines?", ["User's manager is called Ines"]),
        ("Draft a short note to our nanny, Rosa.", ["User's nanny is called Rosa"]),
        ("Which games suit my 4 year old daughter?", ["User has a 4 year old daughter"]),
        ("Which games suit my 8-year-old son?", ["User has an 8-year-old son"]),
        ("Can you recommend a kite for my nephew who loves wind?", ["User's nephew loves wind"]),
        ("What should my brother Tom, who hates flying, do?", ["User's brother Tom hates flying"]),
        ("What lens should I get for my Sony A7R IV?", ["User has a Sony A7R IV"]),
        ("How do I open my Bosch dishwasher?", ["User has a Bosch dishwasher"]),
        ("Where can I get my 2015 Honda Civic serviced?", ["User has a 2015 Honda Civic"]),
        ("Is rowing a good idea with my asthma?", ["User has asthma"]),
        ("Can I eat this with my peanut allergy?", ["User has a peanut allergy"]),
        ("As a nurse on night shifts, how do I sleep?", ["User is a nurse on night shifts"]),
        ("as a nurse on rotating nights how should i eat", ["User is a nurse on rotating nights"]),
        ("As someone who's been vegan for years, what do I eat?", ["User has been vegan for years"]),
        ("As a person who works nights, when should I eat?", ["User works nights"]),
        ("What may one lift at 28 weeks pregnant?", ["User is 28 weeks pregnant"]),
        ("Is oat milk ok for a lactose intolerant man like me?", ["User is a lactose intolerant man"]),
        ("gift for my grandad, turning 90, mad about cricket", ["User's grandad is turning 90, mad about cricket"]),
        ("Wie sage ich meiner Chefin Frau Brandt ab?", ["Users Chefin ist Frau Brandt"]),
        ("What can I give my wife? She loves old maps.", ["User has a wife; she loves old maps"]),
        ("My kettle hums at night, is that normal?", ["User's kettle hums at night"]),
        ("Welches Futter ist gut für meine Katze?", ["User hat eine Katze"]),
        ("Was schenke ich meiner Tochter, die zwölf ist?", ["Users Tochter ist zwölf"]),
        ("Darf ich mit meinem Asthma rudern?", ["User hat Asthma"]),
        ("我五岁的儿子不肯睡觉怎么办？", ["用户有一个五岁的儿子"]),
        ("我的猫为什么半夜叫？", ["用户养了一只猫"]),
    ],
)
def test_a_request_tells_whom_and_what_the_user_has(text: str, facts: list[str]):
    assert told(text) == facts


@pytest.mark.parametrize(
    "text",
    [
        "Just kidding, would my wife Ann like a yacht?",
        "Suppose my dog Rex could talk, what would he say?",
        "If my cat Pebble were a lion, how much would she eat?",
        'Can you translate "my dog Rex is ill" for me?',
        'How do I say "my wife Ann" in Welsh?',
        "Write a poem about my dog Rex.",
        "Can you check my Chapter 3 draft?",
        "Why does my Python 3 script crash?",
        "What does my neighbour's dog want?",
        "How do I tell my son's teacher the truth?",
        "As a lawyer, can you read this contract?",
        "Pls help me word a note for school",
        "Suggest easy hikes that an old beagle can manage",
        "Reply to this text: 'my mum loved the flowers'",
        "Formulier mir bitte eine nette Nachricht an meine Schwiegereltern",
        "Earplug recs for side sleepers",
        "Plan a rainy Saturday for us, no museums please",
    ],
)
def test_what_is_invented_quoted_or_not_theirs_is_no_fact(text: str):
    assert told(text) == []


@pytest.mark.parametrize(
    "text, order",
    [
        ("From now on, translate my messages into German.", "always translate their messages into German"),
        ("I wish it were spring. From now on, call me Chief.", "always call them Chief"),
    ],
)
def test_a_wish_or_a_translation_leaves_a_standing_order_alone(text: str, order: str):
    assert told(text) == [f"User wants the assistant to {order}"]


def test_an_option_of_a_command_and_centuries_are_not_of_the_user():
    assert told("My ffmpeg command makes a film without sound: ffmpeg -i in.mp4 -an out.mp4") == []
    assert told("I used to own a Saab 900 years ago") == ["User used to own a Saab 900 years ago"]


@pytest.mark.parametrize(
    "text, known, is_said",
    [
        ("User has a dog", "User's dog Rex is three", True),
        ("User's dog is called Rex", "User's dog Rex is three", True),
        ("User has a dog", "User has a dog named Rex", True),
        ("User hat eine Katze", "Users Katze Mimi frisst nur Fisch", True),
        ("User has a dog", "User walked the dog of a neighbour", False),
        ("User's dog is called Rex", "User's dog Max is three", False),
        ("User has a wife", "User's ex-wife Ann sails", False),
        ("User has a boyfriend", "User's boyfriend broke up with them", False),
        ("User has a car", "User sold their car", False),
        ("User has a meeting on Friday", "User's meeting on Friday was cancelled", False),
        ("User hat einen Hund", "Users Hund ist gestorben", False),
        ("User has a dog", "User walks their dog Rex at dawn", True),
        ("User's dog is called Rex", "User's dog, Rex, fears thunder", True),
        ("User has a brother", "User's brother-in-law sails", False),
        ("User has a snake", "User's snake plant thrives", False),
        ("User has a dog", "User's doghouse leaks", False),
        ("User's dog Rex is three", "User's dog Rex is three and brown", False),
    ],
)
def test_a_bare_mention_says_nothing_beside_more_about_the_same(text: str, known: str, *, is_said: bool):
    assert introduces(text, known) is is_said


@pytest.mark.parametrize("is_first", [True, False])
def test_a_bare_mention_gives_way_to_more_in_either_order(tmp_path: Path, *, is_first: bool):
    said = ["Why does my dog bark at night?", "My dog Rex is three and he is afraid of thunder."]
    with Mnemic.open(str(tmp_path / "memory.db"), has_worker=False) as mnemic:
        for text in said if is_first else reversed(said):
            mnemic.capture(HER, user=text, assistant="I see.")
        mnemic.work()
        assert [each.text for each in mnemic.list(HER)] == ["User's dog Rex is three and he is afraid of thunder"]
