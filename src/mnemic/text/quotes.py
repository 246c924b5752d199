"""Finds what was quoted in the text it was quoted from, so that no quote counts that is not there.

White space, kinds of quotation marks and, where nothing else is found, upper and lower case do not matter; letters,
digits and their order do. The answer is a place in the text, never the words as they were given.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

MAX_QUOTE_CHARACTERS = 600
LEAST_WEIGHT = 8
"""Of letters and digits; those outside of Latin, Greek and Cyrillic weigh two. Less could stand anywhere."""

_GAP = re.compile(r"\s*(?:\[\s*(?:\u2026|\.{3})\s*\]|\u2026|\.{3})\s*")
_MARKS = "\"'`\uff02\u201c\u201d\u201e\u201f\u301d\u301e\u275d\u275e\u2018\u2019\u201a\u201b\u00ab\u00bb"
_EDGE = _MARKS + " \t\r\n.,;:!?\u3002\uff0c\uff01\uff1f-\u2013\u2014*_"
_PARTS = re.compile(rf"(?P<space>\s+)|(?P<mark>[{re.escape(_MARKS)}])|(?P<plain>[^\s{re.escape(_MARKS)}]+)")
_NARROW_BELOW = 0x0590

Span = tuple[int, int]


def find_quotes(given: str, text: str, start: int, end: int) -> list[Span]:
    """The places, within `text[start:end]`, of a quote: one for each of its parts that an ellipsis divides, in their
    order. None when a part is not there, is too short to tell anything, or all of it is longer than a quote may be.
    """
    given = given.strip()
    if len(given) > 2 * MAX_QUOTE_CHARACTERS:
        return []
    whole = _place(given, text, start, end)
    if whole is not None:
        return [whole]
    found: list[Span] = []
    for part in _GAP.split(given):
        if not part.strip(_EDGE):
            continue
        place = _place(part, text, start, end)
        if place is None:
            return []
        found.append(place)
    return found if sum(last - first for first, last in found) <= MAX_QUOTE_CHARACTERS else []


def _place(given: str, text: str, start: int, end: int) -> Span | None:
    if _weight(given) < LEAST_WEIGHT:
        return None
    for words in dict.fromkeys((given, given.strip(_EDGE))):
        at = text.find(words, start, end)
        found = (at, at + len(words)) if at >= 0 else _loosely(words, text, start, end)
        if found is not None:
            place = _trimmed(text, *found)
            return place if place[1] - place[0] <= MAX_QUOTE_CHARACTERS else None
    return None


def _loosely(words: str, text: str, start: int, end: int) -> Span | None:
    pattern = "".join(_pattern(words.strip()))
    for flags in (0, re.IGNORECASE):
        match = re.compile(pattern, flags).search(text, start, end)
        if match is not None:
            return match.span()
    return None


def _pattern(words: str) -> Iterator[str]:
    for part in _PARTS.finditer(words):
        if part["space"]:
            yield r"\s+"
        elif part["mark"]:
            yield f"[{re.escape(_MARKS)}]"
        else:
            yield re.escape(part["plain"])


def _trimmed(text: str, start: int, end: int) -> Span:
    """The place without white space at its ends."""
    words = text[start:end]
    first = start + len(words) - len(words.lstrip())
    return first, first + len(words.strip())


def _weight(words: str) -> int:
    return sum(1 if ord(character) < _NARROW_BELOW else 2 for character in words if character.isalnum())
