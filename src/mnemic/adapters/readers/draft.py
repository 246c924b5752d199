"""Builds a document from paragraphs, headings and pages, as one text with exact offsets."""

import re
from collections.abc import Mapping, Sequence
from pathlib import PurePath

from mnemic.adapters.readers import refusals
from mnemic.model.document import Heading, ReadDocument, ReadLimits

_UNWANTED = re.compile(r"[\x00\ud800-\udfff]")
_LINE_ENDS = re.compile(r"\r\n?|[\x0b\x0c\x85\u2028\u2029]")
TITLE_CHARACTERS = 300  # longer is a paragraph in a heading's style; bounds each chunk's header
_NO_TITLES = frozenset({"(anonymous)", "untitled", "untitled document"})
"""Placeholder titles that programs write."""


def clean(text: str) -> str:
    """The text with line feeds only, without NUL and lone surrogates."""
    return _UNWANTED.sub("", _LINE_ENDS.sub("\n", text))


class DocumentDraft:
    """Collects the cleaned text of one file and enforces the limits."""

    def __init__(self, name: str, limits: ReadLimits) -> None:
        self._name = name
        self._limits = limits
        self._parts: list[str] = []
        self._length = 0
        self._pages: list[int] = []
        self._headings: list[Heading] = []

    @property
    def length(self) -> int:
        """Characters so far. After a new page, where the next text begins."""
        return self._length

    def paragraph(self, text: str) -> None:
        """Add a paragraph, set off by a blank line. Skips a blank one."""
        self._add(clean(text).strip("\n").rstrip(), "\n\n")

    def line(self, text: str) -> None:
        """Add a line directly below the last one. Skips a blank one."""
        self._add(clean(text).strip(), "\n")

    def verbatim(self, text: str) -> None:
        """Add cleaned text with its blank lines. Must come first."""
        self._append(clean(text))

    def heading(self, level: int, title: str) -> None:
        """Add a heading as its own paragraph."""
        title = " ".join(clean(title).split())
        if title:
            self._add(title, "\n\n")
            self.mark_heading(self._length - len(title), level, title)

    def mark_heading(self, offset: int, level: int, title: str) -> None:
        """Record a heading that is already in the text, at `offset`."""
        self._headings.append(Heading(offset, max(level, 1), title[:TITLE_CHARACTERS]))

    def page(self) -> None:
        """Start a page, after a blank line."""
        if len(self._pages) >= self._limits.max_pages:
            raise refusals.too_many_pages(self._name, self._limits)
        if self._length and self._parts[-1] != "\n\n":
            self._append("\n\n")
        self._pages.append(self._length)

    def document(
        self, media_type: str, *, title: str | None = None, metadata: Mapping[str, object] | None = None
    ) -> ReadDocument:
        """The finished document. Raises `UnreadableError` if it has no text."""
        text = "".join(self._parts)
        if not text.strip():
            raise refusals.empty(self._name)
        known = {key: clean(str(value)).strip() for key, value in (metadata or {}).items() if value}
        return ReadDocument(
            title=self._title(title or ""),
            media_type=media_type,
            text=text,
            pages=tuple(min(page, len(text)) for page in self._pages),
            headings=tuple(self._headings),
            metadata={key: value for key, value in known.items() if value},
        )

    def _title(self, given: str) -> str:
        given = " ".join(clean(given).split())[:TITLE_CHARACTERS]
        return given if given and given.lower() not in _NO_TITLES else PurePath(self._name).stem or self._name

    def row(self, cells: Sequence[object]) -> None:
        """Add a table row as a line: cells separated by bars, without blank ones at the end."""
        texts = [" ".join(clean(str(cell)).split()) if cell is not None else "" for cell in cells]
        while texts and not texts[-1]:
            texts.pop()
        if any(texts):
            self.line(" | ".join(texts))

    def _add(self, text: str, separator: str) -> None:
        if not text.strip():
            return
        if self._length and not (self._parts[-1] == "\n\n" or (self._pages and self._pages[-1] == self._length)):
            self._append(separator)
        self._append(text)

    def _append(self, text: str) -> None:
        self._length += len(text)
        if self._length > self._limits.max_characters:
            raise refusals.too_long(self._name, self._limits)
        self._parts.append(text)
