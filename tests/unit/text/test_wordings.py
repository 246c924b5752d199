"""Which words of a candidate are stored."""

from datetime import UTC, datetime

import pytest

from mnemic.text.facts.find import Said, find_candidates, shorten
from mnemic.text.facts.worth import cut_pieces, piece_odds, split_pieces

AT = datetime(2026, 5, 6, 14, 30, tzinfo=UTC)


def _read(text: str, at: datetime = AT) -> list[str]:
    return [fact.text for fact in find_candidates(Said("m1", text, at))]


@pytest.mark.parametrize(
    "fact, pieces",
    [
        ("User lives in Porto", ["User lives in Porto"]),
        ("Gidday mate User has sold the ewes (on 2026-05-06)", ["Gidday mate", "User has sold the ewes"]),
        ("User quit the barn, by the way; User is tired", ["User quit the barn", "by the way", "User is tired"]),
        ("User takes warfarin, so the trip may be dear", ["User takes warfarin", "so the trip may be dear"]),
        ("User likes Ravel; User is not sure if she does", ["User likes Ravel", "User is not sure if she does"]),
        ("User wohnt in Wien, das passt gut", ["User wohnt in Wien", "das passt gut"]),
        ("", []),
    ],
)
def test_a_fact_is_split_into_clauses_and_asides(fact: str, pieces: list[str]):
    assert [fact[start:end] for start, end in split_pieces(fact)] == pieces


@pytest.mark.parametrize(
    "fact, odds, told",
    [
        ("Gidday mate User has sold the ewes (on 2026-05-06)", [1.0, -1.0], "User has sold the ewes"),
        ("User takes warfarin, so the trip may be dear", [-1.0, 1.0], "User takes warfarin"),
        ("User takes warfarin, so the trip may be dear", [-1.0, -0.1], "User takes warfarin, so the trip may be dear"),
        ("User takes warfarin, so the trip may be dear", [1.0, 2.0], "User takes warfarin"),
        ("User quit, by the way, and rests", [-1.0, 1.0, -1.0], "User quit, and rests"),
        ("User will go, if they pay", [-1.0, 1.0], "User will go, if they pay"),
        (
            "User will go in July but probably not with Ben",
            [-1.0, 1.0],
            "User will go in July but probably not with Ben",
        ),
        ("Celia will laugh, she is User's wife", [1.0, -1.0], "Celia will laugh, she is User's wife"),
        ("User wed in May, they said", [1.0, -1.0], "User wed in May, they said"),
        ("User is vegan (strict, but no honey)", [-1.0, -1.0, 1.0], "User is vegan (strict, but no honey)"),
        ("Because of.. well, User left", [-1.0, 1.0, -1.0], "Because of.. well, User left"),
    ],
)
def test_pieces_are_cut_where_the_rest_stays_true_and_sound(fact: str, odds: list[float], told: str):
    spans = split_pieces(fact)
    assert cut_pieces(fact, spans, odds[: len(spans)]) == told


def test_odds_are_given_for_each_piece_of_each_fact():
    import numpy as np

    facts = ["User takes warfarin, so the trip may be dear", "Ok so User has sold the ewes, honestly, and the dog"]
    spans = [split_pieces(fact) for fact in facts]
    odds = piece_odds(facts, spans, np.zeros((sum(map(len, spans)), 1152), dtype=np.float32))
    assert [len(each) for each in odds] == [len(each) for each in spans]


@pytest.mark.parametrize(
    "text, shorter, told",
    [
        (
            "I sold the car yesterday, what a day",
            "User sold the car yesterday",
            "User sold the car yesterday (on 2026-05-05)",
        ),
        ("I sold the car, what a day yesterday was", "User sold the car", "User sold the car"),
        ("I live in Porto, as I said", "User said so", "User lives in Porto, as they said"),
    ],
)
def test_a_shorter_fact_keeps_its_date_and_its_value(text: str, shorter: str, told: str):
    (fact,) = find_candidates(Said("m1", text, AT))
    assert shorten(fact, shorter).text == told


@pytest.mark.parametrize(
    "text, told",
    [
        ("And my brother moved to Ulm.", "User's brother moved to Ulm"),
        ("One more thing: my brother moved to Ulm, thank god", "User's brother moved to Ulm"),
        ("2. I gave notice to the hospital", "User gave notice to the hospital"),
        ("I moved out, so that's better", "User moved out"),
        ("I got a job at the zoo 😂", "User got a job at the zoo"),
        ("I play in a band on Monday mornings", "User plays in a band on Monday mornings"),
        ("I myself don't eat beef", "User does not eat beef"),
        ("Me and my wife got the permit", "User and their wife got the permit"),
        ("I'm a Zulu man myself", "User is a Zulu man"),
        ("I've seen the barn in Saddleworth and love it", "User has seen the barn in Saddleworth and loves it"),
        ("I need a flat in Cork, my God", "User needs a flat in Cork"),
    ],
)
def test_a_fact_is_worded_as_a_person_would_write_it(text: str, told: str):
    assert _read(text) == [told]


@pytest.mark.parametrize(
    "text, told",
    [
        ("Help me price oil, I buy the 25 litre keg at 62,000", "User buys the 25 litre keg at 62,000"),
        (
            "thing is it broke again, so im on my own with the van till i get someone else",
            "User is on their own with the van till they get someone else",
        ),
        (
            "I've had the nod that I'm going to Year 6, I said yes before I'd thought",
            "User has had the nod that they are going to Year 6",
        ),
    ],
)
def test_the_sound_part_of_a_clause_is_told_without_the_rest(text: str, told: str):
    assert told in _read(text)


@pytest.mark.parametrize(
    "text, date",
    [
        ("I've got a new knee coming on the ninth of March", "2027-03-09"),
        ("I passed the charger course friday", "2026-05-01"),
        ("My physical is in August, the 19th", "2026-08-19"),
        ("I took the second March exam", ""),
        ("My long run has to be Saturday", ""),
        ("I worked four days a week, Monday to Thursday", ""),
    ],
)
def test_days_in_words_and_bare_weekdays_are_dated(text: str, date: str):
    assert [date in each for each in _read(text)] == [True]
    assert [each.endswith(")") for each in _read(text)] == [bool(date)]
