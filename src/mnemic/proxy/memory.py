"""Memory around a chat: recall before it, within a time limit, and capture after it. If memory fails, the chat
continues. Unknown parts of the protocol are passed through. Verbs run on the proxy's own threads, so that open streams
never hold up other doors.
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import TypeVar

from mnemic.api import Mnemic
from mnemic.api.doors import acting_as
from mnemic.errors import attempt
from mnemic.model.bookkeeping import note_answer
from mnemic.model.item import NotedDraft, Role, Turn
from mnemic.model.scope import Scope
from mnemic.model.settings import ProxySettings
from mnemic.proxy.chats import Chat

THREADS = 8  # captures and recalls at a time: the answer never waits for more
MAX_THREADS = 10_000  # answers whose session is known: bounds memory; later ones begin a session
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
        self._threads: OrderedDict[tuple[Scope, str], str] = OrderedDict()

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

    def in_session(self, scope: Scope, chat: Chat) -> Scope:
        """The scope with the session, by default that of the answer which the chat continues, else the chat's own."""
        known = self._threads.get((replace(scope, session=None), chat.thread))
        return replace(scope, session=scope.session or known or chat.session)

    def note_thread(self, around: Around, id: str) -> None:
        """Note the session of an answer, and of the conversation that it belongs to, for the caller's next requests."""
        if around.scope is None or around.scope.session is None:
            return
        conversation = around.chat.thread if around.chat.body.get("conversation") else ""
        for each in filter(None, (id, conversation)):
            self._threads[replace(around.scope, session=None), each] = around.scope.session
        while len(self._threads) > MAX_THREADS:
            self._threads.popitem(last=False)

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

        def acted() -> _Answer | Exception:
            with acting_as(around.actor, "proxy"):
                return attempt(verb, _log.error, "while handling a chat")

        loop = asyncio.get_running_loop()
        try:
            answer = await asyncio.wait_for(loop.run_in_executor(self._pool, acted), timeout_s)
        except (TimeoutError, RuntimeError) as error:  # or the pool was closed
            return None, "timeout" if isinstance(error, TimeoutError) else type(error).__name__
        return (None, type(answer).__name__) if isinstance(answer, Exception) else (answer, "")
