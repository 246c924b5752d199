"""Uses any OpenAI-compatible `/v1/chat/completions`: Ollama, vLLM, llama.cpp, or a hosted service. Because servers
differ, replies are parsed leniently if their meaning is clear; anything else is `BadReplyError`. One deadline covers
the whole reply: a watchdog disconnects servers that exceed it.
"""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field, replace
from enum import Enum
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, TypeVar, cast

from mnemic import errors
from mnemic.adapters import model_servers
from mnemic.adapters.extras import import_extra
from mnemic.model.chat import Completion, Finish, Piece, Prompt, PromptMessage, ToolCall, ToolSpec, Usage
from mnemic.ports.models import Llm, LlmCapabilities

if TYPE_CHECKING:
    import httpx2


SCHEMA_NAME = "reply"
_FINISHES = {"length": Finish.LENGTH, "tool_calls": Finish.TOOLS, "function_call": Finish.TOOLS}


class Form(Enum):
    """Ways to request a JSON reply, strictest first."""

    SCHEMA = "json_schema"
    OBJECT = "json_object"
    PLAIN = "text"


@dataclass(frozen=True, slots=True)
class Dialect:
    """The features that a server accepts. Starts with all; `after` a refusal drops the refused one."""

    form: Form = Form.SCHEMA
    limit_field: str = "max_tokens"
    has_temperature: bool = True
    has_stream_options: bool = True

    def after(self, said: str, body: Mapping[str, object]) -> Dialect | None:
        """The next dialect after a server refused `body` with this message. None if nothing can be dropped."""
        if "max_completion_tokens" in said and self.limit_field == "max_tokens":
            return replace(self, limit_field="max_completion_tokens")
        if "temperature" in said and self.has_temperature:
            return replace(self, has_temperature=False)
        if "stream_options" in said and self.has_stream_options:
            return replace(self, has_stream_options=False)
        if "response_format" in body:
            return replace(self, form=Form.OBJECT if self.form is Form.SCHEMA else Form.PLAIN)
        return None


def request(model: str, prompt: Prompt, dialect: Dialect, *, is_stream: bool) -> dict[str, object]:
    """The body of a call."""
    body: dict[str, object] = {
        "model": model,
        "messages": [_message(message) for message in prompt.messages],
        dialect.limit_field: prompt.max_tokens,
    }
    if dialect.has_temperature:
        body["temperature"] = prompt.temperature
    if prompt.tools:
        body["tools"] = [_tool(tool) for tool in prompt.tools]
    if prompt.schema is not None and dialect.form is not Form.PLAIN:
        body["response_format"] = _format(prompt.schema, dialect.form)
    if is_stream:
        body["stream"] = True
        if dialect.has_stream_options:
            body["stream_options"] = {"include_usage": True}
    return body


@dataclass(slots=True)
class _Call:
    """A tool call while its parts arrive."""

    id: str = ""
    name: str = ""
    arguments: str = ""


@dataclass(slots=True)
class Assembly:
    """Assembles a reply from its parts: the events of a stream, or one whole answer."""

    place: str
    _texts: list[str] = field(default_factory=list[str])
    _calls: dict[int, _Call] = field(default_factory=dict[int, _Call])
    _finish: Finish | None = None
    _tokens: tuple[int, int] = (0, 0)
    _has_choice: bool = False

    @property
    def is_finished(self) -> bool:
        """True once the server gave a finish reason."""
        return self._finish is not None

    def add(self, event: object) -> str:
        """Add a part and return its text. Raises `BadReplyError` for an invalid part."""
        if not isinstance(event, dict):
            raise errors.BadReplyError(f"{self.place} sent a reply that is not a JSON object")
        fields = cast("Mapping[str, object]", event)
        self._count(_table(fields.get("usage")))
        choices = fields.get("choices")
        if not isinstance(choices, list):
            raise errors.BadReplyError(f"{self.place} sent a reply without `choices`")
        if not choices:
            return ""
        choice = _table(cast("Sequence[object]", choices)[0])
        said = _table(choice.get("delta") or choice.get("message"))
        self._has_choice = True
        reason = choice.get("finish_reason")
        if isinstance(reason, str) and reason:
            self._finish = _FINISHES.get(reason, Finish.STOP)
        for position, call in enumerate(_tables(said.get("tool_calls"))):
            self._add_call(position, call)
        text = _text(said.get("content"))
        self._texts.append(text)
        return text

    def completion(self, seconds: float) -> Completion:
        """The whole reply. Raises `BadReplyError` if it has no part."""
        if not self._has_choice:
            raise errors.BadReplyError(f"{self.place} sent a reply without `choices`")
        calls = tuple(
            ToolCall(call.id or f"call_{position}", call.name, call.arguments)
            for position, call in sorted(self._calls.items())
            if call.name
        )
        finish = self._finish or Finish.STOP
        if calls and finish is Finish.STOP:
            finish = Finish.TOOLS
        usage = Usage(1, *self._tokens, seconds)
        return Completion("".join(self._texts), calls, finish, usage)

    def _count(self, usage: Mapping[str, object]) -> None:
        if usage:
            self._tokens = _whole(usage.get("prompt_tokens")), _whole(usage.get("completion_tokens"))

    def _add_call(self, position: int, given: Mapping[str, object]) -> None:
        index = given.get("index")
        call = self._calls.setdefault(index if isinstance(index, int) else position, _Call())
        function = _table(given.get("function"))
        call.id = call.id or _text(given.get("id"))
        call.name += _text(function.get("name"))
        call.arguments += _text(function.get("arguments"))


