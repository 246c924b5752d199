"""The library does what the server does: what was captured becomes facts without a call, and never in the way."""

from __future__ import annotations

import asyncio
import gc
import multiprocessing
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from mnemic import AsyncMnemic, Mnemic
from mnemic.adapters.indexes.scan import ScanIndex
from mnemic.adapters.llms.registry import ScriptedLlm
from mnemic.adapters.observers.counters import CounterObserver
from mnemic.adapters.stores.sqlite import SqliteStore
from mnemic.api import background
from mnemic.build import SystemClock
from mnemic.config import Config
from mnemic.engine.engine import Engine
from mnemic.errors import UnavailableError
from mnemic.model.chat import Prompt
from mnemic.model.records import Job, JobState
from mnemic.model.scope import Scope

pytestmark = pytest.mark.own_worker

ANA = Scope(user="ana", session="s1")
TOLD, FACT = "I hate cilantro.", "User hates cilantro"
REPLY = '[{"type": "PREFERENCE", "content": "User hates cilantro"}]'
PATIENCE_S = 60.0


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "memory.db"


def plain(path: Path) -> Config:
    """A store with rules alone, so that nothing but the worker takes time."""
    return Config(store=str(path), embedder="none")


def facts(mnemic: Mnemic) -> list[str]:
    return [memory.text for memory in mnemic.list(ANA).memories]


def wait_for(condition: Callable[[], object]) -> None:
    """Wait for what the worker does in its own time."""
    until = time.monotonic() + PATIENCE_S
    while not condition() and time.monotonic() < until:
        time.sleep(0.01)
    assert condition()


def wait_for_facts_in(path: Path) -> None:
    with Mnemic.open(plain(path), has_worker=False) as mnemic:
        wait_for(lambda: facts(mnemic))


def workers() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name.startswith("library-")]


def waiting(mnemic: Mnemic) -> list[Job]:
    return mnemic.jobs.list(ANA, states=["pending", "running", "dead"])


class Pausing:
    """A model that answers when it is let go."""

    def __init__(self) -> None:
        self.is_asked, self.may_go = threading.Event(), threading.Event()

    def __call__(self, _: Prompt) -> str:
        self.is_asked.set()
        assert self.may_go.wait(PATIENCE_S)
        return REPLY


@pytest.fixture
def model() -> Iterator[Pausing]:
    model = Pausing()
    yield model
    model.may_go.set()


def with_model(path: Path, model: Pausing) -> Mnemic:
    llm = ScriptedLlm(model)
    return Mnemic(Engine(SqliteStore(path), ScanIndex(), None, SystemClock(), CounterObserver(), llm=llm))


class TestFactsComeByThemselves:
    def test_what_was_captured_becomes_a_fact_without_a_call(self, path: Path):
        with Mnemic.open(plain(path)) as mnemic:
            mnemic.capture(ANA, user=TOLD, assistant="Noted.")
            wait_for(lambda: facts(mnemic))
            assert facts(mnemic) == [FACT]
            mnemic.capture(ANA, user="I live in Lyon.", assistant="Noted.")  # the thread waits for more
            wait_for(lambda: len(facts(mnemic)) == 2)

    def test_nothing_runs_where_nothing_was_captured(self, path: Path):
        with Mnemic.open(plain(path)) as mnemic:
            mnemic.remember(ANA, "Ana prefers dark mode")
            mnemic.recall(ANA, "dark mode")
            assert workers() == []
            mnemic.capture(ANA, user=TOLD)
            assert len(workers()) == 1
        assert workers() == []

    def test_one_argument_switches_it_off(self, path: Path):
        with Mnemic.open(plain(path), has_worker=False) as mnemic:
            mnemic.capture(ANA, user=TOLD)
            assert workers() == []
        with Mnemic.open(plain(path), has_worker=False) as mnemic:
            assert facts(mnemic) == []
            assert [job.state for job in waiting(mnemic)] == [JobState.PENDING]

    def test_asyncio_has_it_too(self, path: Path):
        async def talk() -> None:
            async with AsyncMnemic(plain(path)) as memory:
                await memory.capture(ANA, user=TOLD)
                await asyncio.to_thread(wait_for_facts_in, path)
                assert [each.text for each in (await memory.list(ANA)).memories] == [FACT]
            async with AsyncMnemic(plain(path), has_worker=False) as memory:
                await memory.capture(ANA, user="I live in Lyon.")
                assert workers() == []

        asyncio.run(talk())


