"""Work that must still be done."""

from __future__ import annotations

import builtins
import sqlite3
from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime

from mnemic.adapters.stores.rows import dumps, job_columns, micros, to_job
from mnemic.adapters.stores.sqlite.session import Session
from mnemic.adapters.stores.sqlite.statements import statements
from mnemic.errors import ConflictError
from mnemic.model.records import Job, JobState
from mnemic.model.scope import Partition
from mnemic.model.values import to_microseconds


class SqliteJobs:
    """The `Jobs` port."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._sql = statements("jobs")

    def add(self, jobs: Sequence[Job]) -> list[bool]:
        return [self._add(job) for job in jobs]

    def claim(self, kinds: Sequence[str], worker: str, now: datetime, leased_until: datetime) -> Job | None:
        key = {
            "kinds": dumps(list(kinds)),
            "worker": worker,
            "now": to_microseconds(now),
            "leased_until": to_microseconds(leased_until),
        }
        claimed = self._session.write(self._sql["claim"], key).fetchone()
        if claimed is None:
            return None
        sql = self._sql["select"] + "\n" + self._sql["where_seq"]
        return to_job(self._session.run(sql, {"seq": claimed[0]}).fetchone())

    def finish(self, job: Job) -> bool:
        return self._session.write(self._sql["finish"], self._lease(job)).rowcount == 1

    def fail(self, job: Job, error: str, retry_at: datetime | None) -> bool:
        state = JobState.DEAD if retry_at is None else JobState.PENDING
        key = {**self._lease(job), "state": state.value, "retry_at": micros(retry_at), "error": error}
        return self._session.write(self._sql["fail"], key).rowcount == 1

    def list(
        self, partitions: Sequence[Partition] | None, states: Sequence[JobState], limit: int
    ) -> builtins.list[Job]:
        key = {
            "pids": None if partitions is None else self._session.pids(partitions),
            "states": dumps([state.value for state in states]),
            "limit": limit,
        }
        rows = self._session.run(self._sql["select"] + "\n" + self._sql["where_listed"], key)
        return [to_job(row) for row in rows]

    def retry(self, partitions: Sequence[Partition] | None, ids: Sequence[str], now: datetime) -> int:
        key = {
            "pids": None if partitions is None else self._session.pids(partitions),
            "ids": dumps([*ids]),
            "now": to_microseconds(now),
        }
        return self._session.write(self._sql["retry"], key).rowcount

    def _add(self, job: Job) -> bool:
        columns = job_columns(job, self._session.writable_pid(job.partition))
        try:
            return self._session.write(self._sql["insert"], columns).rowcount == 1
        except sqlite3.IntegrityError as error:
            raise ConflictError(f"job {job.id} cannot be stored: {error}") from error

    def _lease(self, job: Job) -> dict[str, object]:
        pid, usage = self._session.pid(job.partition), dumps(asdict(job.usage))
        return {"pid": pid, "id": job.id, "worker": job.worker, "attempts": job.attempts, "usage": usage}
