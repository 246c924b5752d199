"""Memory around a chat: recalled before within a time, captured after. Whatever fails of it, the chat goes on.

The verbs run on threads of the proxy's own, so that open streams never hold up another door.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import TypeVar

from mnemic.api import Mnemic
from mnemic.api.acting import acting_as
from mnemic.errors import MnemicError, places
from mnemic.model.bookkeeping import note_answer
from mnemic.model.item import NotedDraft, Role, Turn
from mnemic.model.scope import Scope
from mnemic.model.settings import ProxySettings
from mnemic.proxy.chats import Chat

THREADS = 8
MAX_HISTORY = 20
SHOWN_BLOCKS = ("profile", "facts", "documents")
"""What must be there to be worth changing a request: the date alone is not."""

_Answer = TypeVar("_Answer")
_log = logging.getLogger("mnemic.proxy")


@dataclass(slots=True)
class Around:
    """Memory around one chat. `scope` None: there is none, for `reason`. `block` is put in front of the model, "" for
    nothing. `reason` says why memory is absent: "" when it is not. `recalls` and `captures`: whether this chat is to
    know what is remembered, and is to be remembered. `actor` is who asked.
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
        """What the answer says of it in its headers."""
        if self.reason:
            return f"absent; reason={self.reason.encode('ascii', 'replace').decode()}"
        return f"used; items={self.facts}" if self.block else "nothing-found"


class ChatMemory:
    """The memory of the proxy."""

    def __init__(self, mnemic: Mnemic, settings: ProxySettings) -> None:
        self._mnemic, self._settings = mnemic, settings
        self._pool = ThreadPoolExecutor(THREADS, thread_name_prefix="mnemic-proxy")

    def close(self) -> None:
        """Wait for what is being captured."""
        self._pool.shutdown()

    async def recall(self, around: Around) -> None:
        """Find what belongs in front of the model. Never raises; `around.reason` says what was wrong."""
        scope, question = around.scope, around.chat.question
        if scope is None or not question.strip():
            around.reason = around.reason or "no_question"
        elif not (self._settings.injects_context and around.recalls):
            around.reason = "switched_off"
        else:
            found, around.reason = await self._tried(
                around, lambda: self._found(scope, around.chat), self._settings.memory_timeout_s
            )
            if found is not None:
                around.block, around.facts, missing = found
                around.reason = "" if around.block else missing
        self._count(around)

    def hear(self, around: Around) -> None:
        """Begin to capture what the user said, beside the question to the model."""
        if around.scope is not None and around.captures and around.chat.new:
            around.turn = asyncio.create_task(self._captured(around, []))

    def refused(self, around: Around) -> None:
        """The upstream refused the request with memory in it, so it goes without."""
        around.block, around.facts, around.reason = "", 0, "refused_by_upstream"
        self._count(around)

    async def keep(self, around: Around, text: str, *, is_whole: bool) -> None:
        """Capture the answer, or what came of it, into the turn of its question; both where that could not be captured
        before. Never raises.
        """
        if around.turn is not None:
            await around.turn
        if around.scope is None or not around.captures or not text.strip():
            return
        said, external_id = text.encode(errors="replace").decode(), around.chat.answer_id(text)
        notes = note_answer(is_whole=is_whole)
        answer = NotedDraft(role=Role.ASSISTANT, text=said, external_id=external_id, bookkeeping=notes)
        await self._captured(around, [answer])

    async def _captured(self, around: Around, answer: list[NotedDraft]) -> Turn | None:
        scope = around.scope
        if scope is None:
            return None
        asked = [
            {"role": Role.USER, "content": each.text.encode(errors="replace").decode(), "external_id": each.external_id}
            for each in around.chat.new
        ]
        turn, failure = await self._tried(around, lambda: self._mnemic.capture(scope, [*asked, *answer]), None)
        if failure:
            _log.warning("a chat was not captured (%s)", failure)
            self._mnemic.observer.count("mnemic.proxy.uncaptured", reason=failure)
        return turn

    def _found(self, scope: Scope, chat: Chat) -> tuple[str, int, str]:
        """The block, how many things are in it, and, where it is empty, what was missing of memory."""
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
            _log.warning("a chat goes on without its memory (%s)", around.reason)

    async def _tried(
        self, around: Around, verb: Callable[[], _Answer], timeout_s: float | None
    ) -> tuple[_Answer | None, str]:
        """What a verb answers, on one of the threads and on behalf of who asked, or None and why."""

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
                _log.error("unexpected %s around a chat", type(error).__name__, extra={"where": places(error)})
            return None, type(error).__name__


def in_session(scope: Scope, chat: Chat) -> Scope:
    """The scope with the session that the chat itself tells, where nobody names one."""
    return scope if scope.session is not None else replace(scope, session=chat.session)
