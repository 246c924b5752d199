"""What is put in front of a framework's model, and how: found within a time, captured after, never in the way."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from mnemic.errors import MnemicError
from mnemic.integrations.holder import AnyMnemic
from mnemic.model.item import Role
from mnemic.model.scope import Scope

BUDGET_TOKENS = 2048
TIMEOUT_S = 5.0
MAX_QUERY_CHARS = 20_000
MOST_KNOWN = 20
"""So many of a session's last messages are taken to be before the model's eyes at most."""

_SHOWN = ("profile", "facts", "documents")
"""One of these must be there to be worth telling: the date alone is not."""

_Answer = TypeVar("_Answer")
_log = logging.getLogger("mnemic.integrations")


def block(mnemic: AnyMnemic, scope: Scope, question: str, budget_tokens: int = BUDGET_TOKENS, *, known: int = 0) -> str:
    """The profile, facts and documents that belong to a question, between markers and sanitised; "" for nothing.

    `known`: how many of the session's last messages the model has before it anyway; they are not told again.
    """
    if not question.strip():
        return ""
    shown = mnemic.context(
        scope, question[:MAX_QUERY_CHARS], budget_tokens=budget_tokens, history_messages=min(known, MOST_KNOWN)
    )
    if not any(name in shown.blocks for name in _SHOWN):
        return ""
    return "\n\n".join(message.content for message in shown.messages if message.role is Role.SYSTEM)


async def tried(verb: Callable[[], _Answer], otherwise: _Answer, *, timeout_s: float | None, what: str) -> _Answer:
    """What a verb answers, on another thread than the event loop's, or `otherwise`: a memory that fails, or takes too
    long, is written to the log, and the chat goes on.
    """
    try:
        return await asyncio.wait_for(asyncio.to_thread(verb), timeout_s)
    except (MnemicError, TimeoutError) as error:
        _log.warning("a chat goes on without its memory: %s (%s)", what, type(error).__name__)
        return otherwise


def spoken(pairs: Sequence[tuple[Role, str]]) -> list[Mapping[str, object]]:
    """Messages to capture, without those that say nothing."""
    return [{"role": role, "content": text.encode(errors="replace").decode()} for role, text in pairs if text.strip()]
