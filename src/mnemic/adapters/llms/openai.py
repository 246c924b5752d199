"""Answers by any OpenAI-compatible `/v1/chat/completions`: Ollama, vLLM, llama.cpp, or a hosted service.

Answers for what a server takes and for the whole reply; `chat_client` is the wire, `chat` the shapes.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from contextlib import closing
from typing import TYPE_CHECKING, TypeVar

from mnemic.adapters.llms.chat import Assembly, Dialect, error_of, request
from mnemic.adapters.llms.chat_client import ChatClient, ChatEndpoint, RefusedRequestError
from mnemic.adapters.llms.deadline import Deadline
from mnemic.adapters.model_servers import TooLongError, is_too_long
from mnemic.errors import BadReplyError, InvalidInputError, UnavailableError, UnsupportedError
from mnemic.model.llm import Completion, Piece, Prompt
from mnemic.ports.llm import Llm, LlmCapabilities

CONTEXT_TOKENS = 8192
"""Of prompt and reply together, where nobody says otherwise: what small models are commonly served with."""

Answer = TypeVar("Answer")


class OpenAILlm:
    """Asks a server. What it refuses to take (a JSON schema, a limit under its older name, a temperature) is left out
    at the next try, and not asked for again.
    """

    def __init__(
        self,
        model: str,
        endpoint: ChatEndpoint | None = None,
        *,
        context_tokens: int = CONTEXT_TOKENS,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """Opens no connection. Raises `ConfigError` when the extra `openai` is not installed."""
        self._model = model
        self._context_tokens = context_tokens
        self._client = ChatClient(endpoint or ChatEndpoint(), sleep=sleep)
        self._dialect = Dialect()

    @property
    def name(self) -> str:
        return self._model

    @property
    def capabilities(self) -> LlmCapabilities:
        """Declared: which schemas and tools a model takes is known only when it is asked."""
        return LlmCapabilities(
            is_local=False,
            is_blocking=True,
            context_tokens=self._context_tokens,
            has_schema=True,
            has_tools=True,
        )

    def complete(self, prompt: Prompt) -> Completion:
        started, deadline = time.perf_counter(), Deadline(prompt.timeout_s)

        def ask(dialect: Dialect) -> object:
            return self._client.whole(request(self._model, prompt, dialect, is_stream=False), deadline)

        reply = self._adapting(prompt, ask)
        assembly = Assembly(self._client.place)
        self._check(reply)
        assembly.add(reply)
        return assembly.completion(time.perf_counter() - started)

    def stream(self, prompt: Prompt) -> Generator[Piece]:
        started, deadline = time.perf_counter(), Deadline(prompt.timeout_s)

        def ask(dialect: Dialect) -> tuple[Generator[object], object]:
            events = self._client.events(request(self._model, prompt, dialect, is_stream=True), deadline)
            return events, next(events, None)

        events, first = self._adapting(prompt, ask)
        with closing(events):
            assembly = Assembly(self._client.place)
            event = first
            while event is not None:
                self._check(event)
                if text := assembly.add(event):
                    yield Piece(text)
                event = next(events, None)
        if not assembly.is_finished:
            raise BadReplyError(f"{self._client.place} ended its stream in the middle of the reply")
        yield Piece(completion=assembly.completion(time.perf_counter() - started))

    def close(self) -> None:
        self._client.close()

    def _check(self, event: object) -> None:
        said = error_of(event)
        if said is not None and is_too_long(said):
            raise InvalidInputError(f"{self._client.place}: the prompt is longer than its context")
        if said is not None:
            raise UnavailableError(f"{self._client.place} failed in the middle of its reply")

    def _adapting(self, prompt: Prompt, ask: Callable[[Dialect], Answer]) -> Answer:
        """The answer to the first request that the server does not refuse; what it took is remembered."""
        dialect = self._dialect
        while True:
            body = request(self._model, prompt, dialect, is_stream=True)
            try:
                answer = ask(dialect)
            except TooLongError as error:
                raise InvalidInputError(f"{self._client.place}: the prompt is longer than its context") from error
            except RefusedRequestError as refused:
                if prompt.tools and "tool" in refused.said:
                    message = f"{self._model} at {self._client.place} takes no tools"
                    raise UnsupportedError(message, capability="tools") from refused
                following = dialect.after(refused.said, body)
                if following is None:
                    raise refused.cause from refused
                dialect = following
            else:
                self._dialect = dialect
                return answer


if TYPE_CHECKING:
    _: type[Llm] = OpenAILlm
