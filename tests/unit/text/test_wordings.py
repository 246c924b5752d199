"""Which words of a candidate are stored."""

from datetime import UTC, datetime

import pytest

from mnemic.text.facts.find import Said, choose_wording, find_candidates, find_wordings

AT = datetime(2026, 5, 6, 14, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    "text, likely, chosen",
    [
        ("My wife Ngozi is a judge, I'll test it on her.", [0.94, 0.98, 0.06], "User's wife Ngozi is a judge"),
        (
            "My wife Ngozi is a judge, I'll test it on her.",
            [0.94, 0.98, 0.5],
            "User's wife Ngozi is a judge; User will test it on her",
        ),
        (
            "I went in September. I don't want it again.",
            [0.88, 0.7, 0.04],
            "User went in September; User does not want it again (in 2025-09)",
        ),
        ("No tent, I snore at night.", [0.5, 0.82], "User snores at night"),
        ("No tent, I snore at night.", [0.8, 0.82], "No tent, User snores at night"),
        ("No tent, I snore at night.", [0.2, 0.4], "No tent, User snores at night"),
        ("No tent, I snore at night.", [0.0, 1.0], "User snores at night"),
    ],
)
def test_the_wording_without_what_says_nothing_is_chosen(text: str, likely: list[float], chosen: str):
    (wordings,) = find_wordings(Said("m1", text, datetime(2025, 11, 3, tzinfo=UTC)))
    fact, estimate = choose_wording(wordings, likely)
    assert fact.text == chosen
    assert estimate == likely[wordings.index(fact)]


def test_a_name_before_what_somebody_is_to_the_user_is_no_opening():
    (wordings,) = find_wordings(Said("m1", "Rohan, my partner, has signed the lease.", AT))
    assert [fact.text for fact in wordings] == ["Rohan, User's partner, has signed the lease"]


@pytest.mark.parametrize(
    "text, told",
    [
        ("And my brother moved to Ulm.", "User's brother moved to Ulm"),
        ("One more thing: my brother moved to Ulm, thank god", "User's brother moved to Ulm"),
        ("2. I gave notice to the hospital", "User gave notice to the hospital"),
        ("I moved out, so that's better", "User moved out"),
        ("I got a job at the zoo 😂", "User got a job at the zoo"),
        ("I play in a band on Monday mornings", "User plays in a band on Monday mornings"),
    ],
)
def test_a_fact_has_no_words_that_only_connect_or_comment(text: str, told: str):
    assert [fact.text for fact in find_candidates(Said("m1", text, AT))] == [told]
