"""Which day, week, month or year a statement speaks of, counted from when it was said.

Answers for relative expressions ("yesterday", "last Friday", "two weeks ago", "next month"), whose words a language
gives, and for dates that are written out. Weeks begin on Monday. All days are those of UTC: the zone of the speaker is
not known.
"""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import Enum
from itertools import pairwise

from mnemic.text.asking import Date, find_dates
from mnemic.text.languages import DateRules
from mnemic.text.normalise import late_pattern

_LABEL = late_pattern(r" \([^()\d]*\d{4}(?:-\d\d){0,2}\)$|（\d{4}[^（）]*）$")
_ISO = late_pattern(r"(\d{4})(?:-(\d\d))?(?:-(\d\d))?")
_LARGER = {"day": "week", "week": "month", "month": "year", "year": "year"}
_STEPS = {"last": -1, "this": 0, "next": 1, "coming": 1}
_FIRST_YEAR, _LAST_YEAR = 1900, 2100
_MONTHS = 12
_LEAP = 4
"""Every date recurs within this many years, including 29 February."""

_REACH = timedelta(days=183)
"""How far ahead a date without a year may lie if the verb leaves it open. The nearest date is taken."""

_JUST = timedelta(days=21)
"""A date that passed this recently is not next year's: "it's March 16 now", said on the 17th."""

_REACH_UNDECIDED = timedelta(days=270)
"""Farther where a plan is told, though in the past: "wanted to marry in October"."""

_COUNTED_WORDS = 2
"""A count and what it counts: "612 km"."""

_FIRST_DAY = late_pattern(
    r"(?<![\d/.-])\d{1,2}(?:st|nd|rd|th|\.|日|号)? ?(?:[-–—~到至]|to|until|till|through|bis|and|und) ?"
    r"(?=(\d{1,2})(?![:\d]))"
)
"""The first of several days of one month, and the number of the last."""

_SATURDAY = 5


@dataclass(frozen=True, slots=True)
class When:
    """The time from `start` to before `end` (aware, UTC); `unit` is "day", "weekend", "week", "month" or "year".

    `is_relative`: it was counted from when it was said, so the words alone do not tell it.
    """

    start: datetime
    end: datetime
    unit: str
    is_relative: bool


def find_time(text: str, said_at: datetime, words: DateRules) -> When | None:
    """The time that a statement names, or None: a relative one first ("last week"), unless a date says it more exactly.
    No string raises; what lies outside the calendar is None.
    """
    today = said_at.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    folded = text.casefold().replace("’", "'")
    try:
        for name, expression in words.rules:
            if (match := expression.search(folded)) is not None:
                found = _READERS[name](match, today, words)
                if found is not None:
                    return _date_within(found, folded, today, words) or found
        return _read_date(folded, today, words)
    except (KeyError, OverflowError, ValueError):  # a count that the language has no word for is not in its numbers
        return None


def read_label(label: str, words: DateRules) -> When | None:
    """The time of the date behind a fact, as `labels` wrote it: " (on 2026-12-04)"."""
    if (match := _ISO.search(label)) is None:
        return None
    year, month, day = (int(part or 1) for part in match.groups())
    try:
        start = datetime(year, month, day, tzinfo=UTC)
    except ValueError:
        return None
    unit = next((unit for unit, form in words.labels.items() if form.format(start) == label), None)
    if unit == "weekend":
        return When(start, start + timedelta(days=2), unit, is_relative=True)
    return None if unit is None else _span(start, unit)


_ARTICLES = ("the", "den", "dem")  # between a weekday and its date
_SAME_YEAR = timedelta(days=300)  # farther away, the weekday or the day is a mistake
_NEARBY = timedelta(weeks=1)
"""A date so near a vaguer time tells of the same event: "last weekend, on June 18th", which people say on the 27th."""


def _date_within(vague: When, folded: str, today: datetime, words: DateRules) -> When | None:
    """The day that a statement names beside a vaguer time, if both are past or both to come; beside a weekday, if it is
    one: "on Friday, 4 December".
    """
    day = _read_date(folded, today, words)
    if day is None or day.unit != "day" or (day.start > today) is not (vague.start > today):
        return None
    if vague.unit == "day":
        return day if day.start.weekday() == vague.start.weekday() else None
    return day if vague.start - _NEARBY <= day.start < vague.end + _NEARBY else None


def _read_day(match: re.Match[str], today: datetime, words: DateRules) -> When:
    return _span(today + timedelta(days=words.days[match.group()]), "day")


def _read_year(match: re.Match[str], today: datetime, words: DateRules) -> When:
    return _span(today.replace(year=today.year + words.years[match.group()], month=1, day=1), "year")


