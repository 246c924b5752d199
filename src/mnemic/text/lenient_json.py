"""Reads JSON as language models write it, anywhere in a text: what is plain is read, what is cut or broken is marked.

Answers for syntax alone; what the data must look like is in `replies`. Every valid JSON object or array is read as the
standard says. Beyond it: prose around, trailing and missing commas, line comments, single and typographic quotes, bare
keys, quotes and line breaks inside texts, Python's literals, NaN (as null). Nothing is evaluated, and nothing is made
up: an object that ends in the middle of a value is a `CutObject`, never one with half a text in it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

MAX_DEPTH = 40

_SPACE = re.compile(r"(?:\s++|//[^\n]*+)*+")
_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")
_WORD = re.compile(r"-?[A-Za-z_][\w-]*")
_WORDS = {"true": True, "false": False, "null": None, "none": None, "nan": None, "infinity": None, "-infinity": None}
_QUOTES = {'"': '"', "'": "'", "“": "”", "„": "“", "‘": "’"}
_STOPS = {closing: re.compile(f"[\\\\{closing}]") for closing in _QUOTES.values()}
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "/": "/", "\\": "\\", '"': '"', "'": "'"}
_UNICODE = re.compile(r"(?:\\u[0-9a-fA-F]{4})+")
_TEXT_ENDS = re.compile(
    r"\Z|[}\]]|//"
    r"|,\s*+(?:\Z|[\"'“„‘{\[}\]\d+\-]|(?i:true|false|null|none|nan|infinity)\b|[A-Za-z_]\w*+\s*+:|//)"
)
"""What follows the quote that ends a text. Any other quote belongs to the text: models forget to escape them."""

_NEXT_FIELD = re.compile(r"[\"'][^\"'\n]{1,60}[\"']\s*+:")
"""What follows it on a new line when a comma is missing."""

_LONGEST_WHOLE = 18
"""Digits of a number that is read as a whole one."""


class CutObject(dict[str, object]):
    """An object that the text ended in; it holds the fields that were whole."""


class CutList(list[object]):
    """A list that the text ended in; it holds the entries that were whole, the last one may be cut itself."""


class Broken:
    """Stands in a list for an entry that cannot be read."""


class _BrokenError(Exception):
    """There is no reading on from `place`."""

    def __init__(self, place: int) -> None:
        super().__init__(place)
        self.place = place


class _CutError(Exception):
    """The text ended inside a value that has no whole part."""


def json_values(text: str) -> Iterator[object]:
    """The outermost objects and lists of a text, in order: dicts and lists, and `CutObject`, `CutList` and `Broken`
    where they are damaged. Time is linear in the length of the text.
    """
    reader = _Reader(text)
    place, patience = 0, 4 * len(text) + 1000
    while patience > 0 and (start := reader.next_start(place)) >= 0:
        try:
            value, place = reader.value(start, 0)
        except _BrokenError as error:
            patience -= error.place - start
            place = start + 1
        except _CutError:
            return
        else:
            yield value


class _Reader:
    """Reads values of one text; each method takes the place to read from and gives the value and the place behind."""

    _start = re.compile(r"[{\[]")
    _junk = re.compile(r"[^\[\]{}\"'“„‘,]+|[\[{]+")

    def __init__(self, text: str) -> None:
        self._text = text

    def next_start(self, place: int) -> int:
        found = self._start.search(self._text, place)
        return found.start() if found else -1

    def value(self, place: int, depth: int) -> tuple[object, int]:
        place = self._space(place)
        if place >= len(self._text):
            raise _CutError
        sign = self._text[place]
        if depth > MAX_DEPTH:
            raise _BrokenError(place)
        if sign == "{":
            return self._object(place + 1, depth)
        if sign == "[":
            return self._list(place + 1, depth)
        if sign in _QUOTES:
            return self._quoted(place, self._is_behind_text)
        return self._bare(place)

    def _object(self, place: int, depth: int) -> tuple[dict[str, object], int]:
        fields: dict[str, object] = {}
        while True:
            place, sign = self._next_sign(place)
            if sign == "}":
                return fields, place + 1
            if not sign:  # it ended between two fields: only the bracket is missing
                return fields or CutObject(), place
            try:
                key, place = self._key(place)
                value, place = self.value(place, depth + 1)
            except _CutError:
                return CutObject(fields), len(self._text)
            fields[key] = value
            if isinstance(value, CutObject | CutList):
                return CutObject(fields), place

    def _key(self, place: int) -> tuple[str, int]:
        if self._text[place] in _QUOTES:
            key, place = self._quoted(place, self._is_behind_key)
        else:
            word = _WORD.match(self._text, place)
            if word is None:
                raise _BrokenError(place)
            key, place = word.group(), word.end()
        place = self._space(place)
        if place >= len(self._text):
            raise _CutError
        if self._text[place] != ":":
            raise _BrokenError(place)
        return key, place + 1

    def _list(self, place: int, depth: int) -> tuple[list[object], int]:
        entries: list[object] = []
        has_words = False
        while True:
            place, sign = self._next_sign(place)
            if sign in {"]", ""} and has_words and not entries:
                raise _BrokenError(place)  # words in brackets, no list
            if sign == "]":
                return entries, place + 1
            if not sign:
                return CutList(entries), place
            try:
                entry, place = self.value(place, depth + 1)
            except _CutError:
                return CutList(entries), len(self._text)
            except _BrokenError as error:
                has_words = True
                place = self._behind_broken(error.place, sign, entries)
            else:
                entries.append(entry)

    def _behind_broken(self, place: int, sign: str, entries: list[object]) -> int:
        """Where a list goes on after something that cannot be read; a broken object counts as an entry, words not."""
        if sign != "{":
            junk = self._junk.match(self._text, place)
            return junk.end() if junk else place + 1
        entries.append(Broken())
        end = self._text.find("}", place)
        return len(self._text) if end < 0 else end + 1

    def _next_sign(self, place: int) -> tuple[int, str]:
        """The next character that is no space and no comma; empty at the end."""
        place = self._space(place)
        while self._text.startswith(",", place):
            place = self._space(place + 1)
        return place, self._text[place : place + 1]

    def _quoted(self, place: int, is_end: Callable[[int], bool]) -> tuple[str, int]:
        closing = _QUOTES[self._text[place]]
        stop = _STOPS[closing]
        parts: list[str] = []
        place += 1
        while (found := stop.search(self._text, place)) is not None:
            parts.append(self._text[place : found.start()])
            place = found.end()
            if found.group() != closing:
                part, place = self._escape(found.start())
                parts.append(part)
            elif is_end(place):
                return "".join(parts), place
            else:
                parts.append(closing)
        raise _CutError

    def _is_behind_key(self, place: int) -> bool:
        after = self._space(place)
        if after < len(self._text) and self._text[after] != ":":
            raise _BrokenError(place)
        return True

    def _is_behind_text(self, place: int) -> bool:
        after = self._space(place)
        if _TEXT_ENDS.match(self._text, after):
            return True
        return "\n" in self._text[place:after] and _NEXT_FIELD.match(self._text, after) is not None

    def _escape(self, place: int) -> tuple[str, int]:
        """The characters that escapes mean; one that means nothing is kept as it is."""
        units = _UNICODE.match(self._text, place)
        if units is not None:
            return bytes.fromhex(units.group().replace("\\u", "")).decode("utf-16-be", "replace"), units.end()
        sign = self._text[place + 1 : place + 2]
        return (_ESCAPES[sign], place + 2) if sign in _ESCAPES else ("\\", place + 1)

    def _bare(self, place: int) -> tuple[object, int]:
        number = _NUMBER.match(self._text, place)
        if number is not None:
            if number.end() >= len(self._text):
                raise _CutError  # the next digit may be missing
            return _number(number.group()), number.end()
        word = _WORD.match(self._text, place)
        if word is None or word.group().lower() not in _WORDS:
            if word is not None and word.end() >= len(self._text):
                raise _CutError
            raise _BrokenError(place)
        return _WORDS[word.group().lower()], word.end()

    def _space(self, place: int) -> int:
        found = _SPACE.match(self._text, place)
        return found.end() if found else place  # it always matches, if nothing


def _number(written: str) -> object:
    if written.lstrip("+-").isdigit() and len(written) <= _LONGEST_WHOLE:
        return int(written)
    value = float(written)
    return value if abs(value) != float("inf") else None
