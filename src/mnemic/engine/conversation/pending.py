"""What of a conversation waits for a summary, and the request to make it. Positions of rows, never a second list."""

from __future__ import annotations

import sys
from dataclasses import dataclass

from mnemic.engine.events import publish
from mnemic.engine.parts import Parts
from mnemic.model.conversation import ENDED, SUMMARISED
from mnemic.model.event import SummarisationRequest
from mnemic.model.life import LifeSettings
from mnemic.model.scope import Partition
from mnemic.ports.store import UnitOfWork

EVERYTHING = sys.maxsize
"""As the position that is wanted: all that was said."""


@dataclass(frozen=True, slots=True)
class Pending:
    """The messages of a conversation behind the position `after`, up to and with `until`."""

    after: int
    until: int

    @property
    def count(self) -> int:
        """How many positions these are; erased messages keep theirs."""
        return max(self.until - self.after, 0)


def pending(work: UnitOfWork, life: LifeSettings, partition: Partition, session: str, *, wanted: int = 0) -> Pending:
    """What is to be summarised now.

    That is what has fallen out of the window, if it is at least a batch; whatever was said until the session was ended;
    and in any case what was said up to the position `wanted`.
    """
    talk = work.conversations.get(partition, session)
    said = 0 if talk is None else talk.messages
    after = work.conversations.cursor(partition, session, SUMMARISED)
    ended = min(max(work.conversations.cursor(partition, session, ENDED), wanted), said)
    fallen = said - life.window_messages
    until = fallen if fallen - after >= life.summary_batch else after
    return Pending(after, max(until, ended, after))


def ask_if_pending(parts: Parts, work: UnitOfWork, partition: Partition, session: str, said: int) -> None:
    """Ask for a summary when a batch is pending in a conversation of `said` messages. The first messages of a
    conversation cost no look.
    """
    life = parts.settings.life
    if life.summarises and said >= life.window_messages + life.summary_batch:
        ask_for_summary(parts, work, partition, session)


def ask_for_summary(
    parts: Parts, work: UnitOfWork, partition: Partition, session: str, *, wanted: int = 0
) -> tuple[int, bool]:
    """Publish that what is pending waits for a summary, unless nothing is, or summaries are switched off. Returns how
    many messages are pending, and whether the request is new.
    """
    waiting = pending(work, parts.settings.life, partition, session, wanted=wanted)
    if not waiting.count or not parts.settings.life.summarises:
        return waiting.count, False
    request = SummarisationRequest(partition=partition, session=session, first=waiting.after + 1, last=waiting.until)
    return waiting.count, publish(work, request, parts.clock.now())
