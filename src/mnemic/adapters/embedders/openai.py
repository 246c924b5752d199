"""Embeds with any OpenAI-compatible `/v1/embeddings` endpoint: Ollama, vLLM, llama.cpp, TEI, or a hosted service."""

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from http import HTTPStatus
from typing import TYPE_CHECKING, cast

import numpy as np

from mnemic.adapters import model_servers
from mnemic.adapters.embedders.known import known_model, rows_of, unit_rows
from mnemic.adapters.extras import import_extra
from mnemic.errors import BackendError, BadReplyError, RateLimitedError, TimedOutError, UnavailableError
from mnemic.model.candidates import Space
from mnemic.ports.models import Embedder, EmbedderCapabilities, Vectors

if TYPE_CHECKING:
    import httpx2


_ERROR_CHARS = 2000  # of a refusal: enough for its reason, and bounds what is parsed and logged


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """The server and its timeouts.

    `base_url` ends in the version (`http://localhost:11434/v1`); without a path, `/v1` is added. `timeout_s` and
    `query_timeout_s`: the longest silence for documents and for queries. Documents get `attempts` tries, queries one,
    because a person waits. A server that asks for a wait above `longest_wait_s` is not retried.
    """

    base_url: str = model_servers.OLLAMA_URL
    api_key: str | None = field(default=None, repr=False)
    timeout_s: float = 60.0
    query_timeout_s: float = 5.0
    attempts: int = 3
    longest_wait_s: float = 10.0

    def __post_init__(self) -> None:
        _ = self.server

    @property
    def server(self) -> model_servers.ModelServer:
        """The server. Raises `ConfigError` for an invalid URL."""
        return model_servers.ModelServer("embedder", "embedding", self.base_url)

    @property
    def url(self) -> str:
        """The URL of the embeddings call."""
        return self.server.url("embeddings")


