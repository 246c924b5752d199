"""The wire to an OpenAI-compatible chat endpoint: one POST within one deadline, whole or as a stream of events.

Answers for connections, tries, time and the framing of streams; `chat` knows the shapes, `model_servers` what a
refusal means. The deadline holds for the whole reply: a watchdog cuts the connection of a server that keeps sending
past it.
"""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import TYPE_CHECKING

from mnemic.adapters.extras import import_extra
from mnemic.adapters.llms.deadline import Deadline
from mnemic.adapters.model_servers import (
    CONNECT_TIMEOUT_S,
    FIRST_WAIT_S,
    OLLAMA_URL,
    ModelServer,
    Refusal,
)
from mnemic.errors import BackendError, BadReplyError, ConfigError, TimedOutError, UnavailableError

if TYPE_CHECKING:
    import httpx2

MAX_REPLY_BYTES = 8 << 20
"""A reply that is longer is no reply: the longest contexts of models are a few million characters."""

_MAX_SAID_BYTES = 4000
_DONE = "[DONE]"
_ABOUT_REQUEST = frozenset({400, 422, 501})
"""Refusals that a request which asks for less may not get."""


class RefusedRequestError(BackendError):
    """The server refused what was asked for, and said so in `said`; never leaves the adapter."""

    def __init__(self, said: str, cause: BackendError | ConfigError) -> None:
        super().__init__(str(cause))
        self.said = said
        self.cause = cause


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatEndpoint:
    """Where the server is. `base_url` ends in the version (`http://localhost:11434/v1`); without any path `/v1` is
    added. A call that cannot connect, or gets a 5xx, is tried `attempts` times within its deadline.
    """

    base_url: str = OLLAMA_URL
    api_key: str | None = field(default=None, repr=False)
    attempts: int = 3

    def __post_init__(self) -> None:
        _ = self.server

    @property
    def server(self) -> ModelServer:
        """The server; raises `ConfigError` for an address that cannot be."""
        return ModelServer("llm", "language model", self.base_url)


