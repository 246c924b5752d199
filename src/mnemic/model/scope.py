"""Scopes: who makes a request, and which rows are visible to them. Isolation starts here. A store can only be read
through a `Visibility`, and a `Visibility` can only be made from a `Scope`. Also: times (aware datetimes in UTC, with
microseconds) and valid Unicode.
"""

from __future__ import annotations

import getpass
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum

from mnemic.errors import InvalidInputError

DEFAULT_ORG = "default"
PROJECT_PREFIX = "project:"  # of an agent that represents a project: its messages are private to it
MAX_ID_CHARS = 255  # fits an e-mail address, a URL of usual length, and any database's index
_BROKEN = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
_OWNER_SEPARATOR = "\x1f"  # cannot occur in an id, so that two ids joined by it cannot be mistaken for another pair


class Level(StrEnum):
    """The owner of a memory, from the narrowest level to the widest."""

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
        """True if items in `other` may be derived from items here. Within one org only, and between two users only
        via an agent or the org.
        """
        if self.org != other.org:
            return False
        is_shared = {self.level, other.level} & {Level.AGENT, Level.ORG}
        return bool(is_shared) or self == other or (self._user is not None and self._user == other._user)

    @property
    def is_ephemeral(self) -> bool:
        """True for a user's session. All messages in it are ephemeral, because lasting ones belong to the user."""
        return self.level is Level.SESSION and self._user is not None

    @property
    def _user(self) -> str | None:
        if self.level is Level.USER:
            return self.owner
        user, separator, _ = self.owner.partition(_OWNER_SEPARATOR)
        return user if separator else None


@dataclass(frozen=True, slots=True)
class Visibility:
    """The rows that a scope can see: these partitions, with private rows of this agent only."""

    partitions: tuple[Partition, ...]
    agent: str | None

    def admits(self, partition: Partition, private_agent: str | None) -> bool:
        """True if a row of `partition`, private to `private_agent` (None: not private), is visible."""
        return partition in self.partitions and (private_agent is None or private_agent == self.agent)

    def at(self, *levels: Level) -> Visibility:
        """The same visibility narrowed to some levels. No levels means no narrowing."""
        if not levels:
            return self
        return Visibility(tuple(p for p in self.partitions if p.level in levels), self.agent)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """The org, agent, user and session of a request. `org` is the tenant and always set. Leaving out another part hides
    its level and never shows more. Parts are keyword-only, so an org cannot be mistaken for a user.

    Raises `InvalidInputError` for an id that is empty, longer than 255 characters, padded with blanks, or contains
    control characters or lone surrogates.
    """

    org: str = DEFAULT_ORG
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
        """The default level of a memory: user, then agent, then session. Never org."""
        for level, value in ((Level.USER, self.user), (Level.AGENT, self.agent), (Level.SESSION, self.session)):
            if value is not None:
                return level
        raise InvalidInputError(
            "this scope has no user, agent or session; add one of them, or pass level='org' for everyone in the org"
        )

    def partition(self, level: Level) -> Partition:
        """The partition of this scope at `level`. Raises `InvalidInputError` if the scope lacks that part."""
        owner = {
            Level.SESSION: self._session_owner,
            Level.USER: self.user,
            Level.AGENT: self.agent,
            Level.ORG: self.org,
        }[level]
        if owner is None:
            raise InvalidInputError(f"level={level.value!r} requires a scope with {level.value}=…")
        return Partition(self.org, level, owner)

    @property
    def message_partition(self) -> Partition:
        """The partition for messages: the user's, or the session's if there is no user."""
        return self.partition(Level.USER if self.user is not None else Level.SESSION)

    @property
    def visibility(self) -> Visibility:
        """Session (the user's and the anonymous one), user, agent and org, if this scope names them."""
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
        """Sessions belong to their user: two users can both have a session "s1"."""
        if self.session is None or self.user is None:
            return self.session
        return f"{self.user}{_OWNER_SEPARATOR}{self.session}"


def _check_id(part: str, value: object) -> None:
    if not isinstance(value, str):
        raise InvalidInputError(f"{part} must be text, not {type(value).__name__}")
    if not value or value != value.strip():
        raise InvalidInputError(f"{part} must not be empty or have surrounding spaces; omit it if it is not needed")
    if len(value) > MAX_ID_CHARS:
        raise InvalidInputError(f"{part} has {len(value)} characters; at most {MAX_ID_CHARS} are allowed")
    if _BROKEN.search(value):
        raise InvalidInputError(f"{part} contains control characters or invalid Unicode")


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)  # the stores' resolution: the least that makes a moment later


def as_utc(value: datetime | str, name: str) -> datetime:
    """`value` as an aware UTC datetime. Strings must be ISO 8601. A time without a zone counts as UTC.

    Raises `InvalidInputError`, naming the argument `name`, for anything else.
    """
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value)
        except ValueError as error:
            raise InvalidInputError(
                f"{name}={value!r} is not an ISO 8601 time such as 2026-05-01T09:30:00+02:00"
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


def unique_keys(pairs: Sequence[tuple[str, object]]) -> dict[str, object]:
    """The mapping of a JSON object, as the hook of `json.loads`. Raises `ValueError` if a key is repeated: programs
    differ on which value counts, so a check and its use could see different ones.
    """
    found = dict(pairs)
    if len(found) < len(pairs):
        repeated = Counter(key for key, _ in pairs).most_common(1)[0][0]
        raise ValueError(f"the key {repeated[:60]!r} appears more than once")
    return found


def check_unicode(text: str, name: str) -> str:
    """Return `text`. Raises `InvalidInputError`, naming the argument, if it contains lone surrogates."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise InvalidInputError(
            f"{name} is not valid Unicode: it has an unpaired surrogate at character {error.start}; "
            "decode the source as UTF-8 or UTF-16, or replace the character"
        ) from error
    return text


def find_login_name() -> str:
    """The login name of the person at this machine."""
    try:
        return getpass.getuser().strip() or "me"
    except (OSError, KeyError):
        return "me"
