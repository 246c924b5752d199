"""Prompts and replies of language models, tools, and turns of a chat with memory."""

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
    """A tool call requested by the model. `arguments` is unparsed JSON text."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class PromptMessage:
    """A message of a prompt. An assistant message can have `tool_calls`. A tool message answers `tool_call_id`."""

    role: Role
    content: str
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str | None = None


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool that the model can call. `parameters` is the JSON schema of its arguments."""

    name: str
    description: str
    parameters: Mapping[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """One request to a language model.

    `schema` constrains the reply to a JSON schema if the server supports it. The prompt must also ask for JSON in
    words, and the reply is parsed leniently. `timeout_s` limits the whole reply, in seconds.
    """

    messages: tuple[PromptMessage, ...]
    schema: Mapping[str, object] | None = None
    tools: tuple[ToolSpec, ...] = ()
    max_tokens: int = 512
    temperature: float = 0.0
    timeout_s: float = 60.0


class Finish(StrEnum):
    """Why a reply ended. LENGTH: the reply was cut off."""

    STOP = "stop"
    LENGTH = "length"
    TOOLS = "tools"


@dataclass(frozen=True, slots=True)
class Usage:
    """The cost of replies: calls, tokens in and out (0 if the server does not report them), and seconds."""

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
    """A complete reply. `text` is empty if the model only calls tools."""

    text: str
    tool_calls: tuple[ToolCall, ...] = ()
    finish: Finish = Finish.STOP
    usage: Usage = field(default_factory=Usage)


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a reply as it arrives. The last one has the whole reply in `completion` and no text."""

    text: str = ""
    completion: Completion | None = None


def _ignore(_: object) -> None:
    """The default: text only."""


@dataclass(frozen=True, slots=True)
class ToolContext:
    """The caller's scope, the time and the actor of a tool call. Python tools receive it in a parameter of this type,
    which models do not see.

    `now` is aware and in UTC. `actor` is recorded in the history of changes. To let servers return an object with the
    tool's text, pass the object to `tell`. For a failed call, pass the error.
    """

    scope: Scope
    now: datetime
    actor: str
    tell: Callable[[object], None] = field(default_factory=lambda: _ignore)


@dataclass(frozen=True, slots=True)
class ToolOutcome:
    """The result of a tool call. `text` goes to the model unchanged. It has the result or, with `is_error`, the problem
    and how to fix the call. `seconds`: the duration.
    """

    call: ToolCall
    text: str
    is_error: bool
    seconds: float


@dataclass(frozen=True, slots=True)
class AssistantSettings:
    """Defaults of a chat turn. Units are in the names, limits are inclusive.

    `max_tool_calls`: in one turn, over all rounds. `tool_timeout_s`: for tools without their own time limit. Tool
    results are cut at `max_tool_result_chars`. `max_tokens` and `timeout_s` apply to each reply of the model.
    """

    max_tool_calls: int = 8
    tool_timeout_s: float = 20.0
    max_tool_result_chars: int = 8000
    max_tokens: int = 1024
    timeout_s: float = 120.0


@dataclass(frozen=True, slots=True)
class ToolStep:
    """One tool call: the model's reason in its own words ("" if none), and the outcome."""

    reason: str
    outcome: ToolOutcome


@dataclass(frozen=True, slots=True)
class Reply:
    """The assistant's answer. `session` is the conversation, `turn` the stored exchange (None if nothing was stored),
    `context` the memory shown to the model, and `steps` the tool calls. If `finish` is LENGTH, the text was cut off.
    `degraded` lists unavailable sources, tools or storage, with the reason.
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
    """The first event: the memory shown to the model."""

    context: Context


@dataclass(frozen=True, slots=True)
class Said:
    """A piece of text as the model writes it. Text before a tool call is the reason for the call."""

    text: str


@dataclass(frozen=True, slots=True)
class Called:
    """A tool was called. The text so far is not part of the answer."""

    step: ToolStep


@dataclass(frozen=True, slots=True)
class Replied:
    """The last event: the whole reply, after it is stored."""

    reply: Reply


ChatEvent = Recalled | Said | Called | Replied
"""Events of a turn, in order: `Recalled`, then `Said` and `Called`, then `Replied`."""


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer from memory and documents. `citations` are the sources that the text cites by `[number]`.
    `context.citations` are all sources shown to the model.
    """

    text: str
    citations: tuple[Citation, ...]
    context: Context
    usage: Usage
    degraded: tuple[str, ...]
