"""Where a huge text is cut into pieces."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.model.document import Heading
from mnemic.text.narrative import tokens
from mnemic.text.outline import last_page_of, page_of, pages_told
from mnemic.text.research import LEAST_ROOM, OVERLAP_CHARACTERS, cut

WORDS = st.text(alphabet="ab .\n?é海", min_size=0, max_size=3000)


@pytest.mark.requirement("P-25")
@given(WORDS, st.integers(200, 900), st.lists(st.integers(0, 3000), max_size=5))
def test_pieces_hold_all_of_a_text_in_order_and_fit(text: str, room: int, places: list[int]):
    headings = [Heading(place, 1, "x") for place in sorted(places) if place <= len(text)]
    pieces = cut(text, room, headings, [0] if text else [])
    assert "".join(text[piece.own : piece.end] for piece in pieces) == text
    assert [piece.index for piece in pieces] == list(range(len(pieces)))
    for piece in pieces:
        assert tokens(text[piece.start : piece.end]) <= room
        assert piece.start <= piece.own < piece.end
        assert piece.own - piece.start <= OVERLAP_CHARACTERS


def test_a_piece_ends_at_the_highest_heading_of_the_second_half_of_what_fits():
    text = "word " * 400
    headings = [Heading(100, 1, "early"), Heading(300, 2, "chapter"), Heading(400, 3, "part"), Heading(450, 2, "next")]
    first, second, *_ = cut(text, LEAST_ROOM, headings)
    assert (first.end, second.start, second.own) == (450, 450, 450)


def test_without_headings_an_empty_line_parts_pieces_and_a_sentence_is_shown_twice_where_nothing_does():
    text = "One sentence stands here. " * 15 + "\n\n" + "Another sentence stands there. " * 60
    first, second, third, *_ = cut(text, LEAST_ROOM)
    assert text[first.end - 2 : first.end] == "\n\n"
    assert second.start == second.own == first.end
    assert text[third.start : third.own].startswith("Another sentence")


def test_a_text_without_any_border_is_cut_all_the_same():
    assert [piece.end - piece.start for piece in cut("x" * 1200, LEAST_ROOM)] == [500, 500, 200]
    assert cut("", LEAST_ROOM) == []


def test_pages_are_numbered_from_one():
    assert [page_of((0, 10, 20), offset) for offset in (0, 9, 10, 25)] == [1, 1, 2, 3]
    assert page_of((), 5) is None


def test_a_stretch_ends_on_the_page_of_its_last_character():
    ends = (1, 10, 11, 20, 21, 99)
    assert [last_page_of((0, 10, 20), 0, end) for end in ends] == [1, 1, 2, 2, 3, 3]
    assert last_page_of((0, 10, 10, 20), 12, 12) == 3  # nothing stands where it begins; an empty page counts
    assert last_page_of((), 0, 9) is None


def test_pages_are_told_as_one_or_as_a_range():
    assert [pages_told(7, 7), pages_told(7, None), pages_told(4, 6)] == ["page 7", "page 7", "pages 4-6"]
    assert pages_told(None, None) == ""
