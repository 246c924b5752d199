"""The items of a list in Markdown, each by itself, with those that it stands under."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

TAB_COLUMNS = 4
MAX_ABOVE = 8
"""Items that one is said to stand under, the nearest ones."""

_ITEM = re.compile(r"(?P<indent>[ \t]*)(?P<mark>[-*+\u2022]|\d{1,9}[.)])(?P<gap>[ \t]+|$)")
_FENCE = re.compile(r"[ \t]*(`{3,}|~{3,})")


@dataclass(frozen=True, slots=True)
class Item:
    """An item: its text without mark and indentation, where its line begins in the list, the texts of the items that it
    stands under, outermost first, and whether others stand under it.
    """

    text: str
    start: int
    above: tuple[str, ...]
    has_children: bool


@dataclass(slots=True)
class _Open:
    """An item that is being read."""

    start: int
    column: int
    depth: int
    parent: _Open | None
    lines: list[str] = field(default_factory=list[str])
    has_children: bool = False

    @property
    def text(self) -> str:
        return "\n".join(self.lines).strip("\n")

    def above(self) -> Iterator[_Open]:
        at = self.parent
        for _ in range(MAX_ABOVE):
            if at is None:
                return
            yield at
            at = at.parent


def items(text: str) -> list[Item]:
    """All items of a list, in order, at whatever depth. Lines that are no item belong to the one before, marks of items
    within fenced code too. Numbers and marks of the list are not part of a text.
    """
    found: list[_Open] = []
    open_: _Open | None = None
    fence, position = "", 0
    for line in text.splitlines(keepends=True):
        bare = line.rstrip("\n")
        match = None if fence else _ITEM.match(bare)
        if match is not None:
            open_ = _begun(match, bare, position, open_)
            found.append(open_)
        elif open_ is not None:
            open_.lines.append(_dedented(bare, open_.column))
        content = bare[match.end() :] if match else bare
        if mark := _FENCE.match(content):
            fence = mark[1] if not fence else "" if mark[1].startswith(fence) else fence
        position += len(line)
    return [
        Item(each.text, each.start, tuple(reversed([parent.text for parent in each.above()])), each.has_children)
        for each in found
    ]


def _begun(match: re.Match[str], line: str, position: int, before: _Open | None) -> _Open:
    """An item that begins, under the nearest one before it that is indented less."""
    depth = _columns(match["indent"])
    parent = before
    while parent is not None and parent.depth >= depth:
        parent = parent.parent
    if parent is not None:
        parent.has_children = True
    return _Open(position, _columns(line[: match.end()]), depth, parent, [line[match.end() :]])


def _columns(blanks: str) -> int:
    return len(blanks.expandtabs(TAB_COLUMNS))


def _dedented(line: str, column: int) -> str:
    """A line without the indentation of its item."""
    blanks = len(line) - len(line.lstrip(" \t"))
    indent = line[:blanks].expandtabs(TAB_COLUMNS)
    return indent[column:] + line[blanks:]
