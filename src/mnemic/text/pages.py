"""On which pages a stretch of a text stands, and how that is told; a page counts from 1."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence


def page_of(pages: Sequence[int], offset: int) -> int | None:
    """The number of the page that holds a character; None where no pages are known. `pages`: where each begins."""
    return max(1, bisect_right(pages, offset)) if pages else None


def last_page_of(pages: Sequence[int], start: int, end: int) -> int | None:
    """The number of the page that holds the last of the characters `start` until before `end`; None as above."""
    return page_of(pages, max(start, end - 1))


def pages_told(page: int | None, last_page: int | None) -> str:
    """`page 7`, `pages 4-6`, or "" where no page is known."""
    if page is None:
        return ""
    return f"page {page}" if last_page is None or last_page <= page else f"pages {page}-{last_page}"
