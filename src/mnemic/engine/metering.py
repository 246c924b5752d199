"""Adds up what a piece of work costs of a language model."""

from __future__ import annotations

import threading
import time
from collections.abc import Generator

from mnemic.model.llm import Completion, Piece, Prompt, Usage
from mnemic.ports.llm import Llm, LlmCapabilities


class Metered:
    """The `Llm` port around another one; `usage` is the sum of all calls until now.

    Every call counts, also one that fails or whose stream is left early: with its seconds, and with the tokens that the
    server told, which it does at the end of a reply. Closing is the owner's affair.
    """

    def __init__(self, llm: Llm) -> None:
        self._llm = llm
        self._usage = Usage()
        self._guard = threading.Lock()

    @property
    def usage(self) -> Usage:
        """What the calls that have ended cost."""
        with self._guard:
            return self._usage

    @property
    def name(self) -> str:
        """As of the model."""
        return self._llm.name

    @property
    def capabilities(self) -> LlmCapabilities:
        """As of the model."""
        return self._llm.capabilities

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


_: type[Llm] = Metered
