"""The verbs of the assistant: chat, questions over memory and documents, and the tools a model may call."""

from __future__ import annotations

import builtins
import json
import threading
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Unpack, cast

from mnemic.api.acting import acting
from mnemic.api.arguments import ContextFields, context_request_of
from mnemic.engine.engine import Parts
from mnemic.engine.inputs import check_text
from mnemic.errors import InvalidInputError
from mnemic.model.chat import Answer, ChatEvent, Replied, Reply, ToolCall, ToolContext, ToolOutcome, ToolSpec
from mnemic.model.scope import Scope
from mnemic.model.settings import Settings
from mnemic.ports.models import Tool
from mnemic.ports.observer import Observer

if TYPE_CHECKING:
    from mnemic.engine.assistant import ChatRequest  # with tools and asyncio: who only asks needs none of it
    from mnemic.engine.tools.toolbox import Toolbox

TOOL_ACTOR = "tool"
"""Who changed what a tool changed, in its history, where nobody else is known to act."""


class ChatFields(ContextFields, total=False):
    """The optional arguments of `chat`, beside those of `context`.

    `plan`: the planned steps, and `rules` for keeping to them, shown after the profile. `tools`: the names of the tools
    that may be called, True for all, False for none. `max_tool_calls`: in the whole turn. `captures` False: nothing of
    this turn is kept.
    """

    plan: Sequence[str]
    rules: Sequence[str]
    tools: bool | Iterable[str]
    max_tool_calls: int
    captures: bool


class ToolVerbs:
    """The tools that a model may call: Mnemic's own, those of installed packages and named modules, and added ones."""

    def __init__(self, toolbox: Callable[[], Toolbox], add: Callable[[Iterable[Tool]], None], parts: Parts) -> None:
        self._toolbox, self._add, self._parts = toolbox, add, parts

    @property
    def toolbox(self) -> Toolbox:
        """All of them, for doors that call them with a context of their own."""
        return self._toolbox()

    def list(self) -> builtins.list[ToolSpec]:
        """Every tool as a model is told of it: name, what it does, and the JSON schema of its arguments."""
        return [*self._toolbox().specs]

    def add(self, *tools: Tool) -> None:
        """Let models call these too, until this Mnemic is closed. Raises ConfigError for a name that is taken."""
        self._add(tools)

    def call(self, scope: Scope, name: str, arguments: Mapping[str, object] | None = None) -> ToolOutcome:
        """Call a tool as a model would, within time and size. What goes wrong is told in the outcome, never raised."""
        call = ToolCall("call", name, json.dumps(dict(arguments or {}), default=str))
        return self._toolbox().run(call, ToolContext(scope, self._parts.clock.now(), acting() or TOOL_ACTOR))


class AssistantVerbs:
    """A chat with memory; a part of `Mnemic`."""

    _parts: Parts
    _toolbox: Toolbox | None = None
    _opening = threading.Lock()

    def chat(self, scope: Scope, message: str, **fields: Unpack[ChatFields]) -> Reply:
        """Answer what the user says: memory before, tools between, both sides captured after.

        The worker extracts facts from it later. Without a session in the scope a conversation begins:
        `Reply.session`. Raises ConfigError when no language model is configured, and BackendError when it fails, with
        the user's side captured; a failure of memory is told in `Reply.degraded`.
        """
        from mnemic.engine.assistant import chat

        reply = None
        for event in chat(self._parts, scope, self._chat_request(message, fields, is_streaming=False)):
            reply = event.reply if isinstance(event, Replied) else reply
        if reply is None:
            raise AssertionError("a turn ended without a reply")
        return reply

    def chat_stream(self, scope: Scope, message: str, **fields: Unpack[ChatFields]) -> Generator[ChatEvent]:
        """As `chat`, event by event while the model writes: Recalled, pieces Said and tools Called, Replied.

        Closing it early, or a model that breaks off, keeps what was said until then.
        """
        from mnemic.engine.assistant import chat

        return chat(self._parts, scope, self._chat_request(message, fields, is_streaming=True))

    def ask(self, scope: Scope, question: str, **fields: Unpack[ContextFields]) -> Answer:
        """Answer a question from memory and documents alone, with citations; nothing is captured.

        Raises ConfigError when no language model is configured; BackendError when it fails.
        """
        from mnemic.engine.assistant import ask

        question = check_text(question, "question", self._parts.settings)
        return ask(self._parts, scope, context_request_of(question, fields, self._parts.settings))

    @property
    def model(self) -> str | None:
        """The name of the language model that answers; None when none is configured."""
        return None if self._parts.llm is None else self._parts.llm.name

    @property
    def settings(self) -> Settings:
        """The numbers that this memory was opened with."""
        return self._parts.settings

    @property
    def observer(self) -> Observer:
        """Where doors count what they do, beside what the engine counts."""
        return self._parts.observer

    @property
    def now(self) -> datetime:
        """The time of the clock that this memory keeps: aware, in UTC."""
        return self._parts.clock.now()

    @property
    def tools(self) -> ToolVerbs:
        """The verbs of tools: list, add, call."""
        return ToolVerbs(self._all_tools, self._add_tools, self._parts)

    def _chat_request(self, message: str, fields: ChatFields, *, is_streaming: bool) -> ChatRequest:
        from mnemic.engine.assistant import ChatRequest

        settings = self._parts.settings
        message = check_text(message, "message", settings)
        own = set(ChatFields.__annotations__) - set(ContextFields.__annotations__)
        about = cast("ContextFields", {name: value for name, value in fields.items() if name not in own})
        most = fields.get("max_tool_calls", settings.assistant.max_tool_calls)
        if isinstance(most, bool) or most < 0:
            raise InvalidInputError(f"max_tool_calls must be a whole number from 0, not {most!r}")
        return ChatRequest(
            message=message,
            context=context_request_of(message[: settings.max_query_chars], about, settings),
            toolbox=self._chosen(fields),
            max_tool_calls=most,
            actor=acting() or TOOL_ACTOR,
            plan=_lines(fields.get("plan", ()), "plan"),
            rules=_lines(fields.get("rules", ()), "rules"),
            is_streaming=is_streaming,
            captures=fields.get("captures", True),
            injects=settings.proxy.injects_context,
        )

    def _chosen(self, fields: ChatFields) -> Toolbox:
        from mnemic.engine.tools.toolbox import Toolbox

        tools = fields.get("tools", True)
        if isinstance(tools, str):
            raise InvalidInputError("tools must be a list of names, True for all or False for none")
        if isinstance(tools, bool):
            return self._all_tools() if tools else Toolbox()
        return self._all_tools().only(tools)

    def _all_tools(self) -> Toolbox:
        """The toolbox; packages are looked for when it is first asked for."""
        from mnemic.engine.tools.own import open_toolbox

        with self._opening:
            if self._toolbox is None:
                self._toolbox = open_toolbox(self._parts)
            return self._toolbox

    def _add_tools(self, tools: Iterable[Tool]) -> None:
        known = self._all_tools()
        with self._opening:
            self._toolbox = known.with_tools(tools)


def _lines(value: Sequence[str], name: str) -> tuple[str, ...]:
    if isinstance(value, str) or not all(isinstance(line, str) for line in cast("Sequence[object]", value)):
        raise InvalidInputError(f"{name} must be a list of texts")
    return tuple(value)
