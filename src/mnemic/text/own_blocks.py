"""Finds the blocks that Mnemic itself put in front of a model, in text that comes back, so that none becomes memory.

The mirror of `blocks`: what is written there is recognised here. Only whole and well-formed blocks count. A text that
merely mentions a marker keeps its words; and since stored text cannot forge one, a whole block is ours or an imitation,
and neither is something that was said.
"""

from __future__ import annotations

import re

from mnemic.text.blocks import (
    DOCUMENTS_BEGIN,
    DOCUMENTS_END,
    FACTS_BEGIN,
    FACTS_END,
    PREFACES,
    PROFILE_HEADINGS,
)
from mnemic.text.late_pattern import late_pattern

_END_OF_LINE = r"[^\S\n]*(?:\n|\Z)"
_PREFACE = "(?:(?:" + "|".join(map(re.escape, PREFACES)) + ")" + _END_OF_LINE + ")?"


def _framed(begin: str, line: str, end: str) -> re.Pattern[str]:
    """A preface, where there is one, and lines of one form between two markers that stand alone on their lines."""
    begin, end = (re.escape(marker) + _END_OF_LINE for marker in (begin, end))
    return late_pattern(rf"^{_PREFACE}{begin}(?:{line}\n)+{end}", re.MULTILINE)


_BLOCKS = (
    _framed(FACTS_BEGIN, "- .+", FACTS_END),
    _framed(DOCUMENTS_BEGIN, '(?:Source: |"|  ).*', DOCUMENTS_END),
    late_pattern(
        "^(?:" + "|".join(map(re.escape, PROFILE_HEADINGS)) + ")" + _END_OF_LINE + r"(?:[^\n]+: \S.*(?:\n|\Z))+",
        re.MULTILINE,
    ),
)
_WORKING = late_pattern(
    r"(?:\A|(?<=\n\n))(?:"
    r"Date: \d{4}-\d\d-\d\d(?:\nUser: .+)?(?:\nModel: .+)?"
    r"|日期：\d{4}-\d\d-\d\d(?:\n用户：.+)?(?:\n模型：.+)?"
    r")[^\S\n]*(?:\n(?=\n)|\n?\Z)"
)
_SIGNS = (FACTS_BEGIN, DOCUMENTS_BEGIN, *PROFILE_HEADINGS)
_BLANK_LINES = late_pattern(r"\n{3,}")


def without_own_blocks(text: str, *, is_system: bool) -> str:
    """The text without our blocks; the very same text when there is none, "" when there is nothing else.

    Facts, documents and the profile are known by their markers and headings. Working memory has none: its paragraph is
    taken for ours in a message of the system (`is_system`), and beside another block. Where a block is cut out, the
    paragraphs around it stay apart by one empty line.
    """
    if not is_system and not any(sign in text for sign in _SIGNS):
        return text
    plain = text.replace("\r\n", "\n")
    rest = plain
    for block in _BLOCKS:
        rest = block.sub("\n", rest)
    if is_system or rest != plain:
        rest = _WORKING.sub("\n", rest)
    return text if rest == plain else _BLANK_LINES.sub("\n\n", rest).strip()
