"""Work that must still be done."""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime

from mnemic.adapters.stores.postgres.rows import job_columns
from mnemic.adapters.stores.postgres.session import Session
from mnemic.adapters.stores.postgres.statements import statements
from mnemic.adapters.stores.rows import dumps, micros, to_job
from mnemic.errors import ConflictError
from mnemic.model.records import Job, JobState
from mnemic.model.scope import Partition
from mnemic.model.values import to_microseconds


class PostgresJobs:
    """The `Jobs` port. A claim locks its job alone and passes over jobs that others are about to claim."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._sql = statements("jobs")

    def add(self, jobs: Sequence[Job]) -> list[bool]:
        pids = self._session.lock(job.partition for job in jobs)
        return [self._add(job, pids[job.partition]) for job in jobs]

    def claim(self, kinds: Sequence[str], worker: str, now: datetime, leased_until: datetime) -> Job | None:
        key = {
            "kinds": list(kinds),
            "worker": worker,
            "now": to_microseconds(now),
            "leased_until": to_microseconds(leased_until),
        }
        claimed = self._session.write_across(self._sql["claim"], key).fetchone()
        if claimed is None:
            return None
        sql = self._sql["select"] + "\n" + self._sql["where_seq"]
        row = self._session.run_across(sql, {"seq": claimed[0]}).fetchone()
        return None if row is None else to_job(row)

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
            "states": [state.value for state in states],
            "limit": limit,
        }
        run = self._session.run_across if partitions is None else self._session.run
        rows = run(self._sql["select"] + "\n" + self._sql["where_listed"], key)
        return [to_job(row) for row in rows]

    def retry(self, partitions: Sequence[Partition] | None, ids: Sequence[str], now: datetime) -> int:
        self._session.check_writing()
        among = None if partitions is None else self._session.pids(partitions)
        key = {"pids": among, "ids": [*ids], "now": to_microseconds(now)}
        run = self._session.run_across if partitions is None else self._session.run
        locked = [row[0] for row in run(statements("partitions")["lock_of_dead_jobs"], key)]
        return run(self._sql["retry"], {**key, "pids": locked}).rowcount

    def _add(self, job: Job, pid: int) -> bool:
        columns = job_columns(job, pid)
        if self._session.write(self._sql["insert"], columns).rowcount == 1:
            return True
        if self._session.run(self._sql["is_open"], columns).fetchone() is None:
            raise ConflictError(f"job {job.id} cannot be stored: the id is taken")
        return False

    def _lease(self, job: Job) -> dict[str, object]:
        self._session.check_writing()
        pid, usage = self._session.pid(job.partition), dumps(asdict(job.usage))
        return {"pid": pid, "id": job.id, "worker": job.worker, "attempts": job.attempts, "usage": usage}
