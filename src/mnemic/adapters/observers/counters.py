"""Counts and durations in this process, for `health` and tests, and several observers combined."""

import threading
from collections import Counter, deque
from collections.abc import Generator, Mapping, Sequence
from contextlib import ExitStack, contextmanager

from mnemic.ports.observer import Attribute, Observer, Span

Key = tuple[str, tuple[tuple[str, str], ...]]
_KEPT_TIMINGS = 1000  # per name: enough for a 99th percentile, and bounds memory


class CounterObserver(Observer):
    """The `Observer` port over dictionaries. `counts` are by name and tags, `timings_ms` keep the last thousand."""

    def __init__(self) -> None:
        self.counts: Counter[Key] = Counter()
        self.timings_ms: dict[Key, deque[float]] = {}
        self._guard = threading.Lock()

    def count(self, name: str, value: int = 1, **tags: str) -> None:
        with self._guard:
            self.counts[name, tuple(sorted(tags.items()))] += value

    def timing(self, name: str, ms: float, **tags: str) -> None:
        with self._guard:
            self.timings_ms.setdefault((name, tuple(sorted(tags.items()))), deque(maxlen=_KEPT_TIMINGS)).append(ms)


_: type[Observer] = CounterObserver


class SeveralObservers(Observer):
    """The `Observer` port over several others, in order."""

    def __init__(self, observers: Sequence[Observer]) -> None:
        self.observers = tuple(observers)

    def count(self, name: str, value: int = 1, **tags: str) -> None:
        for each in self.observers:
            each.count(name, value, **tags)

    def timing(self, name: str, ms: float, **tags: str) -> None:
        for each in self.observers:
            each.timing(name, ms, **tags)

    @contextmanager
    def span(self, name: str, **attributes: Attribute) -> Generator[Span]:
        with ExitStack() as stack:
            yield _Spans([stack.enter_context(each.span(name, **attributes)) for each in self.observers])

    def close(self) -> None:
        for each in self.observers:
            each.close()


class _Spans(Span):
    def __init__(self, spans: Sequence[Span]) -> None:
        self._spans = spans

    def note(self, **attributes: Attribute) -> None:
        for each in self._spans:
            each.note(**attributes)

    def steps(self, timings_ms: Mapping[str, float]) -> None:
        for each in self._spans:
            each.steps(timings_ms)


def observers_of(observer: Observer) -> tuple[Observer, ...]:
    """The observers that an observer combines."""
    return observer.observers if isinstance(observer, SeveralObservers) else (observer,)


_: type[Observer] = SeveralObservers
