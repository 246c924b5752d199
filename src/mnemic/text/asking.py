"""Signals of a question besides its words: dates, and whether it asks for the assistant's words.

Reads dates (2023-05-07, 07.05.2023, 7 May 2023, May 7th, in May, 5月7日), days relative to today ("yesterday", "two
weeks ago"), and references to an assistant's reply. A question is short and may mix languages, so the words of all
languages are tried. Those of French, Spanish, Italian and Portuguese are here until these languages have rules of
their own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cache

from mnemic.text.analyser import is_unspaced
from mnemic.text.languages import DateRules, languages
from mnemic.text.normalise import late_pattern

_FURTHER_MONTHS = (
    "janvier enero gennaio janeiro,février febrero febbraio fevereiro,mars marzo março mar,avril abril aprile,mayo"
    " maggio maio,juin junio giugno junho,juillet julio luglio julho,août agosto,septembre septiembre settembre"
    " setembro,octobre octubre ottobre outubro,novembre noviembre novembro,décembre diciembre dicembre dezembro"
)
_FURTHER_LEADS = "en|em|de|di|a|depuis|dès|desde|hasta|até|dal|fino"
_NUMBERS = late_pattern(r"(?<!\d)(?:(\d{4})-(\d{1,2})(?:-(\d{1,2}))?|(\d{1,2})\.(\d{1,2})\.(\d{4}))(?!\d)")
_LAST_MONTH, _LAST_DAY = 12, 31  # of the calendar
_FURTHER_ASSISTANT = late_pattern(
    r"\b(?:tu m'as|vous m'avez|m'as-tu|m'avez-vous)\b|\b(?:me )?(?:recomendaste|dijiste|sugeriste|mencionaste)\b"
)
_UNITS = {"day": (1.0, 1), "week": (7.0, 3), "month": (30.4, 10), "year": (365.2, 60)}
"""Days of each unit, and the tolerance in days: the longer ago, the less exact people are."""


@dataclass(frozen=True, slots=True)
class Date:
    """A day (all three set), a month of a year, or that month or day of any year."""

    year: int | None
    month: int
    day: int | None


@dataclass(frozen=True, slots=True)
class Span:
    """Days from `first` to `last`, both inclusive."""

    first: date
    last: date


@dataclass(frozen=True, slots=True)
class Asking:
    """The signals of a question. `is_unspaced`: its terms are bigrams, of which few match."""

    dates: tuple[Date, ...] = ()
    is_of_assistant: bool = False
    spans: tuple[Span, ...] = ()
    is_unspaced: bool = False

    @property
    def is_dated(self) -> bool:
        """True if the question names days of any kind."""
        return bool(self.dates or self.spans)

    @classmethod
    def of(cls, text: str, today: date) -> Asking:
        """The signals of `text`, asked on `today`. A month counts beside a number or a word such as "in"."""
        folded = text.casefold()
        is_of_assistant = any(language.asks_assistant.search(folded) for language in languages())
        is_of_assistant = is_of_assistant or _FURTHER_ASSISTANT.search(folded) is not None
        spans = tuple(find_spans(folded, today))
        return cls(find_dates(folded), is_of_assistant, spans, is_unspaced(text))


def find_dates(folded: str) -> tuple[Date, ...]:
    """The dates written out in a case-folded text, each once."""
    return tuple(dict.fromkeys(_read_dates(folded)))


def _read_dates(folded: str) -> Iterator[Date]:
    for found in _NUMBERS.finditer(folded):
        year, month, day = (found[1], found[2], found[3]) if found[1] else (found[6], found[5], found[4])
        yield from _check_date(year, int(month), day)
    months, named, worded = _month_words()
    for found in worded.finditer(folded) if named.search(folded) else ():  # most questions name no month
        day = found["before"] or _ordinals().get(found["ordinal"] or "") or found["after"]
        if day or found["year"] or found["lead"]:
            yield from _check_date(found["year"], months[found["name"]], day)
    for words in (language.dates for language in languages()):
        for found in words.written.finditer(folded) if not folded.isascii() else ():
            yield from _check_date(found[1], words.numbers.get(found[2]) or int(found[2]), found[3])


def _check_date(year: str | None, month: int, day: str | None) -> Iterator[Date]:
    if 1 <= month <= _LAST_MONTH and (day is None or 1 <= int(day) <= _LAST_DAY):
        yield Date(int(year) if year else None, month, int(day) if day else None)


_ORDINAL = ("st", "nd", "rd", "th")  # endings of English ones


@cache
def _ordinals() -> Mapping[str, str]:
    """The days of a month in words, "twentieth", longest first, each with its number."""
    numbers = [each for language in languages() for each in language.dates.numbers.items()]
    found = {word: str(number) for word, number in numbers if word.endswith(_ORDINAL)}
    return dict(sorted(found.items(), key=lambda each: -len(each[0])))


@cache
def _month_words() -> tuple[Mapping[str, int], re.Pattern[str], re.Pattern[str]]:
    """Months by name in all languages; patterns for a name and for its possible context."""
    listed = [_FURTHER_MONTHS, *(language.dates.months for language in languages() if language.dates.months)]
    months = {
        name: month for each in listed for month, names in enumerate(each.split(","), start=1) for name in names.split()
    }
    names = "|".join(sorted(months, key=len, reverse=True))
    leads = "|".join([*(language.dates.leads for language in languages() if language.dates.leads), _FURTHER_LEADS])
    ordinals = "|".join(_ordinals())
    worded = (
        rf"(?:\b(?P<before>\d{{1,2}})(?:st|nd|rd|th|er|º|\.)?\s+(?:of\s+|de\s+)?"
        rf"|\b(?P<ordinal>{ordinals})\s+of\s+|\b(?P<lead>{leads})\s+(?:the\s+)?)?"
        rf"\b(?P<name>{names})\b\.?"
        r"(?:(?:,?\s+the)?\s+(?P<after>\d{1,2})(?:st|nd|rd|th)?\b(?!\d))?(?:,?\s+(?:of\s+|de\s+|del\s+)?(?P<year>\d{4})\b)?"
    )
    return months, re.compile(rf"\b(?:{names})\b"), re.compile(worded)


def find_spans(folded: str, today: date) -> Iterator[Span]:
    """The days that a case-folded text names relative to `today`, from the year 1. People are inexact: a week may be
    three days more or less, a month ten. Weeks start on Monday.
    """
    for words in (language.dates for language in languages()):
        if any(cue in folded for cue in words.cues):  # most questions have none, and a closer look takes 0.1 ms
            yield from _find_spans(folded, today, words)


def _find_spans(folded: str, today: date, words: DateRules) -> Iterator[Span]:
    for found in words.ago.finditer(folded):
        days, slack = _UNITS[words.units[found[2]]]
        back = round(days * (words.numbers.get(found[1]) or int(found[1])))
        yield from _span(today, back + slack, max(back - slack, 0))
    for found in words.last_weekday.finditer(folded):
        back = (today.weekday() - words.weekdays[found[1]] - 1) % 7 + 1
        yield from _span(today, back, max(back - 1, 0))  # it may be told on the day after
    for wording, first, last in words.since:
        if wording.search(folded):
            yield from _span(today, first, last)


def _span(today: date, first: int, last: int) -> Iterator[Span]:
    if today.toordinal() > first:
        yield Span(today - timedelta(days=first), today - timedelta(days=last))
