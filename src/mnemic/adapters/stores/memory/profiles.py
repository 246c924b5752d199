"""Profiles of the reference store."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from mnemic.adapters.stores.memory.transaction import Transaction
from mnemic.model.item import ProfileEntry
from mnemic.model.scope import Partition


class MemoryProfiles:
    """The `Profiles` port."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction

    def put(self, entries: Sequence[ProfileEntry]) -> None:
        tables = self._transaction.writable
        for entry in entries:
            tables.versions.setdefault(entry.partition, 0)
            old = tables.profiles.get((entry.partition, entry.key), entry)
            tables.profiles[entry.partition, entry.key] = replace(entry, created_at=old.created_at)

    def of(self, partition: Partition) -> list[ProfileEntry]:
        entries = self._transaction.tables.profiles.values()
        return sorted((e for e in entries if e.partition == partition), key=lambda entry: entry.key)

    def remove(self, partition: Partition, keys: Sequence[str]) -> int:
        profiles = self._transaction.writable.profiles
        return sum(profiles.pop((partition, key), None) is not None for key in keys)
