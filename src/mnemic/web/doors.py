"""How doors become one server: each declares itself as a `Door`, and `application` puts all of them behind one gate.

Before all of them stands `Front`: a number for every request, the last resort for errors, headers, counts and the log.
A line of the log says what was asked and how it ended, never with which words: no query, no body, no id of a user.
"""

from __future__ import annotations

import logging
import re
import time
import uuid
from collections.abc import AsyncGenerator, Callable, MutableMapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.routing import BaseRoute, Match, Route, Router
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from mnemic.api import Mnemic
from mnemic.errors import places
from mnemic.web.gate import Gate, Guarded
from mnemic.web.limits import BodyLimit
from mnemic.web.monitoring import Health, Metrics
from mnemic.web.problems import problem_of, problem_response

REQUEST_ID = "X-Request-ID"
UNKNOWN_ROUTE = "unknown"
SECURITY_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
}
_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
_log = logging.getLogger("mnemic.web")


class Front:
    """The ASGI application before all others."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self._app, self._metrics = app, metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        answer = _Answer(send, _request_id(scope))
        begun = time.perf_counter()
        with self._metrics.in_flight():
            try:
                await self._app(scope, receive, answer.send)
            except Exception as error:  # noqa: BLE001 -- the last resort of the doors; see tests/architecture/test_sizes.py
                await _tell(error, answer, scope, receive)
            finally:
                self._note(scope, answer, time.perf_counter() - begun)

    def _note(self, scope: Scope, answer: _Answer, seconds: float) -> None:
        method, route = str(scope["method"]), route_of(scope)
        self._metrics.answered(method, route, answer.status, seconds)
        caller = scope.get("mnemic.caller")
        _log.info(
            "request",
            extra={
                "request_id": answer.request_id,
                "method": method,
                "route": route,
                "status": answer.status,
                "ms": round(seconds * 1e3, 1),
                "actor": "" if caller is None else caller.actor,
            },
        )


class _Answer:
    """Watches the answer go by, and puts headers into it."""

    def __init__(self, send: Send, request_id: str) -> None:
        self._send = send
        self.request_id = request_id
        self.status = 0
        self.is_whole = False

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            headers = MutableHeaders(scope=message)
            headers[REQUEST_ID] = self.request_id
            for name, value in SECURITY_HEADERS.items():
                headers.setdefault(name, value)
        await self._send(message)
        self.is_whole = message["type"] == "http.response.body" and not message.get("more_body", False)


def route_of(scope: MutableMapping[str, Any]) -> str:
    """The path of a request as its door declares it, without ids."""
    route = scope.get("route")
    return getattr(route, "path", UNKNOWN_ROUTE)


async def _tell(error: Exception, answer: _Answer, scope: Scope, receive: Receive) -> None:
    """Answer with the problem. An unexpected error is logged by place and type; its text may hold memories."""
    problem = problem_of(error)
    if problem.kind == "unexpected":
        _log.error(
            "unexpected %s",
            type(error).__name__,
            extra={"request_id": answer.request_id, "route": route_of(scope), "where": places(error)},
        )
    if answer.is_whole:
        return
    if answer.status:
        raise error  # too late to answer: end the connection, so that the answer does not look complete
    await problem_response(problem)(scope, receive, answer.send)


def _request_id(scope: Scope) -> str:
    given = Headers(scope=scope).get(REQUEST_ID, "")
    return given if _ID.fullmatch(given) else uuid.uuid4().hex


ALWAYS_OPEN = ("/health/",)


@dataclass(frozen=True, slots=True, kw_only=True)
class Door:
    """A way in over HTTP. All its `routes` are behind the gate but those that begin with one of `open_paths`; handlers
    ask `web.gate.caller_of` and `web.gate.scope_of`. Bodies are bounded, and those of `file_paths` as files are.
    `lifespan`, where given, is open while the server runs. `tells` is what `mnemic serve` prints of it: a name and a
    path.
    """

    tells: tuple[str, str]
    routes: Sequence[BaseRoute]
    open_paths: Sequence[str] = ()
    file_paths: Sequence[str] = ()
    lifespan: Callable[[], AbstractAsyncContextManager[None]] | None = None


MakeDoor = Callable[[Mnemic, Gate], Door]
"""What the package of a door offers as `door`: called once, when the server starts."""


def application(doors: Sequence[Door], gate: Gate, health: Health, metrics: Metrics) -> ASGIApp:
    """One ASGI application of all doors: routes are tried in the order of the doors, health and metrics first."""

    @asynccontextmanager
    async def lifespan(_app: object) -> AsyncGenerator[None]:
        async with AsyncExitStack() as stack:
            for door in doors:
                if door.lifespan is not None:
                    await stack.enter_async_context(door.lifespan())
            yield

    routes = [*health.routes(), *metrics.routes(), *(route for door in doors for route in door.routes)]
    router = Router(routes, redirect_slashes=False, lifespan=lifespan)

    async def inner(scope: Scope, receive: Receive, send: Send) -> None:
        scope.setdefault("app", router)  # told so, routes raise what `Front` answers
        _check_method(routes, scope)
        await router(scope, receive, send)

    open_paths = [*ALWAYS_OPEN, *(path for door in doors for path in door.open_paths)]
    file_paths = tuple(path for door in doors for path in door.file_paths)

    def limit_of(path: str) -> int:
        return gate.limits.file_bytes if path.startswith(file_paths) else gate.limits.body_bytes

    return Front(Guarded(BodyLimit(inner, limit_of), gate, open_paths), metrics)


def _check_method(routes: Sequence[BaseRoute], scope: Scope) -> None:
    """Raise 405 if routes of this path take other methods alone; the last door would answer that there is no route."""
    found = [(route, route.matches(scope)[0]) for route in routes if isinstance(route, Route)]
    others = {method for route, match in found if match is Match.PARTIAL for method in route.methods or ()}
    if others and all(match is not Match.FULL for _, match in found):
        raise HTTPException(HTTPStatus.METHOD_NOT_ALLOWED, headers={"Allow": ", ".join(sorted(others))})
