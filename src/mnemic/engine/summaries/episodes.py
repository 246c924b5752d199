"""Takes a new summary up among the episodes of its session, and asks for a reflection when there are enough.

The count since the last reflection goes up once for each summary, however often the request is handled: it is moved in
the transaction that ends the request.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence

from mnemic.engine.parts import Parts
from mnemic.model.conversation import UNREFLECTED
from mnemic.model.event import ConsolidationRequest, ReflectionRequest
from mnemic.model.scope import Visibility
from mnemic.ports.store import UnitOfWork

_log = logging.getLogger("mnemic.consolidate")


def consolidate_summary(parts: Parts, work: UnitOfWork, request: ConsolidationRequest) -> Sequence[ReflectionRequest]:
    """Count the summary; at the threshold the count begins anew, and a reflection is asked for. Nothing is counted when
    the summary is gone by then. While reflections are switched off, the count goes on.
    """
    work.dependants.of(request.partition, ())  # takes the lock, so that two workers count two
    if not work.memories.get(Visibility((request.partition,), None), [request.summary]):
        _log.debug("session %s: a summary was erased before it was counted", request.session)
        return ()
    place, life = (request.partition, request.session), parts.settings.life
    was = work.conversations.cursor(*place, UNREFLECTED)
    is_due = life.reflects and was + 1 >= life.reflection_threshold
    work.conversations.move(*place, UNREFLECTED, was, 0 if is_due else was + 1)
    return [ReflectionRequest(partition=request.partition, session=request.session)] if is_due else ()
