"""How routes get their caller and scope, encode answers, and choose threads. Computing work has few threads, because
more than the machine has cores slow each other down. Writes have their own, as they wait for other writers, and so does
long work. If the store is a server, threads mostly wait, so there are more.
"""

import difflib
import json
import os
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from functools import partial, wraps
from inspect import iscoroutinefunction
from typing import Annotated, Any

from anyio import CapacityLimiter
from anyio.to_thread import run_sync
from fastapi import Depends, Query, Request
from fastapi.dependencies.utils import get_flat_params
from fastapi.params import ParamTypes
from starlette.responses import Response

from mnemic.api import Mnemic
from mnemic.errors import ForbiddenError, InvalidInputError
from mnemic.model.records import Right
from mnemic.model.scope import MAX_ID_CHARS, Scope
from mnemic.verbs import Lane
from mnemic.web.gate import Caller, caller_of, scope_of
from mnemic.wire import to_wire

Part = Annotated[str | None, Query(min_length=1, max_length=MAX_ID_CHARS)]


@dataclass(frozen=True, slots=True)
class Asked:
    """The caller and scope of a request."""

    caller: Caller
    scope: Scope

    def require_own(self, mnemic: Mnemic, *ids: str) -> None:
        """Raise `ForbiddenError` if a bound caller would change a shared item; see `Caller.require_own`."""
        if self.caller.is_bound:
            for each in ids:
                self.caller.require_own(self.scope, mnemic.get(self.scope, each).partition)


async def _asked(
    request: Request, org: Part = None, user: Part = None, agent: Part = None, session: Part = None
) -> Asked:
    """Declares the scope parameters for the description. Only `web.gate` reads them, together with the headers."""
    del org, user, agent, session
    known = _parameters(request.scope["route"])
    unknown = sorted(set(request.query_params) - known)
    if unknown:
        raise InvalidInputError(unknown_name(unknown[0], known, "parameter"))
    try:
        return Asked(caller_of(request), scope_of(request))
    except ForbiddenError:
        request.state.is_audited = True  # somebody else's data
        raise


async def _reads(asked: Annotated[Asked, Depends(_asked)]) -> Asked:
    asked.caller.require(Right.READ)
    return asked


async def _writes(request: Request, asked: Annotated[Asked, Depends(_asked)]) -> Asked:
    request.state.is_audited = True
    asked.caller.require(Right.WRITE)
    return asked


async def _administers(request: Request, asked: Annotated[Asked, Depends(_asked)]) -> Asked:
    request.state.is_audited = request.method != "GET"
    asked.caller.require(Right.ADMIN)
    return asked


async def _operates(request: Request, asked: Annotated[Asked, Depends(_asked)]) -> Asked:
    request.state.is_audited = request.method != "GET"
    asked.caller.require_operator()
    return asked


Reads = Annotated[Asked, Depends(_reads)]
Writes = Annotated[Asked, Depends(_writes)]
Administers = Annotated[Asked, Depends(_administers)]
Operates = Annotated[Asked, Depends(_operates)]


def unknown_name(name: str, known: Iterable[str], what: str) -> str:
    """The message for an unknown name, with the nearest known one."""
    near = difflib.get_close_matches(name, list(known), n=1, cutoff=0.6)  # similarity: a typing error or two
    return f"unknown {what} {name[:80]!r}" + (f"; did you mean {near[0]!r}?" if near else "")


def _parameters(route: Any) -> frozenset[str]:
    """The query parameters of a route and its dependencies."""
    operation: str = route.operation_id
    if operation not in _KNOWN:
        fields = get_flat_params(route.dependant)
        _KNOWN[operation] = frozenset(
            field.alias for field in fields if getattr(field.field_info, "in_", None) is ParamTypes.query
        )
    return _KNOWN[operation]


_KNOWN: dict[str, frozenset[str]] = {}


JSON = "application/json"


def answer(noun: object, status: int = 200) -> Response:
    """A noun, or a list or mapping of nouns, as a JSON response."""
    return Response(line(noun), status, media_type=JSON)


def line(noun: object) -> bytes:
    """The noun as JSON bytes without line feeds."""
    wire: Any = to_wire(noun)
    return json.dumps(wire, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode(errors="replace")


WAITING_THREADS = 16
"""Threads for quick work if the store is a server, and for long work."""

LEAST_QUICK, LEAST_WRITERS = 2, 2  # so that one slow request does not hold up every other


class Lanes:
    """The threads of one application: `quick` for reads, half as many (at least two) for short writes."""

    def __init__(self, quick: int) -> None:
        writers = max(LEAST_WRITERS, quick // 2)
        sizes = {Lane.READ: quick, Lane.WRITE: writers, Lane.LONG: WAITING_THREADS}
        self._limiters = {lane: CapacityLimiter(size) for lane, size in sizes.items()}

    def on(self, lane: Lane, endpoint: Callable[..., Any]) -> Callable[..., Awaitable[Any]]:
        """Wrap an endpoint to run on a thread of this lane."""
        if iscoroutinefunction(endpoint):
            return endpoint
        limiter = self._limiters[lane]

        @wraps(endpoint)
        async def run(**given: Any) -> Any:
            return await run_sync(partial(endpoint, **given), limiter=limiter)

        return run


def quick_threads(*, is_waiting: bool) -> int:
    """The number of threads for this machine and kind of store (`is_waiting`: a server)."""
    return WAITING_THREADS if is_waiting else max(LEAST_QUICK, os.cpu_count() or 1)
