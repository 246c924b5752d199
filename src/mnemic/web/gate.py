"""The gate: every request of every door passes it, and gets its caller and its scope here and nowhere else.

Without a good key nothing is read or done. While the store holds no key, none is needed, and the server answers its own
account on its own machine only. Then the danger is a page in a browser: a request must name this machine as its host,
and may not come from another site's page.

The org is the key's; user and agent too where it is bound. Otherwise they, and always the session, are named by query
parameters (`user`, …) or headers (`Mnemic-User`, …). What the key does not allow is refused, never ignored.

The audit log is written by a thread of its own, many entries in one transaction. Entries hold ids, never texts.
"""

from __future__ import annotations

import hashlib
import logging
import re
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from hmac import compare_digest
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

import anyio
from anyio.to_thread import run_sync
from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Receive, Send
from starlette.types import Scope as AsgiScope

from mnemic.api import Mnemic
from mnemic.api.doors import Admission, acting_as
from mnemic.errors import ForbiddenError, InvalidInputError, MnemicError, UnauthorisedError
from mnemic.model.records import ApiKey, AuditEntry, Right
from mnemic.model.scope import Level, Partition, Scope
from mnemic.web.connections import CONNECTION
from mnemic.web.limits import BUSY, Board, Buckets, Limits
from mnemic.web.problems import Problem, ProblemError, problem_of

if TYPE_CHECKING:
    from mnemic.engine.tokens import Tokens

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
            raise ForbiddenError(f"this request requires a key with the {right.value!r} right")

    def require_operator(self) -> None:
        """Raises `ForbiddenError` unless the caller may manage the whole store: right admin in the org `default`."""
        self.require(Right.ADMIN)
        self.require_store("an admin key")

    def require_store(self, what: str = "a key") -> None:
        """Raises `ForbiddenError` unless the caller may see what is counted over the whole store: without a key, or
        with one of the org `default` that is not bound.
        """
        if self.org != DEFAULT_ORG or self.is_bound:
            raise ForbiddenError(f"this request affects the whole store, so it requires {what} of the org 'default'")

    def require_own(self, scope: Scope, partition: Partition) -> None:
        """Raises `ForbiddenError` when a bound caller would change an item that others share: one of a shared level,
        or, for a key of one user, of a session without a user.
        """
        self.require_level(partition.level)
        is_of_user = self.key is not None and self.key.user is not None
        if is_of_user and partition.level is Level.SESSION and partition != scope.partition(Level.SESSION):
            raise ForbiddenError("the session has no user; use a key that is not restricted to a user or agent")

    def require_level(self, *levels: Level | str) -> None:
        """Raises `ForbiddenError` when a bound caller would change what others share: a key for one user changes that
        user's and the session's level, one for an agent the agent's too.
        """
        if self.key is None or not self.is_bound:
            return
        shared = {Level.ORG} if self.key.user is None else {Level.ORG, Level.AGENT}
        if shared & set(levels):
            raise ForbiddenError("the data is shared with others; use a key that is not restricted to a user or agent")

    def scope(self, named: NamedScope) -> Scope:
        """The scope of a request that names these. Raises `ForbiddenError` for an org, user or agent that is not the
        key's, and `InvalidInputError` for an id that cannot be.
        """
        user = agent = None
        if self.key is not None:
            user, agent = self.key.user, self.key.agent
        return Scope(
            org=_check_bound("org", self.org, named.org) or self.org,
            user=_check_bound("user", user, named.user),
            agent=_check_bound("agent", agent, named.agent),
            session=named.session,
        )


def named_scope(request: HTTPConnection) -> NamedScope:
    """What a request names. Raises `InvalidInputError` where it names a part twice, and differently."""
    return NamedScope(**{part.name: _read_part(request, part.name) for part in fields(NamedScope)})


def _check_bound(part: str, own: str | None, named: str | None) -> str | None:
    if own is not None and named not in (None, own):
        raise ForbiddenError(f"this key is restricted to another {part}")
    return own if own is not None else named


def _read_part(request: HTTPConnection, part: str) -> str | None:
    given = {*request.query_params.getlist(part), *map(_decode_id, request.headers.getlist(f"{HEADER_PREFIX}{part}"))}
    if len(given) > 1:
        raise InvalidInputError(f"the request contains more than one {part}")
    return given.pop() if given else None


def _decode_id(header: str) -> str:
    """Headers come as Latin-1; ids are sent in UTF-8."""
    try:
        return header.encode("latin-1").decode()
    except UnicodeDecodeError as error:
        raise InvalidInputError("an id in a header must be UTF-8") from error


BEARER = "bearer "
KEY_HEADER = "x-api-key"
LOOPBACK = ("localhost", "127.0.0.1", "::1")
OTHER_ACCOUNT = Problem(
    403,
    "forbidden",
    "This server belongs to another account",
    "Without API keys, it accepts requests only from the account that runs it.",
    "ask its owner for a key (`mnemic keys create`) and send it as `Authorization: Bearer mn_…`",
)
CHECKS_AT_ONCE = 4  # threads that look keys up: guesses must not take those of real requests
_CALLER = "mnemic.caller"
_NO_HOST = re.compile(r"[@/?#\\\s]")


