"""Where sentences begin and end."""

from __future__ import annotations

import pytest

from mnemic.text.sentences import sentences


def pieces(text: str) -> list[str]:
    return [text[start:end] for start, end in sentences(text)]


@pytest.mark.parametrize(
    "text, expected",
    [
        ("One. Two! Three? Four", ["One.", "Two!", "Three?", "Four"]),
        ("今天天气很好。你呢？我很好！", ["今天天气很好。", "你呢？", "我很好！"]),
        ("「元気？」彼は言った。", ["「元気？」", "彼は言った。"]),
        ("كيف حالك؟ أنا بخير.", ["كيف حالك؟", "أنا بخير."]),
        ("यह घर है। वह जाता है।", ["यह घर है।", "वह जाता है।"]),
        ('He said "Stop." Then he left.', ['He said "Stop."', "Then he left."]),
        ("What?! Really... Yes.", ["What?!", "Really...", "Yes."]),
    ],
)
def test_sentences_end_at_the_marks_of_their_script(text: str, expected: list[str]):
    assert pieces(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "Mr. Hill paid 3.14 euros.",
        "Some fruit, e.g. apples, is red.",
        "She joined the U.S. Navy.",
        "J. R. Reed wrote it.",
        "See Fig. 3 and No. 5 there.",
        "Open foo.bar and read it.",
        '"Really?" she asked.',
        "It is big... and wide.",
        "It costs approx. five, etc. and so on.",
        "See chapter 2) for it.",
    ],
)
def test_abbreviations_numbers_and_quotations_do_not_end_a_sentence(text: str):
    assert pieces(text) == [text]


def test_an_abbreviation_ends_a_sentence_where_a_new_one_plainly_begins():
    assert pieces("I live in the U.S. It is big.") == ["I live in the U.S.", "It is big."]


def test_no_is_a_sentence_unless_a_number_follows():
    assert pieces("No. I went.") == ["No.", "I went."]


def test_lines_end_sentences_unless_the_next_goes_on_in_lower_case():
    assert pieces("A heading\nA line that\ngoes on.\n\nlast") == ["A heading", "A line that\ngoes on.", "last"]


def test_list_items_are_sentences_and_keep_their_markers():
    text = "- milk\n* bread\n1. First thing. More\n2. Second"
    assert pieces(text) == ["- milk", "* bread", "1. First thing.", "More", "2. Second"]


def test_a_list_within_a_line_is_cut_before_its_further_items():
    assert pieces("I need 1) milk 2) an egg") == ["I need 1) milk", "2) an egg"]
    assert pieces("1) Milk, 2) an egg 9) x") == ["1) Milk,", "2) an egg 9) x"]


def test_a_fenced_code_block_is_one_span():
    fence = "```py\nx = 1. \n\nY()\n```"
    assert pieces(f"Look:\n{fence}\nDone.") == ["Look:", fence, "Done."]
    assert pieces("~~~\nA. B\n") == ["~~~\nA. B"]


@pytest.mark.parametrize("text", ["", "  \n\t "])
def test_blank_text_has_no_sentences(text: str):
    assert sentences(text) == []


@pytest.mark.parametrize("piece", [".", "\n", "a. ", "。", "...x", "```\n", "\ud800.", '"'])
def test_no_string_raises_however_long(piece: str):
    text = piece * (200_000 // len(piece))
    spans = sentences(text)
    assert all(start < end <= len(text) for start, end in spans)
