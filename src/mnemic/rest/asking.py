"""What every route asks of a request first: the right, the scope, and no parameter that it does not know."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import Depends, Query, Request
from fastapi.dependencies.utils import get_flat_params
from fastapi.params import ParamTypes

from mnemic.api import Mnemic
from mnemic.errors import InvalidInputError
from mnemic.model.records import Right
from mnemic.model.scope import MAX_ID_CHARS, Scope
from mnemic.web.gate import Caller, caller_of, scope_of

Part = Annotated[str | None, Query(min_length=1, max_length=MAX_ID_CHARS)]


@dataclass(frozen=True, slots=True)
class Asked:
    """Who asks, and in which scope."""

    caller: Caller
    scope: Scope

    def require_own(self, mnemic: Mnemic, *ids: str) -> None:
        """Raises `ForbiddenError` when a bound caller would change an item that others share; see
        `Caller.require_own`.
        """
        if self.caller.is_bound:
            for each in ids:
                self.caller.require_own(self.scope, mnemic.get(self.scope, each).partition)


async def _asked(
    request: Request, org: Part = None, user: Part = None, agent: Part = None, session: Part = None
) -> Asked:
    """The parameters are declared here to be described; `web.gate` alone reads them, with the headers beside them."""
    del org, user, agent, session
    known = _parameters(request.scope["route"])
    unknown = sorted(set(request.query_params) - known)
    if unknown:
        raise InvalidInputError(unknown_name(unknown[0], known, "parameter"))
    return Asked(caller_of(request), scope_of(request))


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
    """What to tell of a name that nobody knows: the nearest one that is known."""
    near = difflib.get_close_matches(name, list(known), n=1, cutoff=0.6)
    return f"there is no {what} {name[:80]!r}" + (f"; did you mean {near[0]!r}?" if near else "")


def _parameters(route: Any) -> frozenset[str]:
    """The parameters of the query that a route takes, of itself and of what it depends on."""
    operation: str = route.operation_id
    if operation not in _KNOWN:
        fields = get_flat_params(route.dependant)
        _KNOWN[operation] = frozenset(
            field.alias for field in fields if getattr(field.field_info, "in_", None) is ParamTypes.query
        )
    return _KNOWN[operation]


_KNOWN: dict[str, frozenset[str]] = {}
