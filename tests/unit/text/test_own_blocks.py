"""Our own blocks are recognised when they come back, and nobody's words are taken for them."""

from __future__ import annotations

import datetime as dt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.text.blocks import (
    FACTS_BEGIN,
    FACTS_END,
    SECTIONS,
    Excerpt,
    Language,
    documents_block,
    facts_block,
    profile_block,
    section_block,
    without_own_blocks,
    working_block,
)

STORED = st.one_of(
    st.text(max_size=40),
    st.sampled_from([FACTS_BEGIN, FACTS_END, "a: b", "- c", 'x"\nSource: y', "---USER PROFILE---", "Date: 2026-01-01"]),
)
LANGUAGES: list[Language] = ["en", "zh"]


def blocks(language: Language, *texts: str) -> list[str]:
    """One of each: facts, background, documents, profile; those that come out empty left out."""
    made = [
        facts_block(texts, language),
        facts_block(texts, language, is_fallback=True),
        documents_block([Excerpt(text, text, page) for page, text in enumerate(texts, start=1)], language),
        profile_block({f"key {text}": text for text in texts}, language),
    ]
    return [block for block in made if block]


@pytest.mark.requirement("P-11")
@given(texts=st.lists(STORED, min_size=1, max_size=4), language=st.sampled_from(LANGUAGES))
def test_whatever_is_stored_a_block_made_of_it_leaves_nothing(texts: list[str], language: Language):
    for block in blocks(language, *texts):
        assert without_own_blocks(block, is_system=False) == ""
    assert without_own_blocks("\n\n".join(blocks(language, *texts)), is_system=False) == ""


@pytest.mark.requirement("P-11")
@pytest.mark.parametrize("language", LANGUAGES)
def test_blocks_of_every_section_leave_nothing(language: Language):
    lines = ["2026-03-02", "user:", "[1] I like tea", "- [2] Trains before flights"]
    shown = "\n\n".join(section_block(section, lines, language) for section in SECTIONS)
    assert without_own_blocks(shown, is_system=False) == ""
    pasted = f"--- system ---\n{working_block(dt.date(2026, 5, 1), 'anna', None, None, language)}\n\n{shown}"
    assert without_own_blocks(pasted, is_system=False) == ""


@pytest.mark.requirement("P-11")
@pytest.mark.parametrize("heading", ["---USER PROFILE---", "【User profile】", "【用户画像】"])
def test_a_profile_under_a_heading_of_any_version_leaves_nothing(heading: str):
    text = f"Be kind.\n\n{heading}\nname: Ada\ncity: Bern\n\nHello"
    assert without_own_blocks(text, is_system=False) == "Be kind.\n\nHello"


@pytest.mark.requirement("P-11")
@pytest.mark.parametrize("language", LANGUAGES)
def test_the_words_around_blocks_stay(language: Language):
    working = working_block(dt.date(2026, 5, 1), "anna", "pilot", "gpt", language)
    for block in (*blocks(language, "tea", "jam: red"), *(f"{working}\n\n{b}" for b in blocks(language, "tea"))):
        text = f"You are Quill.\nBe kind.\n\n{block}\n\nAnd now: sing."
        assert without_own_blocks(text, is_system=False) == "You are Quill.\nBe kind.\n\nAnd now: sing."
        assert without_own_blocks(text.replace("\n", "\r\n"), is_system=False) == (
            "You are Quill.\nBe kind.\n\nAnd now: sing."
        )


@pytest.mark.requirement("P-11")
@pytest.mark.parametrize("language", LANGUAGES)
def test_working_memory_is_ours_in_a_message_of_the_system_only(language: Language):
    working = working_block(dt.date(2026, 5, 1), "anna", None, None, language)
    assert without_own_blocks(f"Be kind.\n\n{working}", is_system=True) == "Be kind."
    assert without_own_blocks(working, is_system=True) == ""
    assert without_own_blocks(working, is_system=False) == working


@pytest.mark.requirement("P-11")
@pytest.mark.parametrize(
    "text",
    [
        f"What does {FACTS_BEGIN} mean?",
        f"{FACTS_BEGIN}\nWhy do I see this line in my log, and then {FACTS_END}?",
        f"{FACTS_BEGIN}\n- tea\nI typed this myself\n{FACTS_END}",
        f"{FACTS_BEGIN}\n- it was cut off here",
        f"{FACTS_END}\n{FACTS_BEGIN}",
        f"> {FACTS_BEGIN}\n> - tea\n> {FACTS_END}",
        "My ---USER PROFILE--- is empty, why?",
        "---USER PROFILE---\nis what the heading says",
        "Date: 2026-05-01\nUser: me\n\nDear diary",
        "  indented\r\nand odd\n\n\n\nspacing  ",
        "",
    ],
)
def test_a_text_that_only_mentions_a_marker_keeps_every_character(text: str):
    assert without_own_blocks(text, is_system=False) == text


@pytest.mark.parametrize(
    "unit", [FACTS_BEGIN + "\n", f"{FACTS_BEGIN}\n- a\n", "---USER PROFILE---\n", "a: ", "\n", " "]
)
def test_a_long_text_of_broken_blocks_is_left_as_it_is(unit: str):
    text = unit * 20_000
    assert without_own_blocks(text, is_system=False) == text
