"""Context injection: adds what a memory backend finds for a question to a model's prompt, with sources. Chooses the
passages and their size. Messages may be mappings, or objects with `role` and `content`. They are copied, never changed.
For scopes, trust, profile and history use `Mnemic.context`.
"""

from __future__ import annotations

import copy
import dataclasses
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, TypeVar, cast

from mnemic.backends.primitive import MIN_SCORE, TOP_K, MemoryBackend, RetrievalResult
from mnemic.config import Config, load_config
from mnemic.config.values import MIN_COSINE
from mnemic.errors import InvalidInputError
from mnemic.text.analyser import Analyser
from mnemic.text.blocks import clean_passage, sourced_block
from mnemic.text.sentences import cut_at_sentence, cut_at_word

MAX_CONTEXT_TOKENS = 2048  # leaves half of a 4,096-token model for question and answer
TOKEN_CHARACTERS = 64
"""Longer than any word. If the average word is longer, this many characters count as a token, so that a text without
blanks cannot flood a prompt as "one word".
"""

Message = TypeVar("Message")
TokenCount = Callable[[str], int]
_analyser = Analyser()


class DefaultScore(float):
    """The default minimum score. It only applies to cosines."""

    __slots__ = ()


DEFAULT_MIN_SCORE = DefaultScore(MIN_COSINE)


@dataclass(frozen=True, slots=True)
class ContextConfig:
    """The configuration of `inject_context`.

    - `top_k`: number of results requested.
    - `min_score`: drops lower results, on the backend's scale. The default of 0.1 applies only to cosines; a score that
      you set applies to every scale.
    - `max_context_tokens`: limit of all passages together, counted by `Analyser.token_count` (words between blanks), or
      by `token_count` for a model's own tokenizer. Preamble and source tags are extra.

    Raises `InvalidInputError` for an invalid number.
    """

    enabled: bool = True
    top_k: int = TOP_K
    min_score: float = DEFAULT_MIN_SCORE
    max_context_tokens: int = MAX_CONTEXT_TOKENS
    token_count: TokenCount | None = None

    def __post_init__(self) -> None:
        _check_whole("top_k", self.top_k, 1)
        _check_whole("max_context_tokens", self.max_context_tokens, 0)
        _check_number("min_score", self.min_score)


def inject_context(
    query: str, messages: Sequence[Message], backend: MemoryBackend, *, config: ContextConfig | None = None
) -> list[Message]:
    """A new list of the messages, with a system message first that holds what the backend finds for the query.

    The text starts with a fixed preamble, then come the passages, best first, as `[Source: <source>] <text>`, separated
    by blank lines. If the list has a system message, the text is appended to a copy of it. A passage that does not fit
    the remaining tokens is skipped, and smaller ones may follow. One larger than the whole budget is cut at a sentence
    and marked with " […]". Instructions to the model and forged tags in stored texts are removed. Without results, or
    with `enabled` off, the list holds only the messages.

    Messages are mappings or objects with `role` and `content`. Neither the list nor any message is changed, and
    unchanged messages are not copied. Raises what the backend raises, and `InvalidInputError` for invalid messages.
    """
    config = config or ContextConfig()
    if isinstance(messages, str | bytes):
        raise InvalidInputError("messages must be a list of messages, not text")
    if not config.enabled:
        return list(messages)
    block = sourced_block(_Passages(config).chosen(_retrieve_relevant(query, backend, config)))
    return add_system_text(messages, block) if block else list(messages)


def _retrieve_relevant(query: str, backend: MemoryBackend, config: ContextConfig) -> list[RetrievalResult]:
    """The results with at least the minimum score, best first. The backend gets it only if below its default."""
    least = config.min_score
    if isinstance(least, DefaultScore) and not backend.facts.has_cosine_scores:
        least = MIN_SCORE
    options = {"min_score": least} if least < MIN_SCORE else {}
    results = backend.retrieve(query, top_k=config.top_k, **options)
    return [result for result in results[: config.top_k] if result.score >= least]


