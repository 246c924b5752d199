"""What is asked of a language model, and what it answers.

What a tool is told when it is called, and what came of the call.

A turn of a chat with memory: its numbers, what happens in it, and what comes of it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from mnemic.model.item import Role, Turn
from mnemic.model.recall import Citation, Context
from mnemic.model.scope import Scope


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One call of a tool that the model asks for; `arguments` is the JSON text as the model wrote it."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class PromptMessage:
    """A message of a prompt. An assistant's may hold `tool_calls`; a tool's answers the call `tool_call_id`."""

    role: Role
    content: str
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str | None = None


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool that the model may call; `parameters` is the JSON schema of its arguments."""

    name: str
    description: str
    parameters: Mapping[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """One question to a language model.

    `schema` holds the reply to a JSON schema where the server can do so; where it cannot, the prompt must ask for it in
    words, and either way the reply is parsed with care. `timeout_s` is the time for the whole reply, in seconds.
    """

    messages: tuple[PromptMessage, ...]
    schema: Mapping[str, object] | None = None
    tools: tuple[ToolSpec, ...] = ()
    max_tokens: int = 512
    temperature: float = 0.0
    timeout_s: float = 60.0


class Finish(StrEnum):
    """Why a reply ended: LENGTH means it was cut."""

    STOP = "stop"
    LENGTH = "length"
    TOOLS = "tools"


@dataclass(frozen=True, slots=True)
class Usage:
    """What replies cost: calls, tokens in and out (0 where the server does not say), and seconds of waiting."""

    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    seconds: float = 0.0

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.calls + other.calls,
            self.prompt_tokens + other.prompt_tokens,
            self.completion_tokens + other.completion_tokens,
            self.seconds + other.seconds,
        )


@dataclass(frozen=True, slots=True)
class Completion:
    """A whole reply. `text` may be empty when the model calls tools instead."""

    text: str
    tool_calls: tuple[ToolCall, ...] = ()
    finish: Finish = Finish.STOP
    usage: Usage = field(default_factory=Usage)


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a reply as it arrives; the last one holds `completion`, the whole reply, and no further text."""

    text: str = ""
    completion: Completion | None = None


def _unheard(_: object) -> None:
    """Nobody asks for more than the text."""


@dataclass(frozen=True, slots=True)
class ToolContext:
    """For whom a tool is called, and when. A tool of Python gets it in a parameter of this type, which no model sees.

    `now` is aware and in UTC. `actor` is written into the history of what the tool changes. `tell` takes the noun that
    the tool's text is about, for doors that hand it on beside the text; of a call that failed, the error.
    """

    scope: Scope
    now: datetime
    actor: str
    tell: Callable[[object], None] = field(default_factory=lambda: _unheard)


@dataclass(frozen=True, slots=True)
class ToolOutcome:
    """What came of one call. `text` is told to the model as it is: the result, or with `is_error` what went wrong and
    how to call better. `seconds`: how long it took.
    """

    call: ToolCall
    text: str
    is_error: bool
    seconds: float


@dataclass(frozen=True, slots=True)
class AssistantSettings:
    """Defaults of a chat turn; units are in the names, limits are inclusive.

    `max_tool_calls`: in one turn, all rounds together. `tool_timeout_s`: for a tool that declares no time of its own.
    What a tool answers is cut at `max_tool_result_chars`. `max_tokens` and `timeout_s` are of each reply of the model.
    """

    max_tool_calls: int = 8
    tool_timeout_s: float = 20.0
    max_tool_result_chars: int = 8000
    max_tokens: int = 1024
    timeout_s: float = 120.0


@dataclass(frozen=True, slots=True)
class ToolStep:
    """One call of a tool: why the model made it, in its own words ("" where it said nothing), and what came of it."""

    reason: str
    outcome: ToolOutcome


@dataclass(frozen=True, slots=True)
class Reply:
    """The answer of the assistant. `session` is the conversation it belongs to, `turn` what was captured of it (None
    when nothing was), `context` what the model was shown of memory, `steps` the tools it called. `finish` LENGTH means
    that the text is cut. `degraded` says what was missing and why: sources of memory, tools, the capture.
    """

    text: str
    session: str
    turn: Turn | None
    context: Context
    steps: tuple[ToolStep, ...]
    finish: Finish
    usage: Usage
    degraded: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Recalled:
    """First of all: what memory put in front of the model."""

    context: Context


@dataclass(frozen=True, slots=True)
class Said:
    """A piece of text as the model writes it. What it writes before it calls a tool is its reason for the call."""

    text: str


@dataclass(frozen=True, slots=True)
class Called:
    """A tool was called; the text until here was no part of the answer."""

    step: ToolStep


@dataclass(frozen=True, slots=True)
class Replied:
    """Last of all: the whole reply, captured."""

    reply: Reply


ChatEvent = Recalled | Said | Called | Replied
"""What happens in a turn, in this order: Recalled; then pieces, and calls between them; then Replied."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to a question over memory and documents. `citations` are those that the text names by `[number]`;
    `context.citations` are all that were shown.
    """

    text: str
    citations: tuple[Citation, ...]
    context: Context
    usage: Usage
    degraded: tuple[str, ...]
