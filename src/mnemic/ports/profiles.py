"""The port of profiles, one of those that a unit of work exposes (see `ports.store`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from mnemic.model.profile import ProfileEntry
from mnemic.model.scope import Partition


class Profiles(Protocol):
    """Hard facts of users, by key."""

    def put(self, entries: Sequence[ProfileEntry]) -> None:
        """Write each under its partition and key; an entry that is there keeps its `created_at` and takes the rest."""
        ...

    def of(self, partition: Partition) -> list[ProfileEntry]:
        """The entries of a partition, ordered by key."""
        ...

    def remove(self, partition: Partition, keys: Sequence[str]) -> int:
        """Remove entries; returns how many there were."""
        ...
