"""The shapes of the chat protocol that OpenAI-compatible servers and llama.cpp speak: requests out, replies in.

Answers for data alone, and is pure. Replies are read leniently where their meaning is plain, since every server writes
them a little differently; what is no reply at all is `BadReplyError`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any, cast

from mnemic.errors import BadReplyError
from mnemic.model.llm import Completion, Finish, Prompt, PromptMessage, ToolCall, ToolSpec, Usage

SCHEMA_NAME = "reply"
_FINISHES = {"length": Finish.LENGTH, "tool_calls": Finish.TOOLS, "function_call": Finish.TOOLS}


class Form(Enum):
    """How a reply in JSON is asked for, the strictest first."""

    SCHEMA = "json_schema"
    OBJECT = "json_object"
    PLAIN = "text"


@dataclass(frozen=True, slots=True)
class Dialect:
    """What one server takes. It begins with everything, and `after` a refusal leaves out what was refused."""

    form: Form = Form.SCHEMA
    limit_field: str = "max_tokens"
    has_temperature: bool = True
    has_stream_options: bool = True

    def after(self, said: str, body: Mapping[str, object]) -> Dialect | None:
        """The next to try after a server refused `body` with these words; None when there is nothing to leave out."""
        if "max_completion_tokens" in said and self.limit_field == "max_tokens":
            return replace(self, limit_field="max_completion_tokens")
        if "temperature" in said and self.has_temperature:
            return replace(self, has_temperature=False)
        if "stream_options" in said and self.has_stream_options:
            return replace(self, has_stream_options=False)
        if "response_format" in body:
            return replace(self, form=Form.OBJECT if self.form is Form.SCHEMA else Form.PLAIN)
        return None


def request(model: str, prompt: Prompt, dialect: Dialect, *, is_stream: bool) -> dict[str, object]:
    """The body of one call."""
    body: dict[str, object] = {
        "model": model,
        "messages": [_message(message) for message in prompt.messages],
        dialect.limit_field: prompt.max_tokens,
    }
    if dialect.has_temperature:
        body["temperature"] = prompt.temperature
    if prompt.tools:
        body["tools"] = [_tool(tool) for tool in prompt.tools]
    if prompt.schema is not None and dialect.form is not Form.PLAIN:
        body["response_format"] = _format(prompt.schema, dialect.form)
    if is_stream:
        body["stream"] = True
        if dialect.has_stream_options:
            body["stream_options"] = {"include_usage": True}
    return body


@dataclass(slots=True)
class _Call:
    """A tool call while its parts arrive."""

    id: str = ""
    name: str = ""
    arguments: str = ""


@dataclass(slots=True)
class Assembly:
    """One reply, put together from its parts: the events of a stream, or one whole answer."""

    place: str
    _texts: list[str] = field(default_factory=list[str])
    _calls: dict[int, _Call] = field(default_factory=dict[int, _Call])
    _finish: Finish | None = None
    _tokens: tuple[int, int] = (0, 0)
    _has_choice: bool = False

    @property
    def is_finished(self) -> bool:
        """True when the server said why the reply ended."""
        return self._finish is not None

    def add(self, event: object) -> str:
        """Take one part; the text that it adds. Raises `BadReplyError` for what is no part of a reply."""
        if not isinstance(event, dict):
            raise BadReplyError(f"{self.place} answered with something that is no JSON object")
        fields = cast("Mapping[str, object]", event)
        self._count(_table(fields.get("usage")))
        choices = fields.get("choices")
        if not isinstance(choices, list):
            raise BadReplyError(f"{self.place} answered without choices")
        if not choices:
            return ""
        choice = _table(cast("Sequence[object]", choices)[0])
        said = _table(choice.get("delta") or choice.get("message"))
        self._has_choice = True
        reason = choice.get("finish_reason")
        if isinstance(reason, str) and reason:
            self._finish = _FINISHES.get(reason, Finish.STOP)
        for position, call in enumerate(_tables(said.get("tool_calls"))):
            self._add_call(position, call)
        text = _text(said.get("content"))
        self._texts.append(text)
        return text

    def completion(self, seconds: float) -> Completion:
        """The whole reply. Raises `BadReplyError` when no part of it came."""
        if not self._has_choice:
            raise BadReplyError(f"{self.place} answered without choices")
        calls = tuple(
            ToolCall(call.id or f"call_{position}", call.name, call.arguments)
            for position, call in sorted(self._calls.items())
            if call.name
        )
        finish = self._finish or Finish.STOP
        if calls and finish is Finish.STOP:
            finish = Finish.TOOLS
        usage = Usage(1, *self._tokens, seconds)
        return Completion("".join(self._texts), calls, finish, usage)

    def _count(self, usage: Mapping[str, object]) -> None:
        if usage:
            self._tokens = _whole(usage.get("prompt_tokens")), _whole(usage.get("completion_tokens"))

    def _add_call(self, position: int, given: Mapping[str, object]) -> None:
        index = given.get("index")
        call = self._calls.setdefault(index if isinstance(index, int) else position, _Call())
        function = _table(given.get("function"))
        call.id = call.id or _text(given.get("id"))
        call.name += _text(function.get("name"))
        call.arguments += _text(function.get("arguments"))


def error_of(event: object) -> str | None:
    """What the server says in the place of a reply: some tell an error in an answer of 200, or in mid-stream."""
    fields = _table(event)
    return None if "choices" in fields or "error" not in fields else json.dumps(fields["error"])


def _message(message: PromptMessage) -> dict[str, object]:
    entry: dict[str, object] = {"role": message.role.value, "content": _sendable(message.content)}
    if message.tool_calls:
        entry["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": _sendable(call.arguments)}}
            for call in message.tool_calls
        ]
    if message.tool_call_id is not None:
        entry["tool_call_id"] = message.tool_call_id
    return entry


def _sendable(text: str) -> str:
    """The text as UTF-8 can carry it: half a surrogate becomes a question mark."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _tool(tool: ToolSpec) -> dict[str, object]:
    parameters = dict(tool.parameters)
    return {
        "type": "function",
        "function": {"name": tool.name, "description": tool.description, "parameters": parameters},
    }


def _format(schema: Mapping[str, object], form: Form) -> dict[str, object]:
    if form is Form.OBJECT:
        return {"type": form.value}
    return {"type": form.value, "json_schema": {"name": SCHEMA_NAME, "schema": dict(schema)}}


def _text(value: object) -> str:
    """The text of a content: a text, or a list of parts that hold texts."""
    if isinstance(value, str):
        return value
    return "".join(_text(part.get("text")) for part in _tables(value))


def _table(value: Any) -> Mapping[str, object]:
    return cast("Mapping[str, object]", value) if isinstance(value, dict) else {}


def _tables(value: object) -> list[Mapping[str, object]]:
    entries = cast("list[object]", value) if isinstance(value, list) else []
    return [_table(entry) for entry in entries if isinstance(entry, dict)]


def _whole(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0
