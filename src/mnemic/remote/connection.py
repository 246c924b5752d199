"""The connection to one server: requests, parsed answers, and problems as library exceptions."""

import json
import time
import uuid
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import is_dataclass
from http import HTTPStatus
from typing import Any, cast

from mnemic import __version__, errors
from mnemic import errors as failures

try:
    import httpx2
except ModuleNotFoundError as missing:
    _told = f"a connection to a server requires the package {missing.name}: run `pip install 'mnemic[remote]'`"
    raise failures.ConfigError(_told) from missing

from mnemic.config import values
from mnemic.model.scope import Scope
from mnemic.verbs import ROUTES, Verb
from mnemic.wire import PROBLEM_PREFIX, to_wire
from mnemic.wire.reading import from_wire

BY_STATUS: Mapping[int, type[failures.MnemicError]] = {
    400: failures.InvalidInputError,
    401: failures.UnauthorisedError,
    403: failures.ForbiddenError,
    404: failures.NotFoundError,
    409: failures.ConflictError,
    413: failures.InvalidInputError,
    422: failures.InvalidInputError,
    429: failures.RateLimitedError,
    500: failures.BackendError,
    501: failures.UnsupportedError,
    503: failures.UnavailableError,
}
NO_ROUTE = ("no_route", "no_method")


def raise_problem(response: httpx2.Response) -> None:
    """Raise the exception of a problem. Does nothing for other answers."""
    if response.status_code < 400:  # noqa: PLR2004 -- HTTP's own
        return
    try:
        told = response.json()
    except (ValueError, RecursionError):
        told = None
    body = cast("Mapping[str, Any]", told if isinstance(told, dict) else {})
    raise problem_error(response.status_code, body, response.headers.get("retry-after"))


def is_under_way(response: httpx2.Response) -> bool:
    """True while the server still works on an earlier request with the same idempotency key."""
    return response.status_code == HTTPStatus.CONFLICT and f"{PROBLEM_PREFIX}under_way" in response.text


def problem_error(status: int, body: Mapping[str, Any], retry_after: str | None = None) -> failures.MnemicError:
    """The exception of a problem. Its class comes from the problem's type, else from the status."""
    kind = str(body.get("type", "")).removeprefix(PROBLEM_PREFIX)
    message = str(body.get("detail") or body.get("title") or f"the server answered {status}")
    if kind in NO_ROUTE:
        return failures.UnsupportedError(
            "the server does not support this; upgrade it to this version", capability=kind
        )
    error = KINDS.get(kind) or BY_STATUS.get(status, failures.BadReplyError)
    if issubclass(error, failures.UnsupportedError):
        return error(message, capability=kind)
    if issubclass(error, failures.RateLimitedError):
        return error(message, retry_after_s=float(retry_after) if retry_after and retry_after.isdecimal() else None)
    return error(message)


def transport_error(error: httpx2.HTTPError, url: str) -> failures.BackendError:
    """The exception of an unanswered request."""
    if isinstance(error, httpx2.TimeoutException):
        return failures.TimedOutError(f"{url} did not respond in time")
    return failures.UnavailableError(
        f"{url} is not responding ({type(error).__name__}); is `mnemic serve` running there?"
    )


KINDS: Mapping[str, type[failures.MnemicError]] = {
    failures.error_kind(found): found
    for found in vars(errors).values()
    if isinstance(found, type) and issubclass(found, failures.MnemicError)
}


def loads(line: str) -> Any:
    """Parse one line of an answer. Raises `BadReplyError`."""
    try:
        return json.loads(line)
    except (ValueError, RecursionError) as error:
        raise failures.BadReplyError("the server sent a line that is not JSON") from error


NDJSON = "application/x-ndjson"
LONG_TIMEOUT_S = 600.0
"""Minimum time limit of long verbs. A model may reply several times, with tool calls in between."""

WAIT_S = 0.2
"""Wait between two checks whether the server has finished an earlier request."""

