"""The wire to an OpenAI-compatible `/v1/embeddings` endpoint: one POST, bounded tries, errors in Mnemic's words.

Answers for HTTP alone; what the vectors must look like is checked by `openai`. No message quotes the key or the body
of a reply, because servers repeat in it what they were sent.
"""

from __future__ import annotations

import email.utils
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import urlsplit

from mnemic.adapters.embedders.extras import import_extra
from mnemic.errors import (
    BackendError,
    BadReplyError,
    ConfigError,
    RateLimitedError,
    TimedOutError,
    UnavailableError,
)

if TYPE_CHECKING:
    import httpx2

OLLAMA_URL = "http://localhost:11434/v1"
"""Where Ollama listens unless told otherwise."""

FIRST_WAIT_S = 0.5
"""Before the second try; each later wait is twice as long, unless the server names its own."""

CONNECT_TIMEOUT_S = 5.0

_TOO_LONG = re.compile(
    r"too (?:long|large|many tokens)|context (?:length|size|window)"
    r"|max(?:imum)? (?:context|input|sequence|tokens)|exceeds?\b.{0,40}\b(?:tokens|length|size)",
    re.IGNORECASE,
)
_REFUSALS = frozenset({400, 413, 422, 500})
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


class TooLongError(BackendError):
    """The server refused the texts as too long; never leaves the embedder, which cuts them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """Where the server is and how long to wait for it.

    `base_url` ends in the version (`http://localhost:11434/v1`); without any path `/v1` is added. `timeout_s` and
    `query_timeout_s` are the longest silence that is borne for documents and for queries. Documents get `attempts`
    tries, queries, for which somebody waits, one. A server that wants more than `longest_wait_s` between tries is not
    tried again.
    """

    base_url: str = OLLAMA_URL
    api_key: str | None = field(default=None, repr=False)
    timeout_s: float = 60.0
    query_timeout_s: float = 5.0
    attempts: int = 3
    longest_wait_s: float = 10.0

    def __post_init__(self) -> None:
        parts = urlsplit(self.base_url)
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise ConfigError("base_url of the embedder must be like http://localhost:11434/v1")
        if parts.username is not None or parts.password is not None:
            raise ConfigError("base_url of the embedder must hold no password; give it as api_key")

    @property
    def url(self) -> str:
        """The address of the embeddings call."""
        base = self.base_url.rstrip("/")
        return f"{base}/embeddings" if urlsplit(base).path else f"{base}/v1/embeddings"

    @property
    def is_loopback(self) -> bool:
        """True when the server is this machine, which no proxy may come between."""
        return urlsplit(self.base_url).hostname in _LOOPBACK


class EmbeddingsClient:
    """Posts to one endpoint. Safe to use from several threads; connections are kept open between calls."""

    def __init__(self, endpoint: Endpoint, *, sleep: Callable[[float], None] = time.sleep) -> None:
        """Raises `ConfigError` when the extra `openai` is not installed."""
        self._http = import_extra("httpx2", "openai")
        self._endpoint = endpoint
        self._sleep = sleep
        self._client: httpx2.Client = self._http.Client(
            headers={"Authorization": f"Bearer {endpoint.api_key}"} if endpoint.api_key else {},
            trust_env=not endpoint.is_loopback,
        )

    @property
    def place(self) -> str:
        """Who answers, for messages."""
        return f"the embedding server at {self._endpoint.base_url}"

    def post(self, body: Mapping[str, object], *, is_query: bool = False) -> object:
        """The parsed JSON of a successful answer.

        Raises `UnavailableError`, `TimedOutError`, `RateLimitedError` (after the last try), `ConfigError` (key or model
        is wrong), `TooLongError` and `BadReplyError`.
        """
        attempts = 1 if is_query else self._endpoint.attempts
        for attempt in range(1, attempts + 1):
            try:
                return self._post_once(body, is_query=is_query)
            except BackendError as error:
                wait = _wait_s(error, attempt)
                if not error.is_retryable or attempt == attempts or wait > self._endpoint.longest_wait_s:
                    raise
            self._sleep(wait)
        raise AssertionError("a loop of at least one try ended without an answer")

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def _post_once(self, body: Mapping[str, object], *, is_query: bool) -> object:
        timeout_s = self._endpoint.query_timeout_s if is_query else self._endpoint.timeout_s
        timeout = self._http.Timeout(timeout_s, connect=min(timeout_s, CONNECT_TIMEOUT_S))
        try:
            reply = self._client.post(self._endpoint.url, json=body, timeout=timeout)
        except self._http.TimeoutException as error:
            raise TimedOutError(f"{self.place} did not answer within {timeout_s:g} s") from error
        except self._http.TransportError as error:
            raise UnavailableError(
                f"{self.place} cannot be reached ({type(error).__name__}): is it running?"
            ) from error
        if reply.status_code != HTTPStatus.OK:
            raise self._refusal(reply, str(body.get("model", "")))
        try:
            return reply.json()
        except ValueError as error:
            raise BadReplyError(f"{self.place} answered something that is not JSON") from error

    def _refusal(self, reply: httpx2.Response, model: str) -> BackendError | ConfigError:
        status, said = reply.status_code, reply.text[:2000]
        if status in {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN}:
            return ConfigError(f"{self.place} refused the key ({status}): set api_key in the embedder's options")
        if status in _REFUSALS and (status == HTTPStatus.REQUEST_ENTITY_TOO_LARGE or _TOO_LONG.search(said)):
            return TooLongError(f"{self.place} says that the input is too long ({status})")
        if status == HTTPStatus.NOT_FOUND:
            return ConfigError(
                f"{self.place} knows no model {model!r}, or is no such server (404){self._pull(said, model)}"
            )
        if status == HTTPStatus.TOO_MANY_REQUESTS or status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            return self._busy(reply)
        return BadReplyError(f"{self.place} answered {status}{_code(reply)}")

    def _busy(self, reply: httpx2.Response) -> BackendError:
        wish, is_limit = _retry_after_s(reply), reply.status_code == HTTPStatus.TOO_MANY_REQUESTS
        if is_limit or wish is not None:
            return RateLimitedError(f"{self.place} asks to slow down ({reply.status_code})", retry_after_s=wish)
        return UnavailableError(f"{self.place} failed ({reply.status_code})")

    def _pull(self, said: str, model: str) -> str:
        is_ollama = "pull" in said or urlsplit(self._endpoint.base_url).port == urlsplit(OLLAMA_URL).port
        return f": run `ollama pull {model}`" if is_ollama else ": check the embedder's model and base_url"


def _wait_s(error: BackendError, attempt: int) -> float:
    wish = error.retry_after_s if isinstance(error, RateLimitedError) else None
    return FIRST_WAIT_S * 2 ** (attempt - 1) if wish is None else wish


def _retry_after_s(reply: httpx2.Response) -> float | None:
    """The header `Retry-After` in seconds: a number, or a date that is read against the server's own `Date`."""
    wish = reply.headers.get("Retry-After", "")
    if wish.isdigit():
        return float(wish)
    then, now = email.utils.parsedate_tz(wish), email.utils.parsedate_tz(reply.headers.get("Date", ""))
    if then is None or now is None:
        return None
    return max(0.0, email.utils.mktime_tz(then) - email.utils.mktime_tz(now))


def _code(reply: httpx2.Response) -> str:
    """The server's own name of the error, where it is a bare word and so can hold nothing that was sent."""
    try:
        answer: Any = reply.json()
    except ValueError:
        return ""
    error = cast("Mapping[str, object]", answer).get("error") if isinstance(answer, dict) else None
    code = cast("Mapping[str, object]", error).get("code") if isinstance(error, dict) else None
    return f" ({code})" if isinstance(code, str) and re.fullmatch(r"[a-z_]{3,40}", code) else ""