class _Accepted(NamedTuple):
    """The path that accepts tokens other than keys, their check, and the address of the metadata about their issuer."""

    path: str
    check: Callable[[str], ApiKey]
    metadata: str

    def is_at(self, path: str) -> bool:
        return path in (self.path, f"{self.path}/")


class Gate:
    """Lets callers in. `always`: a key is needed even while the store holds none. `board`: rates are counted together
    with the other processes on it. `token`: shows the account while the store holds no key.
    """

    def __init__(
        self,
        mnemic: Mnemic,
        *,
        limits: Limits | None = None,
        always: bool = False,
        board: Board | None = None,
        token: Path | None = None,
    ) -> None:
        self.limits = limits or Limits()
        self._token_file, self._token = token, token.read_text(encoding="ascii") if token else ""
        self.audit = AuditLog(mnemic.admission)
        self._admission = mnemic.admission
        self._always = always
        rates, attempts = (board.levels(0), board.levels(1)) if board else (None, None)
        self._rates = Buckets(self.limits.rate_per_s, self.limits.burst, levels=rates)
        self._attempts = Buckets(self.limits.attempts_per_s, self.limits.attempts, levels=attempts)
        self._checks = anyio.CapacityLimiter(CHECKS_AT_ONCE)
        self._accepted: _Accepted | None = None

    @property
    def tokens(self) -> Tokens:
        """OAuth tokens of keys."""
        return self._admission.tokens

    def accept(self, path: str, check: Callable[[str], ApiKey], metadata: str) -> None:
        """Accept tokens other than keys at `path` if `check` does. Requests without one get the address `metadata`.
        Every request to the server then needs a key or a token.
        """
        self._accepted, self._always = _Accepted(path, check, metadata), True

    async def admit(self, request: HTTPConnection) -> Caller:
        """Who is asking. Raises `UnauthorisedError` or `ForbiddenError`, and `ProblemError` for too many: 429 of one
        caller, 503 where as many wait for admission as may be answered at a time.
        """
        token = _token(request)
        has_token = bool(token and self._token) and compare_digest(str(token).encode(), self._token.encode())
        token = None if has_token else token
        is_stranger = token is None and self._always
        if not is_stranger and self._checks.statistics().tasks_waiting >= self.limits.in_flight:
            raise ProblemError(BUSY)
        if token is None:  # once a store holds a key it stays so, and strangers cost no look at it
            self._always = self._always or await run_sync(lambda: self._admission.needs_key, limiter=self._checks)
            if self._always:
                raise UnauthorisedError("this server requires an API key")
            _check_origin(request)
            if self._token and not has_token:
                raise UnauthorisedError(f"this server requires the token in {self._token_file} as its API key")
            if not is_own(request):
                raise ProblemError(OTHER_ACCOUNT)
            return Caller()
        is_other = self._accepted and self._accepted.is_at(request.scope["path"]) and not token.startswith("mn_")
        return Caller(
            await self.check_key(request, token, self._accepted.check if is_other and self._accepted else None)
        )

    async def check_key(
        self, request: HTTPConnection, token: str, check: Callable[[str], ApiKey] | None = None
    ) -> ApiKey:
        """The key of a token, checked by `check` if given. Raises `UnauthorisedError`, or `ProblemError` (429)."""
        self.check_attempts(request)
        self._rates.check(_hash(token))  # before any work; a key with another secret has a bucket of its own
        try:
            return await run_sync(check or self._admission.check, token, limiter=self._checks)
        except UnauthorisedError:
            self.check_attempts(request, take=1.0)
            raise

    def check_attempts(self, request: HTTPConnection, take: float = 0.0) -> None:
        """Use up attempts of the request's address. Raises `ProblemError` (429) if none are left."""
        self._attempts.check(request.client.host if request.client else "", take=take)

    def check_exchanges(self, connection: str) -> None:
        """Count a token exchange of an OAuth connection. Raises `ProblemError` (429) if there are too many."""
        self._attempts.check(f"oauth {connection}")

    def challenge(self, request: HTTPConnection, error: UnauthorisedError) -> ProblemError | None:
        """The response that leads a client without a valid token to OAuth (RFC 9728), at paths that accept tokens."""
        if self._accepted is None or not self._accepted.is_at(request.scope["path"]):
            return None
        problem = problem_of(error)
        told = 'error="invalid_token", ' if _token(request) else ""
        header = f'Bearer realm="mnemic", {told}resource_metadata="{self._accepted.metadata}"'
        return ProblemError(replace(problem, headers={"WWW-Authenticate": header}))

    def exchange(self, request: HTTPConnection) -> str:
        """The token for the code of a link, which works once. Raises `UnauthorisedError`."""
        link = self._token_file and self._token_file.with_suffix(".link")
        try:
            code = link.read_text(encoding="ascii") if link else ""
            if link and compare_digest(code.encode(), str(_token(request)).encode()):
                link.unlink()
                return self._token
        except OSError:  # it was used
            pass
        raise UnauthorisedError("this link has already been used; restart the server for a new one, or enter the token")

    def close(self) -> None:
        """Write what the audit log still holds."""
        self.audit.close()


