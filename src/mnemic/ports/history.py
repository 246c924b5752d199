"""The port of what happened to items, one of those that a unit of work exposes (see `ports.store`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from mnemic.model.history import HistoryEntry
from mnemic.model.scope import Partition, Visibility


class History(Protocol):
    """What happened to items."""

    def add(self, entries: Sequence[HistoryEntry]) -> None:
        """Write entries down. One whose id is taken in its partition raises `ConflictError`."""
        ...

    def of(self, visible: Visibility, item_id: str) -> list[HistoryEntry]:
        """The entries of one item in the order of their writing; none when it is not visible."""
        ...

    def scrub(self, partition: Partition, item_ids: Sequence[str]) -> int:
        """Empty before, after and reason of all entries of these items; returns how many entries."""
        ...
