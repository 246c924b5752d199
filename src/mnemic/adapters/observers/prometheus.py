"""Counts and durations as Prometheus metrics. `mnemic serve` shows them at `/metrics`."""

import re
import threading
from collections.abc import Mapping
from typing import TypeVar

from prometheus_client import CollectorRegistry, Counter, Histogram

from mnemic.ports.observer import Observer

# from an index lookup (0.5 ms) to a slow model (1 min)
BUCKETS_S = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 15.0, 60.0)
_Metric = TypeVar("_Metric", Counter, Histogram)
_BROKEN = re.compile(r"[^a-zA-Z0-9_]")


class PrometheusObserver(Observer):
    """The `Observer` port over a registry. `mnemic.recall` becomes `mnemic_recall`, with `_total` for counters and
    `_seconds` for durations. A name keeps its first tags: missing ones are empty, others dropped.
    """

    def __init__(self, registry: CollectorRegistry | None = None) -> None:
        self.registry = registry or CollectorRegistry()
        self._counters: dict[str, tuple[Counter, tuple[str, ...]]] = {}
        self._timings: dict[str, tuple[Histogram, tuple[str, ...]]] = {}
        self._guard = threading.Lock()

    def count(self, name: str, value: int = 1, **tags: str) -> None:
        counter, labels = self._counter(name, tags)
        _labelled(counter, labels, tags).inc(max(value, 0))

    def timing(self, name: str, ms: float, **tags: str) -> None:
        histogram, labels = self._histogram(name, tags)
        _labelled(histogram, labels, tags).observe(ms / 1e3)

    def _counter(self, name: str, tags: Mapping[str, str]) -> tuple[Counter, tuple[str, ...]]:
        with self._guard:
            if name not in self._counters:
                labels = tuple(sorted(tags))
                made = Counter(_BROKEN.sub("_", name), f"How often: {name}", labels, registry=self.registry)
                self._counters[name] = made, labels
            return self._counters[name]

    def _histogram(self, name: str, tags: Mapping[str, str]) -> tuple[Histogram, tuple[str, ...]]:
        with self._guard:
            if name not in self._timings:
                labels = tuple(sorted(tags))
                told = f"How long: {name}"
                place = f"{_BROKEN.sub('_', name)}_seconds"
                made = Histogram(place, told, labels, buckets=BUCKETS_S, registry=self.registry)
                self._timings[name] = made, labels
            return self._timings[name]


def _labelled(metric: _Metric, labels: tuple[str, ...], tags: Mapping[str, str]) -> _Metric:
    return metric.labels(*(tags.get(label, "") for label in labels)) if labels else metric


_: type[Observer] = PrometheusObserver