def error_of(event: object) -> str | None:
    """The error in place of a reply: some servers send one with status 200, or in a stream."""
    fields = _table(event)
    return None if "choices" in fields or "error" not in fields else json.dumps(fields["error"])


def _message(message: PromptMessage) -> dict[str, object]:
    entry: dict[str, object] = {"role": message.role.value, "content": _clean(message.content)}
    if message.tool_calls:
        entry["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": _clean(call.arguments)}}
            for call in message.tool_calls
        ]
    if message.tool_call_id is not None:
        entry["tool_call_id"] = message.tool_call_id
    return entry


def _clean(text: str) -> str:
    """The text without lone surrogates, which become question marks."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _tool(tool: ToolSpec) -> dict[str, object]:
    parameters = dict(tool.parameters)
    return {
        "type": "function",
        "function": {"name": tool.name, "description": tool.description, "parameters": parameters},
    }


def _format(schema: Mapping[str, object], form: Form) -> dict[str, object]:
    if form is Form.OBJECT:
        return {"type": form.value}
    return {"type": form.value, "json_schema": {"name": SCHEMA_NAME, "schema": dict(schema)}}


def _text(value: object) -> str:
    """The text of a content: a text, or a list of parts with texts."""
    if isinstance(value, str):
        return value
    return "".join(_text(part.get("text")) for part in _tables(value))


def _table(value: Any) -> Mapping[str, object]:
    return cast("Mapping[str, object]", value) if isinstance(value, dict) else {}


def _tables(value: object) -> list[Mapping[str, object]]:
    entries = cast("list[object]", value) if isinstance(value, list) else []
    return [_table(entry) for entry in entries if isinstance(entry, dict)]


def _whole(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0


class Deadline:
    """The moment `timeout_s` seconds after creation."""

    def __init__(self, timeout_s: float) -> None:
        self.timeout_s = timeout_s
        self._end = time.monotonic() + timeout_s

    @property
    def left_s(self) -> float:
        """The remaining seconds, at least a thousandth."""
        return max(self._end - time.monotonic(), 1e-3)  # the client accepts no negative timeout

    @property
    def is_over(self) -> bool:
        return time.monotonic() >= self._end


MAX_REPLY_BYTES = 8 << 20
"""Larger replies are errors: the longest contexts of models are a few million characters."""

_MAX_ERROR_BYTES = 4000  # of a refusal: enough for its reason, and bounds memory
_DONE = "[DONE]"
_ABOUT_REQUEST = frozenset({400, 422, 501})
"""Statuses that a simpler request may avoid."""


class RefusedRequestError(errors.BackendError):
    """The server refused the request with the message `said`. Never leaves the adapter."""

    def __init__(self, said: str, cause: errors.BackendError | errors.ConfigError) -> None:
        super().__init__(str(cause))
        self.said = said
        self.cause = cause


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatEndpoint:
    """The server. `base_url` ends in the version (`http://localhost:11434/v1`); without a path, `/v1` is added. A
    failed connection or a 5xx status is retried up to `attempts` times within the deadline.
    """

    base_url: str = model_servers.OLLAMA_URL
    api_key: str | None = field(default=None, repr=False)
    attempts: int = 3

    def __post_init__(self) -> None:
        _ = self.server

    @property
    def server(self) -> model_servers.ModelServer:
        """The server. Raises `ConfigError` for an invalid URL."""
        return model_servers.ModelServer("llm", "language model", self.base_url)


class ChatClient:
    """Posts to one endpoint. Thread-safe. Keeps connections open between calls. `place`: the server in messages."""

    def __init__(self, endpoint: ChatEndpoint, *, sleep: Callable[[float], None] = time.sleep) -> None:
        """Raises `ConfigError` if the extra `openai` is not installed."""
        self._http = import_extra("httpx2", "openai")
        self._server = endpoint.server
        self.place = self._server.place
        self._attempts = endpoint.attempts
        self._sleep = sleep
        key = {"Authorization": f"Bearer {endpoint.api_key}"} if endpoint.api_key else {}
        self._client: httpx2.Client = self._http.Client(
            headers={"Content-Type": "application/json", **key}, trust_env=not self._server.is_loopback
        )

    def whole(self, body: Mapping[str, object], deadline: Deadline) -> object:
        """The parsed JSON of a successful answer. Raises `UnavailableError`, `TimedOutError`, `RateLimitedError`,
        `ConfigError` (wrong key or model), `RefusedRequestError`, `TooLongError` and `BadReplyError`.
        """
        with self._answer(body, deadline) as response:
            return self._parse(b"".join(self._chunks(response, deadline)))

    def events(self, body: Mapping[str, object], deadline: Deadline) -> Generator[object]:
        """The parsed data of each event, one if the server does not stream. Raises like `whole`. Closing it cancels."""
        with self._answer(body, deadline) as response, closing(self._chunks(response, deadline)) as chunks:
            if "json" in response.headers.get("Content-Type", ""):
                yield self._parse(b"".join(chunks))
                return
            for data in _event_data(chunks):
                if data == _DONE:
                    return
                yield self._parse(data)

    def close(self) -> None:
        self._client.close()

    @contextmanager
    def _answer(self, body: Mapping[str, object], deadline: Deadline) -> Generator[httpx2.Response]:
        response = self._send(body, deadline)
        watchdog = threading.Timer(deadline.left_s, _disconnect, [response])
        watchdog.daemon = True
        watchdog.start()
        try:
            yield response
        finally:
            watchdog.cancel()
            response.close()

    def _send(self, body: Mapping[str, object], deadline: Deadline) -> httpx2.Response:
        """A response with status 200. Retries if that may help and there is time."""
        content = json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")
        wait = model_servers.FIRST_WAIT_S
        for attempt in range(1, self._attempts + 1):
            try:
                response = self._send_once(content, deadline)
                if response.status_code == HTTPStatus.OK:
                    return response
                self._refuse(response, str(body.get("model", "")), deadline)
            except errors.UnavailableError:
                if attempt == self._attempts or wait >= deadline.left_s:
                    raise
            self._sleep(wait)
            wait *= 2
        raise AssertionError("all attempts ended without a response")

    def _send_once(self, content: bytes, deadline: Deadline) -> httpx2.Response:
        left = deadline.left_s
        timeout = self._http.Timeout(left, connect=min(left, model_servers.CONNECT_TIMEOUT_S))
        request = self._client.build_request(
            "POST", self._server.url("chat/completions"), content=content, timeout=timeout
        )
        try:
            return self._client.send(request, stream=True)
        except self._http.TimeoutException as error:
            if deadline.is_over or not isinstance(error, self._http.ConnectTimeout):
                raise self._late(deadline) from error
            raise errors.UnavailableError(f"{self.place} cannot be reached (ConnectTimeout); is it running?") from error
        except self._http.TransportError as error:
            raise errors.UnavailableError(
                f"{self.place} cannot be reached ({type(error).__name__}); is it running?"
            ) from error

    def _refuse(self, response: httpx2.Response, model: str, deadline: Deadline) -> None:
        """Raise the error for a response other than 200."""
        beginning = b""
        with suppress(errors.BackendError), closing(response):
            for chunk in self._chunks(response, deadline):
                beginning += chunk
                if len(beginning) >= _MAX_ERROR_BYTES:
                    break
        said = beginning[:_MAX_ERROR_BYTES].decode("utf-8", "replace")
        error = self._server.error(model_servers.Refusal(response.status_code, response.headers, said), model)
        if isinstance(error, errors.BadReplyError | errors.UnavailableError) and response.status_code in _ABOUT_REQUEST:
            raise RefusedRequestError(said, error)
        raise error

    def _chunks(self, response: httpx2.Response, deadline: Deadline) -> Generator[bytes]:
        """The bytes of the body as they arrive, within the limits of time and size."""
        size = 0
        try:
            for chunk in response.iter_bytes():
                size += len(chunk)
                if deadline.is_over:
                    raise self._late(deadline)
                if size > MAX_REPLY_BYTES:
                    raise errors.BadReplyError(f"{self.place} sent a reply of more than {MAX_REPLY_BYTES} bytes")
                yield chunk
        except self._http.TimeoutException as error:
            raise self._late(deadline) from error
        except (self._http.TransportError, self._http.DecodingError) as error:
            if deadline.is_over:
                raise self._late(deadline) from error
            raise errors.BadReplyError(
                f"{self.place} stopped in the middle of its reply ({type(error).__name__})"
            ) from error
        if deadline.is_over:
            raise self._late(deadline)

    def _parse(self, data: bytes | str) -> object:
        try:
            return json.loads(data)
        except (ValueError, RecursionError) as error:
            raise errors.BadReplyError(f"{self.place} sent a reply that is not JSON") from error

    def _late(self, deadline: Deadline) -> errors.TimedOutError:
        return errors.TimedOutError(f"{self.place} did not finish its reply within {deadline.timeout_s:g} s")


def _disconnect(response: httpx2.Response) -> None:
    """Disconnect while another thread reads, which then notices the deadline."""
    stream = response.extensions.get("network_stream")
    connection = stream.get_extra_info("socket") if stream is not None else None
    if isinstance(connection, socket.socket):
        with suppress(OSError):  # it may have ended already
            connection.shutdown(socket.SHUT_RDWR)


def _event_data(chunks: Iterator[bytes]) -> Iterator[str]:
    """The data of server-sent events. Ignores comments and other fields; keeps an unfinished last line."""
    rest = b""
    for chunk in chunks:
        *lines, rest = (rest + chunk).replace(b"\r\n", b"\n").split(b"\n")
        yield from _data_of(lines)
    yield from _data_of([rest])


def _data_of(lines: list[bytes]) -> Iterator[str]:
    """The data lines. Chat events have one each, so each is one event."""
    for line in lines:
        name, _, value = line.decode("utf-8", "replace").partition(":")
        if name == "data" and value.strip():
            yield value.strip()


CONTEXT_TOKENS = 8192
"""Default for prompt plus reply, common for small models."""

Answer = TypeVar("Answer")


class OpenAILlm:
    """Uses a server. Parameters that it refuses are dropped from the retry and all later calls."""

    def __init__(
        self,
        model: str,
        endpoint: ChatEndpoint | None = None,
        *,
        context_tokens: int = CONTEXT_TOKENS,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """Opens no connection. Raises `ConfigError` if the extra `openai` is not installed."""
        self.name = model
        self._context_tokens = context_tokens
        self._client = ChatClient(endpoint or ChatEndpoint(), sleep=sleep)
        self._dialect = Dialect()

    @property
    def capabilities(self) -> LlmCapabilities:
        """Assumed: only a request shows which schemas and tools a model accepts."""
        return LlmCapabilities(
            is_local=False, is_blocking=True, context_tokens=self._context_tokens, has_schema=True, has_tools=True
        )

    def complete(self, prompt: Prompt) -> Completion:
        started, deadline = time.perf_counter(), Deadline(prompt.timeout_s)

        def ask(dialect: Dialect) -> object:
            return self._client.whole(request(self.name, prompt, dialect, is_stream=False), deadline)

        reply = self._ask_adapting(prompt, ask)
        assembly = Assembly(self._client.place)
        self._check(reply)
        assembly.add(reply)
        return assembly.completion(time.perf_counter() - started)

    def stream(self, prompt: Prompt) -> Generator[Piece]:
        started, deadline = time.perf_counter(), Deadline(prompt.timeout_s)

        def ask(dialect: Dialect) -> tuple[Generator[object], object]:
            events = self._client.events(request(self.name, prompt, dialect, is_stream=True), deadline)
            return events, next(events, None)

        events, first = self._ask_adapting(prompt, ask)
        with closing(events):
            assembly = Assembly(self._client.place)
            event = first
            while event is not None:
                self._check(event)
                if text := assembly.add(event):
                    yield Piece(text)
                event = next(events, None)
        if not assembly.is_finished:
            raise errors.BadReplyError(f"{self._client.place} stopped in the middle of its reply")
        yield Piece(completion=assembly.completion(time.perf_counter() - started))

    def close(self) -> None:
        self._client.close()

    def _check(self, event: object) -> None:
        said = error_of(event)
        if said is not None and model_servers.is_too_long(said):
            raise errors.InvalidInputError(f"{self._client.place}: the prompt is too long for the model")
        if said is not None:
            raise errors.UnavailableError(f"{self._client.place} failed while replying")

    def _ask_adapting(self, prompt: Prompt, ask: Callable[[Dialect], Answer]) -> Answer:
        """The answer to the first request that the server accepts. Remembers what it accepted."""
        dialect = self._dialect
        while True:
            body = request(self.name, prompt, dialect, is_stream=True)
            try:
                answer = ask(dialect)
            except model_servers.TooLongError as error:
                raise errors.InvalidInputError(f"{self._client.place}: the prompt is too long for the model") from error
            except RefusedRequestError as refused:
                if prompt.tools and "tool" in refused.said:
                    message = f"{self.name} at {self._client.place} does not support tools"
                    raise errors.UnsupportedError(message, capability="tools") from refused
                following = dialect.after(refused.said, body)
                if following is None:
                    raise refused.cause from refused
                dialect = following
            else:
                self._dialect = dialect
                return answer


if TYPE_CHECKING:
    _: type[Llm] = OpenAILlm
