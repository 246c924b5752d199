"""What a question says beside its words: dates, and whether it comes back to what the assistant said."""

from __future__ import annotations

from datetime import date

import pytest

from mnemic.text.asking import Asking, Date, Span

TODAY = date(2026, 11, 22)
"""A Sunday."""


@pytest.mark.parametrize(
    "text, date",
    [
        ("Where were we on 2023-05-07?", Date(2023, 5, 7)),
        ("Where were we on 07.05.2023?", Date(2023, 5, 7)),
        ("Where were we on 7 May 2023?", Date(2023, 5, 7)),
        ("Where were we on May 7th, 2023?", Date(2023, 5, 7)),
        ("What did we do on the 7th of May?", Date(None, 5, 7)),
        ("What did Ana paint in May?", Date(None, 5, None)),
        ("What did Ana paint in May 2023?", Date(2023, 5, None)),
        ("What happened in 2023-05?", Date(2023, 5, None)),
        ("¿Qué compré el 7 de mayo de 2023?", Date(2023, 5, 7)),
        ("Qu'est-ce que j'ai dit en août ?", Date(None, 8, None)),
        ("2023年5月7日我去了哪裡？", Date(2023, 5, 7)),
        ("我5月去了哪里？", Date(None, 5, None)),
        ("他十二月在準備什麼？", Date(None, 12, None)),
    ],
)
def test_dates_are_known_however_they_are_written(text: str, date: Date):
    assert Asking.of(text, TODAY).dates == (date,)


@pytest.mark.parametrize(
    "text", ["May I ask something?", "Who will march?", "What was on 2023-13-01?", "Version 10.20.3000", "In 2022?", ""]
)
def test_words_and_numbers_that_are_no_dates_are_left_alone(text: str):
    assert Asking.of(text, TODAY).dates == ()


def test_several_dates_are_told_in_order_and_once():
    found = Asking.of("Between 3 June 2023 and 5 June 2023, or on 3 June 2023?", TODAY)
    assert found.dates == (Date(2023, 6, 3), Date(2023, 6, 5))


@pytest.mark.parametrize(
    "text",
    [
        "Which hotel did you recommend?",
        "What was the name you had mentioned?",
        "Can you remind me of the brand?",
        "In our previous conversation, what was the recipe?",
        "What was your advice?",
        "¿Qué libro me recomendaste?",
        "你之前推薦的餐廳叫什麼？",
    ],
)
def test_who_asks_for_a_reply_of_the_assistant_is_understood(text: str):
    assert Asking.of(text, TODAY).is_of_assistant


@pytest.mark.parametrize(
    "text",
    ["Can you suggest a hotel?", "Did you know that my cat is ill?", "What did Ana recommend?", "Where do I live?"],
)
def test_asking_for_something_new_is_not_asking_for_a_reply(text: str):
    assert not Asking.of(text, TODAY).is_of_assistant


@pytest.mark.parametrize(
    "text, first, last",
    [
        ("What did I buy 10 days ago?", date(2026, 11, 11), date(2026, 11, 13)),
        ("What did I say two weeks ago?", date(2026, 11, 5), date(2026, 11, 11)),
        ("Whom did I meet last Tuesday?", date(2026, 11, 17), date(2026, 11, 18)),
        ("What did we do last Sunday?", date(2026, 11, 15), date(2026, 11, 16)),
        ("What did I eat yesterday?", date(2026, 11, 21), date(2026, 11, 21)),
        ("我兩週前買了什麼？", date(2026, 11, 5), date(2026, 11, 11)),
    ],
)
def test_days_counted_from_today_are_known(text: str, first: date, last: date):
    assert Asking.of(text, TODAY).spans == (Span(first, last),)
    assert Asking.of(text, TODAY).is_dated


@pytest.mark.parametrize("text", ["At last a long ago forgotten past", "It takes a week", "500 years ago", "上面"])
def test_what_counts_from_no_day_names_none(text: str):
    assert Asking.of(text, date(400, 1, 1)).spans == ()


@pytest.mark.parametrize(
    "text, expected",
    [
        ("她在哪里工作？", True),
        ("東京ではどこに住んでいますか", True),
        ("Where does Anna 工作?", False),
        ("Где она живёт?", False),
        ("", False),
    ],
)
def test_a_question_of_scripts_without_blanks_is_known(text: str, *, expected: bool):
    assert Asking.of(text, TODAY).is_unspaced is expected
