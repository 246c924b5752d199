"""The port through which the engine tells what it did; never any stored text.

The port through which the engine learns the time.
"""

from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from datetime import datetime
from typing import Protocol

Attribute = str | int | float | bool | tuple[str, ...]
"""A name, a number or a size; never a text that somebody wrote, never an id of a person."""


class Span:
    """Something that takes time, while it is under way. This one keeps nothing; an observer may give another."""

    def note(self, **attributes: Attribute) -> None:
        """Add what is known by now."""

    def steps(self, timings_ms: Mapping[str, float]) -> None:
        """Tell the steps until now, one after the other from the beginning, with their milliseconds."""


NO_SPAN = Span()


class Observer(Protocol):
    """Receives counts and durations. An observer never raises and never waits."""

    def count(self, name: str, value: int = 1, **tags: str) -> None:
        """`name` happened `value` times."""
        ...

    def timing(self, name: str, ms: float, **tags: str) -> None:
        """`name` took `ms` milliseconds."""
        ...

    def span(self, name: str, **attributes: Attribute) -> AbstractContextManager[Span]:
        """`name` takes as long as the block; spans inside of it, also in threads that were given its context
        variables, are its parts. An error that leaves the block is told by its type. Unless an observer keeps spans,
        nothing happens.
        """
        del name, attributes
        return nullcontext(NO_SPAN)

    def close(self) -> None:
        """Send what waits, for a moment at most; nothing is told afterwards."""


class Clock(Protocol):
    """The time in the world. It may jump, also backwards; nothing is lost when it does."""

    def now(self) -> datetime:
        """The present moment, aware, in UTC."""
        ...
