"""Which texts are worth nothing as memories, and which short ones are worth something."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.text.junk import junk_reason

pytestmark = pytest.mark.requirement("P-28")


@pytest.mark.parametrize(
    "text",
    [
        "ok",
        "Thanks!",
        "Thank you so much!",
        "Sounds good.",
        "Hello, good morning",
        "¡Muchas gracias!",
        "merci beaucoup",
        "谢谢",
        "好的。",
        "ありがとうございます",
        "...",
        "🙂🙂",
        "n/a",
        "tbd",
        "a1",
        "[REDACTED: api-key]",
        "As an AI language model, I do not have personal opinions.",
        "I hope this helps!",
        "Let me know if you have any other questions.",
        "Is there anything else I can help you with?",
        "Lorem ipsum dolor sit amet",
        "la la la la la la la la la",
        "{}[]()<>{}[]()<> a",
    ],
)
def test_junk_is_told_with_a_reason(text: str):
    assert junk_reason(text)


@pytest.mark.parametrize(
    "text",
    [
        "Vegan",
        "Likes tea",
        "User is 34",
        "Yes to the offer from Nordwind",
        "Good Morning Café is her favourite place",
        "Thanks to Ines the mast is up",
        "猫好き",
        "住在上海",
        "PIN is with Bob",
        "C++",
        "No nuts",
        "free to travel in May",
        "Is an AI engineer at a bank",
        "def f(x): return x",
        "https://example.org/a/b",
        "He said: let me know if you need the boat",
    ],
)
def test_what_says_something_is_kept(text: str):
    assert junk_reason(text) == ""


@given(st.text(max_size=100))
def test_no_text_raises(text: str):
    junk_reason(text)
