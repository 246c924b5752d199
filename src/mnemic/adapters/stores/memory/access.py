"""Keys and audit log of the reference store."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from mnemic.adapters.stores.memory.transaction import Transaction
from mnemic.errors import ConflictError
from mnemic.model.records import ApiKey, AuditEntry


class MemoryKeys:
    """The `Keys` port."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction

    def add(self, key: ApiKey) -> None:
        keys = self._transaction.writable.keys
        if key.id in keys:
            raise ConflictError(f"key {key.id} cannot be stored: the id is taken")
        keys[key.id] = key

    def get(self, id: str) -> ApiKey | None:
        return self._transaction.tables.keys.get(id)

    def list(self, org: str) -> list[ApiKey]:
        return [key for key in self._transaction.tables.keys.values() if key.org == org]

    def end(self, org: str, id: str, *, expires_at: datetime | None = None, revoked_at: datetime | None = None) -> bool:
        keys = self._transaction.writable.keys
        key = keys.get(id)
        if key is None or key.org != org:
            return False
        keys[id] = replace(
            key,
            expires_at=min(filter(None, (key.expires_at, expires_at)), default=None),
            revoked_at=min(filter(None, (key.revoked_at, revoked_at)), default=None),
        )
        return True

    def has_any(self) -> bool:
        return bool(self._transaction.tables.keys)


class MemoryAudit:
    """The `Audit` port."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction

    def add(self, entries: Sequence[AuditEntry]) -> None:
        audit = self._transaction.writable.audit
        for entry in entries:
            audit[next(reversed(audit), 0) + 1] = entry

    def list(self, org: str, before: int | None, limit: int) -> list[tuple[int, AuditEntry]]:
        audit = self._transaction.tables.audit
        found = [(number, entry) for number, entry in audit.items() if entry.org == org]
        return [pair for pair in reversed(found) if before is None or pair[0] < before][:limit]

    def forget(self, before: datetime) -> int:
        audit = self._transaction.writable.audit
        old = [number for number, entry in audit.items() if entry.at < before]
        for number in old:
            del audit[number]
        return len(old)
