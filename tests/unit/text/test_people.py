"""Who "she" and "he" are: clauses about somebody whom the message, or the one before it, names."""

from datetime import UTC, datetime

import pytest

from mnemic.text.facts.find import Said, find_candidates

NOW = datetime(2026, 3, 4, tzinfo=UTC)


def read(text: str, earlier: str = "") -> list[str]:
    return [fact.text for fact in find_candidates(Said("m", text, NOW, earlier=[("e", earlier)]))]


@pytest.mark.parametrize(
    "text, expected",
    [
        (
            "Mum fell again. She's 82 and lives alone in Hull. She won't hear of a carer.",
            "User's mum won't hear of a carer",
        ),
        ("My brother Neil. He's in Perth, the Australian one.", "User's brother Neil is in Perth, the Australian one"),
        ("It's Mum. She rang four times today.", "User's mum rang four times today (on 2026-03-04)"),
        ("My daughter rang. Why now? Her flight is cancelled again.", "User's daughter's flight is cancelled again"),
        (
            "My son Leo is a worry. I know. He's got asthma since he was two.",
            "User's son Leo has got asthma since he was two",
        ),
        ("I saw Dr. Pruitt. The tests were fine. She's retired now, sadly.", "Dr. Pruitt is retired now, sadly"),
    ],
)
def test_a_clause_about_somebody_names_them(text: str, expected: str) -> None:
    assert expected in read(text)


@pytest.mark.parametrize(
    "text",
    [
        "My sister told my mum. I was there. She's 82 and lives alone in Hull.",
        "My mum met a woman at the club. I was there. She's 82 and lives alone in Hull.",
        "My son likes Graham. I do not. He's 82 and lives alone in Hull.",
    ],
)
def test_an_unclear_person_is_not_named(text: str) -> None:
    assert not any("82" in each for each in read(text))


def test_the_message_before_may_name_the_person() -> None:
    text = "So now I'm a liar at 54. She's got vascular dementia, diagnosed last spring."
    assert "User's mum has got vascular dementia, diagnosed last spring" in read(text, "Mum rang again.")


def test_another_person_of_the_message_before_makes_it_unclear() -> None:
    told = "My dad would have shouted, I never would. He's 15 and plays chess."
    assert "User's dad is 15 and plays chess" not in read(told, "My son got caught smoking.")
