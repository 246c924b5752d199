"""An embedding server that is down delays vectors, and nothing else: writes, keyword recall and the chat go on."""

from __future__ import annotations

import logging
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from mnemic.adapters.embedders.minilm import MinilmEmbedder
from mnemic.adapters.embedders.registry import open_embedder
from mnemic.adapters.indexes.scan import ScanIndex
from mnemic.adapters.observers.counters import CounterObserver
from mnemic.adapters.stores.memory import MemoryStore
from mnemic.adapters.stores.sqlite import SqliteStore
from mnemic.api import Mnemic
from mnemic.engine.engine import Engine
from mnemic.engine.handlers import HANDLERS
from mnemic.engine.jobs import list_jobs, retry_jobs, work
from mnemic.model.records import JobState
from mnemic.model.scope import Level, Scope
from mnemic.ports.models import Embedder
from mnemic.ports.store import Store
from mnemic.testing.embedding_server import EmbeddingServer, Reply

SCOPE = Scope(user="anna", session="s1")
HERS = SCOPE.partition(Level.USER)


class SteppedClock:
    """Stands still until it is moved."""

    def __init__(self) -> None:
        self.time = datetime(2026, 5, 1, 12, 0, tzinfo=UTC)

    def now(self) -> datetime:
        return self.time

    def pass_s(self, seconds: float) -> None:
        self.time += timedelta(seconds=seconds)


@pytest.fixture(scope="module")
def model() -> Iterator[MinilmEmbedder]:
    model = MinilmEmbedder()
    yield model
    model.close()


@pytest.fixture
def serve(model: MinilmEmbedder) -> Callable[[int], EmbeddingServer]:
    return lambda port: EmbeddingServer(lambda texts: model.embed_documents(texts).tolist(), port=port)


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    store = MemoryStore() if request.param == "memory" else SqliteStore(tmp_path / "memory.db")
    yield store
    store.close()


@pytest.fixture
def clock() -> SteppedClock:
    return SteppedClock()


@pytest.fixture
def port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


@pytest.fixture
def embedder(port: int) -> Iterator[Embedder]:
    options = {"base_url": f"http://127.0.0.1:{port}/v1", "attempts": 1, "query_timeout_s": 60.0}
    embedder = open_embedder("ollama:all-minilm", options)
    yield embedder
    embedder.close()


@pytest.fixture
def parts(store: Store, embedder: Embedder, clock: SteppedClock) -> Engine:
    return Engine(store, ScanIndex(budget_bytes=1 << 20), embedder, clock, CounterObserver())


@pytest.mark.requirement("J-06")
def test_a_server_that_is_down_delays_vectors_but_no_write_and_no_answer(
    parts: Engine,
    clock: SteppedClock,
    port: int,
    serve: Callable[[int], EmbeddingServer],
    caplog: pytest.LogCaptureFixture,
):
    memory = Mnemic(parts)
    memory.capture(SCOPE, user="My cat is afraid of thunder.")
    kept = memory.remember(SCOPE, "Anna rents a flat in Lisbon")
    with caplog.at_level(logging.ERROR):
        found = memory.recall(SCOPE, "Lisbon flat")
    assert [hit.id for hit in found][:1] == [kept.id]
    assert "dense" in found.degraded[0]
    assert [record.levelname for record in caplog.records] == ["ERROR"]
    assert work(parts, HANDLERS, worker="w").retried == 1
    assert "UnavailableError" in list_jobs(parts, SCOPE)[0].error

    clock.pass_s(5)
    with serve(port):
        assert work(parts, HANDLERS, worker="w").done == 1
        found = memory.recall(SCOPE, "which pet fears storms?")
        assert found.degraded == ()
        assert found.hits[0].text == "User's cat is afraid of thunder"
        assert "My cat is afraid of thunder." in [hit.text for hit in found.hits[:2]]
        assert all(hit.similarity is not None for hit in found.hits)
    assert list_jobs(parts, SCOPE) == []


@pytest.mark.requirement("J-06")
def test_a_server_that_answers_no_rows_delays_vectors_and_leaves_recall_by_keyword(
    parts: Engine, port: int, serve: Callable[[int], EmbeddingServer]
):
    memory = Mnemic(parts)
    with serve(port) as server:
        kept = memory.remember(SCOPE, "Anna rents a flat in Lisbon")
        server.scripted += [Reply(body={"data": []})] * 2
        found = memory.recall(SCOPE, "Lisbon flat")
        assert [hit.id for hit in found] == [kept.id]
        assert found.degraded == ("dense: the embedder failed (BadReplyError)",)
        assert work(parts, HANDLERS, worker="w").retried == 1


