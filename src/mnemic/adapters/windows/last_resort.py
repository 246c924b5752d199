"""The last messages of the sessions of this process, for when neither a copy nor the store answers."""

from __future__ import annotations

import threading
from collections import OrderedDict, deque
from collections.abc import Sequence
from typing import Generic, TypeVar

from mnemic.model.item import Message

MOST_SESSIONS = 1000
_Place = TypeVar("_Place")


class LastResort(Generic[_Place]):
    """A list for each of the sessions used last, the oldest message removed when there are more than `most`. Any
    thread may call.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._lists: OrderedDict[_Place, deque[Message]] = OrderedDict()
        self._guard = threading.Lock()

    def add(self, place: _Place, messages: Sequence[Message]) -> None:
        """Note messages behind those that are there."""
        with self._guard:
            self._of(place).extend(messages)

    def put(self, place: _Place, messages: Sequence[Message]) -> None:
        """Note messages in the place of those that are there."""
        with self._guard:
            kept = self._of(place)
            kept.clear()
            kept.extend(messages)

    def get(self, place: _Place) -> list[Message] | None:
        """The messages, oldest first; None when nothing is known of the session."""
        with self._guard:
            kept = self._lists.get(place)
            return None if kept is None else list(kept)

    def forget(self, place: _Place) -> None:
        """Let go of a session."""
        with self._guard:
            self._lists.pop(place, None)

    def places(self) -> list[_Place]:
        """The sessions that are known."""
        with self._guard:
            return list(self._lists)

    def _of(self, place: _Place) -> deque[Message]:
        kept = self._lists.setdefault(place, deque(maxlen=self._most))
        self._lists.move_to_end(place)
        while len(self._lists) > MOST_SESSIONS:
            self._lists.popitem(last=False)
        return kept
