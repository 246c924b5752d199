"""The ports of models and what they use: embedder, language model, reranker, secret detector and tool."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from mnemic.model.candidates import Space
from mnemic.model.chat import Completion, Piece, Prompt, ToolContext, ToolSpec
from mnemic.model.graph import Word

Vectors = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class EmbedderCapabilities:
    """`is_local`: it takes milliseconds in this process, so a write embeds before it returns; otherwise the write adds
    a job. `is_blocking`: it waits for a server, so it runs on the thread pool. `batch_size`: the best number of texts
    per call.
    """

    is_local: bool
    is_blocking: bool
    batch_size: int


class Embedder(Protocol):
    """Turns texts into unit vectors of one space. Queries and documents have separate calls, which add the model's
    prefixes.

    Both calls promise:
    - One row per text in the same order, `(n, dims) float32`, L2-normalised. No texts give shape `(0, dims)`.
    - A text's vector does not depend on the other texts of the call, except for rounding.
    - Texts longer than `space.max_tokens` are cut, never refused. A blank text gets a zero row and costs no model call.
    - They are thread-safe, and raise `BackendError` or a subclass if the model or its server fails.
    """

    @property
    def space(self) -> Space:
        """The space of the vectors. Vectors of two spaces are never compared."""
        ...

    @property
    def capabilities(self) -> EmbedderCapabilities:
        """Declared facts. They never change."""
        ...

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """Vectors of texts to store."""
        ...

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """Vectors of search queries, with the model's query prefix."""
        ...

    def close(self) -> None:
        """Release the model or connection. Idempotent."""
        ...


@runtime_checkable
class LayeredEmbedder(Embedder, Protocol):
    """Also returns features of the model's inner layers, which hold more about tense and person."""

    def embed_layers(
        self, texts: Sequence[str], spans: Sequence[tuple[int, int]] | None = None
    ) -> tuple[Vectors, Vectors]:
        """The vectors of `embed_documents`, and features from the same run, `(n, f)`: of the texts or, with `spans`, of
        one character span in each. `f` may be 0.
        """
        ...


@dataclass(frozen=True, slots=True)
class LlmCapabilities:
    """`is_local`: it runs in this process. `is_blocking`: it waits for a server, so it runs on the thread pool.
    `context_tokens`: prompt plus reply. `has_schema`: it can follow a JSON schema. `has_tools`: it accepts tools.
    """

    is_local: bool
    is_blocking: bool
    context_tokens: int
    has_schema: bool
    has_tools: bool


class Llm(Protocol):
    """Answers prompts. Thread-safe. The reply may be empty, cut or not the requested JSON; `mnemic.text.replies` parses
    it.

    Both calls raise:
    - `UnavailableError`: the model does not answer. `TimedOutError`: the reply is not complete within
      `Prompt.timeout_s`.
    - `RateLimitedError`: the server asks to slow down.
    - `BadReplyError`: broken JSON around the reply, no choices, or a stream that ends in the middle.
    - `UnsupportedError`: tools, if it accepts none. `InvalidInputError`: the prompt exceeds its context.
    - `ConfigError`: only a person can fix it, such as a wrong key or an unknown model.
    """

    @property
    def name(self) -> str:
        """The name used in messages and provenance, such as `qwen3:4b`."""
        ...

    @property
    def capabilities(self) -> LlmCapabilities:
        """Declared facts. They never change."""
        ...

    def complete(self, prompt: Prompt) -> Completion:
        """The whole reply."""
        ...

    def stream(self, prompt: Prompt) -> Iterator[Piece]:
        """The reply in pieces as they arrive. The last piece holds the completion. Reading the first piece sends the
        request; closing the iterator early cancels it.
        """
        ...

    def close(self) -> None:
        """Release the model or connection. Idempotent."""
        ...


Scores = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class RerankerCapabilities:
    """`is_local`: it runs in this process. `is_blocking`: it waits for a server, so it runs on the thread pool.
    `max_texts`: limit per call. `weight`: the value of one standard deviation of its scores relative to one of BM25. A
    reranker that beats the whole first ranking has a large weight.
    """

    is_local: bool
    is_blocking: bool
    max_texts: int
    weight: float = 1.0


class Reranker(Protocol):
    """Scores query and text together: better than comparing two vectors, but too slow for more than a few texts.

    `rerank` promises:
    - One finite score per text in the same order, `(n,) float32`, higher is better, on its own scale. No texts give
      `(0,)`.
    - A text's score does not depend on the other texts, except for rounding. A blank text gets the lowest score of the
      call.
    - A blank query gives zeros. Blank texts and queries cost no model call.
    - Long texts are cut, never refused. It is thread-safe.
    """

    @property
    def name(self) -> str:
        """The name used in messages."""
        ...

    @property
    def capabilities(self) -> RerankerCapabilities:
        """Declared facts. They never change."""
        ...

    def rerank(self, query: str, texts: Sequence[str]) -> Scores:
        """A score per text. Raises `InvalidInputError` for more than `max_texts` texts, `ConfigError` if the model
        cannot be loaded, `BackendError` or a subclass if the model or its server fails.
        """
        ...

    def close(self) -> None:
        """Release the model or connection. Idempotent."""
        ...


class SecretSpan(NamedTuple):
    """A secret in a text: a half-open range of characters, and a kind such as `password`."""

    start: int
    end: int
    kind: str


@dataclass(frozen=True, slots=True)
class DetectorCapabilities:
    """`kinds`: every kind that `find` may return, lower case with hyphens. `is_local`: no text leaves this process."""

    kinds: tuple[str, ...]
    is_local: bool


class Detector(Protocol):
    """Finds secrets, so that they can be removed before anything is stored. `find` promises: non-empty spans inside the
    text, ordered by start, which may overlap. The same text gives the same spans. Time grows about linearly with any
    text. The text is not kept or written anywhere. Thread-safe.
    """

    @property
    def name(self) -> str:
        """The name used in messages."""
        ...

    @property
    def capabilities(self) -> DetectorCapabilities:
        """Declared facts. They never change."""
        ...

    def find(self, text: str) -> list[SecretSpan]:
        """The secrets in a text. Accepts any string."""
        ...


class Tool(Protocol):
    """A function that a model may call. Thread-safe. `mnemic.tool` turns typed functions into tools."""

    @property
    def spec(self) -> ToolSpec:
        """Name (letters, digits, `_` and `-`, at most 64), what it does and when to call it, and the JSON schema of its
        arguments with a description for each.
        """
        ...

    @property
    def is_read_only(self) -> bool:
        """True if a call changes nothing anywhere."""
        ...

    @property
    def timeout_s(self) -> float | None:
        """Time limit in seconds. None: the configured limit."""
        ...

    def call(self, context: ToolContext, arguments: Mapping[str, object]) -> str:
        """The result as text for the model. `arguments`: parsed JSON from the model. Raises `InvalidInputError` for
        wrong arguments, in words that help the model correct them. The model sees the message of any other
        `MnemicError` too.
        """
        ...


class TextParser(Protocol):
    """Parses English for the graph. Thread-safe."""

    @property
    def name(self) -> str:
        """Name and version. Items are read again when it changes."""
        ...

    def parse(self, text: str) -> Sequence[Sequence[Word]]:
        """The words of each sentence, in order. Accepts any string."""
        ...
