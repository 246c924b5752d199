"""In which writing a text is."""

from __future__ import annotations

import pytest

from mnemic.text.normalise import Writing, writing_of


@pytest.mark.parametrize(
    "text, writing",
    [
        ("Where is my tea?", Writing.LATIN),
        ("Où est mon thé ? Größe, żółć, İzmir, Việt Nam", Writing.LATIN),
        ("ｆｕｌｌ ｗｉｄｔｈ", Writing.LATIN),
        ("The word 茶 means tea in Chinese", Writing.LATIN),
        ("我的茶在哪里？", Writing.OTHER),
        ("我用 Python 写代码", Writing.OTHER),
        ("где мой чай", Writing.OTHER),
        ("お茶はどこですか", Writing.OTHER),
        ("12:30 — 5 €", None),
        ("", None),
    ],
)
def test_the_writing_of(text: str, writing: Writing | None):
    assert writing_of(text) is writing
