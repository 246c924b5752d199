"""Titles and the names in other texts that may be theirs."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.text.outline import MOST_TITLE_CHARACTERS, names_in, title_key


@pytest.mark.parametrize(
    "title, key",
    [
        ("Ed Wood (film)", "ed wood"),
        ("  The   LEASE-agreement, 2nd part ", "the lease agreement 2nd part"),
        ("Korçë", "korçë"),
        ("《战国无双3》（游戏）", "战 国 无 双 3"),
        ("(Untitled)", "untitled"),
        ("Ｆｕｌｌ ｗｉｄｔｈ", "full width"),
        ("so\u00adft hy\u200bphen", "soft hyphen"),
    ],
)
def test_a_title_has_one_form_whatever_its_case_marks_and_qualifier(title: str, key: str):
    assert title_key(title) == key


@pytest.mark.parametrize(
    "title", ["", "--", "It", "who is she", "1984", "12 2024", "AI", "中国", "()", "one " * 11, " " * 100_000 + "("]
)
def test_what_nobody_can_tell_in_a_text_has_no_form(title: str):
    assert title_key(title) == ""


@pytest.mark.parametrize(
    "text, title",
    [
        ("He met Lester Smith in 1990.", "Lester Smith"),
        ("Details are in the Lease agreement of May.", "Lease agreement"),
        ("She loved Korçë.", "Korçë"),
        ("Ed Wood is a film by Tim Burton.", "Ed Wood (1994 film)"),
        ("They read The Lord of the Rings aloud.", "The Lord of the Rings"),
        ('It is called "the unbearable lightness of being", he said.', "The unbearable lightness of being"),
        ("他导演了《阿飞正传》。", "阿飞正传"),
        ("See O'Brien's map.", "O'Brien"),
        ("the 2012 Summer Olympics were in London", "2012 Summer Olympics"),
    ],
)
def test_a_text_names_a_title(text: str, title: str):
    assert title_key(title) in names_in(text)


@pytest.mark.parametrize(
    "text, title",
    [
        ("he stopped at a summary", "Summary"),
        ("Summary of the year", "Summary"),
        ("First. Summary of all", "Summary"),
        ("1984 was a warm year", "1984"),
        ("an editor of Wood", "Ed Wood"),
        ("她去了上海海洋馆", "上海海洋馆"),
        ("", "Summary"),
    ],
)
def test_a_text_does_not_name_what_only_looks_like_a_title(text: str, title: str):
    assert title_key(title) not in names_in(text)


@given(st.text(max_size=MOST_TITLE_CHARACTERS + 5))
def test_every_title_has_a_form_that_stays_what_it_is(title: str):
    key = title_key(title)
    assert title_key(key) == key
    assert not key or len(key) > 80 or key in names_in(f"He saw \u201c{key}\u201d there")
    assert "" not in names_in(title)
