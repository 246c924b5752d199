"""The rounds of a turn: the model is asked, calls tools, is told what came of it, and is asked again until it answers.

Answers for the limit of calls, for models that take no tools, and for prompts that turn out longer than the model's
context, which are asked again with less of memory.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from dataclasses import dataclass, field, replace

from mnemic.engine.metering import Metered
from mnemic.engine.tools.toolbox import Toolbox, read_arguments
from mnemic.errors import BadReplyError, InvalidInputError, UnsupportedError
from mnemic.model.assistant import AssistantSettings, Called, Said, ToolStep
from mnemic.model.context import Context
from mnemic.model.item import Role
from mnemic.model.llm import Completion, Finish, Piece, Prompt, PromptMessage, ToolCall
from mnemic.model.tool import ToolContext, ToolOutcome

CHARS_PER_TOKEN = 3
SHARES = (0.25, 0.0)
"""A prompt that is too long is tried again with a quarter of memory's budget, then with nothing of it."""

REPLY_SHARE = 4
"""The reply may take at most this part of the model's context: one in four."""


@dataclass(slots=True, kw_only=True)
class Rounds:
    """The rounds of one turn. `show` makes the context with some share of its budget; `shown` is the one that the
    model answered to. `about` is told to tools. `refusal` answers a call beyond `calls_left`.
    """

    model: Metered
    toolbox: Toolbox
    settings: AssistantSettings
    show: Callable[[float], Context]
    shown: Context
    about: ToolContext
    calls_left: int
    refusal: str
    degraded: list[str] = field(default_factory=list[str])
    finish: Finish = Finish.STOP
    _exchange: list[PromptMessage] = field(default_factory=list[PromptMessage])

    def run(self, *, is_streaming: bool) -> Generator[Said | Called]:
        """What the model writes and calls, until it has answered. Raises the errors of the model."""
        self._check_tools()
        while True:
            is_offered = self._offers
            completion = yield from self._ask(is_streaming=is_streaming)
            if not completion.tool_calls or not is_offered:
                self.finish = completion.finish
                return
            calls = tuple(map(_sent_back, completion.tool_calls))
            self._exchange.append(PromptMessage(Role.ASSISTANT, completion.text, calls))
            for call in completion.tool_calls:
                outcome = self._outcome(call)
                told = outcome.text[: self.model.capabilities.context_tokens]
                self._exchange.append(PromptMessage(Role.TOOL, told, tool_call_id=call.id))
                yield Called(ToolStep(completion.text.strip(), outcome))

    @property
    def _offers(self) -> bool:
        return self.calls_left > 0 and len(self.toolbox) > 0

    def _check_tools(self) -> None:
        if self._offers and not self.model.capabilities.has_tools:
            self._without_tools(f"{self.model.name} takes no tools")

    def _without_tools(self, reason: str) -> None:
        self.calls_left = 0
        self.degraded.append(f"tools: {reason}")

    def _ask(self, *, is_streaming: bool) -> Generator[Said, None, Completion]:
        """One reply; asked again without what the model cannot take, as long as it has said nothing."""
        shares = iter(SHARES)
        while True:
            has_said, completion = False, None
            try:
                with closing(self._pieces(is_streaming=is_streaming)) as pieces:
                    for piece in pieces:
                        completion = piece.completion or completion
                        if piece.text:
                            has_said = True
                            yield Said(piece.text)
            except UnsupportedError as error:
                if has_said or not self._offers:
                    raise
                self._without_tools(str(error))
            except InvalidInputError:
                share = None if has_said else next(shares, None)
                if share is None:
                    raise
                self.shown = self.show(share)
                self.degraded.append("context: shortened to what the model can take")
            else:
                if completion is None:
                    raise BadReplyError(f"{self.model.name} ended without a reply")
                return completion

    def _pieces(self, *, is_streaming: bool) -> Generator[Piece]:
        prompt = self._prompt()
        if is_streaming:
            with closing(self.model.stream(prompt)) as pieces:
                yield from pieces
            return
        completion = self.model.complete(prompt)
        yield Piece(completion.text)
        yield Piece(completion=completion)

    def _prompt(self) -> Prompt:
        shown = [PromptMessage(message.role, message.content) for message in self.shown.messages]
        return Prompt(
            messages=(*shown, *self._exchange),
            tools=self.toolbox.specs if self._offers else (),
            max_tokens=reply_tokens(self.model, self.settings),
            timeout_s=self.settings.timeout_s,
        )

    def _outcome(self, call: ToolCall) -> ToolOutcome:
        if self.calls_left <= 0:
            return ToolOutcome(call, self.refusal, is_error=True, seconds=0.0)
        self.calls_left -= 1
        return self.toolbox.run(call, self.about)


def _sent_back(call: ToolCall) -> ToolCall:
    """The call as the model is shown it again: servers refuse a prompt whose arguments are no JSON object."""
    try:
        return replace(call, arguments=json.dumps(dict(read_arguments(call.arguments)), ensure_ascii=False))
    except InvalidInputError:
        return replace(call, arguments="{}")


def reply_tokens(model: Metered, settings: AssistantSettings) -> int:
    """How long a reply may be."""
    return min(settings.max_tokens, max(model.capabilities.context_tokens // REPLY_SHARE, 1))


def room_for_memory(model: Metered, settings: AssistantSettings, texts: Iterator[str], toolbox: Toolbox) -> int:
    """Tokens that memory may take beside some texts, the tools and the reply: half of what is left, since words of
    memory are more than one token to most models.
    """
    tools = sum(len(json.dumps(dict(spec.parameters))) + len(spec.description) for spec in toolbox.specs)
    taken = (sum(map(len, texts)) + tools) // CHARS_PER_TOKEN + reply_tokens(model, settings)
    return max((model.capabilities.context_tokens - taken) // 2, 0)
