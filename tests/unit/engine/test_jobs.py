"""The job loop: each job once, whoever works; failures are told; what arrives in between is not forgotten."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from pathlib import Path

import numpy as np
import pytest

from mnemic.adapters.embedders.minilm import MinilmEmbedder
from mnemic.adapters.indexes.scan import ScanIndex
from mnemic.adapters.observers.counters import CounterObserver
from mnemic.adapters.stores.memory import MemoryStore
from mnemic.adapters.stores.sqlite import SqliteStore
from mnemic.engine.engine import Engine
from mnemic.engine.handlers import HANDLERS
from mnemic.engine.indexing import MOST_REFUSED, fill_vectors
from mnemic.engine.jobs import FollowUp, list_jobs, work
from mnemic.engine.kinds import EMBED
from mnemic.errors import BackendError, BadReplyError, UnavailableError
from mnemic.model.candidates import Space
from mnemic.model.records import Job, JobState
from mnemic.model.scope import Level
from mnemic.ports.models import EmbedderCapabilities, Vectors
from mnemic.ports.store import Store, UnitOfWork
from mnemic.testing.samples import ANNA, BERT, HERS, MINUTE, NOW, a_job, a_memory, a_message, add_memories, add_messages

COUNTED = "curate"


class FixedClock:
    def __init__(self) -> None:
        self.time = NOW

    def now(self) -> datetime:
        return self.time


class CountingEmbedder:
    """Rows of one kind; notes the texts, refuses what holds "poison", and is empty for "nothing"."""

    space = Space("counting", "1", "fp32", 2, "none", "", "", 100)
    capabilities = EmbedderCapabilities(is_local=False, is_blocking=True, batch_size=4)

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.before: Callable[[], object] = lambda: None

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        self.before()
        if any("poison" in text for text in texts):
            raise BadReplyError("the server chokes")
        self.texts += texts
        return np.array([[0.0 if "nothing" in text else 1.0, 0.0] for text in texts], dtype=np.float32)

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        return self.embed_documents(texts)

    def close(self) -> None:
        pass


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    store = MemoryStore() if request.param == "memory" else SqliteStore(tmp_path / "memory.db")
    yield store
    store.close()


@pytest.fixture
def embedder() -> CountingEmbedder:
    return CountingEmbedder()


@pytest.fixture
def clock() -> FixedClock:
    return FixedClock()


@pytest.fixture
def parts(store: Store, embedder: CountingEmbedder, clock: FixedClock) -> Engine:
    return Engine(store, ScanIndex(budget_bytes=1 << 20), embedder, clock, CounterObserver())


def add_jobs(store: Store, *jobs: Job) -> None:
    with store.write() as unit:
        unit.jobs.add(jobs)


def nothing(_unit: UnitOfWork) -> list[Job]:
    return []


def nothing_left(_parts: Engine, _job: Job) -> FollowUp:
    return nothing


def vectors_of(store: Store) -> int:
    with store.read() as unit:
        return unit.partitions.count([HERS])["vectors"]


def test_two_workers_do_no_job_twice(parts: Engine, store: Store):
    add_jobs(store, *(a_job(key=f"day-{number}") for number in range(40)))
    done: Counter[str] = Counter()
    ready = threading.Barrier(2)

    def count(_parts: Engine, job: Job) -> FollowUp:
        done[job.key] += 1
        return nothing

    def run(name: str) -> int:
        ready.wait()
        return work(parts, {COUNTED: count}, worker=name).done

    with ThreadPoolExecutor(2) as pool:
        assert sum(pool.map(run, ["first", "second"])) == 40
    assert set(done.values()) == {1}
    assert len(done) == 40


def test_one_job_at_a_time_can_be_asked_for(parts: Engine, store: Store):
    add_jobs(store, a_job(key="day-1"), a_job(key="day-2"))
    assert work(parts, {COUNTED: nothing_left}, worker="w", until_idle=False).done == 1


def test_jobs_of_other_kinds_wait_for_who_knows_them(parts: Engine, store: Store):
    add_jobs(store, a_job(kind="of another program"))
    assert work(parts, HANDLERS, worker="w").done == 0
    assert [job.state for job in list_jobs(parts, ANNA)] == [JobState.PENDING]


def test_jobs_of_another_user_are_not_listed(parts: Engine, store: Store):
    add_jobs(store, a_job(), a_job(partition=BERT.partition(Level.USER)))
    assert [job.partition for job in list_jobs(parts, ANNA)] == [HERS]
    assert len(list_jobs(parts, None)) == 2


def test_an_exception_that_is_no_error_of_mnemic_is_raised_and_counts_as_a_failure(parts: Engine, store: Store):
    def breaks(_parts: Engine, _job: Job) -> FollowUp:
        raise ZeroDivisionError("the stored secret")

    add_jobs(store, a_job())
    with pytest.raises(ZeroDivisionError):
        work(parts, {COUNTED: breaks}, worker="w")
    (job,) = list_jobs(parts, ANNA)
    assert (job.state, job.error) == (JobState.PENDING, "ZeroDivisionError")


def test_a_job_whose_workers_vanish_every_time_is_given_up(parts: Engine, store: Store, clock: FixedClock):
    add_jobs(store, a_job())
    for _ in range(8):
        with store.write() as unit:
            assert unit.jobs.claim([COUNTED], "vanished", clock.now(), clock.now() + MINUTE)
        clock.time += MINUTE
    assert work(parts, {COUNTED: nothing_left}, worker="w").done == 0
    (job,) = list_jobs(parts, ANNA)
    assert job.state == JobState.DEAD
    assert "its worker died 8 times" in job.error


def test_a_worker_that_lost_its_lease_finishes_nothing(parts: Engine, store: Store, clock: FixedClock):
    def outlives(_parts: Engine, _job: Job) -> FollowUp:
        clock.time += 60 * MINUTE
        with store.write() as unit:
            assert unit.jobs.claim([COUNTED], "other", clock.now(), clock.now() + MINUTE)
        return lambda _unit: [a_job(key="never added")]

    add_jobs(store, a_job())
    report = work(parts, {COUNTED: outlives}, worker="slow", until_idle=False)
    assert (report.done, report.retried, report.dead) == (0, 0, 0)
    (job,) = list_jobs(parts, ANNA)
    assert (job.state, job.worker) == (JobState.RUNNING, "other")


def test_an_item_written_while_the_job_ends_gets_its_vector_too(
    parts: Engine, store: Store, embedder: CountingEmbedder
):
    add_memories(store, a_memory("first"))
    job = a_job(kind=EMBED, key=EMBED)
    add_jobs(store, job)
    late = a_memory("late")

    def write_late() -> None:
        embedder.before = lambda: None
        add_memories(store, late)
        with store.write() as unit:
            assert unit.jobs.add([a_job(kind=EMBED, key=EMBED)]) == [False]

    embedder.before = write_late
    work(parts, HANDLERS, worker="w")
    assert sorted(embedder.texts) == ["first", "late"]
    assert vectors_of(store) == 2
    assert list_jobs(parts, ANNA) == []


def test_filling_embeds_what_is_indexed_in_batches_and_only_once(
    parts: Engine, store: Store, embedder: CountingEmbedder
):
    add_messages(store, a_message(1, "Good morning", name="Anna"))
    add_memories(store, a_memory("tea", context="breakfast", snippet="I love tea"))
    report = fill_vectors(parts, HERS)
    assert sorted(embedder.texts) == ["Anna: Good morning", "tea\nbreakfast\nI love tea"]
    assert report.filled == vectors_of(store) == 2
    assert report.is_complete
    assert fill_vectors(parts, HERS).filled == 0


def test_filling_stops_at_its_limit_and_says_that_more_is_missing(parts: Engine, store: Store):
    add_memories(store, *(a_memory(f"fact {number}") for number in range(10)))
    report = fill_vectors(parts, None, limit=6)
    assert (report.filled, report.is_complete) == (6, False)
    report = fill_vectors(parts, None, limit=6)
    assert (report.filled, report.is_complete) == (4, True)


def test_a_text_that_is_refused_or_says_nothing_does_not_keep_the_others_waiting(parts: Engine, store: Store):
    poison, empty = a_memory("poison"), a_memory("nothing")
    add_memories(store, poison, empty, *(a_memory(f"fact {number}") for number in range(9)))
    report = fill_vectors(parts, HERS)
    assert (report.filled, report.refused, report.empty) == (9, (poison.id,), (empty.id,))
    assert report.is_complete


def test_an_embedder_that_refuses_everything_is_given_up_early(parts: Engine, store: Store):
    add_memories(store, *(a_memory(f"poison {number}") for number in range(MOST_REFUSED * 3)))
    with pytest.raises(BadReplyError):
        fill_vectors(parts, HERS)


def test_what_was_filled_before_a_failure_stays(parts: Engine, store: Store, embedder: CountingEmbedder):
    add_memories(store, *(a_memory(f"fact {number}") for number in range(8)))

    def fail_second() -> None:
        if embedder.texts:
            raise UnavailableError("down")

    embedder.before = fail_second
    with pytest.raises(BackendError):
        fill_vectors(parts, HERS)
    assert vectors_of(store) == embedder.capabilities.batch_size


def test_a_refused_text_fails_the_job_with_its_item_and_not_its_words(parts: Engine, store: Store):
    poison = a_memory("my secret poison")
    add_memories(store, poison, a_memory("tea"))
    add_jobs(store, a_job(kind=EMBED, key=EMBED))
    assert work(parts, HANDLERS, worker="w").retried == 1
    (job,) = list_jobs(parts, ANNA)
    assert poison.id in job.error
    assert "secret" not in job.error
    assert vectors_of(store) == 1


def test_without_an_embedder_there_is_nothing_to_fill(store: Store, clock: FixedClock):
    parts = Engine(store, ScanIndex(budget_bytes=1 << 20), None, clock, CounterObserver())
    add_memories(store, a_memory("tea"))
    add_jobs(store, a_job(kind=EMBED, key=EMBED))
    assert fill_vectors(parts, None).filled == 0
    assert work(parts, HANDLERS, worker="w").done == 1


@pytest.mark.requirement("R-04")
def test_another_embedder_fills_a_space_of_its_own_beside_the_old_one(parts: Engine, store: Store, clock: FixedClock):
    add_memories(store, a_memory("tea"))
    fill_vectors(parts, HERS)
    other = MinilmEmbedder()
    fill_vectors(Engine(store, parts.index, other, clock, CounterObserver()), HERS)
    other.close()
    with store.read() as unit:
        assert unit.vectors.spaces() == {CountingEmbedder.space.id: 1, other.space.id: 1}
