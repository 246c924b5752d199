"""Hears what a model answers while it goes by: the text of the first choice, whole or piece by piece.

It never changes a byte and never fails: what it does not understand it does not hear.
"""

from __future__ import annotations

import json
from typing import Any, cast

from mnemic.proxy.chats import text_of

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