class ChatClient:
    """Posts to one endpoint. Safe to use from several threads; connections are kept open between calls."""

    def __init__(self, endpoint: ChatEndpoint, *, sleep: Callable[[float], None] = time.sleep) -> None:
        """Raises `ConfigError` when the extra `openai` is not installed."""
        self._http = import_extra("httpx2", "openai")
        self._server = endpoint.server
        self._attempts = endpoint.attempts
        self._sleep = sleep
        key = {"Authorization": f"Bearer {endpoint.api_key}"} if endpoint.api_key else {}
        self._client: httpx2.Client = self._http.Client(
            headers={"Content-Type": "application/json", **key}, trust_env=not self._server.is_loopback
        )

    @property
    def place(self) -> str:
        """Who answers, for messages."""
        return self._server.place

    def whole(self, body: Mapping[str, object], deadline: Deadline) -> object:
        """The parsed JSON of a successful answer.

        Raises `UnavailableError`, `TimedOutError`, `RateLimitedError`, `ConfigError` (key or model is wrong),
        `RefusedRequestError`, `TooLongError` and `BadReplyError`.
        """
        with self._answer(body, deadline) as response:
            return self._parsed(b"".join(self._chunks(response, deadline)))

    def events(self, body: Mapping[str, object], deadline: Deadline) -> Generator[object]:
        """The parsed data of each event, until the server says that it is done or ends the stream; errors as `whole`.

        A server that does not stream answers one event. Closing the generator ends the request.
        """
        with self._answer(body, deadline) as response, closing(self._chunks(response, deadline)) as chunks:
            if "json" in response.headers.get("Content-Type", ""):
                yield self._parsed(b"".join(chunks))
                return
            for data in _event_data(chunks):
                if data == _DONE:
                    return
                yield self._parsed(data)

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    @contextmanager
    def _answer(self, body: Mapping[str, object], deadline: Deadline) -> Generator[httpx2.Response]:
        response = self._sent(body, deadline)
        watchdog = threading.Timer(deadline.left_s, _cut, [response])
        watchdog.daemon = True
        watchdog.start()
        try:
            yield response
        finally:
            watchdog.cancel()
            response.close()

    def _sent(self, body: Mapping[str, object], deadline: Deadline) -> httpx2.Response:
        """A response that is 200, tried again where that may help and there is time."""
        content = json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")
        wait = FIRST_WAIT_S
        for attempt in range(1, self._attempts + 1):
            try:
                response = self._sent_once(content, deadline)
                if response.status_code == HTTPStatus.OK:
                    return response
                self._refuse(response, str(body.get("model", "")), deadline)
            except UnavailableError:
                if attempt == self._attempts or wait >= deadline.left_s:
                    raise
            self._sleep(wait)
            wait *= 2
        raise AssertionError("a loop of at least one try ended without an answer")

    def _sent_once(self, content: bytes, deadline: Deadline) -> httpx2.Response:
        left = deadline.left_s
        timeout = self._http.Timeout(left, connect=min(left, CONNECT_TIMEOUT_S))
        request = self._client.build_request(
            "POST", self._server.url("chat/completions"), content=content, timeout=timeout
        )
        try:
            return self._client.send(request, stream=True)
        except self._http.TimeoutException as error:
            if deadline.is_over or not isinstance(error, self._http.ConnectTimeout):
                raise self._late(deadline) from error
            raise UnavailableError(f"{self.place} cannot be reached (ConnectTimeout): is it running?") from error
        except self._http.TransportError as error:
            raise UnavailableError(
                f"{self.place} cannot be reached ({type(error).__name__}): is it running?"
            ) from error

    def _refuse(self, response: httpx2.Response, model: str, deadline: Deadline) -> None:
        """Raise what a response that is not 200 means."""
        beginning = b""
        with suppress(BackendError), closing(response):
            for chunk in self._chunks(response, deadline):
                beginning += chunk
                if len(beginning) >= _MAX_SAID_BYTES:
                    break
        said = beginning[:_MAX_SAID_BYTES].decode("utf-8", "replace")
        error = self._server.error(Refusal(response.status_code, response.headers, said), model)
        if isinstance(error, BadReplyError | UnavailableError) and response.status_code in _ABOUT_REQUEST:
            raise RefusedRequestError(said, error)
        raise error

    def _chunks(self, response: httpx2.Response, deadline: Deadline) -> Generator[bytes]:
        """The bytes of the body as they come, within time and size."""
        size = 0
        try:
            for chunk in response.iter_bytes():
                size += len(chunk)
                if deadline.is_over:
                    raise self._late(deadline)
                if size > MAX_REPLY_BYTES:
                    raise BadReplyError(f"{self.place} answered more than {MAX_REPLY_BYTES} bytes")
                yield chunk
        except self._http.TimeoutException as error:
            raise self._late(deadline) from error
        except (self._http.TransportError, self._http.DecodingError) as error:
            if deadline.is_over:
                raise self._late(deadline) from error
            raise BadReplyError(
                f"{self.place} broke off in the middle of its reply ({type(error).__name__})"
            ) from error
        if deadline.is_over:
            raise self._late(deadline)

    def _parsed(self, data: bytes | str) -> object:
        try:
            return json.loads(data)
        except (ValueError, RecursionError) as error:
            raise BadReplyError(f"{self.place} answered something that is not JSON") from error

    def _late(self, deadline: Deadline) -> TimedOutError:
        return TimedOutError(f"{self.place} did not answer in full within {deadline.timeout_s:g} s")


def _cut(response: httpx2.Response) -> None:
    """End the connection under a reader in another thread, which then finds the deadline to be over."""
    stream = response.extensions.get("network_stream")
    connection = stream.get_extra_info("socket") if stream is not None else None
    if isinstance(connection, socket.socket):
        with suppress(OSError):  # it may have ended by itself
            connection.shutdown(socket.SHUT_RDWR)


def _event_data(chunks: Iterator[bytes]) -> Iterator[str]:
    """The data of server-sent events; comments and other fields are left out, an unfinished last line is kept."""
    rest = b""
    for chunk in chunks:
        *lines, rest = (rest + chunk).replace(b"\r\n", b"\n").split(b"\n")
        yield from _data_of(lines)
    yield from _data_of([rest])


def _data_of(lines: list[bytes]) -> Iterator[str]:
    """A chat event has its data on one line, so each line with data is one event."""
    for line in lines:
        name, _, value = line.decode("utf-8", "replace").partition(":")
        if name == "data" and value.strip():
            yield value.strip()