def _count(match: re.Match[str], words: DateRules) -> int:
    word = match["n"].replace(" of", "").split()[-1]
    return int(word) if word.isdecimal() else words.numbers[word]


def _read_ago(match: re.Match[str], today: datetime, words: DateRules) -> When:
    unit = words.units[match["unit"]]
    moved = _moved(today, -_count(match, words), unit)
    if not words.vague or words.vague not in match.group() or unit == "year":
        return moved
    return _moved(moved.start, 0, _LARGER[unit])  # so many as "a few" is nobody's count


def _read_ahead(match: re.Match[str], today: datetime, words: DateRules) -> When | None:
    """None for a duration: "rode 612 km in eight days", "not been there in six years"."""
    before = match.string[: match.start()].split()[-_COUNTED_WORDS:]
    counted = len(before) == _COUNTED_WORDS and (before[0][:1].isdecimal() or words.numbers.get(before[0], 1) > 1)
    is_past = _tense(_clause_around(match, words), words) is _Tense.PAST
    if counted or is_past or words.duration.search(match.string[: match.start()]) is not None:
        return None
    return _moved(today, _count(match, words), words.units[match["unit"]])


def _read_near(match: re.Match[str], today: datetime, words: DateRules) -> When:
    return _moved(today, _STEPS[words.steps[match["step"]]], words.units[match["unit"]])


def _read_weekday(match: re.Match[str], today: datetime, words: DateRules) -> When | None:
    """The day: "last Friday", or "on Friday" of what is past, the latest one; "next Friday" that of the next week."""
    day = words.weekdays[match["weekday"]]
    is_past = _tense(_clause_around(match, words), words) is _Tense.PAST
    if match.group() == match["weekday"] and not is_past:
        return None  # "my long run is Saturday"
    step = words.steps.get(match["step"] or "") or ("last" if is_past else "coming")
    if step == "next":
        return _span(_monday(today) + timedelta(days=7 + day), "day")
    if step in ("this", "coming"):
        return _span(
            _monday(today) + timedelta(days=day + (7 if day < today.weekday() and step == "coming" else 0)), "day"
        )
    return _span(today - timedelta(days=(today.weekday() - day - 1) % 7 + 1), "day")


class _Tense(Enum):
    """What the verbs of a statement tell of its time."""

    PAST = "past"
    COMING = "coming"
    OPEN = "open"


def _tense(folded: str, words: DateRules) -> _Tense:
    """Where the verbs tell of both, or of nothing, the time stays open."""
    if words.ahead.search(folded) is not None:
        return _Tense.COMING
    if words.is_past(folded):
        return _Tense.OPEN if words.undecided.search(folded) is not None else _Tense.PAST
    is_coming = words.undecided.search(folded) is not None or words.present.search(folded) is not None
    return _Tense.COMING if is_coming else _Tense.OPEN


def _clause_around(match: re.Match[str], words: DateRules) -> str:
    """The clause that a time stands in, where it has a verb that tells its time; else the whole statement."""
    text = match.string
    edges = [0, *(edge for cut in words.turn.finditer(text) for edge in cut.span()), len(text)]
    start = max(edge for edge in edges if edge <= match.start())
    clause = text[start : min(edge for edge in edges if edge >= match.end())]
    return clause if _tense(clause, words) is not _Tense.OPEN else text


def _read_weekend(match: re.Match[str], today: datetime, words: DateRules) -> When:
    """The Saturday and Sunday: of this week, or of the one before or after; "at the weekend" goes by the verb."""
    step = words.steps.get(match["step"] or "", "this")
    is_past = _tense(_clause_around(match, words), words) is _Tense.PAST
    if step == "this" and is_past and today.weekday() < _SATURDAY:
        step = "last"
    start = _monday(today) + timedelta(days=_SATURDAY, weeks={"last": -1, "next": 1}.get(step, 0))
    return When(start, start + timedelta(days=2), "weekend", is_relative=True)


def _read_near_month(match: re.Match[str], today: datetime, words: DateRules) -> When:
    """The latest such month before this one, that of this year, or the first after this one."""
    names = words.months.split(",")
    month = next(place for place, forms in enumerate(names, start=1) if match["month"] in forms.split())
    step = words.steps[match["step"]]
    is_over = step == "last" and month >= today.month
    is_ahead = step in ("next", "coming") and month <= today.month
    return _span(datetime(today.year - is_over + is_ahead, month, 1, tzinfo=UTC), "month")


