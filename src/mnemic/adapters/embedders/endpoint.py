"""The wire to an OpenAI-compatible embeddings endpoint: one POST, bounded tries.

Answers for HTTP alone; what the vectors must look like is checked by `openai`, and what a refusal means is in
`model_servers`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import TYPE_CHECKING

from mnemic.adapters.extras import import_extra
from mnemic.adapters.model_servers import CONNECT_TIMEOUT_S, FIRST_WAIT_S, OLLAMA_URL, ModelServer, Refusal
from mnemic.errors import BackendError, BadReplyError, RateLimitedError, TimedOutError, UnavailableError

if TYPE_CHECKING:
    import httpx2

_SAID_CHARS = 2000


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
        _ = self.server

    @property
    def server(self) -> ModelServer:
        """The server; raises `ConfigError` for an address that cannot be."""
        return ModelServer("embedder", "embedding", self.base_url)

    @property
    def url(self) -> str:
        """The address of the embeddings call."""
        return self.server.url("embeddings")


class EmbeddingsClient:
    """Posts to one endpoint. Safe to use from several threads; connections are kept open between calls."""

    def __init__(self, endpoint: Endpoint, *, sleep: Callable[[float], None] = time.sleep) -> None:
        """Raises `ConfigError` when the extra `openai` is not installed."""
        self._http = import_extra("httpx2", "openai")
        self._endpoint = endpoint
        self._server = endpoint.server
        self._sleep = sleep
        self._client: httpx2.Client = self._http.Client(
            headers={"Authorization": f"Bearer {endpoint.api_key}"} if endpoint.api_key else {},
            trust_env=not self._server.is_loopback,
        )

    @property
    def place(self) -> str:
        """Who answers, for messages."""
        return self._server.place

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
            refusal = Refusal(reply.status_code, reply.headers, reply.text[:_SAID_CHARS])
            raise self._server.error(refusal, str(body.get("model", "")))
        try:
            return reply.json()
        except ValueError as error:
            raise BadReplyError(f"{self.place} answered something that is not JSON") from error


def _wait_s(error: BackendError, attempt: int) -> float:
    wish = error.retry_after_s if isinstance(error, RateLimitedError) else None
    return FIRST_WAIT_S * 2 ** (attempt - 1) if wish is None else wish
