"""Memory around a chat: recall before it, within a time limit, and capture after it. If memory fails, the chat
continues. Unknown parts of the protocol are passed through. Verbs run on the proxy's own threads, so that open streams
never hold up other doors.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar, cast

from mnemic.api import Mnemic
from mnemic.api.doors import acting_as
from mnemic.errors import MnemicError, places
from mnemic.model.bookkeeping import note_answer
from mnemic.model.item import NotedDraft, Role, Turn
from mnemic.model.scope import Scope
from mnemic.model.settings import ProxySettings

SYSTEM_ROLES = ("system", "developer")
MAX_MESSAGES = 10_000  # per request: bounds the time before it is passed on


@dataclass(frozen=True, slots=True)
class Spoken:
    """A new message of the user: its text, and an id that stays the same if the request is repeated."""

    text: str
    external_id: str


@dataclass(frozen=True, slots=True)
class Chat:
    """The messages of a request, as far as they are understood."""

    body: Mapping[str, object]
    messages: Sequence[Mapping[str, object]]

    @classmethod
    def of(cls, body: object) -> Chat | None:
        """The chat in a request's body, None if there is none."""
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
        """The body's user."""
        named = self.body.get("user")
        return named if isinstance(named, str) and named else None

    @property
    def is_streaming(self) -> bool:
        """True if the client wants events."""
        return self.body.get("stream") is True

    @property
    def question(self) -> str:
        """The user's last message, "" if there is none."""
        texts = (text_of(each.get("content")) for each in reversed(self.messages) if each.get("role") == "user")
        return next(texts, "")

    @property
    def session(self) -> str:
        """An id of the conversation, derived from its first messages, so that it stays the same."""
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
                said.append(Spoken(text, f"proxy-{place}-{_digest(text)}"))
        return said[::-1]

    def answer_id(self, text: str) -> str:
        """The id of an answer to this request."""
        return f"proxy-{len(self.messages)}-{_digest(text)}"

    def with_memory(self, block: str) -> dict[str, object]:
        """The body with a block after the first system message, or as a new one. The rest is unchanged."""
        messages = [dict(message) for message in self.messages]
        place = next((n for n, each in enumerate(messages) if each.get("role") in SYSTEM_ROLES), None)
        if place is None:
            messages.insert(0, {"role": "system", "content": block})
        else:
            messages[place]["content"] = _with_block(messages[place].get("content"), block)
        return {**self.body, "messages": messages}


def text_of(content: object) -> str:
    """The text of a content: the text, or its text parts, one per line."""
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
    # 96 bits: no two texts share it
    return hashlib.sha256("\0".join(texts).encode(errors="replace")).hexdigest()[:24]


MAX_CHARS = 1_000_000  # captured of an answer: bounds memory, and is the limit of a message
MAX_LINE_BYTES = 4 << 20  # per event of a stream: bounds the memory that a broken server can use


class Listener:
    """Reads the bytes of one answer. `text`: what was received so far, `is_whole`: the end was received."""

    def __init__(self, *, is_events: bool) -> None:
        self._is_events = is_events
        self._rest = b""
        self._texts: list[str] = []
        self._chars = 0
        self.is_whole = False

    @property
    def text(self) -> str:
        """The text so far."""
        return "".join(self._texts)

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


THREADS = 8  # captures and recalls at a time: the answer never waits for more
MAX_HISTORY = 20  # messages that the model sees anyway, so that recall does not repeat them
SHOWN_BLOCKS = ("profile", "facts", "documents")
"""A request is changed only if it has one of these. The date alone is not worth it."""

_Answer = TypeVar("_Answer")
_log = logging.getLogger("mnemic.proxy")


@dataclass(slots=True)
class Around:
    """Memory around one chat. `scope` None: no memory, for `reason`. `block`: text for the model, "" if none. `reason`:
    why memory is missing, "" if it is not. `recalls`, `captures`: the switches. `actor`: the caller.
    """

    chat: Chat
    scope: Scope | None
    reason: str = ""
    block: str = ""
    facts: int = 0
    captures: bool = True
    recalls: bool = True
    actor: str = ""
    turn: asyncio.Task[Turn | None] | None = field(default=None, repr=False)

    @property
    def header(self) -> str:
        """The value of the response header about memory."""
        if self.reason:
            return f"absent; reason={self.reason.encode('ascii', 'replace').decode()}"
        return f"used; items={self.facts}" if self.block else "nothing-found"


