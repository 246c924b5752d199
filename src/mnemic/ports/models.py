"""The ports of models and of what they use: embedder, language model, reranker, detector of secrets, and tool."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from mnemic.model.candidates import Space
from mnemic.model.chat import Completion, Piece, Prompt, ToolContext, ToolSpec

Vectors = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class EmbedderCapabilities:
    """What the engine must know of an embedder to use it well.

    `is_local`: it answers in this process within milliseconds, so a write embeds before it is acknowledged;
    otherwise the write leaves a job. `is_blocking`: it waits for somebody else, so it runs on the pool.
    `batch_size`: texts per call that use it best.
    """

    is_local: bool
    is_blocking: bool
    batch_size: int


class Embedder(Protocol):
    """Turns texts into unit vectors of one space. Query and document calls differ, and prefixes belong here.

    Both calls promise: one row per text in the same order, `(n, dims) float32`, L2-normalised; no texts give
    shape `(0, dims)`; the vector of a text does not depend on the other texts of the call (up to rounding);
    texts beyond `space.max_tokens` are cut, never refused; they may be called from several threads at once.
    A text with nothing in it (blank) has the zero row, and costs no model call.
    Raises `BackendError` and its children when the model or its server fails.
    """

    @property
    def space(self) -> Space:
        """The space these vectors live in; vectors of two spaces are never compared."""
        ...

    @property
    def capabilities(self) -> EmbedderCapabilities:
        """Declared facts, constant for the life of the object."""
        ...

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """Vectors of texts that are kept."""
        ...

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """Vectors of texts that are searched with (the model's query prefix, if it has one, is added here)."""
        ...

    def close(self) -> None:
        """Let go of the model or the connection; closing twice is harmless."""
        ...


@dataclass(frozen=True, slots=True)
class LlmCapabilities:
    """What the engine must know of a language model to use it well.

    `is_local`: it answers in this process. `is_blocking`: it waits for somebody else, so it runs on the pool.
    `context_tokens`: prompt and reply together. `has_schema`: it can hold a reply to a JSON schema. `has_tools`: it
    takes tools.
    """

    is_local: bool
    is_blocking: bool
    context_tokens: int
    has_schema: bool
    has_tools: bool


class Llm(Protocol):
    """Answers prompts. May be called from several threads at once.

    Both calls raise `UnavailableError` when it does not answer, `TimedOutError` when the reply is not whole within
    `Prompt.timeout_s`, `RateLimitedError` when it asks to slow down, `BadReplyError` when what comes back is not a
    reply (broken JSON around it, no choices, a stream that ends in the middle), `UnsupportedError` for tools it cannot
    take, `InvalidInputError` for a prompt longer than its context, and `ConfigError` for what only a person can mend: a
    wrong key, a model that is not there. What the text says is the caller's affair: it may be empty, cut, or not the
    JSON that was asked for; `mnemic.text.replies` reads it.
    """

    @property
    def name(self) -> str:
        """What it is called in messages and provenance, such as `qwen3:4b`."""
        ...

    @property
    def capabilities(self) -> LlmCapabilities:
        """Declared facts, constant for the life of the object."""
        ...

    def complete(self, prompt: Prompt) -> Completion:
        """The whole reply."""
        ...

    def stream(self, prompt: Prompt) -> Iterator[Piece]:
        """The reply in pieces as they arrive; the last piece holds the completion. The request begins with the first
        piece that is asked for, and closing the iterator early ends it.
        """
        ...

    def close(self) -> None:
        """Let go of the model or the connection; closing twice is harmless."""
        ...


Scores = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class RerankerCapabilities:
    """What the engine must know of a reranker to use it well.

    `is_local`: it answers in this process. `is_blocking`: it waits for somebody else, so it runs on the pool.
    `max_texts`: the most texts of one call. `weight`: what a standard deviation of its scores is worth beside one of
    BM25; a judge that is better than the whole first ranking has a large one.
    """

    is_local: bool
    is_blocking: bool
    max_texts: int
    weight: float = 1.0


class Reranker(Protocol):
    """Reads query and text together, which is better than comparing two vectors, and too slow for more than a few.

    `rerank` promises: one finite score per text in the same order, `(n,) float32`, higher is better, on a scale of its
    own; no texts give shape `(0,)`; the score of a text does not depend on the other texts of the call (up to
    rounding), except that a blank text gets the lowest of them; a blank query gives zeros; neither costs a model call;
    long texts are cut, never refused; it may be called from several threads at once.
    """

    @property
    def name(self) -> str:
        """What it is called in messages."""
        ...

    @property
    def capabilities(self) -> RerankerCapabilities:
        """Declared facts, constant for the life of the object."""
        ...

    def rerank(self, query: str, texts: Sequence[str]) -> Scores:
        """A score per text. Raises `InvalidInputError` for more than `max_texts` texts, `ConfigError` when the model
        cannot be loaded, `BackendError` and its children when it or its server fails.
        """
        ...

    def close(self) -> None:
        """Let go of the model or the connection; closing twice is harmless."""
        ...


class SecretSpan(NamedTuple):
    """A secret in a text: half-open, in characters of the text, and what it is, such as `password`."""

    start: int
    end: int
    kind: str


@dataclass(frozen=True, slots=True)
class DetectorCapabilities:
    """What the engine must know of a detector.

    `kinds`: every kind that `find` may name, in lower case with hyphens. `is_local`: no text leaves this process.
    """

    kinds: tuple[str, ...]
    is_local: bool


class Detector(Protocol):
    """Finds secrets, so that they can be taken out before anything is stored.

    `find` promises: spans within the text, none of them empty, in the order of their start; they may overlap; the same
    text gives the same spans; the time grows about linearly with the text, whatever it holds; the text is neither kept
    nor written anywhere; it may be called from several threads at once.
    """

    @property
    def name(self) -> str:
        """What it is called in messages."""
        ...

    @property
    def capabilities(self) -> DetectorCapabilities:
        """Declared facts, constant for the life of the object."""
        ...

    def find(self, text: str) -> list[SecretSpan]:
        """The secrets of a text, none in a text without any. No string raises."""
        ...


class Tool(Protocol):
    """Something a model may call. May be called from several threads at once.

    Functions with type hints become tools by `mnemic.tool`; what is written by hand keeps this contract.
    """

    @property
    def spec(self) -> ToolSpec:
        """Name (letters, digits, `_` and `-`, at most 64), what it does and when to call it, and the JSON schema of its
        arguments with a description for each.
        """
        ...

    @property
    def is_read_only(self) -> bool:
        """True when calling it changes nothing anywhere."""
        ...

    @property
    def timeout_s(self) -> float | None:
        """Time limit in seconds; None: the configured one."""
        ...

    def call(self, context: ToolContext, arguments: Mapping[str, object]) -> str:
        """The result, as the model is to read it. `arguments` are parsed JSON, as the model gave them.

        Raises `InvalidInputError` for arguments that do not fit, in words a model can correct itself by, and any other
        `MnemicError`, whose message the model is told.
        """
        ...