OWN_ORG = "default"
Progress = Callable[[Mapping[str, Any]], None]


class Connection:
    """A connection to one server. Thread-safe. Raises the errors of `mnemic.errors`."""

    def __init__(self, url: str, key: str | None, timeout_s: float) -> None:
        if not url.startswith(("http://", "https://")):
            raise failures.ConfigError(f"{url!r} is not a valid server address; use one such as http://127.0.0.1:7700")
        key = key or values.read_token(url)
        headers = {"User-Agent": f"mnemic/{__version__}"} | ({"Authorization": f"Bearer {key}"} if key else {})
        self.url = url.rstrip("/")
        try:
            self._client = httpx2.Client(base_url=self.url, headers=headers, timeout=timeout_s)
        except (httpx2.InvalidURL, UnicodeEncodeError) as error:
            raise failures.ConfigError(f"the address {url!r} or the API key is invalid: {error}") from error

    def ask(self, verb: str, answer: Any, scope: Scope | None, arguments: Mapping[str, Any]) -> Any:
        """Call a verb and parse its answer as the type `answer`."""
        return from_wire(answer, self.ask_wire(verb, scope, arguments))

    def ask_wire(self, verb: str, scope: Scope | None, arguments: Mapping[str, Any]) -> Any:
        """Call a verb and return its answer as plain JSON."""
        request = self._build(verb, scope, arguments)
        if request.method != "GET":
            request.headers["Idempotency-Key"] = uuid.uuid4().hex
        try:
            response = self._send(request)
        except httpx2.HTTPError as error:
            raise transport_error(error, self.url) from error
        raise_problem(response)
        return loads(response.text)

    def lines(self, verb: str, scope: Scope, arguments: Mapping[str, Any]) -> Generator[str]:
        """The lines of a streamed answer. The request is sent at once."""
        response = self._open(self._build(verb, scope, arguments))

        def rest() -> Generator[str]:
            with self._reading(response):
                yield from split(response.iter_bytes())

        return rest()

    def content(self, verb: str, arguments: Mapping[str, Any]) -> Generator[bytes]:
        """The bytes of an answer as they arrive. The request is sent on the first read."""
        response = self._open(self._build(verb, None, arguments, {}))
        with self._reading(response):
            yield from response.iter_bytes()

    def send_content(
        self,
        verb: str,
        scope: Scope | None,
        arguments: Mapping[str, Any],
        content: Mapping[str, Any],
        tell: Progress | None,
    ) -> Any:
        """Call a verb whose body is a file or text; `content` holds arguments of the HTTP client. `tell` gets events as
        they arrive. Returns the report as plain JSON.
        """
        accept = {"Accept": NDJSON if tell is not None else "application/json"}
        content = {**content, "headers": {**accept, **content.get("headers", {})}}
        response = self._open(self._build(verb, scope, arguments, content))
        with self._reading(response):
            if tell is None:
                return loads(response.read().decode())
            return _report(split(response.iter_bytes()), tell)

    def close(self) -> None:
        """Close the connections. Idempotent."""
        self._client.close()

    def _build(
        self, verb: str, scope: Scope | None, arguments: Mapping[str, Any], content: Mapping[str, Any] | None = None
    ) -> httpx2.Request:
        """The request of a verb. `content` is its body and headers if not a JSON object."""
        route = ROUTES[verb]
        path, query, body = route.divided(arguments)
        if content is None:
            is_json = route.has_body
            content = {"content": json_of(body), "headers": {"Content-Type": "application/json"}} if is_json else {}
        named = {**_scope_parameters(scope), **parameters(query)}
        return self._client.build_request(route.method, path, params=named, timeout=self._timeout(route), **content)

    def _timeout(self, route: Verb) -> httpx2.Timeout:
        timeout = self._client.timeout
        if route.takes_long and timeout.read is not None:
            timeout = httpx2.Timeout(**{**timeout.as_dict(), "read": max(timeout.read, LONG_TIMEOUT_S)})
        return timeout

    def _send(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request, and retry once if a kept connection is closed. The idempotency key makes that safe."""
        try:
            return self._client.send(request)
        except (httpx2.ReadError, httpx2.WriteError, httpx2.RemoteProtocolError):
            return self._send_again(request)

    def _send_again(self, request: httpx2.Request) -> httpx2.Response:
        """Repeat a request that the server may already have received, and wait while it works on the first one."""
        end = time.monotonic() + (request.extensions["timeout"]["read"] or LONG_TIMEOUT_S)
        while True:
            response = self._client.send(request)
            if not is_under_way(response) or time.monotonic() > end:
                return response
            time.sleep(WAIT_S)

    def _open(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request and return the response before its body is read."""
        try:
            response = self._client.send(request, stream=True)
            if response.is_error:
                response.read()
        except httpx2.HTTPError as error:
            raise transport_error(error, self.url) from error
        raise_problem(response)
        return response

    @contextmanager
    def _reading(self, response: httpx2.Response) -> Generator[None]:
        """Translate errors while a body is read, and close it afterwards."""
        try:
            yield
        except httpx2.HTTPError as error:
            raise transport_error(error, self.url) from error
        finally:
            response.close()


def split(pieces: Iterable[bytes]) -> Iterator[str]:
    """Split a stream into lines. Only line feeds end a line, because texts can contain other separators."""
    left = b""
    for piece in pieces:
        *whole, left = (left + piece).split(b"\n")
        yield from (line.decode() for line in whole)
    if left:
        yield left.decode()


def parameters(query: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments as query parameters: lists are repeated, mappings are JSON, None is left out."""
    found: dict[str, Any] = {}
    for name, value in query.items():
        wire = _encode_value(value)
        if isinstance(wire, Mapping):
            found[name] = json.dumps(wire)
        elif isinstance(wire, bool):
            found[name] = "true" if wire else "false"
        elif wire is not None:
            found[name] = wire
    return found


def json_of(arguments: Mapping[str, Any]) -> bytes:
    """Arguments as a JSON object. Raises `InvalidInputError` if JSON cannot represent them."""
    try:
        return json.dumps({name: _encode_value(value) for name, value in arguments.items()}, allow_nan=False).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise failures.InvalidInputError(f"an argument cannot be converted to JSON: {error}") from error


def _encode_value(value: Any) -> Any:
    """A value as JSON. Drafts leave out empty fields; other iterables become lists."""
    if is_dataclass(value) and not isinstance(value, type):
        fields: dict[str, Any] = to_wire(value)
        fields = {name: each for name, each in fields.items() if each is not None and each != []}
        if "role" in fields:
            fields["content"] = fields.pop("text")
        return fields
    if isinstance(value, Mapping):
        return {str(name): _encode_value(each) for name, each in cast("Mapping[Any, Any]", value).items()}
    if isinstance(value, Iterable) and not isinstance(value, str | bytes):
        return [_encode_value(each) for each in cast("Iterable[Any]", value)]
    return to_wire(value)


def _scope_parameters(scope: Scope | None) -> dict[str, str]:
    """A scope as query parameters. The org is the key's; it is sent only if it is not the default."""
    if scope is None:
        return {}
    parts = {"user": scope.user, "agent": scope.agent, "session": scope.session}
    org = {} if scope.org == OWN_ORG else {"org": scope.org}
    return org | {name: value for name, value in parts.items() if value is not None}


def _report(lines: Iterable[str], tell: Progress) -> Any:
    for line in lines:
        event = loads(line)
        if event["event"] == "done":
            return event["report"]
        if event["event"] == "failed":
            raise problem_error(event["problem"]["status"], event["problem"])
        tell(event)
    raise failures.BadReplyError("the server stopped before its response was complete; try again")
