"""What users tell of themselves at once: lists without subjects, "Job: welder", and sentences after "About me:"."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.text.facts.find import Said, find_candidates, join_facts
from mnemic.text.facts.statements import find_statements

AT = datetime(2026, 5, 6, 14, 30, tzinfo=UTC)


def facts(text: str) -> list[str]:
    return [fact.text for fact in find_candidates(Said("m1", text, AT))]


@pytest.mark.parametrize(
    "text, told",
    [
        (
            "34, nurse, two kids, vegan, live in Leeds. What should I cook?",
            ["User is 34 years old", "User is a nurse", "User has two kids", "User is vegan", "User lives in Leeds"],
        ),
        (
            "About me: retired, two dogs (Fred and Olaf), learning Welsh, hates small talk",
            ["User is retired", "User has two dogs (Fred and Olaf)", "User is learning Welsh", "User hates small talk"],
        ),
        (
            "I'm 29, live in Porto, work as a nurse and have two cats.",
            ["User is 29", "User lives in Porto", "User works as a nurse", "User has two cats"],
        ),
        (
            "My name is Tom Becker, 34, product manager at Siemens. Married, two kids (Lea, 6).",
            [
                "User's name is Tom Becker",
                "User is 34 years old",
                "User is a product manager at Siemens",
                "User is married",
                "User has two kids (Lea, 6)",
            ],
        ),
        (
            "Name: Kofi\nJob: welder\nCity: Accra\nAllergies: shellfish",
            ["User's name is Kofi", "User works as a welder", "User lives in Accra", "User is allergic to shellfish"],
        ),
        (
            "Quick intro: I'm a potter from Leeds, I drive a van and I hate meetings.",
            ["User is a potter from Leeds", "User drives a van", "User hates meetings"],
        ),
        (
            "Me: software engineer, Berlin, React + TypeScript, two dogs",
            [
                "User is a software engineer",
                "User lives in Berlin",
                "User has two dogs",
                "User says about themselves: React + TypeScript",
            ],
        ),
        (
            "I'm Ana, I live in Oslo, I speak Dutch, French and Norwegian, love fishing",
            ["User is Ana", "User lives in Oslo", "User speaks Dutch, French and Norwegian", "User loves fishing"],
        ),
        (
            "Ich heiße Lena, wohne in Köln, bin Krankenschwester und habe eine Nussallergie",
            ["User heißt Lena", "User wohnt in Köln", "User ist Krankenschwester", "User hat eine Nussallergie"],
        ),
        (
            "Kurz zu mir: 41, verheiratet, zwei Kinder (Mia und Paul), arbeite als Bauleiter in Kassel",
            [
                "User ist 41 Jahre alt",
                "User ist verheiratet",
                "User hat zwei Kinder (Mia und Paul)",
                "User arbeitet als Bauleiter in Kassel",
            ],
        ),
        (
            "Name: Petra\nBeruf: Lehrerin\nWohnort: Graz",
            ["Users Name ist Petra", "User arbeitet als Lehrerin", "User lebt in Graz"],
        ),
    ],
)
def test_a_list_about_the_user_is_told_in_sentences(text: str, told: list[str]):
    assert facts(text) == told


@pytest.mark.parametrize(
    "text",
    [
        "My sister is 34, married, has two kids.",
        "I know a nurse, two kids, vegan.",
        "Write me a short note, two lines, no jokes.",
        "Use tabs, two blanks, no semicolons.",
        "For a persona: 'Maria, 34, mum of two, vegan, lives in Leeds'.",
        "Write a character sheet:\nName: Kofi\nJob: welder\nAge: 34",
        "Job: I got promoted!",
        "Dear Assistant, I am writing to ask about hearing aids.",
        "Two kids, a dog, a nurse: who is missing from the photo?",
        "I want to visit Rome, eat pasta and drink wine.",
        "I tried brands like Nike, love it, hate it.",
        "Intro: this is a story about a dragon, a knight, two kids.",
        "Bio: Albert Einstein was a physicist, born in Ulm, loved violins.",
        "Context: my brother, 34, nurse, two kids, is moving in.",
    ],
)
def test_what_is_no_description_of_the_user_is_not_read_as_one(text: str):
    assert all(each.text in text for each in find_statements(text))


@pytest.mark.parametrize(
    "text, told",
    [
        ("I'm Ben, 41, love hiking. My wife is a nurse, vegan, from Lyon.", "User's wife is a nurse, vegan, from Lyon"),
        ("Kurz zu mir: 41, verheiratet. Meine Frau ist Ärztin, aus Bonn.", "Users Frau ist Ärztin, aus Bonn"),
        ("About me: nurse, two kids. The weather is awful.", "The weather is awful"),
    ],
)
def test_after_a_list_others_are_others_still(text: str, told: str):
    assert facts(text)[-1] == told


def test_facts_over_the_limit_are_told_as_one_and_slots_stay_alone():
    found = find_candidates(Said("m1", "34, nurse, two kids, vegan, live in Leeds", AT))
    joined = join_facts(found, 4, lambda slot: slot in ("job", "home", "diet"))
    assert [fact.text for fact in joined] == [
        "User is 34 years old; User has two kids",
        "User is a nurse",
        "User is vegan",
        "User lives in Leeds",
    ]
    assert [(each.start, each.end) for each in joined[0].provenance] == [(0, 2), (11, 19)]
    assert join_facts(found, 1, bool)[0].slot == "age"


@given(
    st.lists(
        st.sampled_from(
            ["About me:", "34", ",", "I'm", "nurse", "and", "live in", "Leeds", "Job: ", "\n", "(", "ich", "?"]
        )
    )
)
def test_no_list_raises_and_each_span_is_in_the_text(parts: list[str]):
    text = " ".join(parts)
    for each in find_statements(text):
        assert 0 <= each.start <= each.end <= len(text)
