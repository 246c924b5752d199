"""What a key may hold: functions that give a value as the engine takes it, or say what would be acceptable."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import cast

from mnemic.engine.cron import FIELDS, Cron, zone_of
from mnemic.errors import ConfigError, InvalidInputError
from mnemic.model.item import Kind
from mnemic.model.scope import Scope
from mnemic.model.settings import Quarantine, Settings

Reader = Callable[[object], object]
"""Gives the value as the engine takes it; raises ValueError, saying what would be acceptable."""

STORAGE_TYPES = ("sqlite", "postgresql", "memory")
WINDOW_BACKENDS = ("store", "redis")
INDEX_BACKENDS = ("local", "qdrant")
HALF_LIVES_BY_KIND = {kind.value: days for kind, days in Settings().life.half_lives.items()}
"""The days that count where a table names no other."""


def text(value: object) -> str:
    """A text with something in it."""
    if not isinstance(value, str) or not value.strip():
        raise ValueError("a text")
    return value


def one_id(value: object) -> str:
    """An id, as a scope takes it."""
    told = text(value)
    try:
        return Scope(user=told).user or told
    except InvalidInputError as error:
        raise ValueError("an id of at most 255 characters, without blanks around it or control characters") from error


def traces(value: object) -> str:
    """The address of a collector, or off."""
    told = value if isinstance(value, str) else "off" if value is False else ""
    if told != "off" and not told.startswith(("http://", "https://")):
        raise ValueError("off, or an address such as http://127.0.0.1:4318")
    return told


def free_text(value: object) -> str:
    """Any text, an empty one too."""
    if not isinstance(value, str):
        raise ValueError("a text")  # noqa: TRY004 -- readers say what is acceptable by ValueError alone
    return value


def names(value: object) -> str:
    """A name, or several: a list of texts becomes one text with commas between."""
    several = cast("list[object]", value) if isinstance(value, list) else [value]
    try:
        return ",".join(text(each) for each in several) or text(None)
    except ValueError as error:
        raise ValueError("a name, or a list of names") from error


def any_names(value: object) -> str:
    """As `names`, or none of them."""
    return "" if value in ("", []) else names(value)


def whole(value: object) -> int:
    """A whole number from 0."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ValueError("a whole number from 0")
    return value


def counting(value: object) -> int:
    """A whole number from 1."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ValueError("a whole number from 1")
    return value


def few(value: object) -> int:
    """A whole number from 0 to 4."""
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= 4:  # noqa: PLR2004 -- said above
        raise ValueError("a whole number from 0 to 4")
    return value


def positive(value: object) -> float:
    """A number above 0."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < float("inf"):
        raise ValueError("a number above 0")
    return float(value)


def fraction(value: object) -> float:
    """A number from 0 to 1."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise ValueError("a number from 0 to 1")
    return float(value)


def number(value: object) -> float:
    """Any number but those that are none."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < float("inf"):
        raise ValueError("a number")
    return float(value)


def switch(value: object) -> bool:
    """True or false."""
    if not isinstance(value, bool):
        raise ValueError("true or false")  # noqa: TRY004 -- as in `free_text`
    return value


def table(value: object) -> Mapping[str, object]:
    """A table of keys and values."""
    if not isinstance(value, Mapping):
        raise ValueError("a table of keys and values")  # noqa: TRY004 -- as in `free_text`
    return cast("Mapping[str, object]", value)


def cron_line(value: object) -> str:
    """A cron line of five fields, or six with seconds first."""
    try:
        Cron(line := text(value), "UTC")
    except (ConfigError, ValueError) as error:
        raise ValueError(f"a cron line of {FIELDS}") from error
    return line


def time_zone(value: object) -> str:
    """The name of a time zone in the tz database."""
    try:
        zone_of(name := text(value))
    except ConfigError as error:
        raise ValueError(f"the name of a time zone ({error})") from error
    return name


def days_by_kind(value: object) -> Mapping[str, float]:
    """A table from kinds of memories to days; kinds that it does not name keep their default."""
    given = table(value)
    unknown = [name for name in given if name not in tuple(Kind)]
    if unknown:
        raise ValueError(f"a table whose keys are kinds ({', '.join(Kind)})")
    try:
        days = {name: positive(number) for name, number in given.items()}
    except ValueError as error:
        raise ValueError("a table of days above 0") from error
    return {**HALF_LIVES_BY_KIND, **days}


def quarantine(value: object) -> Quarantine:
    """One of the values of `Quarantine`."""
    try:
        return Quarantine(text(value))
    except ValueError as error:
        raise ValueError(f"one of {', '.join(Quarantine)}") from error


def window_backend(value: object) -> str:
    """One of `WINDOW_BACKENDS`."""
    if value not in WINDOW_BACKENDS:
        raise ValueError(f"one of {', '.join(WINDOW_BACKENDS)}")
    return str(value)


def index_backend(value: object) -> str:
    """One of `INDEX_BACKENDS`."""
    if value not in INDEX_BACKENDS:
        raise ValueError(f"one of {', '.join(INDEX_BACKENDS)}")
    return str(value)


def storage_type(value: object) -> str:
    """One of `STORAGE_TYPES`."""
    if value not in STORAGE_TYPES:
        raise ValueError(f"one of {', '.join(STORAGE_TYPES)}")
    return str(value)