class _Passages:
    """Spends the token budget on passages."""

    def __init__(self, config: ContextConfig) -> None:
        self._count = config.token_count or _tokens
        self._budget = self._left = config.max_context_tokens

    def chosen(self, results: Sequence[RetrievalResult]) -> Iterator[tuple[str, str]]:
        """Source and text of the chosen passages."""
        for result in results:
            text = self._fit(result.content)
            if text:
                self._left -= self._count(text)
                yield result.source or "", text

    def _fit(self, content: str) -> str:
        """The text as it is added, "" if it does not fit."""
        most = self._budget * TOKEN_CHARACTERS
        text = clean_passage(content[:most])
        if len(content) <= most:
            if self._fits(text):
                return text
            if self._count(text) <= self._budget:
                return ""
        cut = cut_at_sentence(text, self._fits)
        if not cut and self._left == self._budget:
            cut = cut_at_word(text, self._fits)
        cut = clean_passage(cut)  # the cut may have removed what made a passage harmless
        return cut if self._fits(cut) else ""

    def _fits(self, text: str) -> bool:
        return self._count(text) <= self._left


def _check_whole(name: str, value: object, least: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise InvalidInputError(f"{name} must be a whole number of at least {least}, not {value!r}")


def _check_number(name: str, value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float) or math.isnan(value):
        raise InvalidInputError(f"{name} must be a number, not {value!r}")


def _tokens(text: str) -> int:
    return max(_analyser.token_count(text), -(-len(text) // TOKEN_CHARACTERS))


def context_config(config: Config | None = None) -> ContextConfig:
    """The settings of `inject_context`: `agent.context_from_memory` and the keys `context_…` of `tools.storage`."""
    config = config or load_config()
    settings = config.backend
    return ContextConfig(
        enabled=config.injects_context,
        top_k=settings.top_k,
        min_score=DEFAULT_MIN_SCORE if settings.min_score is None else settings.min_score,
        max_context_tokens=settings.max_tokens,
    )


_SYSTEM_ROLES = ("system", "developer")
"""Roles of the message with the rules. Some models call it the developer's."""


def add_system_text(messages: Sequence[Message], text: str) -> list[Message]:
    """A new list with the text at the end of a copy of the first system message. Without one, a new system message
    comes first, made like the first message (a dict if there is none).

    The other messages are the same objects. Raises `InvalidInputError` for a message without a role, content that is
    neither text nor a list of parts, and a message class without `role` and `content` arguments.
    """
    roles = [_role(message) for message in messages]
    first = next((place for place, role in enumerate(roles) if role in _SYSTEM_ROLES), None)
    if first is None:
        return [_make_like(messages[0] if messages else None, text), *messages]
    held = messages[first]
    return [*messages[:first], _with_content(held, _append_text(_field(held, "content"), text)), *messages[first + 1 :]]


def _field(message: object, name: str) -> Any:
    if isinstance(message, Mapping):
        fields = cast("Mapping[str, object]", message)
        if name in fields:
            return fields[name]
    else:
        made: Any = message
        if hasattr(made, name):
            return getattr(made, name)
    raise InvalidInputError(f"a message must have {name!r}, but this {type(cast('object', message)).__name__} has none")


def _role(message: object) -> str:
    role = _field(message, "role")
    return str(role.value if isinstance(role, Enum) else role).lower()


def _append_text(content: object, text: str) -> object:
    """The content with the text appended, as one more part if it is a list."""
    if content is None or content == "":
        return text
    if isinstance(content, str):
        return f"{content}\n\n{text}"
    if isinstance(content, list | tuple):
        return [*cast("Sequence[object]", content), {"type": "text", "text": text}]
    raise InvalidInputError(f"a system message must contain text or a list of parts, not {type(content).__name__}")


def _with_content(message: Message, content: object) -> Message:
    held: Any = message
    if isinstance(message, dict):
        copied = copy.copy(held)
        copied["content"] = content
        return copied
    if isinstance(message, Mapping):
        return cast("Message", {**held, "content": content})
    if dataclasses.is_dataclass(message):
        return dataclasses.replace(held, content=content)
    for method in ("model_copy", "_replace"):
        if hasattr(held, method):
            change = {"content": content}
            return held.model_copy(update=change) if method == "model_copy" else held._replace(**change)
    copied = copy.copy(held)
    try:
        copied.content = content
    except AttributeError as error:
        raise InvalidInputError(
            f"cannot change the content of a copied message of type {type(message).__name__}"
        ) from error
    return copied


def _make_like(example: Message | None, text: str) -> Message:
    """A system message of the same type as the example."""
    if example is None or isinstance(example, Mapping):
        return cast("Message", {"role": "system", "content": text})
    role = _field(example, "role")
    try:
        system: object = type(role)("system") if isinstance(role, Enum) else "system"
        return cast("Any", type(example))(role=system, content=text)
    except (TypeError, ValueError) as error:
        raise InvalidInputError(
            f"cannot create {type(example).__name__}(role=…, content=…); add your own system message at the start"
        ) from error