class EmbeddingsClient:
    """Posts to one endpoint. Thread-safe. Keeps connections open between calls. `place`: the server in messages."""

    def __init__(self, endpoint: Endpoint, *, sleep: Callable[[float], None] = time.sleep) -> None:
        """Raises `ConfigError` if the extra `openai` is not installed."""
        self._http = import_extra("httpx2", "openai")
        self._endpoint = endpoint
        self._server = endpoint.server
        self.place = self._server.place
        self._sleep = sleep
        self._client: httpx2.Client = self._http.Client(
            headers={"Authorization": f"Bearer {endpoint.api_key}"} if endpoint.api_key else {},
            trust_env=not self._server.is_loopback,
        )

    def post(self, body: Mapping[str, object], *, is_query: bool = False) -> object:
        """The parsed JSON of a successful answer. Raises `UnavailableError`, `TimedOutError`, `RateLimitedError` (after
        the last try), `ConfigError` (wrong key or model), `TooLongError` and `BadReplyError`.
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
        raise AssertionError("all attempts ended without a response")

    def close(self) -> None:
        self._client.close()

    def _post_once(self, body: Mapping[str, object], *, is_query: bool) -> object:
        timeout_s = self._endpoint.query_timeout_s if is_query else self._endpoint.timeout_s
        timeout = self._http.Timeout(timeout_s, connect=min(timeout_s, model_servers.CONNECT_TIMEOUT_S))
        try:
            reply = self._client.post(self._endpoint.url, json=body, timeout=timeout)
        except self._http.TimeoutException as error:
            raise TimedOutError(f"{self.place} did not respond within {timeout_s:g} s") from error
        except self._http.TransportError as error:
            raise UnavailableError(
                f"{self.place} cannot be reached ({type(error).__name__}); is it running?"
            ) from error
        if reply.status_code != HTTPStatus.OK:
            refusal = model_servers.Refusal(reply.status_code, reply.headers, reply.text[:_ERROR_CHARS])
            raise self._server.error(refusal, str(body.get("model", "")))
        try:
            return reply.json()
        except ValueError as error:
            raise BadReplyError(f"{self.place} sent a reply that is not JSON") from error


def _wait_s(error: BackendError, attempt: int) -> float:
    wish = error.retry_after_s if isinstance(error, RateLimitedError) else None
    return model_servers.FIRST_WAIT_S * 2 ** (attempt - 1) if wish is None else wish


BATCH_TEXTS = 32  # the lowest limit of a common server (TEI allows 32 inputs a request by default)

CHARS_PER_TOKEN = 6
"""Characters sent per token of the limit. English has about four; if it is too much, the text is cut further."""

SHORTEST_CHARS = 16
"""Texts are not cut below this: a server that refuses so little has another problem."""

PROBE = "dims"
"""A text whose vector reveals the dims of an unknown model."""


class OpenAIEmbedder:
    """Embeds with a server. Knows dims and prefixes of common models. Configure them for others, or one short call
    finds the dims. Ollama's `nomic-embed-text`: 768 dims, "search_query: " and "search_document: ", no key.
    """

    capabilities = EmbedderCapabilities(is_local=False, is_blocking=True, batch_size=BATCH_TEXTS)

    def __init__(
        self,
        model: str,
        endpoint: Endpoint | None = None,
        *,
        dims: int | None = None,
        query_prefix: str | None = None,
        document_prefix: str | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """Opens no connection. Raises `ConfigError` if the extra `openai` is not installed."""
        self._known = known_model(model).with_prefixes(query_prefix, document_prefix)
        if dims is not None:
            self._known = replace(self._known, dims=dims)
        self._client = EmbeddingsClient(endpoint or Endpoint(), sleep=sleep)
        self._probing = threading.Lock()

    @property
    def space(self) -> Space:
        """The model's space. Raises `BackendError` or `ConfigError` if its dims cannot be found."""
        return self._known.space(self._known.name, "as served", self._dims(), pooling="as served")

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        return self._embed(texts, self._known.document_prefix, is_query=False)

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """Unit vectors of search queries, with a single attempt."""
        return self._embed(texts, self._known.query_prefix, is_query=True)

    def close(self) -> None:
        self._client.close()

    def _embed(self, texts: Sequence[str], prefix: str, *, is_query: bool) -> Vectors:
        if not any(text and not text.isspace() for text in texts):
            return np.zeros((len(texts), self._known.dims or self._dims()), dtype=np.float32)

        def embed(wanted: list[str]) -> Vectors:
            cut = self._known.max_tokens * CHARS_PER_TOKEN
            batches = range(0, len(wanted), BATCH_TEXTS)
            rows = [self._rows([t[:cut] for t in wanted[b : b + BATCH_TEXTS]], prefix, is_query) for b in batches]
            return np.concatenate(rows)

        return rows_of(texts, self._dims(), embed)

    def _rows(self, texts: list[str], prefix: str, is_query: bool) -> Vectors:  # noqa: FBT001 -- a plain inner call
        """The rows of one batch. If it is too long, texts are sent one by one, and long texts halved."""
        try:
            return self._ask([prefix + text for text in texts], self._dims(), is_query=is_query)
        except model_servers.TooLongError:
            if len(texts) == 1 and len(texts[0]) // 2 < SHORTEST_CHARS:
                raise
        if len(texts) == 1:
            return self._rows([texts[0][: len(texts[0]) // 2]], prefix, is_query)
        return np.concatenate([self._rows([text], prefix, is_query) for text in texts])

    def _ask(self, inputs: list[str], dims: int | None, *, is_query: bool) -> Vectors:
        reply = self._client.post({"model": self._known.name, "input": inputs}, is_query=is_query)
        embeddings = self._in_order(reply, len(inputs))
        first = embeddings[0]
        width = len(cast("Sequence[object]", first)) if isinstance(first, list) else 0
        return unit_rows(cast("list[list[float]]", embeddings), (len(inputs), dims or width), self._client.place)

    def _in_order(self, reply: object, count: int) -> list[object]:
        """The embeddings of a reply by index, which must be 0 to `count` - 1."""
        data = cast("Mapping[str, object]", reply).get("data") if isinstance(reply, dict) else None
        if not isinstance(data, list):
            raise BadReplyError(f"{self._client.place} sent a reply without `data`")
        entries = cast("list[object]", data)
        found: dict[int, object] = {}
        for place, entry in enumerate(entries):
            fields = cast("Mapping[str, object]", entry if isinstance(entry, dict) else {})
            index = fields.get("index", place)
            found[index if isinstance(index, int) else -1] = fields.get("embedding")
        if len(entries) != count or set(found) != set(range(count)):
            raise BadReplyError(f"{self._client.place} did not return the {count} requested vectors")
        return [found[place] for place in range(count)]

    def _dims(self) -> int:
        if self._known.dims:
            return self._known.dims
        with self._probing:
            if not self._known.dims:
                probed = self._ask([PROBE], None, is_query=True)
                self._known = replace(self._known, dims=probed.shape[1])
        return self._known.dims


if TYPE_CHECKING:
    _: type[Embedder] = OpenAIEmbedder
