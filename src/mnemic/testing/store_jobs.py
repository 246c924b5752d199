"""What `Jobs` promises: one open job per key, leases, retries."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

import pytest

from mnemic.errors import ConflictError
from mnemic.model.chat import Usage
from mnemic.model.records import Job, JobState
from mnemic.model.scope import Level
from mnemic.ports.store import Store
from mnemic.testing.samples import BERT, HERS, MINUTE, NOW, a_job

HIS = BERT.partition(Level.USER)
COST = Usage(calls=2, prompt_tokens=900, completion_tokens=70, seconds=1.25)


def add_jobs(store: Store, *jobs: Job) -> list[bool]:
    """Store jobs in one unit of work."""
    with store.write() as work:
        return work.jobs.add(jobs)


def claim(store: Store, worker: str = "w1", now: datetime = NOW) -> Job | None:
    """Claim a job of kind "curate" for a minute."""
    with store.write() as work:
        return work.jobs.claim(["curate"], worker, now, now + MINUTE)


def claimed(store: Store, worker: str = "w1", now: datetime = NOW) -> Job:
    """As `claim`, when there must be one."""
    job = claim(store, worker, now)
    assert job is not None
    return job


def jobs_of(store: Store, *states: JobState) -> list[Job]:
    """Jobs of the whole store; no states mean every one."""
    with store.read() as work:
        return work.jobs.list(None, states or tuple(JobState), 99)


class JobsContract:
    """Tests of `Jobs`; each takes an empty open store."""

    def test_a_job_returns_as_it_was_stored(self, store: Store):
        job = a_job(payload={"ids": ["a", "b"], "n": 1, "deep": {"x": None}}, run_at=NOW + MINUTE, usage=COST)
        assert add_jobs(store, job) == [True]
        assert jobs_of(store) == [job]

    def test_a_job_is_inserted_unless_one_with_its_partition_kind_and_key_is_open(self, store: Store):
        assert add_jobs(store, a_job(), a_job()) == [True, False]
        claimed(store)
        assert add_jobs(store, a_job()) == [False]
        assert add_jobs(store, a_job("day-2"), a_job(kind="decay"), a_job(partition=HIS)) == [True, True, True]

    def test_a_job_that_is_done_or_dead_leaves_its_key_free(self, store: Store):
        add_jobs(store, a_job())
        first = claimed(store)
        with store.write() as work:
            work.jobs.finish(first)
        assert add_jobs(store, a_job()) == [True]
        second = claimed(store)
        with store.write() as work:
            work.jobs.fail(second, "no use", None)
        assert add_jobs(store, a_job()) == [True]

    def test_a_job_whose_id_is_taken_is_a_conflict(self, store: Store):
        job = a_job()
        add_jobs(store, job)
        with pytest.raises(ConflictError):
            add_jobs(store, replace(job, key="day-2"))

    def test_a_claim_leases_the_job_and_counts_the_attempt(self, store: Store):
        job = a_job()
        add_jobs(store, job)
        leased = replace(job, state=JobState.RUNNING, attempts=1, worker="w1", leased_until=NOW + MINUTE)
        assert claim(store) == leased
        assert jobs_of(store) == [leased]

    def test_a_claim_takes_the_job_that_waits_longest(self, store: Store):
        late, early = a_job("late"), a_job("early", run_at=NOW - MINUTE)
        add_jobs(store, late, early)
        assert [claimed(store).key, claimed(store).key, claim(store)] == ["early", "late", None]

    def test_a_job_is_not_claimed_before_it_is_due(self, store: Store):
        add_jobs(store, a_job(run_at=NOW + MINUTE))
        assert claim(store) is None
        assert claim(store, now=NOW + MINUTE) is not None

    def test_only_the_kinds_named_are_claimed(self, store: Store):
        add_jobs(store, a_job(kind="decay"))
        assert claim(store) is None

    def test_no_job_is_claimed_by_two(self, store: Store):
        add_jobs(store, a_job())
        assert claim(store, "w1") is not None
        assert claim(store, "w2") is None

    def test_a_job_whose_lease_has_run_out_is_claimed_again(self, store: Store):
        add_jobs(store, a_job())
        claimed(store, "w1")
        again = claimed(store, "w2", NOW + MINUTE)
        assert (again.worker, again.attempts, again.leased_until) == ("w2", 2, NOW + 2 * MINUTE)

    def test_a_finished_job_is_done(self, store: Store):
        add_jobs(store, a_job())
        job = claimed(store)
        with store.write() as work:
            assert work.jobs.finish(job) is True
        assert jobs_of(store) == [replace(job, state=JobState.DONE, leased_until=None)]
        assert claim(store, now=NOW + 9 * MINUTE) is None

    def test_a_worker_whose_job_was_taken_over_can_neither_finish_nor_fail_it(self, store: Store):
        add_jobs(store, a_job())
        lost = claimed(store, "w1")
        held = claimed(store, "w2", NOW + MINUTE)
        with store.write() as work:
            assert work.jobs.finish(lost) is False
            assert work.jobs.fail(lost, "late", None) is False
        assert jobs_of(store) == [held]

    def test_an_earlier_lease_of_the_same_worker_does_not_count(self, store: Store):
        add_jobs(store, a_job())
        lost = claimed(store, "w1")
        held = claimed(store, "w1", NOW + MINUTE)
        with store.write() as work:
            assert work.jobs.finish(lost) is False
            assert work.jobs.finish(held) is True

    def test_a_failed_job_waits_until_it_may_be_retried(self, store: Store):
        add_jobs(store, a_job())
        job = claimed(store)
        with store.write() as work:
            assert work.jobs.fail(job, "the model was away", NOW + MINUTE) is True
        (failed,) = jobs_of(store, JobState.PENDING)
        assert (failed.run_at, failed.error, failed.attempts) == (NOW + MINUTE, "the model was away", 1)
        assert claim(store) is None
        assert claimed(store, now=NOW + MINUTE).attempts == 2

    def test_a_job_that_fails_without_a_time_to_retry_is_dead(self, store: Store):
        add_jobs(store, a_job())
        job = claimed(store)
        with store.write() as work:
            work.jobs.fail(job, "no use", None)
        assert [dead.error for dead in jobs_of(store, JobState.DEAD)] == ["no use"]
        assert claim(store, now=NOW + 9 * MINUTE) is None

    def test_what_the_tries_of_a_job_cost_is_kept_when_it_fails_and_when_it_is_done(self, store: Store):
        add_jobs(store, a_job())
        first = replace(claimed(store), usage=COST)
        with store.write() as work:
            assert work.jobs.fail(first, "the model was away", NOW) is True
        again = claimed(store)
        assert again.usage == COST
        with store.write() as work:
            assert work.jobs.finish(replace(again, usage=again.usage + COST)) is True
        assert [job.usage for job in jobs_of(store, JobState.DONE)] == [COST + COST]

    def test_a_lost_lease_and_a_retry_change_nothing_of_what_a_job_cost(self, store: Store):
        add_jobs(store, a_job())
        lost, held = claimed(store), replace(claimed(store, "w2", NOW + MINUTE), usage=COST)
        with store.write() as work:
            assert work.jobs.finish(replace(lost, usage=COST + COST)) is False
            assert work.jobs.fail(held, "no use", None) is True
            assert work.jobs.retry(None, [held.id], NOW) == 1
        assert [job.usage for job in jobs_of(store)] == [COST]

    def test_jobs_are_listed_oldest_first_by_state_and_partition(self, store: Store):
        jobs = [a_job("1"), a_job("2", partition=HIS), a_job("3")]
        add_jobs(store, *jobs)
        with store.read() as work:
            assert work.jobs.list([HERS], [JobState.PENDING], 9) == [jobs[0], jobs[2]]
            assert work.jobs.list(None, [JobState.PENDING], 2) == jobs[:2]
            assert work.jobs.list(None, [JobState.DEAD], 9) == []
            assert work.jobs.list([], [JobState.PENDING], 9) == []

    def test_retrying_makes_dead_jobs_pending_with_no_attempts_counted(self, store: Store):
        add_jobs(store, a_job("1"), a_job("2"))
        for _ in range(2):
            job = claimed(store)
            with store.write() as work:
                work.jobs.fail(job, "no use", None)
        first, second = jobs_of(store, JobState.DEAD)
        with store.write() as work:
            assert work.jobs.retry([HIS], [first.id], NOW + MINUTE) == 0
            assert work.jobs.retry([HERS], [first.id, "unknown"], NOW + MINUTE) == 1
        (pending,) = jobs_of(store, JobState.PENDING)
        assert (pending.id, pending.attempts, pending.run_at) == (first.id, 0, NOW + MINUTE)
        assert [job.id for job in jobs_of(store, JobState.DEAD)] == [second.id]

    def test_retrying_leaves_a_job_dead_whose_key_is_open_or_revived_by_an_older_one(self, store: Store):
        for _ in range(2):
            add_jobs(store, a_job())
            job = claimed(store)
            with store.write() as work:
                work.jobs.fail(job, "no use", None)
        ids = [job.id for job in jobs_of(store)]
        with store.write() as work:
            assert work.jobs.retry(None, ids[::-1], NOW) == 1
            assert work.jobs.retry(None, ids, NOW) == 0
        assert [job.id for job in jobs_of(store, JobState.PENDING)] == ids[:1]

    def test_retrying_touches_no_job_that_is_not_dead(self, store: Store):
        job = a_job()
        add_jobs(store, job)
        with store.write() as work:
            assert work.jobs.retry(None, [job.id], NOW + MINUTE) == 0
        assert jobs_of(store) == [job]