class ChatMemory:
    """The memory of the proxy."""

    def __init__(self, mnemic: Mnemic, settings: ProxySettings) -> None:
        self._mnemic, self._settings = mnemic, settings
        self._pool = ThreadPoolExecutor(THREADS, thread_name_prefix="mnemic-proxy")

    def close(self) -> None:
        """Wait for pending captures."""
        self._pool.shutdown()

    async def recall(self, around: Around) -> None:
        """Find the block for the model. Never raises; `around.reason` has the problem."""
        scope, question = around.scope, around.chat.question
        if scope is None or not question.strip():
            around.reason = around.reason or "no_question"
        elif not (self._settings.injects_context and around.recalls):
            around.reason = "switched_off"
        else:
            found, around.reason = await self._try_verb(
                around, lambda: self._find_block(scope, around.chat), self._settings.memory_timeout_s
            )
            if found is not None:
                around.block, around.facts, missing = found
                around.reason = "" if around.block else missing
        self._count(around)

    def hear(self, around: Around) -> None:
        """Start capturing the user's messages while the model works."""
        if around.scope is not None and around.captures and around.chat.new:
            around.turn = asyncio.create_task(self._capture_chat(around, []))

    def refused(self, around: Around) -> None:
        """Note that the upstream refused the request with memory, so that it is sent without."""
        around.block, around.facts, around.reason = "", 0, "refused_by_upstream"
        self._count(around)

    async def keep(self, around: Around, text: str, *, is_whole: bool) -> None:
        """Capture the answer, perhaps partial, into its question's turn, or both. Never raises."""
        if around.turn is not None:
            await around.turn
        if around.scope is None or not around.captures or not text.strip():
            return
        said, external_id = text.encode(errors="replace").decode(), around.chat.answer_id(text)
        notes = note_answer(is_whole=is_whole)
        answer = NotedDraft(role=Role.ASSISTANT, text=said, external_id=external_id, bookkeeping=notes)
        await self._capture_chat(around, [answer])

    async def _capture_chat(self, around: Around, answer: list[NotedDraft]) -> Turn | None:
        scope = around.scope
        if scope is None:
            return None
        asked = [
            {"role": Role.USER, "content": each.text.encode(errors="replace").decode(), "external_id": each.external_id}
            for each in around.chat.new
        ]
        turn, failure = await self._try_verb(around, lambda: self._mnemic.capture(scope, [*asked, *answer]), None)
        if failure:
            _log.warning("could not capture a chat (%s)", failure)
            self._mnemic.observer.count("mnemic.proxy.uncaptured", reason=failure)
        return turn

    def _find_block(self, scope: Scope, chat: Chat) -> tuple[str, int, str]:
        """The block, the number of items in it, and, if empty, what memory lacked."""
        longest = self._mnemic.settings.max_query_chars
        shown = self._mnemic.context(
            scope, chat.question[:longest], history_messages=min(len(chat.messages), MAX_HISTORY)
        )
        degraded = shown.degraded[0].partition(":")[2].strip() if shown.degraded else ""
        if not any(name in shown.blocks for name in SHOWN_BLOCKS):
            return "", 0, degraded
        block = "\n\n".join(message.content for message in shown.messages if message.role is Role.SYSTEM)
        return block, len(shown.recall.hits), degraded

    def _count(self, around: Around) -> None:
        outcome = "absent" if around.reason else "used" if around.block else "nothing_found"
        self._mnemic.observer.count("mnemic.proxy.memory", outcome=outcome, reason=around.reason or "none")
        if around.reason not in ("", "switched_off", "no_question"):
            _log.warning("continuing the chat without memory (%s)", around.reason)

    async def _try_verb(
        self, around: Around, verb: Callable[[], _Answer], timeout_s: float | None
    ) -> tuple[_Answer | None, str]:
        """A verb's result, run on a thread for the caller, or None and the reason."""

        def acted() -> _Answer:
            with acting_as(around.actor):
                return verb()

        loop = asyncio.get_running_loop()
        try:
            return await asyncio.wait_for(loop.run_in_executor(self._pool, acted), timeout_s), ""
        except TimeoutError:
            return None, "timeout"
        except Exception as error:  # noqa: BLE001 -- whatever is wrong with memory, the chat goes on
            if not isinstance(error, MnemicError):
                _log.error("unexpected %s while handling a chat", type(error).__name__, extra={"where": places(error)})
            return None, type(error).__name__


def in_session(scope: Scope, chat: Chat) -> Scope:
    """The scope with the session, by default the chat's."""
    return scope if scope.session is not None else replace(scope, session=chat.session)
