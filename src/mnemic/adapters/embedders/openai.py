"""Embeds by any OpenAI-compatible `/v1/embeddings` endpoint: Ollama, vLLM, llama.cpp, TEI, or a hosted service.

Answers for prefixes, batches, cutting and the shape of what comes back; `endpoint` is the wire.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, cast

import numpy as np

from mnemic.adapters.embedders.endpoint import EmbeddingsClient, Endpoint
from mnemic.adapters.embedders.known import known_model
from mnemic.adapters.embedders.rows import rows_of, unit_rows
from mnemic.adapters.model_servers import TooLongError
from mnemic.errors import BadReplyError
from mnemic.model.space import Space
from mnemic.ports.embedder import Embedder, EmbedderCapabilities, Vectors

BATCH_TEXTS = 32

CHARS_PER_TOKEN = 6
"""Texts are sent up to so many characters per token that the model reads. English has about four, so nothing is lost;
where it was too much the server says so, and the text is cut further."""

SHORTEST_CHARS = 16
"""A text is not cut below this: a server that refuses so little means something else."""

PROBE = "dims"
"""The text whose vector tells the dims of a model that is not known."""


class OpenAIEmbedder:
    """Embeds by a server. Dims and prefixes of well-known models are known; for others declare them, or one short call
    asks the server for its dims when the space is wanted first.

    Ollama's `nomic-embed-text`, for example: 768 dims, "search_query: " and "search_document: ", no key.
    """

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
        """Opens no connection. Raises `ConfigError` when the extra `openai` is not installed."""
        self._known = known_model(model).with_prefixes(query_prefix, document_prefix)
        if dims is not None:
            self._known = replace(self._known, dims=dims)
        self._client = EmbeddingsClient(endpoint or Endpoint(), sleep=sleep)
        self._probing = threading.Lock()

    @property
    def space(self) -> Space:
        """The space of the model.

        Raises `BackendError` or `ConfigError` when its dims are not known and the server does not tell.
        """
        known = self._known
        return Space(
            model=known.name,
            revision="",
            precision="as served",
            dims=self._dims(),
            pooling=known.pooling or "as served",
            query_prefix=known.query_prefix,
            document_prefix=known.document_prefix,
            max_tokens=known.max_tokens,
        )

    @property
    def capabilities(self) -> EmbedderCapabilities:
        """Somebody else computes: writes never wait for it, and reads ask it on the pool."""
        return EmbedderCapabilities(is_local=False, is_blocking=True, batch_size=BATCH_TEXTS)

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """Unit vectors of texts that are kept; raises `BackendError` and its children, and `ConfigError`."""
        return self._embed(texts, self._known.document_prefix, is_query=False)

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """Unit vectors of texts that are searched with, asked for once and not again."""
        return self._embed(texts, self._known.query_prefix, is_query=True)

    def close(self) -> None:
        """Close the connections."""
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
        """The rows of one batch; one that is too long is asked text by text, and a text that is too long is halved."""
        try:
            return self._ask([prefix + text for text in texts], self._dims(), is_query=is_query)
        except TooLongError:
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
        """The embeddings of a reply, in the order of its indexes, which must be 0 to `count` - 1."""
        data = cast("Mapping[str, object]", reply).get("data") if isinstance(reply, dict) else None
        if not isinstance(data, list):
            raise BadReplyError(f"{self._client.place} answered without a list of data")
        entries = cast("list[object]", data)
        found: dict[int, object] = {}
        for place, entry in enumerate(entries):
            fields = cast("Mapping[str, object]", entry if isinstance(entry, dict) else {})
            index = fields.get("index", place)
            found[index if isinstance(index, int) else -1] = fields.get("embedding")
        if len(entries) != count or set(found) != set(range(count)):
            raise BadReplyError(f"{self._client.place} was asked for {count} vectors and answered others")
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
