"""The port through which the engine tells what it did; never any stored text."""

from __future__ import annotations

from typing import Protocol


class Observer(Protocol):
    """Receives counts and durations. An observer never raises and never waits."""

    def count(self, name: str, value: int = 1, **tags: str) -> None:
        """`name` happened `value` times."""
        ...

    def timing(self, name: str, ms: float, **tags: str) -> None:
        """`name` took `ms` milliseconds."""
        ...
