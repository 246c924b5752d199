"""The gate: every request of every door passes it. Without a good key nothing is read and nothing is done.

As long as the store holds no key, none is needed, and the server listens to its own machine only. Then a page in a
browser is the danger: a request must name this machine as its host, and may not come from another site's page.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from urllib.parse import urlsplit

import anyio
from anyio.to_thread import run_sync
from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Receive, Send
from starlette.types import Scope as AsgiScope

from mnemic.api import Mnemic
from mnemic.api.acting import acting_as
from mnemic.errors import ForbiddenError, UnauthorisedError
from mnemic.model.scope import Scope
from mnemic.web.audit import AuditLog
from mnemic.web.board import Board
from mnemic.web.limits import BUSY, Buckets, Limits
from mnemic.web.problems import ProblemError
from mnemic.web.scopes import Caller, named_scope

BEARER = "bearer "
KEY_HEADER = "x-api-key"
LOOPBACK = ("localhost", "127.0.0.1", "::1")
CHECKS_AT_ONCE = 4
_CALLER = "mnemic.caller"
_NO_HOST = re.compile(r"[@/?#\\\s]")


class Gate:
    """Lets callers in. `always`: a key is needed even while the store holds none. `board`: rates are counted together
    with the other processes on it.
    """

    def __init__(
        self, mnemic: Mnemic, *, limits: Limits | None = None, always: bool = False, board: Board | None = None
    ) -> None:
        self.limits = limits or Limits()
        self.audit = AuditLog(mnemic.admission)
        self._admission = mnemic.admission
        self._always = always
        rates, attempts = (board.levels(0), board.levels(1)) if board else (None, None)
        self._rates = Buckets(self.limits.rate_per_s, self.limits.burst, levels=rates)
        self._attempts = Buckets(self.limits.attempts_per_s, self.limits.attempts, levels=attempts)
        self._checks = anyio.CapacityLimiter(CHECKS_AT_ONCE)

    async def admit(self, request: HTTPConnection) -> Caller:
        """Who is asking. Raises `UnauthorisedError` or `ForbiddenError`, and `ProblemError` for too many: 429 of one
        caller, 503 where as many wait for admission as may be answered at a time.
        """
        token, address = _token(request), request.client.host if request.client else ""
        is_stranger = token is None and self._always
        if not is_stranger and self._checks.statistics().tasks_waiting >= self.limits.in_flight:
            raise ProblemError(BUSY)
        if token is None:  # once a store holds a key it stays so, and strangers cost no look at it
            self._always = self._always or await run_sync(lambda: self._admission.needs_key, limiter=self._checks)
            if self._always:
                raise UnauthorisedError("this server needs a key")
            _check_origin(request)
            return Caller()
        self._attempts.check(address, take=0)
        self._rates.check(_hash(token))  # before any work; a key with another secret has a bucket of its own
        try:
            key = await run_sync(self._admission.check, token, limiter=self._checks)
        except UnauthorisedError:
            self._attempts.check(address)
            raise
        return Caller(key)

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
            caller = scope[_CALLER] = await self._gate.admit(HTTPConnection(scope))
            with acting_as(caller.actor):
                await self._app(scope, receive, send)
            return
        await self._app(scope, receive, send)


def caller_of(request: HTTPConnection) -> Caller:
    """Who came through the gate with this request."""
    return request.scope[_CALLER]


def scope_of(request: HTTPConnection) -> Scope:
    """The scope of a request that came through the gate; see `scopes`."""
    return caller_of(request).scope(named_scope(request))


def _token(request: HTTPConnection) -> str | None:
    """What was sent as a key: None when nothing was. Raises `UnauthorisedError` for two different ones."""
    schemes = request.headers.getlist("authorization")
    given = {each[len(BEARER) :].strip() for each in schemes if each.lower().startswith(BEARER)}
    given |= {value.strip() for value in request.headers.getlist(KEY_HEADER)}
    if len(given) > 1:
        raise UnauthorisedError("the request shows more than one key")
    return given.pop() if given else None


def _hash(token: str) -> str:
    """A name of a token that is as short for a long one, and not the token."""
    return hashlib.sha256(token.encode(errors="replace")).hexdigest()


def _check_origin(request: HTTPConnection) -> None:
    """Refuse what a page of another site may have sent."""
    host, *others = request.headers.getlist("host") or [""]
    if others or _NO_HOST.search(host) or _name(f"//{host}") not in LOOPBACK:
        raise ForbiddenError("without keys this server answers to localhost and 127.0.0.1 only; make a key for others")
    origin, site = request.headers.get("origin"), request.headers.get("sec-fetch-site", "none")
    is_foreign = origin is not None and origin not in (f"http://{host}", f"https://{host}")
    if is_foreign or site not in ("none", "same-origin"):
        raise ForbiddenError("without keys this server answers no page of another site")


def _name(url: str) -> str | None:
    try:
        return urlsplit(url).hostname
    except ValueError:
        return None
