"""Ends a session: what was kept for it alone expires, and all that was said in it is to be summarised."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from mnemic.engine.conversation.pending import ask_for_summary
from mnemic.engine.memories.archive import archive, is_lasting
from mnemic.engine.parts import Parts
from mnemic.errors import InvalidInputError
from mnemic.model.conversation import ENDED
from mnemic.model.query import MemoryQuery
from mnemic.model.scope import Level, Partition, Scope, Visibility
from mnemic.ports.store import UnitOfWork

REASON = "the session ended"


@dataclass(frozen=True, slots=True)
class EndReport:
    """What the end of a session brought: the ids of the memories that expired, and how many messages a job will
    summarise, or would if summaries were not switched off.
    """

    session: str
    at: datetime
    expired: tuple[str, ...]
    pending: int


def end(parts: Parts, scope: Scope, *, actor: str) -> EndReport:
    """End the scope's session, in one transaction. Ending it again changes nothing; talking on in it is allowed.

    Memories of session level are archived, private ones of other agents excepted, which expire in their time. So are
    not: what is pinned, and summaries and reflections of a session without a user.
    """
    if scope.session is None:
        raise InvalidInputError("only a session can be ended; say which, as session=…")
    now, partition = parts.clock.now(), scope.message_partition
    own = Visibility((scope.partition(Level.SESSION),), scope.agent)
    with parts.store.write() as work:
        waiting = _flush(parts, work, partition, scope.session)
        memories = work.memories.list(own, MemoryQuery(now=now))
        passing = [memory for memory in memories if memory.expires_at is not None and not is_lasting(memory)]
        expired = [memory.id for memory in passing if archive(parts, work, memory, actor=actor, reason=REASON)]
    return EndReport(scope.session, now, tuple(expired), waiting)


def _flush(parts: Parts, work: UnitOfWork, partition: Partition, session: str) -> int:
    """Mark that everything said until now is to be summarised, and ask for it; returns how many messages wait."""
    talk = work.conversations.get(partition, session)
    if talk is None:
        return 0
    was = work.conversations.cursor(partition, session, ENDED)
    if was < talk.messages:
        work.conversations.move(partition, session, ENDED, was, talk.messages)
    return ask_for_summary(parts, work, partition, session)[0]
