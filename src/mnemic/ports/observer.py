"""The ports of observation and of time. Observers see names, numbers and durations, never stored text."""

from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from datetime import datetime
from typing import Protocol

Attribute = str | int | float | bool | tuple[str, ...]
"""A name, number or size. Never text that a person wrote, nor a person's id."""


class Span:
    """A running operation. This one records nothing; an observer may return its own."""

    def note(self, **attributes: Attribute) -> None:
        """Add attributes known so far."""

    def steps(self, timings_ms: Mapping[str, float]) -> None:
        """Report the steps so far in order, each with its milliseconds."""


NO_SPAN = Span()


class Observer(Protocol):
    """Receives counts and durations. Never raises, never waits."""

    def count(self, name: str, value: int = 1, **tags: str) -> None:
        """`name` happened `value` times."""
        ...

    def timing(self, name: str, ms: float, **tags: str) -> None:
        """`name` took `ms` milliseconds."""
        ...

    def span(self, name: str, **attributes: Attribute) -> AbstractContextManager[Span]:
        """Measures the block as `name`. Spans inside it are its children, also in threads that got its context
        variables. Records the type of an error that leaves the block. Without an observer that keeps spans, this does
        nothing.
        """
        del name, attributes
        return nullcontext(NO_SPAN)

    def close(self) -> None:
        """Send pending data, waiting a moment at most. Nothing is reported after that."""


class Clock(Protocol):
    """The current time. It may jump, also backwards; nothing is lost if it does."""

    def now(self) -> datetime:
        """The current time, timezone-aware, UTC."""
        ...
