"""How much work requests are for a SQLite store: counts of statements and of SQLite's steps, never times."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest

from mnemic.adapters.indexes.scan import ScanIndex
from mnemic.adapters.observers.counters import CounterObserver
from mnemic.adapters.stores.sqlite import SqliteStore
from mnemic.adapters.stores.sqlite.store import Connection
from mnemic.api import Mnemic
from mnemic.engine.engine import Engine
from mnemic.errors import UnavailableError
from mnemic.model.scope import Scope
from mnemic.testing.samples import ANNA, HERS, NOW, a_memory, add_memories, terms
from mnemic.testing.store_memories import got
from tests.unit.engine.document_kit import keep
from tests.unit.engine.kit import Clock, WordEmbedder

EVA = Scope(user="eva", session="s1")
QUESTION = "When does the rent of the flat rise?"
STEPS = 100  # of SQLite's virtual machine, between two calls of the handler


class WatchedStore(SqliteStore):
    """Notes every statement, with its values."""

    def __init__(self, path: Path, lock_wait_s: float = 10.0) -> None:
        self.seen: list[str] = []
        self.steps = 0
        super().__init__(path, lock_wait_s=lock_wait_s)

    def _connect(self) -> Connection:
        connection = super()._connect()
        connection.set_trace_callback(self.seen.append)
        connection.set_progress_handler(self._count, STEPS)
        return connection

    def _count(self) -> int:
        self.steps += 1
        return 0

    def take(self) -> list[list[str]]:
        """The statements since the last time, by unit of work."""
        units: list[list[str]] = []
        for sql in self.seen:
            if sql.startswith("BEGIN"):
                units.append([])
            elif units:
                units[-1].append(sql)
        self.seen.clear()
        return units


@pytest.fixture
def store(tmp_path: Path) -> Iterator[WatchedStore]:
    watched = WatchedStore(tmp_path / "memory.db")
    yield watched
    watched.close()


@pytest.fixture
def mnemic(store: WatchedStore) -> Mnemic:
    """With memories, messages and passages of one user, all in the index."""
    parts = Engine(store=store, index=ScanIndex(), embedder=WordEmbedder(), clock=Clock(), observer=CounterObserver())
    opened = Mnemic(parts, actor="tester")
    opened.remember(EVA, "The flat costs 900 euros")
    opened.capture(EVA, user="The rent of my flat rises in May")
    keep(parts, EVA, ["The rent of the flat rises every year."])
    opened.recall(EVA, QUESTION)
    store.take()
    return opened


def look_ups(unit: list[str]) -> list[str]:
    """The statements that ask for the number or version of a partition."""
    return [sql for sql in unit if sql.startswith("SELECT pid, version FROM partitions")]


@pytest.mark.parametrize("verb", ["recall", "context", "remember"])
def test_no_unit_of_work_looks_a_partition_up_twice(mnemic: Mnemic, store: WatchedStore, verb: str):
    getattr(mnemic, verb)(EVA, QUESTION)
    found = [look_ups(unit) for unit in store.take()]
    assert any(found)
    assert all(len(each) == len(set(each)) for each in found)


def test_a_recall_reads_the_versions_of_partitions_once(mnemic: Mnemic, store: WatchedStore):
    assert {type(hit.item).__name__ for hit in mnemic.recall(EVA, QUESTION).hits} == {"Memory", "Message", "Chunk"}
    units = store.take()
    assert len(units) == 3  # catching up, documents that the best passages name, and the rows of the hits
    assert sum(map(len, units)) <= 23


def test_a_partition_that_another_process_creates_is_seen_by_the_next_unit_of_work(store: WatchedStore):
    other = SqliteStore(store.path)
    with store.read() as work:
        assert work.partitions.versions([HERS]) == {HERS: 0}
        add_memories(other, a_memory())
        assert work.partitions.versions([HERS]) == {HERS: 0}
    with store.read() as work:
        assert work.partitions.versions([HERS]) == {HERS: 1}
    other.close()


def test_a_partition_that_another_process_erases_and_fills_again_is_read_by_its_new_number(store: WatchedStore):
    old, new, other = a_memory("old"), a_memory("new"), SqliteStore(store.path)
    add_memories(store, old)
    assert got(store, ANNA, old.id) == [old]
    with other.write(is_erasing=True) as work:
        work.erasure.wipe(HERS)
    assert got(store, ANNA, old.id) == []
    add_memories(other, new)
    assert got(store, ANNA, old.id, new.id) == [new]
    other.close()


def test_a_unit_of_work_that_erases_a_partition_and_fills_it_again_uses_its_new_number(store: WatchedStore):
    old, new = a_memory("old"), a_memory("new")
    add_memories(store, old)
    with store.write(is_erasing=True) as work:
        was = work.partitions.versions([HERS])[HERS]
        work.erasure.wipe(HERS)
        assert work.partitions.versions([HERS]) == {HERS: 0}
        work.memories.add([(new, terms("new"))])
        assert [found.text for found in work.memories.get(ANNA.visibility, [old.id, new.id])] == ["new"]
        assert work.partitions.versions([HERS])[HERS] > was
    assert got(store, ANNA, old.id, new.id) == [new]


def test_counting_accesses_looks_at_the_accessed_memories_only(store: WatchedStore):
    memories = [a_memory(f"note {number}") for number in range(1000)]
    add_memories(store, *memories)
    store.steps = 0
    with store.write() as work:
        work.memories.touch(HERS, {memory.id: 1 for memory in memories[:100]}, NOW)
    assert store.steps * STEPS < 20_000  # 417,000 if every memory is compared with every access


def test_threads_that_write_at_once_take_turns_and_all_are_done(store: WatchedStore):
    texts = [f"note {number}" for number in range(40)]
    threads = [threading.Thread(target=partial(add_memories, store, a_memory(text))) for text in texts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with store.read() as work:
        assert work.partitions.count([HERS])["memories"] == len(texts)


def test_a_write_that_waits_too_long_for_its_turn_names_this_process_and_the_next_one_succeeds(tmp_path: Path):
    store = SqliteStore(tmp_path / "memory.db", lock_wait_s=0.01)
    reason = "another write of this process has not ended"
    with store.write():
        with pytest.raises(UnavailableError, match=reason):
            add_memories(store, a_memory("second"))
        found = [finding.message for finding in store.diagnose() if finding.part == "writing"]
    assert [message.partition(";")[0] for message in found] == [reason]
    assert add_memories(store, a_memory("third")) == [True]
    assert not [finding for finding in store.diagnose() if finding.part == "writing"]
    store.close()


class SlowLock:
    """A lock that is free only after the whole time that a write may wait."""

    def acquire(self, timeout: float) -> bool:
        time.sleep(timeout)
        return True

    def release(self) -> None:
        pass


def test_a_write_that_has_waited_for_its_turn_does_not_wait_as_long_for_the_lock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    store = WatchedStore(tmp_path / "memory.db", lock_wait_s=0.05)
    monkeypatch.setattr(store, "_writing", SlowLock())
    with closing(sqlite3.connect(store.path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(UnavailableError, match="another process"):
            add_memories(store, a_memory("tea"))
    assert store.seen.count("BEGIN IMMEDIATE") == 1
    store.close()
