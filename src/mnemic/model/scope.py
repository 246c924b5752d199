"""Who is asking or speaking, and which rows that makes visible.

Isolation starts here: a store can only be read through a `Visibility`, and a `Visibility` can only be made from a
`Scope`.

Time as Mnemic keeps it: aware datetimes in UTC, with microseconds.

Texts that every part can store: valid Unicode.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum

from mnemic.errors import InvalidInputError

MAX_ID_CHARS = 255  # fits an e-mail address, a URL of usual length, and any database's index
_BROKEN = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
_OWNER_SEPARATOR = "\x1f"  # cannot occur in an id, so that two ids joined by it cannot be mistaken for another pair


class Level(StrEnum):
    """What a memory belongs to, from the narrowest to the widest."""

    SESSION = "session"
    USER = "user"
    AGENT = "agent"
    ORG = "org"


@dataclass(frozen=True, slots=True, order=True)
class Partition:
    """The unit of isolation, versioning and indexing: one owner at one level of one org."""

    org: str
    level: Level
    owner: str

    def may_feed(self, other: Partition) -> bool:
        """True when what lies in `other` may come of what lies here: within one org, and never from one user to another
        but by way of an agent or the org.
        """
        if self.org != other.org:
            return False
        is_shared = {self.level, other.level} & {Level.AGENT, Level.ORG}
        return bool(is_shared) or self == other or (self._user is not None and self._user == other._user)

    @property
    def _user(self) -> str | None:
        if self.level is Level.USER:
            return self.owner
        user, separator, _ = self.owner.partition(_OWNER_SEPARATOR)
        return user if separator else None


@dataclass(frozen=True, slots=True)
class Visibility:
    """What one scope may see: rows of these partitions, and among them only the private rows of this agent."""

    partitions: tuple[Partition, ...]
    agent: str | None

    def admits(self, partition: Partition, private_agent: str | None) -> bool:
        """True when a row of `partition`, private to `private_agent` (None: to nobody), may be shown."""
        return partition in self.partitions and (private_agent is None or private_agent == self.agent)

    def at(self, *levels: Level) -> Visibility:
        """The same visibility narrowed to some levels; no levels narrow nothing."""
        if not levels:
            return self
        return Visibility(tuple(p for p in self.partitions if p.level in levels), self.agent)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """Who is asking: `org` is the tenant and always set; a part that is missing makes its level invisible, never wider.
    Each part is named, so that nobody takes an org for a user.

    Raises `InvalidInputError` for an id that is empty, longer than 255 characters, padded with blanks, or holds
    control characters or lone surrogates.
    """

    org: str = "default"
    agent: str | None = None
    user: str | None = None
    session: str | None = None

    def __post_init__(self) -> None:
        _check_id("org", self.org)
        for part, value in (("agent", self.agent), ("user", self.user), ("session", self.session)):
            if value is not None:
                _check_id(part, value)

    @property
    def default_level(self) -> Level:
        """Where a memory goes when nobody says: user, else agent, else session. Org only ever when said."""
        for level, value in ((Level.USER, self.user), (Level.AGENT, self.agent), (Level.SESSION, self.session)):
            if value is not None:
                return level
        raise InvalidInputError(
            "this scope names no user, agent or session, so a memory would belong to nobody; "
            "name one of them, or say level='org' to share it with the whole org"
        )

    def partition(self, level: Level) -> Partition:
        """The partition of this scope at `level`. Raises `InvalidInputError` when the scope lacks that part."""
        owner = {
            Level.SESSION: self._session_owner,
            Level.USER: self.user,
            Level.AGENT: self.agent,
            Level.ORG: self.org,
        }[level]
        if owner is None:
            raise InvalidInputError(f"level={level.value!r} needs a scope with {level.value}=…; this one has none")
        return Partition(self.org, level, owner)

    @property
    def message_partition(self) -> Partition:
        """Where messages go: to their user, or, when nobody is named, to their session alone."""
        return self.partition(Level.USER if self.user is not None else Level.SESSION)

    @property
    def visibility(self) -> Visibility:
        """Session (its user's and the nameless part), user, agent and org, as far as this scope names them."""
        partitions: list[Partition] = []
        if self.session is not None:
            partitions.append(self.partition(Level.SESSION))
            if self.user is not None:
                partitions.append(Partition(self.org, Level.SESSION, self.session))
        partitions += [
            self.partition(level)
            for level, part in ((Level.USER, self.user), (Level.AGENT, self.agent), (Level.ORG, self.org))
            if part is not None
        ]
        return Visibility(tuple(partitions), self.agent)

    @property
    def _session_owner(self) -> str | None:
        """A session belongs to its user: two users who both say "s1" have two sessions."""
        if self.session is None or self.user is None:
            return self.session
        return f"{self.user}{_OWNER_SEPARATOR}{self.session}"


def _check_id(part: str, value: object) -> None:
    if not isinstance(value, str):
        raise InvalidInputError(f"{part} must be text, not {type(value).__name__}")
    if not value or value != value.strip():
        raise InvalidInputError(f"{part} must not be empty or padded with blanks; leave it out if there is none")
    if len(value) > MAX_ID_CHARS:
        raise InvalidInputError(f"{part} has {len(value)} characters; at most {MAX_ID_CHARS} are allowed")
    if _BROKEN.search(value):
        raise InvalidInputError(f"{part} holds control characters or broken Unicode")


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)  # the stores' resolution: the least that makes a moment later


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
    return (value - _EPOCH) // MICROSECOND


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
