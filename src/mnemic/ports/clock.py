"""The port through which the engine learns the time."""

from __future__ import annotations

from datetime import datetime
from typing import Protocol


class Clock(Protocol):
    """The time in the world. It may jump, also backwards; nothing is lost when it does."""

    def now(self) -> datetime:
        """The present moment, aware, in UTC."""
        ...
