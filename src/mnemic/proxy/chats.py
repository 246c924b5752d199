"""A chat as the protocol carries it: whose it is, what is new in it, memory put in front of it, and what is answered.

Pure: answers for shapes alone. What is not understood is passed on as it came, and not heard.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

SYSTEM_ROLES = ("system", "developer")
MAX_MESSAGES = 10_000


@dataclass(frozen=True, slots=True)
class Spoken:
    """One new message of the user: its text, and an id that is the same when the request is repeated."""

    text: str
    external_id: str


@dataclass(frozen=True, slots=True)
class Chat:
    """The messages of a request, as far as they are understood."""

    body: Mapping[str, object]
    messages: Sequence[Mapping[str, object]]

    @classmethod
    def of(cls, body: object) -> Chat | None:
        """The chat of a request's body; None when it is none."""
        if not isinstance(body, dict):
            return None
        fields = cast("Mapping[str, object]", body)
        messages = fields.get("messages")
        if not isinstance(messages, list) or not 0 < len(cast("list[object]", messages)) <= MAX_MESSAGES:
            return None
        several = cast("list[object]", messages)
        if not all(isinstance(each, dict) for each in several):
            return None
        return cls(fields, cast("list[Mapping[str, object]]", several))

    @property
    def user(self) -> str | None:
        """The user that the body names."""
        named = self.body.get("user")
        return named if isinstance(named, str) and named else None

    @property
    def is_streaming(self) -> bool:
        """True when the answer is wanted as events."""
        return self.body.get("stream") is True

    @property
    def question(self) -> str:
        """What the user said last; "" when nobody did."""
        texts = (text_of(each.get("content")) for each in reversed(self.messages) if each.get("role") == "user")
        return next(texts, "")

    @property
    def session(self) -> str:
        """An id of the conversation, which stays the same while it goes on: made of how it began."""
        first = next((text_of(each.get("content")) for each in self.messages if each.get("role") == "user"), "")
        system = "\n".join(text_of(each.get("content")) for each in self.messages if each.get("role") in SYSTEM_ROLES)
        return f"chat-{_digest(system, first)}"

    @property
    def new(self) -> list[Spoken]:
        """What the user said since the assistant answered last: clients send the whole conversation every time. An
        assistant that calls tools has not answered yet.
        """
        said: list[Spoken] = []
        for place in range(len(self.messages) - 1, -1, -1):
            message = self.messages[place]
            if message.get("role") == "assistant" and not message.get("tool_calls"):
                break
            text = text_of(message.get("content"))
            if message.get("role") == "user" and text.strip():
                said.append(Spoken(text, f"proxy-{place}-{_digest(text)}"))
        return said[::-1]

    def answer_id(self, text: str) -> str:
        """The id of an answer to this request."""
        return f"proxy-{len(self.messages)}-{_digest(text)}"

    def with_memory(self, block: str) -> dict[str, object]:
        """The body with a block after the first system message, or as one of its own; all else as it came."""
        messages = [dict(message) for message in self.messages]
        place = next((n for n, each in enumerate(messages) if each.get("role") in SYSTEM_ROLES), None)
        if place is None:
            messages.insert(0, {"role": "system", "content": block})
        else:
            messages[place]["content"] = _with_block(messages[place].get("content"), block)
        return {**self.body, "messages": messages}


def text_of(content: object) -> str:
    """The text of a content: a text, or the texts among its parts, each on lines of its own."""
    if isinstance(content, str):
        return content
    parts = cast("list[Any]", content) if isinstance(content, list) else []
    texts = [cast("dict[str, object]", part).get("text") for part in parts if isinstance(part, dict)]
    return "\n".join(text for text in texts if isinstance(text, str))


def _with_block(content: object, block: str) -> object:
    if isinstance(content, list):
        return [*cast("list[object]", content), {"type": "text", "text": block}]
    text = content if isinstance(content, str) else ""
    return f"{text}\n\n{block}" if text else block


def _digest(*texts: str) -> str:
    return hashlib.sha256("\0".join(texts).encode(errors="replace")).hexdigest()[:24]


MAX_CHARS = 1_000_000
MAX_LINE_BYTES = 4 << 20


class Listener:
    """Fed with the bytes of one answer; `text` is what was said until now, `is_whole` whether its end was heard."""

    def __init__(self, *, is_events: bool) -> None:
        self._is_events = is_events
        self._rest = b""
        self._texts: list[str] = []
        self._chars = 0
        self.is_whole = False

    @property
    def text(self) -> str:
        """What was said."""
        return "".join(self._texts)

    def hear(self, chunk: bytes) -> None:
        """Some more bytes of it."""
        if len(self._rest) > MAX_LINE_BYTES:
            return
        self._rest += chunk
        if self._is_events:
            *lines, self._rest = self._rest.split(b"\n")
            for line in lines:
                self._hear_line(line)

    def end(self) -> None:
        """All bytes have come."""
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
            event: Any = json.loads(data)
        except (ValueError, RecursionError):
            return
        choices: Any = cast("dict[str, object]", event).get("choices") if isinstance(event, dict) else None
        for choice in cast("list[Any]", choices) if isinstance(choices, list) else []:
            if isinstance(choice, dict):
                self._hear_choice(cast("dict[str, Any]", choice))

    def _hear_choice(self, choice: dict[str, Any]) -> None:
        if choice.get("index", 0) != 0:
            return
        said: Any = choice.get("delta") or choice.get("message")
        text = text_of(cast("dict[str, object]", said).get("content")) if isinstance(said, dict) else ""
        if text and self._chars < MAX_CHARS:
            self._texts.append(text[: MAX_CHARS - self._chars])
            self._chars += len(text)
        if choice.get("finish_reason"):
            self.is_whole = True
