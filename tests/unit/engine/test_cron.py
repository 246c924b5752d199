"""Cron lines in time zones: both forms, the days on which clocks change, and words for what cannot be."""

from __future__ import annotations

import contextlib
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.engine.jobs import Cron
from mnemic.errors import ConfigError

BERLIN = "Europe/Berlin"
SPRING = datetime(2026, 3, 28, 12, tzinfo=UTC)
"""The day before 02:00 becomes 03:00 in Berlin."""
AUTUMN = datetime(2026, 10, 24, 12, tzinfo=UTC)
"""The day before 03:00 becomes 02:00 in Berlin."""


def dues(line: str, zone: str, begin: datetime, number: int = 3) -> list[str]:
    """The next times, as the clocks of the zone show them and in UTC."""
    cron, times = Cron(line, zone), [begin]
    for _ in range(number):
        times.append(cron.after(times[-1]))
    where = ZoneInfo(zone)
    return [f"{at.astimezone(where):%m-%d %H:%M:%S} {at.astimezone(UTC):%H:%MZ}" for at in times[1:]]


@pytest.mark.requirement("R-11")
@pytest.mark.parametrize("line", ["0 3 * * *", "0 0 3 * * ?", "0 0 3 ? * *", "0 0 3 * * *"])
def test_five_fields_and_six_with_seconds_first_and_a_question_mark_say_the_same(line: str):
    assert dues(line, BERLIN, SPRING - timedelta(days=9), 2) == ["03-20 03:00:00 02:00Z", "03-21 03:00:00 02:00Z"]


def test_six_fields_say_the_second():
    assert dues("15,45 59 23 31 12 ?", "UTC", SPRING, 2) == ["12-31 23:59:15 23:59Z", "12-31 23:59:45 23:59Z"]


@pytest.mark.requirement("R-11")
@pytest.mark.parametrize("line", ["30 2 * * *", "0 30 2 * * ?"])
def test_a_time_that_the_clock_skips_is_due_when_it_has_jumped(line: str):
    assert dues(line, BERLIN, SPRING) == ["03-29 03:00:00 01:00Z", "03-30 02:30:00 00:30Z", "03-31 02:30:00 00:30Z"]


@pytest.mark.requirement("R-11")
@pytest.mark.parametrize("line", ["30 2 * * *", "0 30 2 * * ?"])
def test_a_time_that_the_clock_shows_twice_is_due_once(line: str):
    assert dues(line, BERLIN, AUTUMN) == ["10-25 02:30:00 00:30Z", "10-26 02:30:00 01:30Z", "10-27 02:30:00 01:30Z"]


def test_two_times_that_fall_on_one_moment_are_one():
    assert dues("30 2,3 * * *", "Australia/Lord_Howe", datetime(2026, 10, 3, 2, tzinfo=UTC), 2) == [
        "10-04 02:30:00 15:30Z",
        "10-04 03:30:00 16:30Z",
    ]
    assert dues("0,30 2 * * *", BERLIN, SPRING, 2) == ["03-29 03:00:00 01:00Z", "03-30 02:00:00 00:00Z"]


def test_every_hour_follows_elapsed_time_whatever_the_clock_does():
    hours = dues("0 * * * *", BERLIN, AUTUMN + timedelta(hours=11, minutes=30), 4)
    assert hours == ["10-25 02:00:00 00:00Z", "10-25 02:00:00 01:00Z", "10-25 03:00:00 02:00Z", "10-25 04:00:00 03:00Z"]
    assert dues("0 * * * *", BERLIN, SPRING + timedelta(hours=12), 2) == [
        "03-29 03:00:00 01:00Z",
        "03-29 04:00:00 02:00Z",
    ]


def test_seven_and_zero_are_sunday():
    assert dues("0 3 * * 7", "UTC", SPRING, 1) == dues("0 3 * * 0", "UTC", SPRING, 1) == ["03-29 03:00:00 03:00Z"]


@pytest.mark.parametrize(
    "line",
    [
        "",
        "nightly",
        "@daily",
        "0 3 * *",
        "0 0 3 * * ? 2027",
        "61 3 * * *",
        "0 25 * * *",
        "? 3 * * *",
        "0 3 30 2 *",
        "9" * 5000,
    ],
)
def test_what_is_no_cron_line_is_refused_with_the_two_forms(line: str):
    with pytest.raises(ConfigError, match="six with seconds first"):
        Cron(line, "UTC")


@pytest.mark.requirement("R-11")
def test_an_unknown_time_zone_is_refused_with_the_nearest_name():
    with pytest.raises(ConfigError, match="did you mean Europe/Berlin"):
        Cron("0 3 * * *", "Europe/Berlim")
    for odd in ("", "/etc/passwd", "../UTC", "Europe", "MEZ+1 ", "\0"):
        with pytest.raises(ConfigError, match="is not a time zone"):
            Cron("0 3 * * *", odd)


def test_utc_needs_no_time_zones_on_the_machine(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("zoneinfo.ZoneInfo", None)
    assert Cron("0 3 * * *", "UTC").after(SPRING) == datetime(2026, 3, 29, 3, tzinfo=UTC)


@given(
    st.sampled_from(["30 2 * * *", "*/7 1-3 * * *", "0 */5 * * * *", "59 59 23 L * ?", "0 0 3 ? * MON-FRI"]),
    st.sampled_from([BERLIN, "UTC", "Australia/Lord_Howe", "America/St_Johns", "Pacific/Apia"]),
    st.datetimes(datetime(2020, 1, 1), datetime(2035, 1, 1), timezones=st.just(UTC)),  # noqa: DTZ001 -- zones are given apart
)
def test_the_next_time_is_always_later_and_nothing_lies_between(line: str, zone: str, moment: datetime):
    cron = Cron(line, zone)
    due = cron.after(moment)
    assert due > moment
    assert cron.after(due - timedelta(microseconds=1)) == due
    assert cron.after(moment + (due - moment) / 2) == due


@given(st.text("0123456789*/,-?L#WMONJA ", max_size=20))
def test_any_text_is_a_line_or_refused(line: str):
    with contextlib.suppress(ConfigError):
        assert Cron(line, BERLIN).after(SPRING) > SPRING
