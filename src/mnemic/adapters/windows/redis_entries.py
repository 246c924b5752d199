"""The names of the keys in Redis, and messages as the entries of its lists: maps with role and content, as JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast
from urllib.parse import quote, unquote

from mnemic.model.clocktime import from_microseconds, to_microseconds
from mnemic.model.item import Message, Role, Trust
from mnemic.model.scope import Level, Partition

SESSIONS = "ai:session:"
STAGING = "mem:"
PATTERNS = (f"{SESSIONS}*", f"{STAGING}*")
_PENDING, _STATE = ":pending", ":state"
_MANGLED = (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError)
"""What reading an entry that somebody else wrote, or broke, can raise."""


@dataclass(frozen=True, slots=True)
class Place:
    """A session of a partition, and the keys of its copies.

    `<id>` in `ai:session:<id>` is `org/user/session`, and `<user>` in `mem:<user>` is `org/user`, each part
    percent-encoded, so that two users' sessions of one name never share a key. Where nobody is named the user is
    empty, and staging is that of the session.
    """

    partition: Partition
    session: str

    @property
    def keys(self) -> tuple[str, str, str, str, str]:
        """Window, pending, the state of these, staging, and its state."""
        owner = _owner(self.partition)
        window = (
            f"{SESSIONS}{owner}"
            if self.partition.level is Level.SESSION
            else f"{SESSIONS}{owner}/{_part(self.session)}"
        )
        staging = f"{STAGING}{owner}"
        return window, window + _PENDING, window + _STATE, staging, staging + _STATE


def partition_of_key(key: str) -> Partition | None:
    """Whose copy a key holds; None for a key that is none of ours."""
    prefix = next((each for each in (SESSIONS, STAGING) if key.startswith(each)), None)
    if prefix is None:
        return None
    org, *rest = (unquote(part) for part in key.removeprefix(prefix).partition(":")[0].split("/"))
    match rest:
        case ["", session]:
            return Partition(org, Level.SESSION, session)
        case [user] | [user, _]:
            return Partition(org, Level.USER, user)
        case _:
            return None


def encoded(message: Message) -> str:
    """The entry of a message."""
    entry = {
        "role": message.role.value,
        "content": message.text,
        "id": message.id,
        "session": message.session,
        "turn_id": message.turn_id,
        "turn": message.turn,
        "position": message.position,
        "name": message.name,
        "observed_at": to_microseconds(message.observed_at),
        "created_at": to_microseconds(message.created_at),
        "agent": message.agent,
        "external_id": message.external_id,
        "trust": message.trust.value,
        "metadata": dict(message.metadata),
    }
    return json.dumps(entry, separators=(",", ":"))


def decoded(entries: Sequence[bytes], place: Place) -> list[Message]:
    """The messages of a session in entries, in their order; whatever is no message of it is passed over."""
    read = (_message(entry, place) for entry in entries)
    return [message for message in read if message is not None]


def _message(entry: bytes, place: Place) -> Message | None:
    try:
        found = json.loads(entry)
        if not isinstance(found, dict):
            return None
        fields = cast("dict[str, Any]", found)
        message = Message(
            id=_text(fields["id"]),
            partition=place.partition,
            session=_text(fields["session"]),
            turn_id=_text(fields["turn_id"]),
            turn=_number(fields["turn"]),
            position=_number(fields["position"]),
            role=Role(fields["role"]),
            name=None if fields["name"] is None else _text(fields["name"]),
            text=_text(fields["content"]),
            observed_at=from_microseconds(_number(fields["observed_at"])),
            created_at=from_microseconds(_number(fields["created_at"])),
            agent=None if fields["agent"] is None else _text(fields["agent"]),
            external_id=None if fields["external_id"] is None else _text(fields["external_id"]),
            trust=Trust(fields["trust"]),
            metadata=cast("dict[str, object]", dict(fields["metadata"])),
        )
    except _MANGLED:
        return None
    return message if message.session == place.session else None


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(type(value).__name__)
    return value


def _number(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(type(value).__name__)
    return value


def _owner(partition: Partition) -> str:
    """`org/user`, or `org//session` where nobody is named."""
    empty = "/" if partition.level is Level.SESSION else ""
    return f"{_part(partition.org)}/{empty}{_part(partition.owner)}"


def _part(name: str) -> str:
    return quote(name, safe="@+")
