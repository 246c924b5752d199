"""What a message corrects or takes back: in English, German and Chinese, and what only looks like it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.text.facts.corrections import correct, cut_half, find_corrections, read_withdrawal, takes_back


def corrected(message: str, said: str, reply: str = "Noted.") -> str | None:
    """What was said, with the values that the message corrects."""
    text = said
    for each in find_corrections(message, said, reply):
        text = correct(text, each.wrong, each.right) or text
    return None if text == said else text


@pytest.mark.parametrize(
    "said, message, right",
    [
        ("My eye test is on Wednesday.", "No, it's Thursday", "My eye test is on Thursday."),
        ("My eye test is on Wednesday.", "sorry i meant thursday", "My eye test is on Thursday."),
        ("I have a table at Lido at 7pm.", "its 8pm sorry", "I have a table at Lido at 8pm."),
        ("My budget is 9000 euros.", "oops, typed it wrong, 11000 euros", "My budget is 11000 euros."),
        ("We live on the third floor.", "fourth, sorry", "We live on the fourth floor."),
        ("My exam is on 12 March.", "Correction: 14 March.", "My exam is on 14 March."),
        ("My sister Annika stays with us.", "*Anika", "My sister Anika stays with us."),
        ("My teacher is called Dona.", "its Dana not dona btw", "My teacher is called Dana."),
        ("I live in Leeds.", "Not Leeds, Hull.", "I live in Hull."),
        ("I drive a Clio.", "I meant the Corsa, not the Clio", "I drive a Corsa."),
        ("My son Ib plays handball.", "Ib plays volleyball, not handball", "My son Ib plays volleyball."),
        ("I grow dahlias.", "Peonies! Not dahlias.", "I grow Peonies."),
        ("Mein Zug geht um 7 Uhr.", "Entschuldigung, um 8 Uhr", "Mein Zug geht um 8 Uhr."),
        ("Meine Chefin heißt Brandt.", "Nicht Brandt, sondern Brandl.", "Meine Chefin heißt Brandl."),
        ("我周三去看牙医。", "说错了，是周四", "我周四去看牙医。"),
        ("我对虾过敏。", "是螃蟹过敏，不是虾", "我对螃蟹过敏。"),
    ],
)
def test_a_wrong_value_is_replaced(said: str, message: str, right: str):
    assert takes_back(message)
    assert corrected(message, said) == right


@pytest.mark.parametrize(
    "said, reply, message",
    [
        ("I fly to Oslo on Monday.", "Shall I look for hotels from Monday?", "No, Tuesday"),
        ("I drink coffee every morning.", "Nice.", "I bought tea, not coffee"),
        ("I have two dogs and three cats.", "Noted.", "sorry, four"),
        ("I live in Leeds.", "Leeds is a fine city.", "No, it's raining, not snowing"),
        ("I ran six kilometres.", "Well done!", "No beer for eight days, sadly"),
        ("I have a cat called Biscuit.", "Sweet!", "make it a tiny bit firmer"),
        ("I lent her 2,100 pounds.", "That was kind.", "it would be stupid not to"),
        ("9" * 5000, "Noted.", "sorry, 12"),
        ("I'm six weeks without meat.", "Congratulations!", "make it 150"),
    ],
)
def test_what_may_mean_something_else_corrects_nothing(said: str, reply: str, message: str):
    assert corrected(message, said, reply) is None


def test_the_reply_tells_which_of_two_values_is_meant():
    said = "The dentist is on Monday and my swim on Friday."
    assert corrected("No, it's Tuesday", said, "Good luck at the dentist on Monday!") == said.replace(
        "Monday", "Tuesday"
    )
    assert corrected("No, it's Tuesday", said, "Have a good week.") is None


@pytest.mark.parametrize(
    "message, ends",
    [
        ("you can use emojis again", "never"),
        ("got a new screen reader so you can use emojis again", "never"),
        ("you dont have to answer in german anymore", "always"),
        ("Forget what I said about the emojis.", "order"),
        ("Du darfst wieder Emojis benutzen", "never"),
        ("以后不用再写英文了", "always"),
        ("the Berlin trip is off", "over"),
        ("thanks but we're not moving to Bristol after all", "over"),
        ("Der Umzug ist abgesagt.", "over"),
        ("青岛不去了", "over"),
        ("me and callum split up", "partner"),
        ("I got laid off this morning", "job"),
    ],
)
def test_what_no_longer_holds_is_read(message: str, ends: str):
    withdrawal = read_withdrawal(message)
    assert takes_back(message)
    assert withdrawal is not None
    assert withdrawal.ends == ends


@pytest.mark.parametrize(
    "message",
    [
        "you can say that again",
        "never mind",
        "forget it",
        "Should I quit the choir?",
        "if the trip is cancelled, tell me",
    ],
)
def test_what_only_looks_like_it_takes_nothing_back(message: str):
    assert read_withdrawal(message) is None


PIECES = (
    *("not", "no", "sorry", "*", "I", "quit", "the", "and", "it's", "Dana", "Dona", "12", "May", "cancelled", "over"),
    *(
        "nicht",
        "sondern",
        "abgesagt",
        "不是",
        "是",
        "取消了",
        "，",
        ",",
        ".",
        ":",
        "?",
        "\n",
        "'",
        "off",
        "again",
        "you can",
    ),
)


@given(
    st.lists(st.sampled_from(PIECES), max_size=20), st.lists(st.sampled_from(PIECES), max_size=12), st.text(max_size=40)
)
def test_no_text_raises(words: list[str], said: list[str], odd: str):
    message, before = " ".join(words), " ".join(said)
    for text in (message, odd, f"{message}{odd}"):
        takes_back(text)
        for each in find_corrections(text, before, odd):
            correct(before, each.wrong, each.right)
        withdrawal = read_withdrawal(text)
        if withdrawal is not None:
            cut_half(f"User likes {before or odd}", withdrawal)