def _read_day_of_week(match: re.Match[str], today: datetime, words: DateRules) -> When:
    """The day of the week before this one, of this or of the next."""
    days = words.weekdays[match["weekday"]] + 7 * _STEPS[words.steps[match["step"]]]
    return _span(_monday(today) + timedelta(days=days), "day")


def _read_in_year(match: re.Match[str], today: datetime, _words: DateRules) -> When | None:
    year = int(match["year"])
    is_read = _FIRST_YEAR <= year <= _LAST_YEAR
    return _span(today.replace(year=year, month=1, day=1), "year", is_relative=False) if is_read else None


def _read_date(folded: str, today: datetime, words: DateRules) -> When | None:
    """The first date that is written out; one without a year goes by the verb, else it is the nearest one. Of several
    days, their month.
    """
    last_days = {int(found[1]) for found in _FIRST_DAY.finditer(folded)}
    folded = _FIRST_DAY.sub("", folded)
    date = next(iter(find_dates(folded)), None)
    if date is None:
        return None
    unit = "month" if date.day is None or date.day in last_days else "day"
    if date.year is not None:
        return _span(_of_date(date, date.year, unit), unit, is_relative=False)
    if words.yearly.search(folded) is not None:
        return None
    clause = next((each for each in words.turn.split(folded) if date in find_dates(each)), folded)
    tense = _tense(clause, words)
    if tense is _Tense.OPEN:
        tense = _tense(folded, words)
    years = [year for year in range(today.year - _LEAP, today.year + _LEAP + 1) if _has_day(date, year)]
    spans = [_span(_of_date(date, year, unit), unit) for year in years]
    weekday = _find_weekday(folded, words)
    if near := [span for span in spans if span.start.weekday() == weekday and abs(span.start - today) < _SAME_YEAR]:
        tense, spans = _Tense.OPEN, near
    if tense is _Tense.PAST:
        return max((span for span in spans if span.start <= today), key=lambda span: span.start, default=None)
    if tense is _Tense.COMING:
        just = [span for span in spans if unit == "day" and span.end <= today < span.start + _JUST]
        return next(
            iter(just), min((span for span in spans if span.end > today), key=lambda each: each.start, default=None)
        )
    reach = _REACH_UNDECIDED if words.undecided.search(folded) is not None else _REACH
    return min(spans, key=lambda span: abs(span.start - today - (reach - _REACH)), default=None)


def _find_weekday(folded: str, words: DateRules) -> int | None:
    """The weekday right before a date, also cut ("Sat Oct 17")."""
    months = set(words.months.replace(",", " ").split())
    found = [word for word in re.findall(r"\w+", folded) if word not in _ARTICLES]
    before = [one for one, other in pairwise(found) if other[0].isdecimal() or other in months]
    return next(
        (day for one in before for name, day in words.weekdays.items() if one[2:] and name.startswith(one)), None
    )


def _has_day(date: Date, year: int) -> bool:
    return date.day is None or date.day <= monthrange(year, date.month)[1]


def _of_date(date: Date, year: int, unit: str) -> datetime:
    return datetime(year, date.month, 1 if unit == "month" else date.day or 1, tzinfo=UTC)


def _moved(today: datetime, count: int, unit: str) -> When:
    if unit == "day":
        return _span(today + timedelta(days=count), "day")
    if unit == "week":
        return _span(_monday(today) + timedelta(weeks=count), "week")
    months = today.year * _MONTHS + today.month - 1 + (count if unit == "month" else count * _MONTHS)
    start = today.replace(year=months // _MONTHS, month=months % _MONTHS + 1, day=1)
    return _span(start if unit == "month" else start.replace(month=1), unit)


def _monday(day: datetime) -> datetime:
    return day - timedelta(days=day.weekday())


def _span(start: datetime, unit: str, *, is_relative: bool = True) -> When:
    if unit in ("day", "week"):
        return When(start, start + timedelta(days=1 if unit == "day" else 7), unit, is_relative)
    months = start.year * _MONTHS + start.month - 1 + (1 if unit == "month" else _MONTHS)
    return When(start, start.replace(year=months // _MONTHS, month=months % _MONTHS + 1), unit, is_relative)


_READERS: Mapping[str, Callable[[re.Match[str], datetime, DateRules], When | None]] = {
    "day": _read_day,
    "ago": _read_ago,
    "ahead": _read_ahead,
    "weekday": _read_weekday,
    "weekend": _read_weekend,
    "near_month": _read_near_month,
    "near": _read_near,
    "day_of_week": _read_day_of_week,
    "year": _read_year,
    "in_year": _read_in_year,
}


def cut_label(text: str) -> str:
    """A fact without the date that the rules wrote behind it."""
    return _LABEL.sub("", text)
