"""What reading a file gives: one text, with the places of its pages and headings; and the limits of reading."""

from __future__ import annotations

import bisect
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from mnemic.errors import InvalidInputError

_NOTHING: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading: where it begins in the text (a character offset), its level (1 is the highest), and its words."""

    offset: int
    level: int
    title: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadDocument:
    """The text of a file, never blank, so that passages can be cut from it and cited by page.

    `pages`: the offset at which each page begins, ascending, the first 0; empty where the format has no pages. A page
    is what a reader would cite: the page of a PDF, the slide of a presentation, the sheet of a workbook. `headings`
    ascend by offset. `metadata`: what the file says of itself, in words (author, language, encoding).
    Raises `InvalidInputError` when an offset is outside the text or out of order.
    """

    title: str
    media_type: str
    text: str
    pages: tuple[int, ...] = ()
    headings: tuple[Heading, ...] = ()
    metadata: Mapping[str, str] = field(default_factory=lambda: _NOTHING)

    def __post_init__(self) -> None:
        places = [heading.offset for heading in self.headings]
        for offsets in (list(self.pages), places):
            if offsets != sorted(offsets) or any(not 0 <= offset <= len(self.text) for offset in offsets):
                raise InvalidInputError("the pages and headings of a document ascend, inside its text")
        if self.pages and self.pages[0] != 0:
            raise InvalidInputError("the first page of a document begins with its text")

    def page_at(self, offset: int) -> int | None:
        """The number of the page, counted from 1, that holds the character at `offset`; None without pages."""
        return bisect.bisect_right(self.pages, offset) or None

    def headings_at(self, offset: int) -> tuple[Heading, ...]:
        """The headings above the character at `offset`, the outermost first: the way to it through the document."""
        path: list[Heading] = []
        for heading in self.headings:
            if heading.offset > offset:
                break
            while path and path[-1].level >= heading.level:
                path.pop()
            path.append(heading)
        return tuple(path)


MEBIBYTE = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadLimits:
    """How much one file may cost before it is refused; each is checked as early as the format allows.

    `max_bytes`: of the file. `max_characters`: of its text. `max_unpacked_bytes`, `max_members`: of an archive, which
    office files and e-books are. `max_ratio`: unpacked to packed size, looked at above 10 MiB. `max_depth`: messages
    within messages. `timeout_s`, `memory_bytes`: of the process that reads (memory where the system can limit it).
    """

    max_bytes: int = 100 * MEBIBYTE
    max_pages: int = 5_000
    max_characters: int = 50_000_000
    max_unpacked_bytes: int = 400 * MEBIBYTE
    max_members: int = 20_000
    max_ratio: int = 200
    max_depth: int = 8
    timeout_s: float = 60.0
    memory_bytes: int = 1_024 * MEBIBYTE
