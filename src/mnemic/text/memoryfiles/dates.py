"""Dates that stand at the beginning of notes, of titles and of names of files."""

from __future__ import annotations

import re
from datetime import UTC, datetime

_DATE = r"(?P<year>[12]\d{3})-(?P<month>[01]\d)-(?P<day>[0-3]\d)(?!\d)"
_TIME = r"(?P<hour>[01]\d|2[0-3]):(?P<minute>[0-5]\d)(?!\d)"
_MARKS = r"[\[(*_`\s]*"
_BEFORE = re.compile(rf"{_MARKS}{_DATE}(?:(?:[T ]|, ?){_TIME})?")
_TIME_BEFORE = re.compile(rf"{_MARKS}{_TIME}")
_NAME = re.compile(rf"(?:^|.*[^\d]){_DATE}(?:-(?P<hour>[01]\d|2[0-3])(?P<minute>[0-5]\d))?(?:$|[^\d].*)")


def date_before(text: str) -> datetime | None:
    """The date, and the time of day where there is one, that a text begins with; marks may stand before it."""
    return _moment(_BEFORE.match(text))


def time_before(text: str, day: datetime) -> datetime:
    """`day` at the time of day that a text begins with; as it is where there is none."""
    found = _TIME_BEFORE.match(text)
    return day if found is None else day.replace(hour=int(found["hour"]), minute=int(found["minute"]))


def date_of_name(stem: str) -> datetime | None:
    """The date in the name of a file, as in `2026-01-02`, `2026-01-02-1430` or `2026-01-02-standup`."""
    return _moment(_NAME.match(stem[:255]))


def _moment(match: re.Match[str] | None) -> datetime | None:
    """A moment in UTC; None for a day that no month has."""
    if match is None:
        return None
    year, month, day, hour, minute = (int(match[part] or 0) for part in ("year", "month", "day", "hour", "minute"))
    try:
        return datetime(year, month, day, hour, minute, tzinfo=UTC)
    except ValueError:
        return None
