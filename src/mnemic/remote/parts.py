"""The verbs of profile, jobs and keys on a server."""

from __future__ import annotations

import builtins
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime

from mnemic.api.jobs import UNFINISHED
from mnemic.api.keys import AUDIT_PAGE, DEFAULT_RIGHTS, OVERLAP_S
from mnemic.engine.jobs import LISTED
from mnemic.model.item import Profile, ProfileEntry
from mnemic.model.records import ApiKey, AuditPage, IssuedKey, Job, JobState, Right
from mnemic.model.scope import Scope
from mnemic.remote.connection import Connection
from mnemic.text.blocks import Language


class RemoteProfile:
    """As `ProfileVerbs`."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def set(self, scope: Scope, facts: Mapping[str, str | None]) -> list[ProfileEntry]:
        """As `ProfileVerbs.set`."""
        return self._connection.ask("profile.set", list[ProfileEntry], scope, {"facts": facts})

    def get(self, scope: Scope) -> builtins.dict[str, str]:
        """As `ProfileVerbs.get`."""
        return self._connection.ask("profile.get", dict[str, str], scope, {})

    def all(self, scope: Scope) -> Profile:
        """As `ProfileVerbs.all`."""
        return self._connection.ask("profile.all", Profile, scope, {})

    def format(self, scope: Scope, *, language: Language = "en") -> str:
        """As `ProfileVerbs.format`."""
        return self._connection.ask("profile.format", str, scope, {"language": language})


class RemoteJobs:
    """As `JobVerbs`."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def list(
        self, scope: Scope, *, states: Iterable[JobState | str] = UNFINISHED, limit: int = LISTED
    ) -> builtins.list[Job]:
        """As `JobVerbs.list`."""
        arguments = {"states": builtins.list(states), "limit": limit}
        return self._connection.ask("jobs.list", builtins.list[Job], scope, arguments)

    def retry(self, scope: Scope, ids: Sequence[str]) -> int:
        """As `JobVerbs.retry`."""
        return self._connection.ask("jobs.retry", int, scope, {"ids": ids})


class RemoteKeys:
    """As `KeyVerbs`; the hash of a key's secret stays on the server."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def create(
        self,
        scope: Scope,
        *,
        name: str = "",
        rights: Collection[Right | str] = DEFAULT_RIGHTS,
        expires_at: datetime | str | None = None,
    ) -> IssuedKey:
        """As `KeyVerbs.create`."""
        arguments = {"name": name, "rights": rights, "expires_at": expires_at}
        return self._connection.ask("keys.create", IssuedKey, scope, arguments)

    def list(self, scope: Scope) -> builtins.list[ApiKey]:
        """As `KeyVerbs.list`."""
        return self._connection.ask("keys.list", builtins.list[ApiKey], scope, {})

    def revoke(self, scope: Scope, id: str) -> ApiKey:
        """As `KeyVerbs.revoke`."""
        return self._connection.ask("keys.revoke", ApiKey, scope, {"id": id})

    def rotate(self, scope: Scope, id: str, *, overlap_s: float = OVERLAP_S) -> IssuedKey:
        """As `KeyVerbs.rotate`."""
        return self._connection.ask("keys.rotate", IssuedKey, scope, {"id": id, "overlap_s": overlap_s})

    def audit(self, scope: Scope, *, before: int | None = None, limit: int = AUDIT_PAGE) -> AuditPage:
        """As `KeyVerbs.audit`."""
        return self._connection.ask("keys.audit", AuditPage, scope, {"before": before, "limit": limit})