class Guarded:
    """An ASGI application behind the gate, within which the caller acts. `open_paths` are prefixes that need no key."""

    def __init__(self, app: ASGIApp, gate: Gate, open_paths: Sequence[str] = ()) -> None:
        self._app, self._gate, self._open = app, gate, tuple(open_paths)

    async def __call__(self, scope: AsgiScope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] in ("http", "websocket") and not str(scope["path"]).startswith(self._open):
            request = HTTPConnection(scope)
            try:
                caller = scope[_CALLER] = await self._gate.admit(request)
            except UnauthorisedError as error:
                raise self._gate.challenge(request, error) or error from error
            with acting_as(caller.actor, "rest"):
                await self._app(scope, receive, send)
            return
        await self._app(scope, receive, send)


def caller_of(request: HTTPConnection) -> Caller:
    """Who came through the gate with this request."""
    return request.scope[_CALLER]


def is_own(request: HTTPConnection) -> bool:
    """True if the request comes from the server's account, as far as the system tells, or from this process."""
    connection = request.scope.get("state", {}).get(CONNECTION)
    return connection is None or connection.is_own


def scope_of(request: HTTPConnection) -> Scope:
    """The scope of a request that came through the gate; see `scopes`."""
    return caller_of(request).scope(named_scope(request))


def _token(request: HTTPConnection) -> str | None:
    """What was sent as a key: None when nothing was. Raises `UnauthorisedError` for two different ones."""
    schemes = request.headers.getlist("authorization")
    given = {each[len(BEARER) :].strip() for each in schemes if each.lower().startswith(BEARER)}
    given |= {value.strip() for value in request.headers.getlist(KEY_HEADER)}
    if len(given) > 1:
        raise UnauthorisedError("the request contains more than one API key")
    return given.pop() if given else None


def _hash(token: str) -> str:
    """A name of a token that is as short for a long one, and not the token."""
    return hashlib.sha256(token.encode(errors="replace")).hexdigest()


def _check_origin(request: HTTPConnection) -> None:
    """Refuse what a page of another site may have sent."""
    host, *others = request.headers.getlist("host") or [""]
    if others or _NO_HOST.search(host) or _name(f"//{host}") not in LOOPBACK:
        raise ForbiddenError("without API keys, this server only accepts requests on localhost; create a key first")
    origin, site = request.headers.get("origin"), request.headers.get("sec-fetch-site", "none")
    is_foreign = origin is not None and origin not in (f"http://{host}", f"https://{host}")
    if is_foreign or site not in ("none", "same-origin"):
        raise ForbiddenError("without API keys, this server rejects requests from other sites; create a key first")


def _name(url: str) -> str | None:
    try:
        return urlsplit(url).hostname
    except ValueError:
        return None


WITHIN_S = 0.5
"""How long an entry may wait before it is written; what waits is lost when the process is killed."""

MOST_WAITING = 10_000  # entries: bounds memory while the store cannot be written
_log = logging.getLogger("mnemic.web")


class AuditLog:
    """Takes entries at once and writes them soon; `close` writes what waits."""

    def __init__(self, admission: Admission) -> None:
        self._admission = admission
        self._waiting: list[AuditEntry] = []
        self._guard = threading.Lock()
        self._writing = threading.Lock()
        self._is_closing = threading.Event()
        self._thread = threading.Thread(target=self._loop, name="mnemic-audit", daemon=True)
        self._thread.start()

    def note(self, caller: Caller, verb: str, target: str = "", outcome: str = "ok") -> None:
        """Note what a caller did, or was refused."""
        entry = AuditEntry(
            org=caller.org, at=self._admission.now(), actor=caller.actor, verb=verb, target=target, outcome=outcome
        )
        with self._guard:
            if len(self._waiting) < MOST_WAITING:
                self._waiting.append(entry)
                return
        _log.error("cannot write to the audit log: an entry was lost")

    def flush(self) -> None:
        """Write what waits now; afterwards what was noted before is written, or waits because the store failed."""
        with self._writing:
            with self._guard:
                entries, self._waiting = self._waiting, []
            try:
                self._admission.note(entries)
            except MnemicError as error:
                _log.warning("audit log writes are pending: %s", type(error).__name__)
                with self._guard:
                    self._waiting = [*entries, *self._waiting][:MOST_WAITING]

    def close(self) -> None:
        """Write what waits and end; nothing may be noted afterwards."""
        self._is_closing.set()
        self._thread.join()
        self.flush()

    def _loop(self) -> None:
        while not self._is_closing.wait(WITHIN_S):
            self.flush()
