"""The ports of keys and of the audit log, two of those that a unit of work exposes (see `ports.store`).

They belong to orgs, not to partitions: what they hold is asked for by the org, but for the key that somebody presents.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from mnemic.model.access import ApiKey, AuditEntry


class Keys(Protocol):
    """Keys of orgs, without their secrets."""

    def add(self, key: ApiKey) -> None:
        """Insert a key. Raises `ConflictError` when its id is taken in the whole store."""
        ...

    def get(self, id: str) -> ApiKey | None:
        """The key with this id, of whichever org, in whatever state: for the check of a key that somebody presents."""
        ...

    def list(self, org: str) -> list[ApiKey]:
        """Every key of an org, those that ended too, in the order they were added."""
        ...

    def end(self, org: str, id: str, *, expires_at: datetime | None = None, revoked_at: datetime | None = None) -> bool:
        """Bring the end of a key of the org nearer: a later end than it has changes nothing. False when the org has no
        such key.
        """
        ...

    def has_any(self) -> bool:
        """True when the store holds any key of any org, in whatever state."""
        ...


class Audit(Protocol):
    """What was done, in the order it was written down."""

    def add(self, entries: Sequence[AuditEntry]) -> None:
        """Write entries down."""
        ...

    def list(self, org: str, before: int | None, limit: int) -> list[tuple[int, AuditEntry]]:
        """The newest entries of an org with their numbers, which ascend with writing; `before` names the number to
        continue from.
        """
        ...

    def forget(self, before: datetime) -> int:
        """Remove the entries of every org that are older; returns how many."""
        ...
