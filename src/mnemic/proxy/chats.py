"""The chats of clients, in the form of chat completions, of the Responses API or of Anthropic's Messages: what memory
needs of a request and of its answer. Unknown parts of a protocol are passed through.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

SYSTEM_ROLES = ("system", "developer")
MAX_MESSAGES = 10_000  # per request: bounds the time before it is passed on


@dataclass(frozen=True, slots=True)
class Spoken:
    """A new message of the user: its text, and an id that stays the same if the request is repeated."""

    text: str
    external_id: str


Fields = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Dialect:
    """How a protocol words a chat. `read`: a body's messages as those of chat completions, None if there are none.
    `add`: the body with a block for the model. `hear`: the text of an answer or of one event, and whether it is the
    end. `user`: the body's user.
    """

    read: Callable[[Fields], object]
    add: Callable[[Fields, str], dict[str, object]]
    hear: Callable[[Fields], tuple[str, bool]]
    user: Callable[[Fields], object]


@dataclass(frozen=True, slots=True)
class Chat:
    """The messages of a request, as far as they are understood, in the form of chat completions."""

    body: Fields
    messages: Sequence[Fields]
    dialect: Dialect

    @classmethod
    def of(cls, body: object, dialect: Dialect) -> Chat | None:
        """The chat in a request's body, None if there is none."""
        if not isinstance(body, dict):
            return None
        fields = cast("Fields", body)
        messages = dialect.read(fields)
        if not isinstance(messages, list) or not 0 < len(cast("list[object]", messages)) <= MAX_MESSAGES:
            return None
        several = cast("list[object]", messages)
        if not all(isinstance(each, dict) for each in several):
            return None
        return cls(fields, cast("list[Fields]", several), dialect)

    @property
    def user(self) -> str | None:
        """The body's user."""
        named = self.dialect.user(self.body)
        return named if isinstance(named, str) and named else None

    @property
    def thread(self) -> str:
        """The id of the answer or conversation that this request continues on the server, "" if it holds everything."""
        conversation = self.body.get("conversation")
        known = _fields(conversation).get("id", conversation) or self.body.get("previous_response_id")
        return known if isinstance(known, str) else ""

    @property
    def question(self) -> str:
        """The user's last message, "" if there is none."""
        texts = (text_of(each.get("content")) for each in reversed(self.messages) if each.get("role") == "user")
        return next(texts, "")

    @property
    def session(self) -> str:
        """An id of the conversation, derived from its first messages, so that it stays the same, or from its thread."""
        if self.thread:
            return f"chat-{_digest(self.thread)}"
        first = next((text_of(each.get("content")) for each in self.messages if each.get("role") == "user"), "")
        system = "\n".join(text_of(each.get("content")) for each in self.messages if each.get("role") in SYSTEM_ROLES)
        return f"chat-{_digest(system, first)}"

    @property
    def new(self) -> list[Spoken]:
        """The user's messages since the last answer, because clients resend the whole conversation. An assistant
        message that calls tools is not an answer yet.
        """
        said: list[Spoken] = []
        for place in range(len(self.messages) - 1, -1, -1):
            message = self.messages[place]
            if message.get("role") == "assistant" and not message.get("tool_calls"):
                break
            text = text_of(message.get("content"))
            if message.get("role") == "user" and text.strip():
                said.append(Spoken(text, f"proxy-{place}-{self._digest(text)}"))
        return said[::-1]

    def answer_id(self, text: str) -> str:
        """The id of an answer to this request."""
        return f"proxy-{len(self.messages)}-{self._digest(text)}"

    def _digest(self, text: str) -> str:
        return _digest(text, *filter(None, [self.thread]))  # a thread may hear the same words twice


def text_of(content: object) -> str:
    """The text of a content: the text, or its text parts, one per line."""
    if isinstance(content, str):
        return content
    parts = cast("list[Any]", content) if isinstance(content, list) else []
    texts = [cast("dict[str, object]", part).get("text") for part in parts if isinstance(part, dict)]
    return "\n".join(text for text in texts if isinstance(text, str))


def _fields(value: object) -> Fields:
    """The value if it is an object, else an empty one."""
    return cast("Fields", value) if isinstance(value, dict) else {}


def _several(value: object) -> list[Fields]:
    """The objects in a list."""
    return [_fields(each) for each in cast("list[object]", value)] if isinstance(value, list) else []


def _with_block(content: object, block: str) -> object:
    if isinstance(content, list):
        return [*cast("list[object]", content), {"type": "text", "text": block}]
    text = content if isinstance(content, str) else ""
    return f"{text}\n\n{block}" if text else block


def _digest(*texts: str) -> str:
    # 96 bits: no two texts share it
    return hashlib.sha256("\0".join(texts).encode(errors="replace")).hexdigest()[:24]


def _add_to_completions(body: Fields, block: str) -> dict[str, object]:
    """The block stands after the first system message, or is a new one."""
    messages = [dict(message) for message in _several(body.get("messages"))]
    place = next((n for n, each in enumerate(messages) if each.get("role") in SYSTEM_ROLES), None)
    if place is None:
        messages.insert(0, {"role": "system", "content": block})
    else:
        messages[place]["content"] = _with_block(messages[place].get("content"), block)
    return {**body, "messages": messages}


def _hear_completions(event: Fields) -> tuple[str, bool]:
    first = [each for each in _several(event.get("choices")) if each.get("index", 0) == 0]
    choice = first[0] if first else _fields(None)
    said = _fields(choice.get("delta") or choice.get("message"))
    return text_of(said.get("content")), bool(choice.get("finish_reason"))


