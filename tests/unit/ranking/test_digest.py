"""A long message is shortened to the sentences that matter, word for word."""

from __future__ import annotations

import pytest

from mnemic.ranking.digest import (
    CUT,
    LEAST_CONTENT,
    LEAST_TOKENS,
    MOST_TOKENS,
    content,
    digest,
    needles,
    shortened_tokens,
    stems,
)

KAYAK = "The kayak is green and four metres long."
CHATTER = "There is nothing much to say about any of this, one way or another, or so it seems to me today."


def count(text: str) -> int:
    return len(text.split())


def test_the_sentence_about_the_question_stays_and_a_mark_stands_for_the_others():
    shown = digest(" ".join([CHATTER] * 3 + [KAYAK] + [CHATTER] * 3), needles("How long is the kayak?"), count)
    assert KAYAK in shown
    assert CUT in shown
    assert count(shown.replace(CUT, "")) <= MOST_TOKENS


def test_a_short_text_stays_whole():
    assert digest(KAYAK, needles("kayak"), count) == KAYAK


@pytest.mark.parametrize("length", [0, 1, LEAST_TOKENS, LEAST_TOKENS + 1, 100, 1000])
def test_one_long_sentence_is_cut_at_a_word(length: int):
    text = "word " * length
    shown = digest(text.strip(), needles("kayak"), count)
    assert count(shown.replace(CUT, "")) <= shortened_tokens(length)
    assert set(shown.replace(CUT, "").split()) <= {"word"}


def test_words_of_the_question_are_found_where_a_word_begins_and_chinese_anywhere():
    assert needles("Do kayaks float?") == (" float", " kayak")
    assert needles("我的猫") == ("我", "猫", "的")


@pytest.mark.parametrize(
    "text",
    ["Wow, Lena! That's amazing!", "Thanks, Lena!", "Sounds great, what was it like?", "Yeah, absolutely. Talk soon!"],
)
def test_praise_thanks_and_questions_back_say_nothing(text: str):
    assert content(text, stems("Lena")) < LEAST_CONTENT


@pytest.mark.parametrize(
    "text",
    [
        "Tea, please.",
        "A cat.",
        "In 2019!",
        "Great! We bought a kayak.",
        "Cool. [image: a red kayak]",
        "很好",
        "Ich mag Tee.",
    ],
)
def test_a_short_answer_says_something(text: str):
    assert content(text) >= LEAST_CONTENT


def test_a_caption_is_kept_before_chatter():
    text = f"{CHATTER} {CHATTER} [image: two kayaks on a lake]"
    assert "[image: two kayaks on a lake]" in digest(text, needles("What did they paddle?"), count)
