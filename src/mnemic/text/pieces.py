"""Cuts a huge text into pieces that a model can read in one go: at section borders where there are any.

Answers for the places alone; no piece of the text is copied but to be weighed. What a model makes of it is asked for in
`text.research`.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from mnemic.model.document import Heading
from mnemic.text.narrative import tokens

LEAST_ROOM = 200
"""Fewer tokens than this make no piece worth reading."""

OVERLAP_CHARACTERS = 300
"""Where nothing parts two pieces, so much of the one is shown with the next, from the beginning of a sentence."""

_CHARACTERS_A_TOKEN = 2.5  # of ASCII, as `tokens` counts
_FIRST_BORDER = 0.5  # of what fits: a section that ends earlier is no reason to leave the rest empty
_ENDS = (". ", "! ", "? ", ".\n", "。", "！", "？", "؟ ", "। ")


@dataclass(frozen=True, slots=True)
class Piece:
    """Characters `start` until before `end` of a text; those before `own` were in the piece before, too."""

    index: int
    start: int
    own: int
    end: int


def cut(text: str, room: int, headings: Sequence[Heading] = (), pages: Sequence[int] = ()) -> list[Piece]:
    """The pieces of a text in order, each of at most `room` tokens (see `narrative.tokens`); together they hold all of
    it. `headings` and `pages` ascend by offset. A border is the highest heading within the second half of what fits;
    where there is none an empty line, the begin of a page, a line, a sentence, a word, or whatever character comes.
    """
    room = max(room, LEAST_ROOM)
    offsets = [heading.offset for heading in headings]
    found: list[Piece] = []
    start = own = 0
    while own < len(text):
        limit = _fitting(text, start, room)
        end, is_parted = _border(text, (start, limit), (headings, offsets), pages)
        end = max(end, own + 1)
        found.append(Piece(len(found), start, own, end))
        start, own = end if is_parted else _overlap(text, start, end), end
    return found


def _fitting(text: str, start: int, room: int) -> int:
    """The last offset up to which the text from `start` weighs no more than the room."""
    most = min(len(text), start + int(room * _CHARACTERS_A_TOKEN))
    if tokens(text[start:most]) <= room:
        return most
    return start + bisect_right(range(most - start), room, key=lambda size: tokens(text[start : start + size])) - 1


def _border(
    text: str, span: tuple[int, int], headings: tuple[Sequence[Heading], Sequence[int]], pages: Sequence[int]
) -> tuple[int, bool]:
    """Where a piece that may reach until the end of `span` ends, and whether something parts it from the next one."""
    start, limit = span
    if limit >= len(text):
        return len(text), True
    first = start + max(1, int((limit - start) * _FIRST_BORDER))
    titles, offsets = headings
    near = titles[bisect_left(offsets, first) : bisect_right(offsets, limit)]
    if near:
        return min(near, key=lambda heading: (heading.level, -heading.offset)).offset, True
    blank = text.rfind("\n\n", first, limit)
    if blank >= 0:
        return blank + 2, True
    page = bisect_right(pages, limit)
    if page and pages[page - 1] >= first:
        return pages[page - 1], False
    line = text.rfind("\n", first, limit)
    if line >= 0:
        return line + 1, False
    ends = [place + len(mark) for mark in _ENDS if (place := text.rfind(mark, first, limit)) >= 0]
    blank = text.rfind(" ", first, limit)
    return max(ends, default=blank + 1 or limit), False


def _overlap(text: str, start: int, end: int) -> int:
    """Where the next piece begins so that it holds the last sentences of this one."""
    least = end - min(OVERLAP_CHARACTERS, (end - start) // 10)
    begins = [place + len(mark) for mark in (*_ENDS, "\n") if 0 <= (place := text.find(mark, least, end)) < end - 2]
    return min(begins, default=end)
