"""Which quotes stand in a text, and where."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.text.research import MAX_QUOTE_CHARACTERS, find_quotes

TEXT = "Before.  The “old” harbour\n was closed in May 1912, by order. After that, nothing. 港口于五月关闭。"


def found(quote: str, text: str = TEXT) -> list[str]:
    return [text[start:end] for start, end in find_quotes(quote, text, 0, len(text))]


@pytest.mark.requirement("P-25")
@pytest.mark.parametrize(
    "quote",
    [
        "The “old” harbour\n was closed in May 1912",
        'the "old" harbour was closed in may 1912',
        "\"The 'old' harbour was closed in May 1912.\"",
        "  The 'old' harbour was closed in May 1912… ",
    ],
)
def test_a_quote_is_found_whatever_its_blanks_marks_and_case(quote: str):
    assert found(quote) == ["The “old” harbour\n was closed in May 1912"]


def test_an_ellipsis_divides_a_quote_whose_parts_must_all_be_there():
    assert found("harbour was closed [...] After that, nothing") == ["harbour\n was closed", "After that, nothing"]
    assert found("harbour was closed ... and never opened") == []
    assert found("港口于五月关闭") == ["港口于五月关闭"]


@pytest.mark.parametrize("quote", ["", "…", "May", "the", "was opened in May 1912", "x" * 5000, "closed in May 1913"])
def test_what_is_not_there_or_too_short_to_tell_anything_is_no_quote(quote: str):
    assert found(quote) == []


def test_a_quote_is_found_within_its_piece_alone():
    place = TEXT.index("After")
    assert find_quotes("After that, nothing", TEXT, 0, place) == []
    assert find_quotes("After that, nothing", TEXT, place, len(TEXT)) == [(place, place + 19)]


@given(st.text(max_size=300), st.text(max_size=300))
def test_every_place_is_within_the_text_and_no_string_raises(quote: str, text: str):
    for start, end in find_quotes(quote, text, 0, len(text)):
        assert 0 <= start < end <= len(text)
        assert end - start <= MAX_QUOTE_CHARACTERS
