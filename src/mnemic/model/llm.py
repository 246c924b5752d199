"""What is asked of a language model, and what it answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from mnemic.model.item import Role


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
