"""A turn of a chat with memory: its numbers, what happens in it, and what comes of it."""

from __future__ import annotations

from dataclasses import dataclass

from mnemic.model.context import Citation, Context
from mnemic.model.item import Turn
from mnemic.model.llm import Finish, Usage
from mnemic.model.tool import ToolOutcome


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
