"""The scope of a request: the only place where it is made.

The org is the key's. User and agent are the key's where it is bound; else they, and always the session, are named by
parameters of the query (`user`, `agent`, `session`, `org`) or by headers (`Mnemic-User`, …) for clients that cannot
choose the query. What the key does not allow is refused, never ignored: nothing that is named widens what is seen.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

from starlette.requests import HTTPConnection

from mnemic.errors import ForbiddenError, InvalidInputError
from mnemic.model.records import ApiKey, Right
from mnemic.model.scope import Level, Partition, Scope

DEFAULT_ORG = "default"
HEADER_PREFIX = "mnemic-"


@dataclass(frozen=True, slots=True)
class NamedScope:
    """What a request names; None where it is silent."""

    org: str | None = None
    user: str | None = None
    agent: str | None = None
    session: str | None = None


@dataclass(frozen=True, slots=True)
class Caller:
    """Who came through the gate: with a key, or, where no key is needed, with every right in the org `default`."""

    key: ApiKey | None = None

    @property
    def org(self) -> str:
        """The only org that this caller can name."""
        return DEFAULT_ORG if self.key is None else self.key.org

    @property
    def actor(self) -> str:
        """How history and audit log name the caller: `key:` and the key's id, or `local` where no key is needed."""
        return "local" if self.key is None else f"key:{self.key.id}"

    @property
    def is_bound(self) -> bool:
        """True when the caller may speak for one user or one agent alone."""
        return self.key is not None and (self.key.user is not None or self.key.agent is not None)

    def require(self, right: Right) -> None:
        """Raises `ForbiddenError` when the caller lacks a right."""
        if self.key is not None and right not in self.key.rights:
            raise ForbiddenError(f"this needs a key with the right {right.value!r}")

    def require_operator(self) -> None:
        """Raises `ForbiddenError` unless the caller may look after the whole store, whoever's it is: with the right
        admin in the org `default`.
        """
        self.require(Right.ADMIN)
        self.require_store("an admin key")

    def require_store(self, what: str = "a key") -> None:
        """Raises `ForbiddenError` unless the caller may see what is counted over the whole store: without a key, or
        with one of the org `default` that is not bound.
        """
        if self.org != DEFAULT_ORG or self.is_bound:
            raise ForbiddenError(f"this concerns the whole store: it needs {what} of the org 'default'")

    def require_own(self, scope: Scope, partition: Partition) -> None:
        """Raises `ForbiddenError` when a bound caller would change an item that others share: one of a shared level,
        or, for a key of one user, of a session in which nobody was named.
        """
        self.require_level(partition.level)
        is_of_user = self.key is not None and self.key.user is not None
        if is_of_user and partition.level is Level.SESSION and partition != scope.partition(Level.SESSION):
            raise ForbiddenError("this was said in the session without naming a user; it needs a key that is not bound")

    def require_level(self, *levels: Level | str) -> None:
        """Raises `ForbiddenError` when a bound caller would change what others share: a key for one user changes that
        user's and the session's level, one for an agent the agent's too.
        """
        if self.key is None or not self.is_bound:
            return
        shared = {Level.ORG} if self.key.user is None else {Level.ORG, Level.AGENT}
        if shared & set(levels):
            raise ForbiddenError("this belongs to others too; it needs a key that is not bound to a user or an agent")

    def scope(self, named: NamedScope) -> Scope:
        """The scope of a request that names these. Raises `ForbiddenError` for an org, user or agent that is not the
        key's, and `InvalidInputError` for an id that cannot be.
        """
        user = agent = None
        if self.key is not None:
            user, agent = self.key.user, self.key.agent
        return Scope(
            org=_bound("org", self.org, named.org) or self.org,
            user=_bound("user", user, named.user),
            agent=_bound("agent", agent, named.agent),
            session=named.session,
        )


def named_scope(request: HTTPConnection) -> NamedScope:
    """What a request names. Raises `InvalidInputError` where it names a part twice, and differently."""
    return NamedScope(**{part.name: _named(request, part.name) for part in fields(NamedScope)})


def _bound(part: str, own: str | None, named: str | None) -> str | None:
    if own is not None and named not in (None, own):
        raise ForbiddenError(f"this key is for one {part} alone, and the request names another")
    return own if own is not None else named


def _named(request: HTTPConnection, part: str) -> str | None:
    given = {*request.query_params.getlist(part), *map(_decoded, request.headers.getlist(f"{HEADER_PREFIX}{part}"))}
    if len(given) > 1:
        raise InvalidInputError(f"the request names more than one {part}")
    return given.pop() if given else None


def _decoded(header: str) -> str:
    """Headers come as Latin-1; ids are sent in UTF-8."""
    try:
        return header.encode("latin-1").decode()
    except UnicodeDecodeError as error:
        raise InvalidInputError("an id in a header must be UTF-8") from error
