"""Runs sources of a context: at the same time where they wait for somebody else, in turn where threads would only
cost.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

from mnemic.engine.parts import Parts


def is_waiting(parts: Parts) -> bool:
    """True when a part waits for a server, so that sources are worth running side by side."""
    return parts.store.capabilities.is_blocking or any(each.capabilities.is_blocking for each in parts.embedders)


def gather(parts: Parts, sources: Mapping[str, Callable[[], None]]) -> dict[str, float]:
    """Run every source to its end; returns the time of each in milliseconds. An error is raised when all have ended."""
    timings: dict[str, float] = {}

    def timed(name: str, source: Callable[[], None]) -> None:
        start = time.perf_counter()
        try:
            source()
        finally:
            timings[name] = (time.perf_counter() - start) * 1e3

    if is_waiting(parts):
        for future in [parts.pool.submit(timed, name, source) for name, source in sources.items()]:
            future.result()
    else:
        for name, source in sources.items():
            timed(name, source)
    return timings
