"""When a cron line is due in a time zone; pure, and refused with words when the line or the zone cannot be."""

from __future__ import annotations

import difflib
import zoneinfo
from datetime import UTC, datetime, timedelta, tzinfo

from cronsim import CronSim, CronSimError

from mnemic.errors import ConfigError

FIELDS = (
    "five fields (minute hour day month weekday), or six with seconds first, such as '30 2 * * *' or '0 30 2 * * ?'"
)
_HOUR, _DAY, _WEEKDAY = 2, 3, 5
_FROM = datetime(2024, 1, 1, tzinfo=UTC)
"""Somewhere to begin when a line is tried out."""


class Cron:
    """A cron line of five fields, or six with seconds first, in the time zone `zone`.

    As in Debian's cron, 0 and 7 are Sunday, and day and weekday are alternatives when neither begins with `*`; as in
    Quartz, either may be `?`, which means `*`. A line that names its hours is due by the clock on the wall: a time that
    the clock skips in spring is due as soon as it has jumped, and an hour that it repeats in autumn counts once. A line
    for every hour (`*`) follows elapsed time, with the repeated hour twice. Raises `ConfigError` for anything else.
    """

    def __init__(self, line: str, zone: str) -> None:
        self._zone = zone_of(zone)
        fields = line.split()
        if len(fields) == _WEEKDAY:
            fields.insert(0, "0")
        for place in (_DAY, _WEEKDAY):
            if len(fields) > place and fields[place] == "?":
                fields[place] = "*"
        self._line = " ".join(fields)
        self._is_by_wall = len(fields) > _HOUR and not fields[_HOUR].startswith("*")
        try:
            self.after(_FROM)
        except (CronSimError, ValueError, StopIteration) as error:
            why = "never comes" if isinstance(error, StopIteration) else str(error)
            raise ConfigError(f"{line!r} is no cron line ({why}); it has {FIELDS}") from error

    def after(self, moment: datetime) -> datetime:
        """The first time that is due later than `moment` (aware), in UTC."""
        local = moment.astimezone(self._zone)
        for due in CronSim(self._line, local.replace(tzinfo=None) if self._is_by_wall else local):
            at = _in_world(due, self._zone) if self._is_by_wall else due.astimezone(UTC)
            if at > moment:
                return at
        raise StopIteration


def zone_of(name: str) -> tzinfo:
    """The time zone of that name in the tz database. Raises `ConfigError`, with the nearest name, for another."""
    if name.upper() == "UTC":
        return UTC
    try:
        return zoneinfo.ZoneInfo(name)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError) as error:
        known = zoneinfo.available_timezones()
        if not known:
            remedy = "this machine has no time zones: `pip install tzdata`"
        else:
            near = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
            remedy = f"did you mean {near[0]}?" if near else "it is a name such as Europe/Berlin, or UTC"
        raise ConfigError(f"{name!r} is no time zone; {remedy}") from error


def _in_world(wall: datetime, zone: tzinfo) -> datetime:
    """The first moment when the clocks of `zone` show `wall`, or, where they skip it, the first full minute behind."""
    while True:
        at = wall.replace(tzinfo=zone, fold=0).astimezone(UTC)
        if at.astimezone(zone).replace(tzinfo=None) == wall:
            return at
        wall = wall.replace(second=0) + timedelta(minutes=1)
