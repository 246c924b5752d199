"""Who does which kind of job: the one table that joins the job loop with the use cases."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mnemic.engine.jobs import FollowUp, Handler, anew
from mnemic.engine.kinds import EMBED
from mnemic.engine.parts import Parts
from mnemic.engine.vectors import fill_vectors, lacks_vectors
from mnemic.errors import BadReplyError
from mnemic.model.job import Job
from mnemic.ports.store import UnitOfWork


def _embed(parts: Parts, job: Job) -> FollowUp:
    """Fill the vectors of the job's partition. An item written while this ran found the job still running and left none
    of its own; it is seen when the job is finished.
    """
    report = fill_vectors(parts, job.partition)
    if report.refused and report.is_complete:
        raise BadReplyError(f"the embedder refuses {len(report.refused)} texts, the first of item {report.refused[0]}")

    def follow_up(unit: UnitOfWork) -> Sequence[Job]:
        if not lacks_vectors(parts, unit, job.partition, report.passed_over):
            return []
        return [anew(job, parts.clock.now())]

    return follow_up


HANDLERS: Mapping[str, Handler] = {
    EMBED: _embed,
}
"""By kind of job. A schedule, too, adds jobs of these kinds only."""
