"""Runs sources of a context: at the same time where they wait for somebody else, in turn where threads would only
cost.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from typing import TypeVar

from mnemic.engine.parts import Parts

_Answer = TypeVar("_Answer")


def is_waiting(parts: Parts) -> bool:
    """True when a part waits for a server, so that sources are worth running side by side."""
    embedder = parts.embedder
    return parts.store.capabilities.is_blocking or (embedder is not None and embedder.capabilities.is_blocking)


def gather(parts: Parts, sources: Mapping[str, Callable[[], _Answer]]) -> tuple[dict[str, _Answer], dict[str, float]]:
    """The answer of each source and its time in milliseconds. An error of a source is raised when all have ended."""
    timings: dict[str, float] = {}

    def timed(name: str, source: Callable[[], _Answer]) -> _Answer:
        start = time.perf_counter()
        try:
            return source()
        finally:
            timings[name] = (time.perf_counter() - start) * 1e3

    if not is_waiting(parts) or len(sources) < 2:  # noqa: PLR2004 -- one source needs no second thread
        return {name: timed(name, source) for name, source in sources.items()}, timings
    futures: dict[str, Future[_Answer]] = {
        name: parts.pool.submit(timed, name, source) for name, source in sources.items()
    }
    return {name: future.result() for name, future in futures.items()}, timings
