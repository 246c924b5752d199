"""The window over the store's rows alone, and a last resort of recent messages in memory."""

import threading
from collections import OrderedDict, deque
from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Generic, TypeVar

from mnemic.model.health import Finding
from mnemic.model.item import Message
from mnemic.model.scope import Partition, Visibility
from mnemic.ports.index import Window, within_ttl
from mnemic.ports.store import Store


class StoreWindow:
    """Reads the last messages of a session from `store`, if one was written within the last `ttl_s` seconds."""

    def __init__(self, store: Store, *, ttl_s: float) -> None:
        self._store = store
        self._ttl_s = ttl_s

    def push(self, messages: Sequence[Message]) -> None:
        """Nothing to do: there is no copy."""

    def latest(self, partition: Partition, session: str, limit: int, now: datetime) -> list[Message]:
        if limit <= 0:
            return []
        with self._store.read() as work:
            messages = work.messages.latest(Visibility((partition,), None), session, limit)
        return within_ttl(messages, now, self._ttl_s)

    def moved(self, partition: Partition, sessions: Sequence[str], now: datetime) -> None:
        """Nothing to do: there is no copy."""

    def clear(self, partition: Partition, session: str) -> bool:
        del partition, session
        return True

    def forget(self, partitions: Collection[Partition]) -> bool:
        del partitions
        return True

    def diagnose(self) -> list[Finding]:
        return []

    def close(self) -> None:
        """Nothing to do: the store's opener closes it."""


_: type[Window] = StoreWindow


MOST_SESSIONS = 1000  # the oldest copies are dropped first; bounds memory
_Place = TypeVar("_Place")


class LastResort(Generic[_Place]):
    """A list per recently used session, of up to `most` messages. Thread-safe."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._lists: OrderedDict[_Place, deque[Message]] = OrderedDict()
        self._guard = threading.Lock()

    def add(self, place: _Place, messages: Sequence[Message]) -> None:
        """Append messages."""
        with self._guard:
            self._list_of(place).extend(messages)

    def put(self, place: _Place, messages: Sequence[Message]) -> None:
        """Replace the messages."""
        with self._guard:
            kept = self._list_of(place)
            kept.clear()
            kept.extend(messages)

    def get(self, place: _Place) -> list[Message] | None:
        """The messages, oldest first. None if the session is unknown."""
        with self._guard:
            kept = self._lists.get(place)
            return None if kept is None else list(kept)

    def forget(self, place: _Place) -> None:
        with self._guard:
            self._lists.pop(place, None)

    def places(self) -> list[_Place]:
        """The known sessions."""
        with self._guard:
            return list(self._lists)

    def _list_of(self, place: _Place) -> deque[Message]:
        kept = self._lists.setdefault(place, deque(maxlen=self._most))
        self._lists.move_to_end(place)
        while len(self._lists) > MOST_SESSIONS:
            self._lists.popitem(last=False)
        return kept
