"""What one part of a memory's life asks of another, without knowing who answers.

Events name rows and hold no text that anybody said, so that an erasure leaves nothing behind in those that wait. A part
publishes them in the transaction of what caused them, and they are handled later and elsewhere (`engine/events.py`).
"""

from __future__ import annotations

from dataclasses import dataclass

from mnemic.model.scope import Partition


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """Something is due in a session of a partition."""

    partition: Partition
    session: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SummarisationRequest(Event):
    """The messages of the session at the positions `first` to `last` (inclusive) wait for a summary. `last` 0: those
    that wait when it is handled.
    """

    first: int = 1
    last: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsolidationRequest(Event):
    """A summary of the session, the memory with the id `summary`, is new among what is remembered for long."""

    summary: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReflectionRequest(Event):
    """The session has enough summaries to be reflected on."""
