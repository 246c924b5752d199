"""The port of a language model."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from mnemic.model.llm import Completion, Piece, Prompt


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
