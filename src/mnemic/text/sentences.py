"""Splits text into sentences by rules, and shortens long passages. In doubt two sentences stay together rather than one
being cut inside a name or a number.
"""

import re
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

from mnemic.text.analyser import STOP_WORDS, Analyser
from mnemic.text.languages import detect, words

Span = tuple[int, int]

_FULL_STOPS = "\u3002\uff01\uff1f\uff61\u061f\u06d4\u0964\u0965\u0589\u1362"
"""Marks that always end a sentence: Chinese and Japanese, Arabic, Urdu, Hindi, Armenian, Ethiopic."""

_CLOSERS = "\"')\\]}\u00bb\u201d\u2019\u300d\u300f\uff09\u3011*_`"
_END = re.compile(f"(?P<marks>[.!?\u2026{_FULL_STOPS}]++)(?P<closers>[{_CLOSERS}]*+)")
_NEXT_WORD = re.compile(r"\s*+[\"'(\[\u00ab\u201c\u2018*_]*+(?P<word>\w{1,20})")
_LAST_WORD = re.compile(r"(?<![\w.])[\w.]++$")
_LOOK_BACK = 24  # characters examined before a full stop; no abbreviation is longer
_FENCE = re.compile(r"\s*(```|~~~)")
_LIST_MARKER = re.compile(r"\s*(?:\d{1,3}|[A-Za-z])$")
_ORDINAL = re.compile(r"(?<!\d)\d{1,2}$")
_ITEM = re.compile(r"(?<!\S)(\d{1,2})\) (?=\S)")
_INITIALS = re.compile(r"(?:[^\W\d_]\.)*[^\W\d_]")

_TITLES = words("mr mrs ms dr prof fr gen col lt sgt capt rev hon gov sen rep mt")
"""Never the end of a sentence: a name follows."""

_ABBREVIATIONS = words(
    "etc vs cf al approx dept est st inc ltd co corp jr sr ave blvd ph.d "
    "jan feb mar apr jun jul aug sep sept oct nov dec mon tue wed thu"
)
"""The end of a sentence only if a new one clearly starts."""

_BEFORE_NUMBERS = words("no nos fig figs eq vol p pp sec ch art ca tel ext")


def sentences(text: str) -> list[Span]:
    """Half-open character spans, one per sentence, in order, without overlap, covering all but white space.

    A sentence ends at `.`, `!`, `?` or an ellipsis before white space, and at the full stops and question marks of
    Chinese, Japanese, Arabic, Urdu, Hindi, Armenian and Amharic. It also ends at a blank line, at the end of a line
    unless the next one continues in lower case, and before further items of a list ("1) milk 2) bread"). Closing quotes
    and brackets belong to it. Abbreviations, initials, list numbers and decimal numbers do not end one. A fenced code
    block is one span. No string raises.
    """
    spans: list[Span] = []
    for start, end, is_code in _blocks(text):
        edges = [start, end] if is_code else sorted({start, *_cuts(text, start, end), *_items(text, start, end), end})
        for left, right in pairwise(edges):
            piece = text[left:right]
            begin = left + len(piece) - len(piece.lstrip())
            if begin < right:
                spans.append((begin, begin + len(piece.strip())))
    return spans


def _blocks(text: str) -> Iterator[tuple[int, int, bool]]:
    """Lines that belong together, as (start, end, is_code), covering the whole text."""
    start = position = 0
    fence = ""
    for line in text.splitlines(keepends=True):
        marker = _FENCE.match(line)
        if fence:
            if marker and marker.group(1) == fence:
                yield start, position + len(line), True
                start, fence = position + len(line), ""
        elif marker:
            yield start, position, False
            start, fence = position, marker.group(1)
        elif not line[:1].islower():
            yield start, position, False
            start = position
        position += len(line)
    yield start, position, bool(fence)


def _cuts(text: str, start: int, end: int) -> Iterator[int]:
    """Offsets within the block after which a new sentence starts."""
    begin = start
    for mark in _END.finditer(text, start, end):
        if _ends_sentence(text, mark, begin):
            begin = mark.end()
            yield begin


def _items(text: str, start: int, end: int) -> list[int]:
    """Offsets of the further items of a list within the block: "1) milk 2) bread"."""
    found = list(_ITEM.finditer(text, start, end)) if ") " in text else []
    numbers = {int(item[1]) for item in found}
    return [item.start() for item in found if int(item[1]) - 1 in numbers]


def _ends_sentence(text: str, mark: re.Match[str], begin: int) -> bool:
    marks, closers, after = mark["marks"], mark["closers"], mark.end()
    if any(character in _FULL_STOPS for character in marks):
        return True
    if after < len(text) and not text[after].isspace():
        return False
    following = _NEXT_WORD.match(text, after)
    word = following["word"] if following else ""
    if (closers or marks[0] == "\u2026" or marks.startswith("..")) and word[:1].islower():
        return False
    if marks != ".":
        return True
    before = text[max(begin, mark.start() - _LOOK_BACK) : mark.start()]
    return not _is_abbreviation(before, word) and not _is_ordinal(text[begin : after + _LOOK_BACK], before, word)


def _is_ordinal(sentence: str, before: str, following: str) -> bool:
    """True if the full stop makes the number before it an ordinal, in a language that writes them so."""
    if _ORDINAL.search(before) is None:
        return False
    dates = detect(sentence).dates
    is_month = following.casefold() in dates.months.replace(",", " ").split()
    return dates.has_ordinal_stop and (is_month or following.islower())


def _is_abbreviation(before: str, following: str) -> bool:
    """True if the full stop after `before` (the end of the sentence so far) belongs to an abbreviation."""
    if _LIST_MARKER.fullmatch(before):
        return True
    last = _LAST_WORD.search(before)
    word = last.group().lower() if last else ""
    if word in _TITLES:
        return True
    if word in _BEFORE_NUMBERS and following[:1].isdigit():
        return True
    is_short = word in _ABBREVIATIONS or _INITIALS.fullmatch(word) is not None
    return is_short and not (following[:1].isupper() and following.lower() in STOP_WORDS)


CUT_MARK = " […]"  # ends a shortened text
Fits = Callable[[str], bool]  # whether a text has room; if it has, so has every start of it

_analyser = Analyser()


def cut_at_sentence(text: str, fits: Fits) -> str:
    """The longest start of whole sentences that fits with `CUT_MARK`, marked; "" if there is none."""
    return _longest(text, [end for _, end in sentences(text)], fits)


def cut_at_word(text: str, fits: Fits) -> str:
    """The longest start of whole words that fits with `CUT_MARK`, marked; "" if none does. If the first word alone is
    too long, it is cut by characters.
    """
    ends = [end for _, end in _analyser.token_spans(text)]
    return _longest(text, ends, fits) or _longest(text, range(1, len(text) + 1), fits)


def _longest(text: str, ends: Sequence[int], fits: Fits) -> str:
    count = bisect_left(ends, True, key=lambda end: not fits(text[:end] + CUT_MARK))
    return text[: ends[count - 1]] + CUT_MARK if count else ""
