"""Which threads answer which requests, so that slow work never holds up quick work.

Few threads answer what only computes: beyond the cores of the machine they get into each other's way, and sixteen that
each wait for the interpreter are slower together than three. Writes have threads of their own, since they wait for
whoever else writes, and so has long work. Where the store is a server, threads mostly wait, and there are more.
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable
from functools import partial, wraps
from inspect import iscoroutinefunction
from typing import Any

from anyio import CapacityLimiter
from anyio.to_thread import run_sync

from mnemic.verbs import Lane

WAITING_THREADS = 16
"""Threads for quick work where the store is a server; so many also do long work."""

LEAST_QUICK, LEAST_WRITERS = 2, 2


class Lanes:
    """The threads of one application. `quick` of them answer reads, half as many (at least two) short writes."""

    def __init__(self, quick: int) -> None:
        writers = max(LEAST_WRITERS, quick // 2)
        sizes = {Lane.READ: quick, Lane.WRITE: writers, Lane.LONG: WAITING_THREADS}
        self._limiters = {lane: CapacityLimiter(size) for lane, size in sizes.items()}

    def on(self, lane: Lane, endpoint: Callable[..., Any]) -> Callable[..., Awaitable[Any]]:
        """The endpoint as one that is awaited while a thread of this lane runs it."""
        if iscoroutinefunction(endpoint):
            return endpoint
        limiter = self._limiters[lane]

        @wraps(endpoint)
        async def run(**given: Any) -> Any:
            return await run_sync(partial(endpoint, **given), limiter=limiter)

        return run


def quick_threads(*, is_waiting: bool) -> int:
    """How many threads suit this machine, and a store that is a server or not."""
    return WAITING_THREADS if is_waiting else max(LEAST_QUICK, os.cpu_count() or 1)
