"""Keys of orgs and the audit log."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from mnemic.adapters.stores.access_rows import audit_columns, key_columns, to_key, to_numbered_entry
from mnemic.adapters.stores.postgres.session import Session
from mnemic.adapters.stores.postgres.statements import statements
from mnemic.adapters.stores.rows import micros
from mnemic.errors import ConflictError
from mnemic.model.records import ApiKey, AuditEntry
from mnemic.model.values import to_microseconds


class PostgresKeys:
    """The `Keys` port."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._sql = statements("access")

    def add(self, key: ApiKey) -> None:
        self._session.see(key.org)
        if self._session.write(self._sql["insert"], key_columns(key)).fetchone() is None:
            raise ConflictError(f"key {key.id} cannot be stored: the id is taken")

    def get(self, id: str) -> ApiKey | None:
        row = self._session.run_across(self._sql["get"], {"id": id}).fetchone()
        return None if row is None else to_key(row)

    def list(self, org: str) -> list[ApiKey]:
        self._session.see(org)
        return [to_key(row) for row in self._session.run(self._sql["list"], {"org": org})]

    def end(self, org: str, id: str, *, expires_at: datetime | None = None, revoked_at: datetime | None = None) -> bool:
        self._session.see(org)
        ends = {"expires_at": micros(expires_at), "revoked_at": micros(revoked_at)}
        return self._session.write(self._sql["end"], {"org": org, "id": id, **ends}).rowcount == 1

    def has_any(self) -> bool:
        row = self._session.run_across(self._sql["has_any"]).fetchone()
        return bool(row and row[0])


class PostgresAudit:
    """The `Audit` port."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._sql = statements("access")

    def add(self, entries: Sequence[AuditEntry]) -> None:
        self._session.see(*(entry.org for entry in entries))
        self._session.write_each(self._sql["note"], [audit_columns(entry) for entry in entries])

    def list(self, org: str, before: int | None, limit: int) -> list[tuple[int, AuditEntry]]:
        self._session.see(org)
        asked = {"org": org, "before": before, "limit": limit}
        return [to_numbered_entry(row) for row in self._session.run(self._sql["notes"], asked)]

    def forget(self, before: datetime) -> int:
        return self._session.write_across(self._sql["forget"], {"before": to_microseconds(before)}).rowcount
