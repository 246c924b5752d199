"""The port of jobs, one of those that a unit of work exposes (see `ports.store`)."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from mnemic.model.job import Job, JobState
from mnemic.model.scope import Partition


class Jobs(Protocol):
    """Work to do, events that wait included."""

    def add(self, jobs: Sequence[Job]) -> list[bool]:
        """Insert each unless one with its partition, kind and key is pending or running: True where inserted. One
        whose id is taken in its partition raises `ConflictError`.
        """
        ...

    def claim(self, kinds: Sequence[str], worker: str, now: datetime, leased_until: datetime) -> Job | None:
        """Lease the runnable job that waits longest (pending and due, or running with a lease that has run out), with
        its attempts counted up. No job is claimed by two.
        """
        ...

    def finish(self, job: Job) -> bool:
        """Mark it done, with `job.usage`, if the lease of `job.worker` still holds; False when somebody else has it."""
        ...

    def fail(self, job: Job, error: str, retry_at: datetime | None) -> bool:
        """Back to pending at `retry_at`, or dead when None, with `job.usage`; False when somebody else has it."""
        ...

    def list(self, partitions: Sequence[Partition] | None, states: Sequence[JobState], limit: int) -> list[Job]:
        """Jobs, oldest first; partitions None means every one (for maintenance only)."""
        ...

    def retry(self, partitions: Sequence[Partition] | None, ids: Sequence[str], now: datetime) -> int:
        """Make dead jobs pending again with no attempts counted, of several with one key the oldest, and none whose key
        is pending or running; returns how many.
        """
        ...
