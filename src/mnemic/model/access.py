"""Who may come in by a door that is not this process: keys, and the notes of what was done with them."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum


class Right(StrEnum):
    """What a key may do; none of them includes another."""

    READ = "read"
    WRITE = "write"
    ADMIN = "admin"


ALL_RIGHTS = frozenset(Right)


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiKey:
    """One key of one org, without its secret: `secret_hash` is the SHA-256 of the secret in hexadecimal digits.

    `id` is unique in the whole store. `user` and `agent`, where set, are the only ones it may speak for. It is accepted
    from `created_at` until before `expires_at` and `revoked_at` (None: open). `name` is for people.
    """

    id: str
    org: str
    secret_hash: str = field(repr=False)
    rights: frozenset[Right]
    created_at: datetime
    name: str = ""
    user: str | None = None
    agent: str | None = None
    expires_at: datetime | None = None
    revoked_at: datetime | None = None

    def is_valid(self, at: datetime) -> bool:
        """True when it is accepted at that moment."""
        return all(end is None or at < end for end in (self.expires_at, self.revoked_at))


@dataclass(frozen=True, slots=True, kw_only=True)
class IssuedKey:
    """A key that was made just now: `token` is what its holder sends, and is nowhere kept."""

    key: ApiKey
    token: str = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditEntry:
    """One thing that was done, or refused, in an org: by whom (`actor`: `key:` and a key's id, else the door), what
    (`verb`), with what (`target`: ids, never texts), and how it ended (`outcome`: "ok", or the kind of error).
    """

    org: str
    at: datetime
    actor: str
    verb: str
    target: str = ""
    outcome: str = "ok"


@dataclass(frozen=True, slots=True)
class AuditPage:
    """Entries, newest first; `next` is the number to continue before, None at the end."""

    entries: tuple[AuditEntry, ...]
    next: int | None
