"""What of a conversation waits for a summary, and the job that makes it. Positions of rows, never a second list."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from mnemic.engine.kinds import SUMMARISE
from mnemic.engine.parts import Parts, new_id
from mnemic.model.conversation import ENDED, SUMMARISED
from mnemic.model.job import Job
from mnemic.model.life import LifeSettings
from mnemic.model.scope import Partition
from mnemic.ports.store import UnitOfWork


@dataclass(frozen=True, slots=True)
class Pending:
    """The messages of a conversation behind the position `after`, up to and with `until`."""

    after: int
    until: int

    @property
    def count(self) -> int:
        """How many positions these are; erased messages keep theirs."""
        return max(self.until - self.after, 0)


def pending(
    work: UnitOfWork, life: LifeSettings, partition: Partition, session: str, *, is_flush: bool = False
) -> Pending:
    """What is to be summarised now.

    That is what has fallen out of the window, if it is at least a batch; whatever was said until the session was ended;
    and with `is_flush` everything.
    """
    talk = work.conversations.get(partition, session)
    said = 0 if talk is None else talk.messages
    after = work.conversations.cursor(partition, session, SUMMARISED)
    if is_flush:
        return Pending(after, max(said, after))
    ended = min(work.conversations.cursor(partition, session, ENDED), said)
    fallen = said - life.window_messages
    until = fallen if fallen - after >= life.summary_batch else after
    return Pending(after, max(until, ended, after))


def add_if_pending(parts: Parts, work: UnitOfWork, partition: Partition, session: str, said: int) -> None:
    """Leave the job of summarising when a batch is pending in a conversation of `said` messages. The first messages of
    a conversation cost no look.
    """
    life = parts.settings.life
    if not life.summarises:
        return
    if said >= life.window_messages + life.summary_batch and pending(work, life, partition, session).count:
        work.jobs.add([summary_job(parts, partition, session)])


def summary_job(parts: Parts, partition: Partition, session: str) -> Job:
    """The job that summarises what is pending in a conversation when it runs."""
    now = parts.clock.now()
    payload: Mapping[str, object] = {"session": session}
    return Job(
        id=new_id(now), partition=partition, kind=SUMMARISE, key=session, created_at=now, run_at=now, payload=payload
    )
