"""Keeps counts and durations in this process, for `health` and for tests."""

from __future__ import annotations

import threading
from collections import Counter, deque

from mnemic.ports.observer import Observer

Key = tuple[str, tuple[tuple[str, str], ...]]
_KEPT = 1000


class CounterObserver(Observer):
    """The `Observer` port over dictionaries. `counts` are by name and tags, `timings_ms` hold the last thousand."""

    def __init__(self) -> None:
        self.counts: Counter[Key] = Counter()
        self.timings_ms: dict[Key, deque[float]] = {}
        self._guard = threading.Lock()

    def count(self, name: str, value: int = 1, **tags: str) -> None:
        with self._guard:
            self.counts[name, tuple(sorted(tags.items()))] += value

    def timing(self, name: str, ms: float, **tags: str) -> None:
        with self._guard:
            self.timings_ms.setdefault((name, tuple(sorted(tags.items()))), deque(maxlen=_KEPT)).append(ms)


_: type[Observer] = CounterObserver
