"""Which days a text means that counts from today: "yesterday", "two weeks ago", "last Tuesday", "vor 3 Tagen", "上週".

Answers for English, German and Chinese. What is told so is told roughly, and the more so the longer ago it is: a week
may be three days more or less, a month ten. Weeks are told from Monday.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta

from mnemic.text.late_pattern import late_pattern


@dataclass(frozen=True, slots=True)
class Span:
    """Days from `first` to `last`, both inclusive."""

    first: date
    last: date


_ENGLISH = "one two three four five six seven eight nine ten"
_GERMAN = "eins zwei drei vier fünf sechs sieben acht neun zehn"
_NUMBERS = (
    {word: number for number, word in enumerate(_ENGLISH.split(), start=1)}
    | {word: number for number, word in enumerate(_GERMAN.split(), start=1)}
    | {word: number for number, word in enumerate("一二三四五六七八九十", start=1)}
    | {"a": 1, "an": 1, "einem": 1, "einer": 1, "a couple of": 2, "a few": 3, "两": 2, "兩": 2}
)
_DAYS = {"day": (1.0, 1), "week": (7.0, 3), "month": (30.4, 10), "year": (365.2, 60)}
"""Of each unit its days, and how many days more or less may be meant."""

_UNITS = {"tag": "day", "woche": "week", "monat": "month", "jahr": "year"} | {
    unit: name for name, units in {"day": "天日", "week": "週周", "month": "月", "year": "年"}.items() for unit in units
}
_COUNT = "|".join(word for word in sorted(_NUMBERS, key=len, reverse=True) if len(word) > 1 or word == "a")
_AGO = late_pattern(
    rf"\b(\d{{1,3}}|{_COUNT}) (day|week|month|year)s? ago\b"
    rf"|\bvor (\d{{1,3}}|{_COUNT}) (tag|woche|monat|jahr)(?:e|en|n)?\b"
    r"|(\d{1,3}|[一二三四五六七八九十两兩])\s*[個个]?(天|日|週|周|月|年)(?:以)?前"
)
_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_WEEKDAY = late_pattern(rf"\blast ({'|'.join(_WEEKDAYS)})\b")
_SINCE = (
    (late_pattern(r"\byesterday\b|\bgestern\b|昨天|昨日"), 1, 1),
    (late_pattern(r"\bthe day before yesterday\b|\bvorgestern\b|前天"), 2, 2),
    (late_pattern(r"\blast weekend\b|\bletztes wochenende\b"), 8, 1),
    (late_pattern(r"\blast week\b|\bletzte woche\b|上[週周]|上[個个]星期"), 13, 2),
    (late_pattern(r"\b(?:in|over|during|within) the (?:past|last) week\b"), 7, 0),
    (late_pattern(r"\blast month\b|\bletzten monat\b|上[個个]月"), 60, 1),
    (late_pattern(r"\b(?:in|over|during|within) the (?:past|last) month\b"), 31, 0),
)
"""Wordings for days that lie so many days back, from the first to the last."""

_CUES = ("ago", "last ", "past ", "yesterday", "vor ", "gestern", "letzte", "前", "昨", "上")


def spans(folded: str, today: date) -> Iterator[Span]:
    """The days that a case-folded text names by counting from `today`; none that lies before the year 1."""
    if not any(cue in folded for cue in _CUES):  # most questions name none, and looking closer takes 0.1 ms
        return
    for found in _AGO.finditer(folded):
        count, unit = (part for part in found.groups() if part is not None)
        days, slack = _DAYS[_UNITS.get(unit, unit)]
        back = round(days * (_NUMBERS.get(count) or int(count)))
        yield from _span(today, back + slack, max(back - slack, 0))
    for found in _WEEKDAY.finditer(folded):
        back = (today.weekday() - _WEEKDAYS.index(found[1]) - 1) % 7 + 1
        yield from _span(today, back, max(back - 1, 0))  # it may be told on the day after
    for wording, first, last in _SINCE:
        if wording.search(folded):
            yield from _span(today, first, last)


def _span(today: date, first: int, last: int) -> Iterator[Span]:
    if today.toordinal() > first:
        yield Span(today - timedelta(days=first), today - timedelta(days=last))
