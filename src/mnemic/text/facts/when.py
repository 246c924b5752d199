"""Which day, week, month or year a statement speaks of, counted from when it was said. English and Chinese.

Answers for relative expressions ("yesterday", "last Friday", "two weeks ago", "next month", 昨天, 上周五) and for dates
that are written out. Weeks begin on Monday. All days are those of UTC: the zone of the speaker is not known.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from mnemic.text.asking import MONTHS, Asking, Date
from mnemic.text.facts import verbs
from mnemic.text.late_pattern import late_pattern

_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_NUMBERS = {
    word: number
    for number, words in enumerate(
        ("", "a an one 一", "two couple 两 二", "three few 三", "four 四", "five 五", "six 六", "seven 七", "eight 八",
         "nine 九", "ten 十", "eleven 十一", "twelve 十二")
    )
    for word in words.split()
}  # fmt: skip
_N = (
    r"(?P<n>\d{1,3}|an?|one|two|(?:a )?couple(?: of)?|three|(?:a )?few|four|five|six|seven|eight|nine|ten|eleven"
    r"|twelve)"
)
_ZH_N = "(?P<n>\\d{1,3}|[一二两三四五六七八九十]{1,2})"
_UNITS = {
    "day": "day",
    "week": "week",
    "month": "month",
    "year": "year",
    "天": "day",
    "日": "day",
    "周": "week",
    "星期": "week",
    "礼拜": "week",
    "月": "month",
    "年": "year",
}
_STEPS = {"last": -1, "past": -1, "previous": -1, "this": 0, "next": 1, "上": -1, "这": 0, "本": 0, "下": 1}
_DAYS = {
    "the day before yesterday": -2,
    "the day after tomorrow": 2,
    "yesterday": -1,
    "last night": -1,
    "today": 0,
    "tonight": 0,
    "this morning": 0,
    "this afternoon": 0,
    "this evening": 0,
    "tomorrow": 1,
    "大前天": -3,
    "前天": -2,
    "昨天": -1,
    "昨晚": -1,
    "今天": 0,
    "今晚": 0,
    "今早": 0,
    "明天": 1,
    "后天": 2,
    "大后天": 3,
}
_LARGER = {"day": "week", "week": "month", "month": "year", "year": "year"}
_MONTH_NAMES = tuple(names.split()[0] for names in MONTHS)
_AHEAD = late_pattern(
    r"\b(?:will|going to|gonna|plan|plans|planning|thinking (?:of|about)|considering|hope to|hoping to|want to"
    r"|intend|upcoming|coming up|forward to|due|deadline"
    r"|saving|training for|preparing for|can't wait|(?:excited|nervous|worried) (?:for|about|to))\b|'ll\b"
    r"|\b(?:booked|scheduled|signed up|registered|reserved|invited)\b.*\bfor\b"
)
_FELT = late_pattern(
    r"(?:\b(?:am|is|are|be|feel|feeling|get|getting|getting so|seem|look)|'(?:m|re)) (?:(?:\w+ly|so|very|not|quite"
    r"|a bit|a little) )*"
    r"\w+ed\b"
)
"""A participle behind "am" is no past: "I'm excited"."""

_YEARS = {"前年": -2, "去年": -1, "今年": 0, "明年": 1}
_FIRST_YEAR, _LAST_YEAR = 1900, 2100
_MONTHS = 12
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

    @property
    def label(self) -> str:
        """As it is written behind a fact: "on 2026-05-01", "in 2026-05"."""
        if self.unit == "day":
            return f"on {self.start:%Y-%m-%d}"
        if self.unit in ("week", "weekend"):
            return f"{'in' if self.unit == 'week' else 'on'} the {self.unit} of {self.start:%Y-%m-%d}"
        return f"in {self.start:%Y-%m}" if self.unit == "month" else f"in {self.start:%Y}"

    @property
    def chinese_label(self) -> str:
        """The same behind a Chinese fact."""
        if self.unit == "day":
            return f"{self.start:%Y-%m-%d}"
        if self.unit == "week":
            return f"{self.start:%Y-%m-%d}那一周"
        return f"{self.start:%Y}年" + (f"{self.start.month}月" if self.unit == "month" else "")


def when(text: str, said_at: datetime) -> When | None:
    """The first time that a statement names, or None. No string raises; what lies outside the calendar is None."""
    today = said_at.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    folded = text.casefold().replace("’", "'")
    try:
        for expression, read in _RULES:
            if (match := expression.search(folded)) is not None and (found := read(match, today)) is not None:
                return found
        return _written(folded, today)
    except (OverflowError, ValueError):
        return None


def _day(match: re.Match[str], today: datetime) -> When:
    return _span(today + timedelta(days=_DAYS[match.group()]), "day")


def _year(match: re.Match[str], today: datetime) -> When:
    return _span(today.replace(year=today.year + _YEARS[match.group()], month=1, day=1), "year")


def _count(match: re.Match[str]) -> int:
    word = match["n"].replace(" of", "").split()[-1]
    return int(word) if word.isdecimal() else _NUMBERS[word]


def _ago(match: re.Match[str], today: datetime) -> When:
    unit = _UNITS[match["unit"]]
    moved = _moved(today, -_count(match), unit)
    if "few" not in match.group() or unit == "year":
        return moved
    return _moved(moved.start, 0, _LARGER[unit])  # so many as "a few" is nobody's count


def _ahead(match: re.Match[str], today: datetime) -> When:
    return _moved(today, _count(match), _UNITS[match["unit"]])


def _near(match: re.Match[str], today: datetime) -> When:
    unit = _UNITS[match["unit"]]
    return _moved(today, _STEPS[match["step"]], unit)


def _weekday(match: re.Match[str], today: datetime) -> When:
    """The day: "last Friday", or "on Friday" of what is past, the latest one; "next Friday" that of the next week."""
    day = _WEEKDAYS.index(match["day"])
    step = match["step"] or ("last" if _is_past(match.string) else "coming")
    if step == "next":
        return _span(_monday(today) + timedelta(days=7 + day), "day")
    if step in ("this", "coming"):
        return _span(
            _monday(today) + timedelta(days=day + (7 if day < today.weekday() and step == "coming" else 0)), "day"
        )
    return _span(today - timedelta(days=(today.weekday() - day - 1) % 7 + 1), "day")


def _is_past(folded: str) -> bool:
    """True where the verbs of a statement, and not only its feelings, are in the past."""
    words = _FELT.sub(" ", folded).replace("'", " ").split()
    return _AHEAD.search(folded) is None and any(verbs.is_past(word) or word == "since" for word in words)


def _weekend(match: re.Match[str], today: datetime) -> When:
    """The Saturday and Sunday: of this week, or of the one before or after; "at the weekend" goes by the verb."""
    step = match["step"]
    if step in (None, "this") and _is_past(match.string) and today.weekday() < _SATURDAY:
        step = "last"
    weeks = -1 if step in ("last", "past", "previous") else int(step == "next")
    start = _monday(today) + timedelta(days=_SATURDAY, weeks=weeks)
    return When(start, start + timedelta(days=2), "weekend", is_relative=True)


def _near_month(match: re.Match[str], today: datetime) -> When:
    """The latest such month before this one, or the first after it."""
    month = _MONTH_NAMES.index(match["month"]) + 1
    is_last = match["step"] in ("last", "past", "previous")
    year = today.year - int(is_last and month >= today.month) + int(not is_last and month <= today.month)
    return _span(datetime(year, month, 1, tzinfo=UTC), "month")


def _chinese_weekday(match: re.Match[str], today: datetime) -> When:
    day = "一二三四五六日天".index(match["day"])
    return _span(_monday(today) + timedelta(days=min(day, 6) + 7 * _STEPS[match["step"]]), "day")


def _in_year(match: re.Match[str], today: datetime) -> When | None:
    year = int(match["year"])
    return _span(today.replace(year=year, month=1, day=1), "year", is_relative=False) if _is_year(year) else None


def _written(folded: str, today: datetime) -> When | None:
    date = next(iter(Asking.of(folded, today.date()).dates), None)
    if date is None:
        return None
    is_relative = date.year is None
    start = _of_date(date, date.year or today.year)
    unit = "month" if date.day is None else "day"
    if is_relative and _AHEAD.search(folded) is not None:
        if _span(start, unit).end <= today and not any(verbs.is_past(word) for word in folded.split()):
            start = _of_date(date, today.year + 1)
    elif is_relative and start > today + timedelta(days=0 if _is_past(folded) else 183):
        start = _of_date(date, today.year - 1)
    return _span(start, unit, is_relative=is_relative)


def _of_date(date: Date, year: int) -> datetime:
    return datetime(year, date.month, date.day or 1, tzinfo=UTC)


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


def _is_year(year: int) -> bool:
    return _FIRST_YEAR <= year <= _LAST_YEAR


def _name(name: str) -> str:
    return rf"\b{name}\b" if name.isascii() else name


_Read = Callable[[re.Match[str], datetime], When | None]
_EN_UNIT = r"(?P<unit>day|week|month|year)"
_RULES: tuple[tuple[re.Pattern[str], _Read], ...] = (
    (late_pattern("|".join(_name(name) for name in sorted(_DAYS, key=len, reverse=True))), _day),
    (late_pattern(rf"\b{_N} {_EN_UNIT}s? (?:ago|back|earlier)\b"), _ago),
    (late_pattern(rf"\b(?:in|within) {_N} {_EN_UNIT}s?\b(?! (?:of|old))"), _ahead),
    (late_pattern(rf"\b(?:(?P<step>last|past|this|next|coming) |on )(?P<day>{'|'.join(_WEEKDAYS)})\b"), _weekday),
    (late_pattern(r"\b(?:(?P<step>last|past|previous|this|next|coming) |(?:over|on|at) the )weekend\b"), _weekend),
    (late_pattern(rf"\b(?P<step>last|past|previous|next) (?P<month>{'|'.join(_MONTH_NAMES)})\b(?! \d)"), _near_month),
    (late_pattern(rf"\b(?P<step>last|past|previous|this|next) {_EN_UNIT}\b"), _near),
    (late_pattern(r"(?P<step>上|这|本|下)(?:个)?(?:周|星期|礼拜)(?P<day>[一二三四五六日天])"), _chinese_weekday),
    (late_pattern(rf"{_ZH_N}个?(?P<unit>天|周|星期|礼拜|月|年)(?:之)?前"), _ago),
    (late_pattern(rf"{_ZH_N}个?(?P<unit>天|周|星期|礼拜|月|年)(?:之)?后"), _ahead),
    (late_pattern(r"(?P<step>上|这|本|下)个?(?P<unit>周|星期|礼拜|月)"), _near),
    (late_pattern("|".join(_YEARS)), _year),
    (late_pattern(r"\b(?:in|since|back in|during|of|from)\s(?P<year>(?:19|20)\d\d)\b"), _in_year),
    (late_pattern(r"(?<!\d)(?P<year>(?:19|20)\d\d)\s?年(?!\s?\d{1,2}\s?月)"), _in_year),
)  # fmt: skip
