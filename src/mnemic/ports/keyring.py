"""The port of the keys that sealed backups are encrypted with: one for each org, kept apart from store and backups.

A backup that lies out of reach cannot be erased from; the key that opens an org's part of it can be destroyed.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

Destroy = Callable[[str, datetime, datetime | None], int]
"""Destroys the keys of an org, at a moment, of those that were made until another one (None: all of them). The answer
is how many there were; it is durable when it is given.
"""


@dataclass(frozen=True, slots=True)
class DataKey:
    """A key of 32 bytes. `id` is made by chance and tells nothing. One that was destroyed has the `secret` b""."""

    id: str
    made_at: datetime
    secret: bytes = field(repr=False)
    destroyed_at: datetime | None = None


class Keyring(Protocol):
    """Data keys by org; None stands for what belongs to no org. Shared by processes; no org's name is kept in it.

    All raise `ConfigError` when the keyring is damaged, or its master key is missing or another one, and
    `UnavailableError` when it cannot be read or written, or stays locked.
    """

    @property
    def id(self) -> str:
        """Which keyring it is, "" while there is none."""
        ...

    def issue(self, orgs: Collection[str | None], at: datetime) -> Mapping[str | None, DataKey]:
        """The key of each, made where there is none or none any more, and durable before it is given out."""
        ...

    def find(self, ids: Collection[str]) -> Mapping[str, DataKey]:
        """The keys of these ids that are or were in it."""
        ...

    def of(self, orgs: Collection[str]) -> Mapping[str, Sequence[DataKey]]:
        """All keys that each of these orgs has, or had."""
        ...

    def destroying(self) -> AbstractContextManager[Destroy]:
        """Destroy keys, while nobody else is given any: held until what the keys were destroyed for is done."""
        ...
