"""Adds up what a piece of work costs of a language model."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Generator
from contextvars import copy_context

from mnemic.model.chat import Completion, Piece, Prompt, Usage
from mnemic.ports.models import Llm, LlmCapabilities
from mnemic.ports.observer import Attribute, Observer, Span


class _Wrapper:
    """A model inside another; it keeps the name and the capabilities."""

    def __init__(self, llm: Llm) -> None:
        self._llm = llm

    @property
    def name(self) -> str:
        """As of the model."""
        return self._llm.name

    @property
    def capabilities(self) -> LlmCapabilities:
        """As of the model."""
        return self._llm.capabilities


class Metered(_Wrapper):
    """The `Llm` port around another; `usage` sums all calls, failed or abandoned ones included, with seconds and the
    server's token counts, which come last. Does not close it.
    """

    def __init__(self, llm: Llm) -> None:
        super().__init__(llm)
        self._usage = Usage()
        self._guard = threading.Lock()

    @property
    def usage(self) -> Usage:
        """What the calls that have ended cost."""
        with self._guard:
            return self._usage

    def complete(self, prompt: Prompt) -> Completion:
        """As of the model, and counted."""
        told, begin = Usage(), time.perf_counter()
        try:
            completion = self._llm.complete(prompt)
            told = completion.usage
            return completion
        finally:
            self._add(told, begin)

    def stream(self, prompt: Prompt) -> Generator[Piece]:
        """As of the model, and counted when the stream ends."""
        told, begin = Usage(), time.perf_counter()
        try:
            for piece in self._llm.stream(prompt):
                if piece.completion is not None:
                    told = piece.completion.usage
                yield piece
        finally:
            self._add(told, begin)

    def close(self) -> None:
        """Nothing: whoever opened the model closes it."""

    def _add(self, told: Usage, begin: float) -> None:
        """A model that says how often it asked or how long it took is believed; one that does not took our time."""
        seconds = told.seconds or time.perf_counter() - begin
        with self._guard:
            self._usage += Usage(told.calls or 1, told.prompt_tokens, told.completion_tokens, seconds)


class Traced(_Wrapper):
    """The `Llm` port around another one; every call is a span with sizes and cost. Closing closes the model."""

    def __init__(self, llm: Llm, observer: Observer) -> None:
        super().__init__(llm)
        self._observer = observer

    def complete(self, prompt: Prompt) -> Completion:
        """As of the model, in a span."""
        with self._observer.span("mnemic.llm", **self._sizes(prompt)) as span:
            completion = self._llm.complete(prompt)
            _tell(span, completion.usage)
            return completion

    def stream(self, prompt: Prompt) -> Generator[Piece]:
        """As of the model, in a span that ends with the stream."""
        inside = copy_context()  # whoever reads the stream does other things between its pieces
        opened = self._observer.span("mnemic.llm", is_streamed=True, **self._sizes(prompt))
        span = inside.run(opened.__enter__)
        try:
            pieces = inside.run(self._llm.stream, prompt)
            while (piece := inside.run(next, pieces, None)) is not None:
                if piece.completion is not None:
                    _tell(span, piece.completion.usage)
                yield piece
        finally:
            kind, error, trace = sys.exc_info()
            left = (None, None, None) if kind is GeneratorExit else (kind, error, trace)
            inside.run(opened.__exit__, *left)

    def close(self) -> None:
        """Close the model."""
        self._llm.close()

    def _sizes(self, prompt: Prompt) -> dict[str, Attribute]:
        chars = sum(len(message.content) for message in prompt.messages)
        return {"model": self.name, "prompt_messages": len(prompt.messages), "prompt_chars": chars}


def _tell(span: Span, usage: Usage) -> None:
    span.note(prompt_tokens=usage.prompt_tokens, completion_tokens=usage.completion_tokens)


_: tuple[type[Llm], ...] = (Metered, Traced)
