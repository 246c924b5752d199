"""The verbs of jobs."""

from __future__ import annotations

import builtins
from collections.abc import Iterable, Sequence

from mnemic.engine.engine import Parts
from mnemic.engine.inputs import check_choice, check_id
from mnemic.engine.jobs import LISTED, list_jobs, retry_jobs
from mnemic.model.records import Job, JobState
from mnemic.model.scope import Scope

UNFINISHED = (JobState.PENDING, JobState.RUNNING, JobState.DEAD)


class JobVerbs:
    """Work that must still be done, and work that gave up."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    def list(
        self, scope: Scope, *, states: Iterable[JobState | str] = UNFINISHED, limit: int = LISTED
    ) -> builtins.list[Job]:
        """Jobs of what the scope may see, oldest first; unless told otherwise those that are not done."""
        wanted = [check_choice(JobState, state, "states") for state in states]
        return list_jobs(self._parts, scope, states=wanted, limit=limit)

    def retry(self, scope: Scope, ids: Sequence[str]) -> int:
        """Let dead jobs be tried again from now; returns how many there were."""
        return retry_jobs(self._parts, scope, [check_id(each) for each in ids])
