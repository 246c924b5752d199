"""The REST application: its routes, one error format, and the OpenAPI description."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import cache, partial
from http import HTTPStatus
from typing import Any, cast

import anyio.to_thread
from fastapi import APIRouter, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import HTMLResponse, Response
from starlette.routing import Match, Mount
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Send
from starlette.types import Scope as AsgiScope

from mnemic import __version__
from mnemic.api import Mnemic
from mnemic.errors import MnemicError
from mnemic.rest.asking import WAITING_THREADS, Lanes, quick_threads
from mnemic.rest.description import PAGE, POLICY, describe
from mnemic.rest.replies import Replies
from mnemic.rest.routes import routes
from mnemic.verbs import PREFIX
from mnemic.web.doors import Door
from mnemic.web.gate import Gate, caller_of
from mnemic.web.limits import Bound
from mnemic.web.problems import Problem, ProblemError, problem_of, problem_response

FILE_PATHS = (f"{PREFIX}/documents", f"{PREFIX}/import")
DOCS, DESCRIPTION = "/docs", "/openapi.json"
OPEN_PATHS = (DOCS, DESCRIPTION)
ABOUT = """Long-term memory for AI assistants: store what is said and find it again by meaning.

Choose whose memory to use with `user`, `agent` and `session` in the query, or with the headers `Mnemic-User`,
`Mnemic-Agent` and `Mnemic-Session`. Leaving one out returns less, never more. The org is the API key's.

Writes with an `Idempotency-Key` are safe to retry for 24 hours. They run once and return the same response.
"""


def door(mnemic: Mnemic, gate: Gate) -> Door:
    """The REST door of `mnemic serve`."""
    app = application(mnemic, gate)

    @asynccontextmanager
    async def lifespan() -> AsyncGenerator[None]:
        anyio.to_thread.current_default_thread_limiter().total_tokens = WAITING_THREADS
        yield

    bound = Bound(Replies(app, mnemic.repeats, gate.limits.body_bytes), gate.limits.in_flight)
    return Door(
        tells=("REST", PREFIX),
        routes=[Mount("", bound)],
        open_paths=OPEN_PATHS,
        file_paths=FILE_PATHS,
        lifespan=lifespan,
    )


def application(mnemic: Mnemic, gate: Gate) -> FastAPI:
    """A FastAPI application with all routes behind a gate."""
    router = routes(mnemic, Lanes(gate.limits.threads or quick_threads(is_waiting=mnemic.admission.is_waiting)))
    app = FastAPI(
        title="Mnemic",
        version=__version__,
        description=ABOUT,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        telemetry={"tracing": False, "metrics": False, "logs": False, "auto_configure": False},
        exception_handlers=_handlers(router),
    )
    app.include_router(router)
    app.add_middleware(_Audited, gate=gate)
    app.openapi = cache(partial(describe, app))
    page = (PAGE / "index.html").read_text(encoding="utf-8")

    def docs(_request: Request) -> Response:
        return HTMLResponse(page, headers={"Content-Security-Policy": POLICY})

    app.add_route(DOCS, docs, include_in_schema=False)
    app.mount(DOCS, StaticFiles(directory=PAGE))
    return app


def _handlers(router: APIRouter) -> dict[Any, Any]:
    def told(request: Request, error: Exception) -> Response:
        problem = problem_of(error)
        if problem.status == HTTPStatus.METHOD_NOT_ALLOWED:  # the framework lists only the methods of the first route
            found = [route for route in router.routes if route.matches(request.scope)[0] is not Match.NONE]
            methods = sorted({method for route in found for method in getattr(route, "methods", ())})
            problem = replace(problem, headers={"Allow": ", ".join(methods)} if methods else problem.headers)
        return problem_response(problem)

    def misread(_request: Request, error: Exception) -> Response:
        return problem_response(validation_problem(cast("RequestValidationError", error)))

    kinds = (MnemicError, ProblemError, HTTPException, Exception)
    return {**dict.fromkeys(kinds, told), RequestValidationError: misread}


BODY_ERRORS = {
    "model_attributes_type": "must be a JSON object, with the header Content-Type: application/json",
    "json_invalid": "is not JSON from here on",
}


def validation_problem(error: RequestValidationError) -> Problem:
    """The problem for an invalid request: where and what is wrong, never the values."""
    found = [
        {"where": ".".join(map(str, each["loc"])), "what": BODY_ERRORS.get(each["type"], str(each["msg"]))}
        for each in error.errors()
    ]
    detail = "; ".join(f"{each['where']}: {each['what']}" for each in found[:3])
    return Problem(
        422,
        "invalid_input",
        "An argument is invalid",
        detail,
        "change it and try again; nothing was stored",
        found[:20],
    )


class _Audited:
    """Writes every change and every request about keys to the audit log, refused ones included."""

    def __init__(self, app: ASGIApp, gate: Gate) -> None:
        self._app, self._gate = app, gate

    async def __call__(self, scope: AsgiScope, receive: Receive, send: Send) -> None:
        statuses: list[int] = []

        async def sent(message: Message) -> None:
            if message["type"] == "http.response.start":
                statuses.append(message["status"])
            await send(message)

        try:
            await self._app(scope, receive, sent)
        finally:
            if scope["type"] == "http" and scope.get("state", {}).get("is_audited"):
                self._note(Request(scope), statuses)

    def _note(self, request: Request, statuses: Sequence[int]) -> None:
        status = statuses[0] if statuses else 500
        verb = getattr(request.scope.get("route"), "operation_id", None) or request.method
        places = request.path_params
        target = str(places.get("id", places.get("turn_id", "")))
        outcome = "ok" if status < 400 else str(status)  # noqa: PLR2004 -- HTTP's own
        self._gate.audit.note(caller_of(request), verb, target, outcome)