def test_a_job_waits_longer_after_each_failure_and_gives_up_with_the_reason(parts: Engine, clock: SteppedClock):
    Mnemic(parts).remember(SCOPE, "Anna likes tea")
    waits: list[float] = []
    for _ in range(7):
        assert work(parts, HANDLERS, worker="w").retried == 1
        (job,) = list_jobs(parts, SCOPE)
        waits.append((job.run_at - clock.now()).total_seconds())
        assert work(parts, HANDLERS, worker="w").retried == 0
        clock.pass_s(waits[-1])
    assert waits == [5, 10, 20, 40, 80, 160, 320]
    assert work(parts, HANDLERS, worker="w").dead == 1
    (job,) = list_jobs(parts, SCOPE)
    assert (job.state, job.attempts) == (JobState.DEAD, 8)
    assert "cannot be reached" in job.error


def test_a_job_that_gave_up_can_be_tried_again(
    parts: Engine, clock: SteppedClock, port: int, serve: Callable[[int], EmbeddingServer]
):
    Mnemic(parts).remember(SCOPE, "Anna likes tea")
    while not work(parts, HANDLERS, worker="w").dead:
        clock.pass_s(3600)
    (job,) = list_jobs(parts, SCOPE)
    assert retry_jobs(parts, Scope(user="bert"), [job.id]) == 0
    assert retry_jobs(parts, SCOPE, [job.id]) == 1
    with serve(port):
        assert work(parts, HANDLERS, worker="w").done == 1


def test_a_server_that_asks_for_time_gets_it(
    parts: Engine, clock: SteppedClock, port: int, serve: Callable[[int], EmbeddingServer]
):
    Mnemic(parts).remember(SCOPE, "Anna likes tea")
    with serve(port) as server:
        server.scripted.append(Reply(429, headers={"Retry-After": "90"}))
        assert work(parts, HANDLERS, worker="w").retried == 1
        (job,) = list_jobs(parts, SCOPE)
        assert (job.run_at - clock.now()).total_seconds() == 90
        clock.pass_s(90)
        assert work(parts, HANDLERS, worker="w").done == 1


WORKER = """
import sys
from mnemic.api import Mnemic
from mnemic.build import build
from mnemic.config import Config
from mnemic.engine.handlers import HANDLERS
from mnemic.engine.jobs import work

options = {"base_url": sys.argv[2], "timeout_s": 100.0}
config = Config(store=sys.argv[1], embedder="ollama:all-minilm", embedder_options=options)
work(build(config), HANDLERS, worker="killed")
"""


def test_a_worker_that_is_killed_loses_at_most_one_batch_and_the_next_one_ends_its_work(
    tmp_path: Path, embedder: Embedder, port: int, serve: Callable[[int], EmbeddingServer], clock: SteppedClock
):
    path = tmp_path / "memory.db"
    store = SqliteStore(path)
    parts = Engine(store, ScanIndex(budget_bytes=1 << 20), embedder, clock, CounterObserver())
    batch = embedder.capabilities.batch_size
    texts = [f"Anna noted number {number}" for number in range(batch * 2)]
    clock.time = datetime(2020, 1, 1, tzinfo=UTC)
    Mnemic(parts).remember_many(SCOPE, texts)
    with serve(port) as server:

        def stall_second(_texts: list[str]) -> None:
            if len(server.requests) == 2:
                worker.kill()
                server.stalls.set()

        server.judge = stall_second
        worker = subprocess.Popen([sys.executable, "-c", WORKER, str(path), server.url])
        assert worker.wait(60) != 0
        server.judge = None
        server.stalls.clear()
        seen = len(server.requests)
        clock.time = datetime.now(UTC)
        assert work(parts, HANDLERS, worker="next").done == 0
        clock.pass_s(3600)
        assert work(parts, HANDLERS, worker="next").done >= 1  # nightly jobs are due too at some hours of the day
        assert sorted(text for request in server.inputs[seen:] for text in request) == sorted(server.inputs[1])
    with store.read() as unit:
        assert unit.partitions.count([HERS])["vectors"] == len(texts)
    store.close()