class TestClosing:
    def test_a_program_that_ends_at_once_keeps_its_facts(self, path: Path):
        with Mnemic.open(plain(path)) as mnemic:
            mnemic.capture(ANA, user=TOLD)
        with Mnemic.open(plain(path), has_worker=False) as mnemic:
            assert facts(mnemic) == [FACT]
            assert waiting(mnemic) == []

    def test_what_another_program_left_is_done_by_the_next(self, path: Path):
        with Mnemic.open(plain(path), has_worker=False) as mnemic:
            mnemic.capture(ANA, user=TOLD)
        with Mnemic.open(plain(path)) as mnemic:
            wait_for(lambda: facts(mnemic))

    def test_a_slow_model_delays_neither_the_chat_nor_the_end_and_loses_nothing(
        self, path: Path, model: Pausing, monkeypatch: pytest.MonkeyPatch
    ):
        monkeypatch.setattr(background, "CLOSE_S", 0.05)
        with with_model(path, model) as mnemic:
            mnemic.capture(ANA, user=TOLD)
            assert model.is_asked.wait(PATIENCE_S)
            mnemic.capture(ANA, user="I live in Lyon.")  # while the model thinks
        with Mnemic.open(plain(path), has_worker=False) as mnemic:
            assert [(job.state, job.attempts, job.worker) for job in waiting(mnemic)] == [(JobState.PENDING, 0, None)]
        model.may_go.set()  # what the old worker gets now is for nobody
        wait_for(lambda: not workers())
        with Mnemic.open(plain(path), has_worker=False) as mnemic:
            assert facts(mnemic) == []
            mnemic.work()
            assert sorted(facts(mnemic)) == [FACT, "User lives in Lyon"]

    def test_a_program_that_forgets_to_close_keeps_its_facts(self, path: Path):
        code = (
            "from mnemic import Mnemic\n"
            f"memory = Mnemic.open({str(path)!r})\n"
            f"memory.for_user('ana', session='s1').capture(user={TOLD!r})\n"
        )
        subprocess.run([sys.executable, "-c", code], check=True, timeout=PATIENCE_S)
        with Mnemic.open(plain(path), has_worker=False) as mnemic:
            assert facts(mnemic) == [FACT]

    def test_a_memory_that_is_dropped_ends_its_thread(self, path: Path):
        store = SqliteStore(path)
        mnemic = Mnemic(Engine(store, ScanIndex(), None, SystemClock(), CounterObserver()))
        mnemic.capture(ANA, user=TOLD)
        del mnemic
        gc.collect()
        wait_for(lambda: not workers())
        store.close()


class TestBesideOthers:
    def test_work_waits_for_the_job_that_runs_and_finds_all_the_rest(self, path: Path, model: Pausing):
        with with_model(path, model) as mnemic:
            mnemic.capture(ANA, user=TOLD)
            assert model.is_asked.wait(PATIENCE_S)
            threading.Timer(0.1, model.may_go.set).start()
            mnemic.work()
            assert facts(mnemic) == [FACT]
            assert waiting(mnemic) == []

    def test_a_worker_of_the_callers_replaces_it(self, path: Path):
        runs: list[object] = []
        with Mnemic.open(plain(path)) as mnemic:
            worker = mnemic.worker(poll_s=0.05, on_run=runs.append)
            mnemic.capture(ANA, user=TOLD)
            worker.start()
            wait_for(lambda: facts(mnemic))
            worker.stop()
            assert worker.join(PATIENCE_S)
            assert len(runs) == 1

    def test_two_memories_of_one_store_find_each_fact_once(self, path: Path):
        with Mnemic.open(plain(path)) as one, Mnemic.open(plain(path)) as two:
            for number in range(10):
                talk = Scope(user="ana", session=f"s{number}")
                (one, two)[number % 2].capture(talk, user=f"I have a dog called Rex{number}.")
            wait_for(lambda: not waiting(one))
        with Mnemic.open(plain(path), has_worker=False) as mnemic:
            assert len(facts(mnemic)) == len(set(facts(mnemic))) == 10

    @pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
    def test_a_forked_process_has_a_worker_of_its_own(self, path: Path):
        mnemic = Mnemic.open(plain(path))
        mnemic.capture(ANA, user=TOLD)
        wait_for(lambda: facts(mnemic))
        child = multiprocessing.get_context("fork").Process(target=_capture_and_close, args=(mnemic,))
        child.start()
        child.join(PATIENCE_S)
        assert child.exitcode == 0
        assert sorted(facts(mnemic)) == [FACT, "User lives in Lyon"]
        mnemic.close()


def _capture_and_close(mnemic: Mnemic) -> None:
    mnemic.capture(ANA, user="I live in Lyon.")
    mnemic.close()


def test_a_store_that_cannot_be_written_is_said_once(
    path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    looks = threading.Semaphore(0)

    def away(*_: object, **__: object) -> None:
        looks.release()
        raise UnavailableError("the store cannot be written")

    with Mnemic.open(plain(path), has_worker=False) as mnemic:
        monkeypatch.setattr("mnemic.engine.jobs.add_due", away)
        worker = mnemic.worker(poll_s=0.01)
        worker.start()
        assert all(looks.acquire(timeout=PATIENCE_S) for _ in range(5))
        worker.stop()
        assert worker.join(PATIENCE_S)
    assert caplog.text.count("the worker is pausing") == 1
