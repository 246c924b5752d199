"""Signals of the system, handled for as long as a block lasts."""

import signal
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from types import FrameType
from typing import Any

ENDING = (signal.SIGINT, signal.SIGTERM)
HANDLED = (*ENDING, *([signal.SIGHUP] if hasattr(signal, "SIGHUP") else []))
"""All that a server handles. Windows has no SIGHUP."""


@contextmanager
def handle_signals(
    numbers: Iterable[signal.Signals], handler: Callable[[int, FrameType | None], None]
) -> Generator[dict[int, Any]]:
    """Within the block the signals are handled by `handler`; what it gives is how they were handled before."""
    before: dict[int, Any] = {number: signal.signal(number, handler) for number in numbers}
    try:
        yield before
    finally:
        for number, earlier in before.items():
            signal.signal(number, earlier)
