"""The port of the session window: the last messages of a conversation, close at hand."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime, timedelta
from typing import Protocol

from mnemic.model.health import Finding
from mnemic.model.item import Message
from mnemic.model.scope import Partition


class Window(Protocol):
    """Gives the last messages of a session. The rows of the store stay the truth; an adapter may keep a copy of them,
    which it rebuilds when it is lost, so no call of this port loses a message, and none raises because a copy is away.
    """

    def push(self, messages: Sequence[Message]) -> None:
        """Told after the commit that these messages, of one session and in order, were added to it."""
        ...

    def latest(self, partition: Partition, session: str, limit: int, now: datetime) -> list[Message]:
        """The last `limit` messages of a session that are not erased, oldest first; none when the last of them was
        written longer ago than the window's time to live, when the session is unknown, or `limit` is 0. Raises
        `BackendError` when neither copy nor store answers.
        """
        ...

    def moved(self, partition: Partition, sessions: Sequence[str], now: datetime) -> None:
        """Told after the commit that more of these sessions was summarised or curated, so that less of it waits."""
        ...

    def clear(self, partition: Partition, session: str) -> bool:
        """Let go of a copy of the session, as after a message of it was erased; the rows stay as they are. False when
        it is not certain that the copy is gone: then it is let go as soon as that can be done, and ends by itself.
        """
        ...

    def forget(self, partitions: Collection[Partition]) -> bool:
        """The same for all sessions of partitions, under every name."""
        ...

    def diagnose(self) -> list[Finding]:
        """What the doctor should say; nothing where there is no copy."""
        ...

    def close(self) -> None:
        """Let go of connections; closing twice is harmless."""
        ...


def within_ttl(messages: Sequence[Message], now: datetime, ttl_s: float) -> list[Message]:
    """The messages, or none when the last of them was written more than `ttl_s` seconds before `now`."""
    is_open = bool(messages) and messages[-1].created_at >= now - timedelta(seconds=ttl_s)
    return list(messages) if is_open else []
