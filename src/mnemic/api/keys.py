"""The verbs of keys, for the doors that are not this process, and of the audit log."""

from __future__ import annotations

import builtins
from collections.abc import Collection
from datetime import datetime

from mnemic.engine import access as keys
from mnemic.engine.context import is_waiting
from mnemic.engine.engine import Parts
from mnemic.engine.inputs import check_id
from mnemic.model.records import ApiKey, AuditEntry, AuditPage, IssuedKey, Right
from mnemic.model.scope import Scope
from mnemic.model.values import as_utc

DEFAULT_RIGHTS = (Right.READ, Right.WRITE)
OVERLAP_S = 3600.0
AUDIT_PAGE = 100


class KeyVerbs:
    """Keys of the scope's org. Once a store holds one, every request through a door must show one."""

    def __init__(self, parts: Parts, actor: str) -> None:
        self._parts, self._actor = parts, actor

    def create(
        self,
        scope: Scope,
        *,
        name: str = "",
        rights: Collection[Right | str] = DEFAULT_RIGHTS,
        expires_at: datetime | str | None = None,
    ) -> IssuedKey:
        """Make a key of the scope's org, bound to its user and agent where it names them. Its `token` is told only now.

        `rights` are of "read", "write" and "admin"; none includes another.
        """
        asked = keys.KeyRequest(
            name=name,
            rights=rights,
            user=scope.user,
            agent=scope.agent,
            expires_at=None if expires_at is None else as_utc(expires_at, "expires_at"),
        )
        return keys.create_key(self._parts, scope, asked, actor=self._actor)

    def list(self, scope: Scope) -> builtins.list[ApiKey]:
        """Every key of the org in the order of making, those that ended too; no secrets."""
        return keys.list_keys(self._parts, scope)

    def revoke(self, scope: Scope, id: str) -> ApiKey:
        """End a key at once, in every process."""
        return keys.revoke_key(self._parts, scope, check_id(id), actor=self._actor)

    def rotate(self, scope: Scope, id: str, *, overlap_s: float = OVERLAP_S) -> IssuedKey:
        """Make a key with the rights, bounds and end of this one, which is accepted for `overlap_s` seconds more."""
        return keys.rotate_key(self._parts, scope, check_id(id), overlap_s=overlap_s, actor=self._actor)

    def audit(self, scope: Scope, *, before: int | None = None, limit: int = AUDIT_PAGE) -> AuditPage:
        """What was done in the org by keys and with keys, newest first; `before` is the `next` of the page before."""
        return keys.list_audit(self._parts, scope, before=before, limit=limit)


class Admission:
    """What a door asks: is this key good, is one needed, and what should be written into the audit log."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    @property
    def needs_key(self) -> bool:
        """True when the store holds any key, ended ones too; once it does, it stays so."""
        return keys.has_keys(self._parts)

    @property
    def is_waiting(self) -> bool:
        """True when answering waits for other servers (a store, an embedder), so that many threads are worth having."""
        return is_waiting(self._parts)

    @property
    def is_shared(self) -> bool:
        """True when several processes may use the store at once."""
        return self._parts.store.capabilities.is_shared

    def check(self, token: str) -> ApiKey:
        """The key of a token. Raises UnauthorisedError, which does not say what is wrong with it."""
        return keys.check_key(self._parts, token)

    def note(self, entries: Collection[AuditEntry]) -> None:
        """Write entries of the audit log down in one durable transaction."""
        keys.note_audit(self._parts, entries)

    def now(self) -> datetime:
        """The time by the injected clock, for entries of the audit log."""
        return self._parts.clock.now()
