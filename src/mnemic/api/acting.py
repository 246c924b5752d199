"""Who is acting: the name that is written into the history of what the verbs change.

A memory is opened by one actor. Where it serves many, as the doors over HTTP do, `acting_as` names the one who asked
while that is worked on; a thread that is started meanwhile must be given the context of its starter.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar

_acting: ContextVar[str | None] = ContextVar("mnemic_acting", default=None)


@contextmanager
def acting_as(actor: str) -> Generator[None]:
    """What is done within the block, and in what it awaits, is done by `actor`, whoever opened the memory."""
    before = _acting.set(actor)
    try:
        yield
    finally:
        _acting.reset(before)


def acting() -> str | None:
    """Who is acting here; None where nobody was named, so that it is who opened the memory."""
    return _acting.get()


class Acting:
    """What the verbs know of who calls them; a part of `Mnemic`."""

    _opened_by: str

    @property
    def _actor(self) -> str:
        """Who is acting, else who opened this memory."""
        return _acting.get() or self._opened_by
