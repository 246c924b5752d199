"""When a whole reply must be there."""

from __future__ import annotations

import time


class Deadline:
    """The moment `timeout_s` seconds from the making of this object."""

    def __init__(self, timeout_s: float) -> None:
        self.timeout_s = timeout_s
        self._end = time.monotonic() + timeout_s

    @property
    def left_s(self) -> float:
        """Seconds that are left, at least a thousandth."""
        return max(self._end - time.monotonic(), 1e-3)

    @property
    def is_over(self) -> bool:
        """True from the moment on."""
        return time.monotonic() >= self._end
