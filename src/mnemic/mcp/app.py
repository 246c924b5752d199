"""MCP over streamable HTTP, as one door of `mnemic serve`. The key identifies the caller, as at every other door. Each
request carries its key and is answered with JSON. There are no sessions.
"""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from http import HTTPStatus
from typing import TYPE_CHECKING, cast

from mcp.server.streamable_http_manager import StreamableHTTPASGIApp, StreamableHTTPSessionManager
from starlette.exceptions import HTTPException
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from mnemic.api import Mnemic
from mnemic.errors import ForbiddenError, InvalidInputError
from mnemic.mcp.server import Access, Request, make_server
from mnemic.model.scope import Scope as MemoryScope
from mnemic.model.scope import find_login_name
from mnemic.verbs import DEFAULT_TOOLS
from mnemic.web.doors import Door
from mnemic.web.gate import Caller, Gate, caller_of, scope_of
from mnemic.web.limits import Bound

if TYPE_CHECKING:
    from starlette.requests import Request as HttpRequest

PATH = "/mcp"


def door(mnemic: Mnemic, gate: Gate) -> Door:
    """The MCP door of `mnemic serve`."""

    def who(request: Request) -> Access:
        http = cast("HttpRequest | None", request.request)
        if http is None:
            raise ForbiddenError("only HTTP requests have a scope")
        caller = caller_of(http)

        def note(name: str, is_done: bool) -> None:  # noqa: FBT001 -- as `Access.note`
            gate.audit.note(caller, f"mcp {name}", "", "ok" if is_done else "refused")

        scope, tools = _personal_scope(caller, scope_of(http)), http.query_params.get("tools", DEFAULT_TOOLS)
        return Access(scope, caller.require, note, partial(caller.require_own, scope), caller.actor, tools)

    manager = StreamableHTTPSessionManager(
        make_server(mnemic, who), json_response=True, stateless=True, max_request_body_size=gate.limits.body_bytes
    )

    @asynccontextmanager
    async def lifespan() -> AsyncGenerator[None]:
        async with manager.run():
            yield

    endpoint = Bound(_Posts(StreamableHTTPASGIApp(manager)), gate.limits.in_flight)
    routes = [Route(path, endpoint=endpoint) for path in (PATH, f"{PATH}/")]
    if not mnemic.settings.oauth.url:
        return Door(tells=("MCP", PATH), routes=routes, lifespan=lifespan)
    from mnemic.mcp import oauth

    routes += oauth.routes(mnemic.settings.oauth, gate, PATH)
    return Door(tells=("MCP", PATH), routes=routes, open_paths=oauth.OPEN_PATHS, lifespan=lifespan)


def _personal_scope(caller: Caller, scope: MemoryScope) -> MemoryScope:
    """The scope. If it names no user or agent, a request without a key is the login name's, as over stdio. With a key,
    raises `InvalidInputError`.
    """
    if scope.user or scope.agent:
        return scope
    if caller.key is not None:
        raise InvalidInputError("the request names no user; add the header Mnemic-User")
    return replace(scope, user=find_login_name())


class _Posts:
    """Accepts only POST. A GET stream would hold a connection, and nothing is ever sent on it."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] != "POST":
            raise HTTPException(HTTPStatus.METHOD_NOT_ALLOWED, headers={"Allow": "POST"})
        await self._app(scope, receive, send)
