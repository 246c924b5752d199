"""Runs sources of a context: at the same time where they wait for somebody else, in turn where threads would only
cost.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from concurrent.futures import wait
from contextvars import copy_context
from types import MappingProxyType

from mnemic.engine.parts import Parts

_NOTHING: Mapping[str, Callable[[], None]] = MappingProxyType({})


def is_waiting(parts: Parts) -> bool:
    """True when a part waits for a server, so that sources are worth running side by side."""
    return parts.store.capabilities.is_blocking or any(each.capabilities.is_blocking for each in parts.embedders)


Sources = Mapping[str, Callable[[], None]]


def gather(
    parts: Parts, sources: Sources, prepare: Callable[[], None] = lambda: None, prepared: Sources = _NOTHING
) -> dict[str, float]:
    """Run every source to its end; returns the time of each in milliseconds. An error is raised when all have ended.

    `prepare` runs here, while the `sources` are under way; those of `prepared` need it and start after it.
    """
    timings: dict[str, float] = {}

    def timed(name: str, source: Callable[[], None]) -> None:
        start = time.perf_counter()
        try:
            source()
        finally:
            timings[name] = (time.perf_counter() - start) * 1e3

    if is_waiting(parts):
        running = [parts.pool.submit(copy_context().run, timed, name, source) for name, source in sources.items()]
        try:
            prepare()
            running += [parts.pool.submit(copy_context().run, timed, name, source) for name, source in prepared.items()]
        finally:
            wait(running)
        for each in running:
            each.result()
    else:
        prepare()
        for name, source in (*sources.items(), *prepared.items()):
            timed(name, source)
    return timings
