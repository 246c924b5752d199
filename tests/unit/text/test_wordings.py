"""Which words of a candidate are stored."""

from datetime import UTC, datetime
from typing import cast

import pytest

from mnemic import Mnemic, Scope
from mnemic.build import build
from mnemic.config import MEMORY_URL, Config
from mnemic.ports.models import LayeredEmbedder
from mnemic.text.facts.find import Said, find_candidates, shorten
from mnemic.text.facts.statements import cut_pieces, split_pieces
from mnemic.text.facts.worth import piece_odds

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
        ("User is vegan (strict, so no honey)", [-1.0, 1.0], "User is vegan (strict, so no honey)"),
        ("Because of.. well, User left", [-1.0, 1.0, -1.0], "Because of.. well, User left"),
        (
            "User left, the old cat of hers came, and rests",
            [-1.0, 1.0, -1.0],
            "User left, the old cat of hers came, and rests",
        ),
        ("User left Ann because she lied", [1.0, -1.0], "User left Ann because she lied"),
        ("User left, they said it, User rests", [1.0, -1.0, 1.0], "User left, they said it"),
        ("User is moving to Rome, probably", [-1.0, 1.0], "User is moving to Rome, probably"),
        ("User does not drink, well, hardly", [-1.0, 1.0, 1.0], "User does not drink, well, hardly"),
        ("User hates hype, no emojis", [-1.0, 1.0], "User hates hype, no emojis"),
        ("Rohan, User's partner, has signed", [1.0, -1.0, -1.0], "Rohan, User's partner, has signed"),
        ("User got the job, or so it seems", [-1.0, -1.0, 1.0], "User got the job"),
    ],
)
def test_pieces_are_cut_where_the_rest_stays_true_and_sound(fact: str, odds: list[float], told: str):
    spans = split_pieces(fact)
    assert len(spans) == len(odds)
    assert cut_pieces(fact, spans, odds) == told


def test_a_trifle_has_higher_odds_to_be_cut_than_a_fact():
    embedder = build(Config(store=MEMORY_URL)).embedder
    facts = ["User takes warfarin, so the insurance may be dear", "Second thing: User has sold the ewes, God help them"]
    spans = [split_pieces(fact) for fact in facts]
    pieces = [fact[start:end] for fact, each in zip(facts, spans, strict=True) for start, end in each]
    odds = piece_odds(facts, spans, cast(LayeredEmbedder, embedder).embed_layers(pieces)[1])
    assert [[each > 0 for each in row] for row in odds] == [[False, True], [True, False, True]]


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
        ("I came last week and left yesterday", "User left yesterday", "User left yesterday (on 2026-05-05)"),
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
        ("We oughta get a camper for the coast", "User oughta get a camper for the coast"),
        ("I overran at my son's baptism", "User overran at their son's baptism"),
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
    "text",
    [
        "I'm moving to Rome if I get the visa",
        "I moved to Leeds, or I might as well have",
        "I work at Deloitte, or I would if my visa had come through",
        "I'll quit my job at Siemens in June if my raise is refused",
        "He told everyone, I have a drinking problem",
        "She shouted at me, I am a terrible mother, and hung up",
        "Ich ziehe im Mai nach Rom, falls ich den Job bekomme",
        "Can you check this: I live in a house with " + "many fine old things, " * 80,
        "Can you " + "you, " * 1500 + "help?",
    ],
)
def test_no_part_is_told_without_what_limits_it(text: str):
    assert not _read(text)


def test_stored_facts_are_cut_but_orders_are_not():
    with Mnemic.open("memory://", has_worker=False) as memory:
        scope = Scope(user="ana", session="s1")
        for said in (
            "I moved to Leeds, so the commute may be awful",
            "From now on, write short lines, no emojis please",
        ):
            memory.capture(scope, user=said)
            memory.work()
        texts = [each.text for each in memory.list(scope) if each.kind != "summary"]
    assert "User moved to Leeds" in texts
    assert any("no emojis" in each for each in texts)


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
