"""Time as Mnemic keeps it: aware datetimes in UTC, with microseconds.

Texts that every part can store: valid Unicode.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from mnemic.errors import InvalidInputError

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def as_utc(value: datetime | str, name: str) -> datetime:
    """`value` as an aware UTC datetime; a string must be ISO 8601, and a time without a zone is taken as UTC.

    Raises `InvalidInputError`, naming the argument `name`, when it is neither.
    """
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value)
        except ValueError as error:
            raise InvalidInputError(
                f"{name}={value!r} is no ISO 8601 time such as 2026-05-01T09:30:00+02:00"
            ) from error
    elif not isinstance(value, datetime):  # pyright: ignore[reportUnnecessaryIsInstance] -- callers need not be typed
        raise InvalidInputError(f"{name} must be a datetime or an ISO 8601 string, not {type(value).__name__}")
    try:
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)
    except OverflowError as error:
        raise InvalidInputError(f"{name}={value!r} is outside the years 1 to 9999 in UTC") from error


def to_microseconds(value: datetime) -> int:
    """Microseconds since 1970-01-01 UTC; exact."""
    return (value - _EPOCH) // _MICROSECOND


def from_microseconds(value: int) -> datetime:
    """The inverse of `to_microseconds`."""
    return _EPOCH + timedelta(microseconds=value)


def check_unicode(text: str, name: str) -> str:
    """`text` itself. Raises `InvalidInputError` naming the argument when it holds lone surrogates (half a
    character).
    """
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise InvalidInputError(
            f"{name} is not valid Unicode: half of a surrogate pair at character {error.start}; "
            "decode the source as UTF-8 or UTF-16, or replace such characters"
        ) from error
    return text
