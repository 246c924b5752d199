"""Work that must still be done, written in the transaction of its cause."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from mnemic.model.llm import Usage
from mnemic.model.scope import Partition


class JobState(StrEnum):
    """Where a job stands; `dead` ones gave up and wait for a person."""

    PENDING = "pending"
    RUNNING = "running"
    DONE = "done"
    DEAD = "dead"


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One piece of work. `key` makes it idempotent: one pending or running job per (partition, kind, key).

    Runnable from `run_at`; while running it is leased to `worker` until `leased_until`, then anybody may take it.
    `usage` adds up what all its tries cost of a language model.
    """

    id: str
    partition: Partition
    kind: str
    key: str
    created_at: datetime
    run_at: datetime
    payload: Mapping[str, object] = field(default_factory=dict[str, object])
    state: JobState = JobState.PENDING
    attempts: int = 0
    worker: str | None = None
    leased_until: datetime | None = None
    error: str = ""
    usage: Usage = field(default_factory=Usage)