def _read_responses(body: Fields) -> object:
    """The input as messages: the instructions are the system's, and a call of a tool is the assistant's."""
    given = body.get("input")
    items = [{"role": "user", "content": given}] if isinstance(given, str) else given
    if not isinstance(items, list) or not items:
        return None
    called = {"role": "assistant", "tool_calls": True}
    messages = [
        each if "role" in each else called if _is_call(each) else {} for each in _several(cast("object", items))
    ]
    return [{"role": "system", "content": body.get("instructions")}, *messages]


def _is_call(item: Fields) -> bool:
    return str(item.get("type", "")).endswith("_call")


def _add_to_responses(body: Fields, block: str) -> dict[str, object]:
    return {**body, "instructions": _with_block(body.get("instructions"), block)}


def _hear_responses(event: Fields) -> tuple[str, bool]:
    kind, delta = event.get("type"), event.get("delta")
    if kind == "response.output_text.delta":
        return (delta if isinstance(delta, str) else ""), False
    if kind == "response.content_part.added":
        return "\n", False
    if event.get("object") != "response":
        return "", kind in ("response.completed", "response.incomplete")
    said = (text_of(each.get("content")) for each in _several(event.get("output")) if each.get("type") == "message")
    return "\n".join(said), event.get("status") in ("completed", "incomplete")


REMINDER = "<system-reminder>"
"""Begins what Claude Code adds to a user's message. The user did not say it."""


def _read_messages(body: Fields) -> object:
    """The messages, with the system prompt as the first, without results of tools."""
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        return None
    said = [_read_message(each) for each in _several(cast("object", messages)) if not _is_result(each)]
    return [{"role": "system", "content": body.get("system")}, *said]


def _is_result(message: Fields) -> bool:
    parts = _several(message.get("content"))
    return bool(parts) and all(part.get("type") == "tool_result" for part in parts)


def _read_message(message: Fields) -> Fields:
    parts = _several(message.get("content"))
    if not parts:
        return message
    spoken = [part for part in parts if not str(part.get("text", "")).lstrip().startswith(REMINDER)]
    return {**message, "content": spoken, "tool_calls": any(part.get("type") == "tool_use" for part in parts)}


def _add_to_messages(body: Fields, block: str) -> dict[str, object]:
    return {**body, "system": _with_block(body.get("system"), block)}


def _hear_messages(event: Fields) -> tuple[str, bool]:
    kind = event.get("type")
    if kind == "content_block_delta":
        text = _fields(event.get("delta")).get("text")
        return (text if isinstance(text, str) else ""), False
    if kind == "content_block_start":
        return ("\n" if _fields(event.get("content_block")).get("type") == "text" else ""), False
    if kind == "message":
        return text_of(event.get("content")), bool(event.get("stop_reason"))
    return "", kind == "message_stop"


def _find_user_id(body: Fields) -> object:
    """The user in the metadata. Claude Code names its session there too, which no other session would share."""
    named = _fields(body.get("metadata")).get("user_id")
    return None if isinstance(named, str) and "session" in named else named


COMPLETIONS = Dialect(
    lambda body: body.get("messages"), _add_to_completions, _hear_completions, lambda body: body.get("user")
)
RESPONSES = Dialect(_read_responses, _add_to_responses, _hear_responses, lambda body: body.get("user"))
MESSAGES = Dialect(_read_messages, _add_to_messages, _hear_messages, _find_user_id)


MAX_CHARS = 1_000_000  # captured of an answer: bounds memory, and is the limit of a message
MAX_LINE_BYTES = 4 << 20  # per event of a stream: bounds the memory that a broken server can use


class Listener:
    """Reads the bytes of one answer. `text`: what was received so far, `is_whole`: the end was received, `id`: of the
    answer, where later requests can continue it.
    """

    def __init__(self, dialect: Dialect, *, is_events: bool) -> None:
        self._dialect, self._is_events = dialect, is_events
        self.id = ""
        self._rest = b""
        self._texts: list[str] = []
        self._chars = 0
        self.is_whole = False

    @property
    def text(self) -> str:
        """The text so far, trimmed. Several texts of one answer are lines."""
        return "".join(self._texts).strip()

    def hear(self, chunk: bytes) -> None:
        """Read more bytes."""
        if len(self._rest) > MAX_LINE_BYTES:
            return
        self._rest += chunk
        if self._is_events:
            *lines, self._rest = self._rest.split(b"\n")
            for line in lines:
                self._hear_line(line)

    def end(self) -> None:
        """Read the rest: there are no more bytes."""
        if self._is_events:
            self._hear_line(self._rest)
        else:
            self._hear_event(self._rest)
        self._rest = b""

    def _hear_line(self, line: bytes) -> None:
        name, _, data = line.strip().partition(b":")
        if name != b"data":
            return
        if data.strip() == b"[DONE]":
            self.is_whole = True
        else:
            self._hear_event(data)

    def _hear_event(self, data: bytes) -> None:
        try:
            event = _fields(json.loads(data))
        except (ValueError, RecursionError):
            return
        text, is_end = self._dialect.hear(event)
        if text and self._chars < MAX_CHARS and (self._texts or text.strip("\n")):
            self._texts.append(text[: MAX_CHARS - self._chars])
            self._chars += len(self._texts[-1])
        self.is_whole = self.is_whole or is_end
        answer = event if event.get("object") == "response" else _fields(event.get("response"))
        self.id = self.id or str(answer.get("id") or "")
