"""Messages as people type them day by day: what is told of them, and on which day it falls."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from mnemic.text.facts.find import Said, find_candidates


def told(text: str, day: str = "2026-10-12") -> list[str]:
    """The candidates of a message."""
    said_at = datetime.fromisoformat(day).replace(tzinfo=UTC)
    return [fact.text for fact in find_candidates(Said("m1", text, said_at))]


@pytest.mark.parametrize(
    "day, text, date",
    [
        ("2026-10-12", "ive got my eye test on tues 27th oct", "on 2026-10-27"),
        ("2026-10-18", "My eye test got moved to the 10th of November", "on 2026-11-10"),
        ("2026-10-18", "The hearing was moved to 10 November", "on 2026-11-10"),
        ("2026-11-12", "The hearing was moved to 10 November", "on 2026-11-10"),
        ("2026-11-22", "My ferry got changed to 3 January", "on 2027-01-03"),
        ("2026-11-17", "I got the post in Lund, starting 4 January", "on 2027-01-04"),
        ("2026-10-08", "Dinner with Bo on Sat Oct 17 at Lido", "on 2026-10-17"),
        ("2026-11-12", "I saw the parade on Fri 13 Nov with Bea", "on 2026-11-13"),
        ("2026-10-20", "I met Bo on Sat, 3 October", "on 2026-10-03"),
        ("2026-11-05", "We close on Dec 14 at the bank", "on 2026-12-14"),
        ("2026-10-03", "I have a baby, Fia, born in August", "in 2026-08"),
        ("2026-10-20", "I was promoted on 3 November", "on 2025-11-03"),
        ("2026-05-21", "I went to St. Ann's Church on January 2nd, and the choir moved me", "on 2026-01-02"),
        ("2026-11-05", "We got married on 14 December", "on 2025-12-14"),
    ],
)
def test_a_date_without_a_year_falls_where_people_mean_it(day: str, text: str, date: str):
    (fact,) = told(text, day)
    assert fact.endswith(f" ({date})")


def test_the_start_of_a_state_is_no_day_ahead():
    assert told("I raised my fee, it's 90 an hour as of November", "2026-10-20") == [
        "User raised their fee, it's 90 an hour as of November"
    ]


@pytest.mark.parametrize(
    "text, facts",
    [
        ("hi I'm Bo and I live in Lund", ["User is Bo", "User lives in Lund"]),
        ("hey there my name is Bo", ["User's name is Bo"]),
        ("hey im Berta, i drive trams", ["User is Berta", "User drives trams"]),
        ("Me and Ida split up.", ["User and Ida split up"]),
        ("my son Ib has a milk allergy so what can i bake for him", ["User's son Ib has a milk allergy"]),
        ("my dad has gout, can u give me a dinner idea", ["User's dad has gout"]),
        ("GOT THE FLAT IN LUND", ["User got THE FLAT IN LUND"]),
        ("eye test got moved to next week", ["Eye test got moved to next week (in the week of 2026-10-19)"]),
        ("Offer accepted on a house at 7 Mill St. We like it.", ["Offer accepted on a house at 7 Mill St"]),
        ("Choir moved to Mondays as Fr. Bo needs the hall.", ["Choir moved to Mondays as Fr. Bo needs the hall"]),
    ],
)
def test_greetings_and_requests_beside_a_fact_are_cut(text: str, facts: list[str]):
    assert told(text)[: len(facts)] == facts


@pytest.mark.parametrize(
    "text, order",
    [
        ("Please explain everything to me in plain English.", "always explain everything to them in plain English"),
        ("pls explain me everything with examples", "always explain them everything with examples"),
        ("don't use british spellings please", "never use British spellings"),
        ("Please use type hints everywhere.", "always use type hints everywhere"),
        ("keep every reply under 3 lines pls, im on my phone", "always keep every reply under 3 lines"),
        ("dont mention prices when you suggest hotels, its stressful", "never mention prices when it suggests hotels"),
        (
            "Use Irish spelling in everything you write for me.",
            "always use Irish spelling in everything it writes for them",
        ),
        ("Always call me Chief from now on haha", "always call them Chief"),
        ("Whenever I ask about Go, always show tests.", "always show tests whenever they ask about Go"),
    ],
)
def test_an_order_about_everything_is_a_standing_one(text: str, order: str):
    assert told(text) == [f"User wants the assistant to {order}"]


@pytest.mark.parametrize(
    "text",
    [
        "Please explain everything about tides.",
        "don't use the red one please",
        "use tabs everywhere, I got used to it",
        "Give every answer a mark from 1 to 5.",
    ],
)
def test_an_order_for_once_is_not(text: str):
    assert not any("wants the assistant" in fact for fact in told(text))


@pytest.mark.parametrize(
    "text, slot, value",
    [
        ("I have a severe milk allergy, by the way.", "allergy to milk", "milk"),
        ("I've got an allergy to cats and dogs", "allergy to cats and dogs", "cats and dogs"),
        ("I'm allergic to eggs and cashews", "allergy to eggs and cashews", "eggs and cashews"),
        ("I'm allergic to nuts and I hate mint", "allergy to nuts", "nuts"),
        ("We're vegan at home.", "diet", "vegan"),
        ("Bo and I broke up in May.", "relationship", "broke up"),
        ("My new flatmate is Ida, Bo moved out.", "own flatmate", "Ida"),
        ("Choir has been changed to Mondays.", "when choir", "Mondays"),
    ],
)
def test_what_has_one_value_fills_a_slot(text: str, slot: str, value: str):
    fact = next(iter(find_candidates(Said("m1", text, datetime(2026, 10, 12, tzinfo=UTC)))))
    assert (fact.slot, fact.value) == (slot, value)
