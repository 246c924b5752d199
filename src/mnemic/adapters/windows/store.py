"""The window that is nothing but the store's rows: always right, never out of step, and nothing to rebuild."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime

from mnemic.model.health import Finding
from mnemic.model.item import Message
from mnemic.model.scope import Partition, Visibility
from mnemic.ports.store import Store
from mnemic.ports.window import Window, within_ttl


class StoreWindow:
    """Reads the last messages of a session from `store`, as long as one was written within the last `ttl_s` seconds."""

    def __init__(self, store: Store, *, ttl_s: float) -> None:
        self._store = store
        self._ttl_s = ttl_s

    def push(self, messages: Sequence[Message]) -> None:
        """The rows are there already."""

    def latest(self, partition: Partition, session: str, limit: int, now: datetime) -> list[Message]:
        """The rows that are the window, read at this moment."""
        if limit <= 0:
            return []
        with self._store.read() as work:
            messages = work.messages.latest(Visibility((partition,), None), session, limit)
        return within_ttl(messages, now, self._ttl_s)

    def moved(self, partition: Partition, sessions: Sequence[str], now: datetime) -> None:
        """There is no copy."""

    def clear(self, partition: Partition, session: str) -> bool:
        """There is no copy."""
        del partition, session
        return True

    def forget(self, partitions: Collection[Partition]) -> bool:
        """There is no copy."""
        del partitions
        return True

    def diagnose(self) -> list[Finding]:
        """The store is looked at by itself."""
        return []

    def close(self) -> None:
        """The store is closed by whoever opened it."""


_: type[Window] = StoreWindow
