"""From an answer that is a problem, or from no answer at all, to the exception that the library would have raised."""

from __future__ import annotations

import json
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, cast

import httpx2

from mnemic import errors
from mnemic.errors import (
    BackendError,
    BadReplyError,
    ConflictError,
    ForbiddenError,
    InvalidInputError,
    MnemicError,
    NotFoundError,
    RateLimitedError,
    TimedOutError,
    UnauthorisedError,
    UnavailableError,
    UnsupportedError,
    error_kind,
)
from mnemic.wire import PROBLEM_PREFIX

BY_STATUS: Mapping[int, type[MnemicError]] = {
    400: InvalidInputError,
    401: UnauthorisedError,
    403: ForbiddenError,
    404: NotFoundError,
    409: ConflictError,
    413: InvalidInputError,
    422: InvalidInputError,
    429: RateLimitedError,
    500: BackendError,
    501: UnsupportedError,
    503: UnavailableError,
}
NO_ROUTE = ("no_route", "no_method")


def raise_problem(response: httpx2.Response) -> None:
    """Raises what a problem stands for; answers that are none pass."""
    if response.status_code < 400:  # noqa: PLR2004 -- HTTP's own
        return
    try:
        told = response.json()
    except (ValueError, RecursionError):
        told = None
    body = cast("Mapping[str, Any]", told if isinstance(told, dict) else {})
    raise problem_error(response.status_code, body, response.headers.get("retry-after"))


def is_under_way(response: httpx2.Response) -> bool:
    """True when the server still works on the same request, which came before with the same key."""
    return response.status_code == HTTPStatus.CONFLICT and f"{PROBLEM_PREFIX}under_way" in response.text


def problem_error(status: int, body: Mapping[str, Any], retry_after: str | None = None) -> MnemicError:
    """The exception of a problem; its class by the type where that is known, else by the status."""
    kind = str(body.get("type", "")).removeprefix(PROBLEM_PREFIX)
    message = str(body.get("detail") or body.get("title") or f"the server answered {status}")
    if kind in NO_ROUTE:
        return UnsupportedError("the server does not know this verb; is it of an older version?", capability=kind)
    error = KINDS.get(kind) or BY_STATUS.get(status, BadReplyError)
    if issubclass(error, UnsupportedError):
        return error(message, capability=kind)
    if issubclass(error, RateLimitedError):
        return error(message, retry_after_s=float(retry_after) if retry_after and retry_after.isdecimal() else None)
    return error(message)


def transport_error(error: httpx2.HTTPError, url: str) -> BackendError:
    """The exception of a request that got no answer."""
    if isinstance(error, httpx2.TimeoutException):
        return TimedOutError(f"{url} did not answer in time")
    return UnavailableError(f"{url} does not answer ({type(error).__name__}); is `mnemic serve` running there?")


KINDS: Mapping[str, type[MnemicError]] = {
    error_kind(found): found
    for found in vars(errors).values()
    if isinstance(found, type) and issubclass(found, MnemicError)
}


def loads(line: str) -> Any:
    """One line of an answer. Raises `BadReplyError`."""
    try:
        return json.loads(line)
    except (ValueError, RecursionError) as error:
        raise BadReplyError("the server sent a line that is not JSON") from error
