"""A long message is shortened to the sentences that matter, word for word."""

from __future__ import annotations

import pytest

from mnemic.ranking.digest import CUT, LEAST_TOKENS, MOST_TOKENS, digest, needles, shortened_tokens

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
