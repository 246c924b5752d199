"""Turns exceptions into `application/problem+json` responses (RFC 9457), with one table of statuses."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus

from starlette.exceptions import HTTPException
from starlette.responses import Response

from mnemic import errors as failures
from mnemic.wire import PROBLEM_PREFIX

MEDIA_TYPE = "application/problem+json"
RETRY_S = 1  # the smallest value of the header
_NO_HEADERS: Mapping[str, str] = {}


@dataclass(frozen=True, slots=True)
class Problem:
    """A problem as a client sees it. `kind` is the end of `type`; `errors` locates the mistakes in the request."""

    status: int
    kind: str
    title: str
    detail: str = ""
    hint: str = ""
    errors: Sequence[Mapping[str, str]] = ()
    headers: Mapping[str, str] = field(default_factory=lambda: _NO_HEADERS)


class ProblemError(Exception):
    """Raised for problems of HTTP alone, such as a body that is too large."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.title)
        self.problem = problem


@dataclass(frozen=True, slots=True)
class _Row:
    status: int
    title: str
    hint: str = ""
    is_told: bool = True  # whether clients see the exception's message


STATUSES: Mapping[type[failures.MnemicError], _Row] = {
    failures.MnemicError: _Row(500, "Something went wrong", "see the server's log", is_told=False),
    failures.InvalidInputError: _Row(422, "An argument is invalid", "change it and try again; nothing was stored"),
    failures.UnauthorisedError: _Row(
        401, "An API key is required", "send `Authorization: Bearer mn_…` with a valid key"
    ),
    failures.ForbiddenError: _Row(
        403, "The key does not allow this", "use a key with this right, or for this user or agent"
    ),
    failures.NotFoundError: _Row(404, "Nothing with this id exists in the scope", "check the id and the scope"),
    failures.ConflictError: _Row(409, "It already exists or was changed in the meantime", "read it again, then decide"),
    failures.UnsupportedError: _Row(501, "This server is not set up for this"),
    failures.ConfigError: _Row(
        501, "The server is not set up for this", "run `mnemic doctor` on the server", is_told=False
    ),
    failures.BackendError: _Row(503, "A server backend failed", "run `mnemic doctor` on the server"),
    failures.UnavailableError: _Row(503, "A server backend is not responding", "try again in a moment"),
    failures.RateLimitedError: _Row(503, "A server backend is limiting requests", "try again later"),
    failures.TimedOutError: _Row(503, "A server backend took too long", "try again, or allow it more time"),
    failures.DamagedError: _Row(
        503, "The store is lost or damaged", "run `mnemic doctor` on the server; nothing more is written until then"
    ),
    failures.BadReplyError: _Row(
        503, "A server backend returned an invalid response", "run `mnemic doctor` on the server"
    ),
}

HTTP_KINDS: Mapping[int, tuple[str, str, str]] = {
    400: ("unreadable", "The request cannot be read", "see /openapi.json for the format"),
    404: ("no_route", "This route does not exist", "see /docs or /openapi.json for the routes"),
    405: ("no_method", "This route does not allow this method", "see the Allow header"),
    413: ("too_large", "The request is too large", "send a smaller request"),
}
"""Kind, title and hint of errors that frameworks raise with only a status."""

UNEXPECTED = Problem(500, "unexpected", "Something went wrong", hint="see the server's log")


def problem_of(error: BaseException) -> Problem:
    """The problem of an exception, without details if it is unexpected."""
    if isinstance(error, ProblemError):
        return error.problem
    if isinstance(error, HTTPException):
        return _http_problem(error)
    if not isinstance(error, failures.MnemicError):
        return UNEXPECTED
    kind = next(kind for kind in type(error).__mro__ if kind in STATUSES)
    row = STATUSES[kind]
    return Problem(
        row.status,
        failures.error_kind(kind),
        row.title,
        " ".join(str(error).split()) if row.is_told else row.title,
        row.hint,
        headers=_headers(error),
    )


def _http_problem(error: HTTPException) -> Problem:
    kind, title, hint = HTTP_KINDS.get(error.status_code, ("http", "The request cannot be processed", ""))
    told = " ".join(str(error.detail).split())
    detail = (
        title if told in ("", HTTPStatus(error.status_code).phrase) else told
    )  # the framework's own text adds nothing
    return Problem(error.status_code, kind, title, detail, hint=hint, headers=error.headers or _NO_HEADERS)


def problem_response(problem: Problem) -> Response:
    """The response for a problem."""
    body: dict[str, object] = {
        "type": PROBLEM_PREFIX + problem.kind,
        "title": problem.title,
        "status": problem.status,
        "detail": problem.detail,
        "hint": problem.hint,
    }
    if problem.errors:
        body["errors"] = [dict(error) for error in problem.errors]
    content = json.dumps(body, ensure_ascii=False).encode(errors="replace")
    return Response(content, problem.status, dict(problem.headers), MEDIA_TYPE)


def _headers(error: failures.MnemicError) -> Mapping[str, str]:
    if isinstance(error, failures.UnauthorisedError):
        return {"WWW-Authenticate": 'Bearer realm="mnemic"'}
    if isinstance(error, failures.RateLimitedError) and error.retry_after_s is not None:
        return {"Retry-After": str(max(math.ceil(error.retry_after_s), RETRY_S))}
    if isinstance(error, failures.BackendError) and error.is_retryable:
        return {"Retry-After": str(RETRY_S)}
    return _NO_HEADERS
