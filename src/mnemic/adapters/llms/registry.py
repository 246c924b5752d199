"""Language models by name: `ollama:qwen3:4b`, `openai:MODEL`, `llama-cpp`, or an entry point of the group `mnemic.llms`
(see `adapters.named_parts`). `ScriptedLlm` is for tests and cannot be configured.
"""

import threading
import time
from collections.abc import Callable, Generator, Iterable
from typing import TYPE_CHECKING

from mnemic.adapters.named_parts import NamedParts, Options, Place
from mnemic.errors import InvalidInputError, UnavailableError
from mnemic.model.chat import Completion, Finish, Piece, Prompt, Usage
from mnemic.ports.models import Llm, LlmCapabilities


def open_llm(name: str, options: Options | None = None) -> Llm:
    """Open a language model: `technology` or `technology:model`; `options`: arguments of its class (for servers, of
    `ChatEndpoint` too). Raises `ConfigError` for an unknown name or option, or a missing extra.
    """
    return _LLMS.open(name, options)


_SERVER = Place("llms.openai", "OpenAILlm", endpoint="ChatEndpoint")
_LLMS = NamedParts[Llm](
    "llm", {"llama-cpp": Place("llms.llama_cpp", "LlamaCppLlm"), "ollama": _SERVER, "openai": _SERVER}
)


Script = str | Completion | Exception
"""An answer: a text, a whole completion, or an error to raise."""

PIECE_CHARS = 8  # about two tokens: simulates a stream for models that reply at once
CHARS_PER_TOKEN = 4  # of English; close enough without a tokenizer


class ScriptedLlm:
    """Returns `answers` in turn, or a function's result for each prompt. `prompts` records the prompts. Raises
    `UnavailableError` after the last answer. A token is four characters, so that token counts can be tested.
    """

    def __init__(
        self,
        answers: Iterable[Script] | Callable[[Prompt], Script],
        *,
        name: str = "scripted",
        context_tokens: int = 8192,
    ) -> None:
        self.prompts: list[Prompt] = []
        self._answer = answers if callable(answers) else self._next
        self._answers = iter(()) if callable(answers) else iter(answers)
        self._guard = threading.Lock()
        self.name = name
        self._context_tokens = context_tokens

    @property
    def capabilities(self) -> LlmCapabilities:
        return LlmCapabilities(
            is_local=True, is_blocking=False, context_tokens=self._context_tokens, has_schema=True, has_tools=True
        )

    def complete(self, prompt: Prompt) -> Completion:
        started = time.perf_counter()
        asked = sum(len(message.content) for message in prompt.messages)
        if _tokens(asked) > self._context_tokens:
            raise InvalidInputError(f"{self.name}: the prompt is longer than {self._context_tokens} tokens")
        with self._guard:
            self.prompts.append(prompt)
            said = self._answer(prompt)
        if isinstance(said, Exception):
            raise said
        if isinstance(said, Completion):
            return said
        return _completion(prompt, said, asked, time.perf_counter() - started)

    def stream(self, prompt: Prompt) -> Generator[Piece]:
        completion = self.complete(prompt)
        for start in range(0, len(completion.text), PIECE_CHARS):
            yield Piece(completion.text[start : start + PIECE_CHARS])
        yield Piece(completion=completion)

    def close(self) -> None:
        """Nothing to do."""

    def _next(self, _prompt: Prompt) -> Script:
        said = next(self._answers, None)
        return UnavailableError(f"{self.name} has no more replies") if said is None else said


def _completion(prompt: Prompt, text: str, asked: int, seconds: float) -> Completion:
    """The answer, cut at the prompt's token limit."""
    limit = prompt.max_tokens * CHARS_PER_TOKEN
    finish = Finish.STOP if len(text) <= limit else Finish.LENGTH
    usage = Usage(1, _tokens(asked), _tokens(min(len(text), limit)), seconds)
    return Completion(text[:limit], finish=finish, usage=usage)


def _tokens(chars: int) -> int:
    return -(-chars // CHARS_PER_TOKEN)


if TYPE_CHECKING:
    _: type[Llm] = ScriptedLlm
