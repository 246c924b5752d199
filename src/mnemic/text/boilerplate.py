"""What pages repeat: the running heads, feet and page numbers around the text of a printed document."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence

from mnemic.text.chunking import Span

EDGE_LINES = 3
"""Lines at the top of a page, and at its bottom, that may be its head or foot."""

MAX_LINE_CHARS = 150
MIN_PAGES = 4
MIN_SHARE = 0.3
"""Of the pages must have a line for it to be repeated: left and right pages, or chapters, may have their own."""

_NUMBERS = re.compile(r"\d+|\b[ivxlc]+\b")


def boilerplate(text: str, pages: Sequence[int]) -> list[Span]:
    """The spans of lines near the edges of pages that stand there on many pages alike, numbers apart, in order.

    `pages`: the offset at which each page begins. Empty for a text of few pages. What stands on a page between a line
    and its edge is repeated too, so that text is never taken for a foot because it ends a page.
    """
    if len(pages) < MIN_PAGES:
        return []
    edges = [_edges(text, start, end) for start, end in zip(pages, [*pages[1:], len(text)], strict=True)]
    counts = Counter(key for top, bottom in edges for key in {_key(text, each) for each in (*top, *bottom)})
    enough = max(MIN_PAGES, MIN_SHARE * len(pages))
    found: list[Span] = []
    for top, bottom in edges:
        for lines in (top, bottom):
            for line in lines:
                if counts[_key(text, line)] < enough:
                    break
                found.append(line)
    return sorted(set(found))


def trimmed(text: str, span: Span, repeated: Sequence[Span]) -> Span | None:
    """A span without what is repeated at its ends, and without blanks there; None when nothing is left."""
    start, end = _stripped(text, *span)
    while start < end:
        place = _last(repeated, start)
        if place < 0 or repeated[place][1] <= start:
            break
        start, end = _stripped(text, min(repeated[place][1], end), end)
    while start < end:
        place = _last(repeated, end - 1)
        if place < 0 or repeated[place][1] < end:
            break
        start, end = _stripped(text, start, max(repeated[place][0], start))
    return (start, end) if start < end else None


def _last(repeated: Sequence[Span], position: int) -> int:
    """The number of the last span that begins at a position or before; -1 when none does."""
    return bisect_right(repeated, position, key=lambda span: span[0]) - 1


def _edges(text: str, start: int, end: int) -> tuple[list[Span], list[Span]]:
    """The first lines of a page from its top, and its last from the bottom; of a short page a line is in both."""
    return _first(_lines(text, start, end)), _first(_lines_from_below(text, start, end))


def _first(lines: Iterator[Span]) -> list[Span]:
    found: list[Span] = []
    for line in lines:
        if line[1] - line[0] > MAX_LINE_CHARS:
            break
        found.append(line)
        if len(found) == EDGE_LINES:
            break
    return found


def _lines(text: str, start: int, end: int) -> Iterator[Span]:
    while start < end:
        stop = text.find("\n", start, end)
        stop = end if stop < 0 else stop
        if not text[start:stop].isspace() and start < stop:
            yield start, stop
        start = stop + 1


def _lines_from_below(text: str, start: int, end: int) -> Iterator[Span]:
    while start < end:
        begin = text.rfind("\n", start, end) + 1
        begin = max(begin, start)
        if not text[begin:end].isspace() and begin < end:
            yield begin, end
        end = begin - 1


def _key(text: str, line: Span) -> str:
    """What two lines must share to be the same: their words, whatever the numbers in them."""
    return " ".join(_NUMBERS.sub("#", text[slice(*line)].casefold()).split())


def _stripped(text: str, start: int, end: int) -> Span:
    piece = text[start:end]
    begin = start + len(piece) - len(piece.lstrip())
    return begin, max(begin, start + len(piece.rstrip()))
