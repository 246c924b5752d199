"""Qdrant that is killed, hangs or is shared: nothing is lost, answers go on by words, and it is brought up to date."""

from __future__ import annotations

import json
import logging
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from mnemic.adapters.indexes.fts5 import Fts5Index
from mnemic.adapters.indexes.qdrant import Place, QdrantCollection, QdrantIndex, open_qdrant
from mnemic.adapters.indexes.qdrant_points import QdrantLink, QdrantOptions, State, key_of, state_point
from mnemic.adapters.indexes.qdrant_search import QdrantVectors
from mnemic.adapters.observers.counters import CounterObserver
from mnemic.adapters.stores.sqlite import SqliteStore
from mnemic.api import Mnemic
from mnemic.build import SystemClock
from mnemic.engine.engine import Engine
from mnemic.engine.indexing import INDEX_LEFT
from mnemic.model.candidates import Change
from mnemic.model.health import Condition, Finding
from mnemic.model.scope import Scope
from mnemic.ports.store import Store
from mnemic.testing.index_samples import HERS, a_change, a_query, gone, ids
from mnemic.testing.samples import unit
from tests.qdrant_servers import QdrantServer
from tests.redis_servers import eventually
from tests.unit.engine.kit import WordEmbedder

ANNA, BERT = Scope(org="acme", user="anna", session="s1"), Scope(org="acme", user="bert", session="s1")
QUICK: dict[str, object] = {"probe_s": 0.01, "timeout_s": 1, "claim_s": 0.2, "batch_rows": 2}
SPACE = WordEmbedder(dims=2).space
EAST = unit(1.0, 0.0)
Open = Callable[[], Mnemic]

WRITER = """
import sys
from pathlib import Path
from tests.faults.test_qdrant_down import opened
from mnemic.adapters.stores.sqlite import SqliteStore
from mnemic import Scope
path, url, name = sys.argv[1:]
mnemic = opened(SqliteStore(path), url, Path(path).parent)
scope = Scope(org="acme", user="anna", session="s1")
print("ready", flush=True)
for line in sys.stdin:
    mnemic.remember(scope, f"{name} says {line.strip()}")
    found = mnemic.recall(scope, f"{name} {line.strip()}", limit=1)
    print(found.hits[0].text, found.hits[0].similarity is not None, len(found.degraded), flush=True)
mnemic.close()
"""


@pytest.fixture
def server() -> Iterator[QdrantServer]:
    server = QdrantServer()
    yield server
    server.close()


def opened(store: Store, url: str, folder: Path) -> Mnemic:
    embedder = WordEmbedder()
    index = open_qdrant(store, embedder.space, QdrantCollection(url, "true_recall", options=QUICK), folder)
    parts = Engine(store, index, embedder, SystemClock(), CounterObserver(), served_index=index)
    return Mnemic(parts, actor="tester")


@pytest.fixture
def open_with(server: QdrantServer, tmp_path: Path) -> Iterator[Open]:
    """Opens a Mnemic whose vectors lie in the server, as a process of its own would."""
    open_ones: list[Mnemic] = []

    def once() -> Mnemic:
        open_ones.append(opened(SqliteStore(tmp_path / "memory.db"), server.url, tmp_path))
        return open_ones[-1]

    yield once
    for mnemic in open_ones:
        mnemic.close()


def by_meaning(mnemic: Mnemic, query: str, scope: Scope = ANNA, limit: int | None = 20) -> list[str]:
    """The texts that were found with a similarity."""
    return [hit.text for hit in mnemic.recall(scope, query, limit=limit) if hit.similarity is not None]


def index_finding(mnemic: Mnemic) -> Finding:
    return next(
        finding for finding in mnemic.doctor().findings if finding.part == "index" and "Qdrant" in finding.message
    )


def rows_of(server: QdrantServer) -> list[Any]:
    return [point for point in server.points() if point["payload"]["what"] != "state"]


def test_a_qdrant_that_is_killed_costs_no_memory_and_is_brought_up_to_date_when_it_is_back(
    server: QdrantServer, open_with: Open, caplog: pytest.LogCaptureFixture
):
    caplog.set_level(logging.WARNING, "mnemic.qdrant")
    mnemic = open_with()
    mnemic.remember(ANNA, "The cat fears thunder")
    assert by_meaning(mnemic, "cat and thunder") == ["The cat fears thunder"]
    server.kill()
    mnemic.remember(ANNA, "Anna rents a flat in Lisbon")
    for _ in range(3):
        found = mnemic.recall(ANNA, "Lisbon flat")
        assert [hit.text for hit in found][:1] == ["Anna rents a flat in Lisbon"]
        assert [each.partition(":")[0] for each in found.degraded] == ["vectors"]
    assert len(caplog.records) == 1, "one warning for one outage"
    assert index_finding(mnemic).condition is Condition.DEGRADED
    server.start()
    eventually(lambda: not mnemic.recall(ANNA, "Lisbon").degraded)
    assert set(by_meaning(mnemic, "cat Lisbon")) == {"The cat fears thunder", "Anna rents a flat in Lisbon"}
    assert index_finding(mnemic).condition is Condition.OK


def test_a_qdrant_that_hangs_is_waited_for_once(server: QdrantServer, open_with: Open):
    mnemic = open_with()
    mnemic.remember(ANNA, "The cat fears thunder")
    assert by_meaning(mnemic, "cat")
    server.signal(signal.SIGSTOP)
    told = {mnemic.recall(ANNA, f"cat {number}").degraded[0] for number in range(20)}
    assert all("timed out" in each for each in told)
    server.signal(signal.SIGCONT)
    eventually(lambda: by_meaning(mnemic, "cat"))


def test_a_memory_opens_without_qdrant_and_finds_by_meaning_when_it_comes(server: QdrantServer, open_with: Open):
    server.kill()
    mnemic = open_with()
    mnemic.remember(ANNA, "The cat fears thunder")
    assert [hit.text for hit in mnemic.recall(ANNA, "cat")] == ["The cat fears thunder"]
    server.start()
    eventually(lambda: by_meaning(mnemic, "cat"))


def test_a_restarted_process_writes_only_what_changed_since(server: QdrantServer, open_with: Open):
    first = open_with()
    for number in range(5):
        first.remember(ANNA, f"number {number}")
    assert len(by_meaning(first, "number")) == 5
    before = {point["id"]: point["payload"]["version"] for point in rows_of(server)}
    first.remember(ANNA, "number 6")
    first.close()
    second = open_with()
    assert len(by_meaning(second, "number")) == 6
    after = {point["id"]: point["payload"]["version"] for point in rows_of(server)}
    assert len(after) == 6
    assert before.items() <= after.items(), "rows that were there are not written again"


def test_a_server_that_is_killed_and_comes_back_has_what_it_acknowledged(server: QdrantServer, open_with: Open):
    mnemic = open_with()
    for number in range(5):
        mnemic.remember(ANNA, f"number {number}")
        assert f"number {number}" in by_meaning(mnemic, f"number {number}")
    before = sorted(point["id"] for point in server.points())
    server.kill()
    server.start()
    assert sorted(point["id"] for point in server.points()) == before


def test_a_collection_that_vanishes_is_made_again_from_the_rows(server: QdrantServer, open_with: Open):
    mnemic = open_with()
    mnemic.remember(ANNA, "The cat fears thunder")
    assert by_meaning(mnemic, "cat")
    server.ask("/collections/true_recall", method="DELETE")
    assert [hit.text for hit in mnemic.recall(ANNA, "cat")] == ["The cat fears thunder"]
    eventually(lambda: by_meaning(mnemic, "cat"))
    assert len(rows_of(server)) == 1


@pytest.mark.requirement("J-55")
def test_two_processes_write_and_find_in_one_collection_at_once(server: QdrantServer, tmp_path: Path):
    path = tmp_path / "memory.db"
    SqliteStore(path).close()
    command = [sys.executable, "-c", WRITER, str(path), server.url]
    processes = [
        subprocess.Popen([*command, name], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=Path.cwd())
        for name in ("Anna", "Bert")
    ]
    heard = [process.communicate("".join(f"{n}\n" for n in range(4)), timeout=100)[0] for process in processes]
    for name, told in zip(("Anna", "Bert"), heard, strict=True):
        assert told.splitlines() == ["ready", *(f"{name} says {n} True 0" for n in range(4))]
    rows = rows_of(server)
    assert len(rows) == 8
    assert len({point["payload"]["item"] for point in rows}) == 8
    assert len({point["payload"]["epoch"] for point in rows}) == 1


def test_a_process_that_is_killed_while_it_writes_leaves_nothing_that_the_next_does_not_mend(
    server: QdrantServer, open_with: Open, tmp_path: Path
):
    path = tmp_path / "memory.db"
    SqliteStore(path).close()
    command = [sys.executable, "-c", WRITER, str(path), server.url, "Anna"]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=Path.cwd())
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write("".join(f"{number}\n" for number in range(200)))
    process.stdin.flush()
    heard = [process.stdout.readline() for _ in range(6)][1:]
    process.kill()
    process.communicate()
    mnemic = open_with()
    kept = {memory.text for memory in mnemic.list(ANNA, limit=1000).memories}
    assert {line.partition(" True 0")[0] for line in heard} <= kept
    assert set(by_meaning(mnemic, "Anna says", limit=None)) == kept
    assert len(rows_of(server)) == len(kept)


@pytest.mark.requirement("D-18")
def test_what_is_deleted_or_erased_is_gone_from_the_collection_when_the_verb_answers(
    server: QdrantServer, open_with: Open
):
    mnemic = open_with()
    kept, other = mnemic.remember(ANNA, "The cat fears thunder"), mnemic.remember(BERT, "Bert has a dog")
    mnemic.remember(ANNA, "Anna rents a flat in Lisbon")
    assert by_meaning(mnemic, "cat")
    assert by_meaning(mnemic, "dog", BERT)
    assert mnemic.delete(ANNA, kept.id).notes == ()
    assert kept.id not in json.dumps(server.points())
    assert sum(bool(point["vector"]) for point in server.points()) == 2
    assert mnemic.erase(ANNA, level="user").notes == ()
    left = server.points()
    assert [point["payload"]["item"] for point in left if "item" in point["payload"]] == [other.id]
    assert "anna" not in json.dumps(left)


@pytest.mark.requirement("D-18")
def test_what_is_erased_while_qdrant_is_away_is_told_and_goes_when_it_is_back(server: QdrantServer, open_with: Open):
    mnemic = open_with()
    for scope in (ANNA, BERT):
        mnemic.remember(scope, "The cat fears thunder")
        assert by_meaning(mnemic, "cat", scope)
    server.kill()
    receipt = mnemic.erase(ANNA, level="user")
    assert INDEX_LEFT in receipt.notes
    server.start()
    eventually(lambda: "anna" not in json.dumps(server.points()))
    eventually(lambda: by_meaning(mnemic, "cat", BERT))
    assert len(rows_of(server)) == 1


def test_what_a_dead_process_could_not_erase_the_doctor_removes(server: QdrantServer, open_with: Open):
    first = open_with()
    first.remember(ANNA, "The cat fears thunder")
    first.remember(BERT, "Bert has a dog")
    assert by_meaning(first, "cat")
    assert by_meaning(first, "dog", BERT)
    server.kill()
    first.erase(ANNA, level="user")
    first.close()
    server.start()
    second = open_with()
    assert "1 partitions" in index_finding(second).message
    assert "anna" not in json.dumps(server.points())
    assert by_meaning(second, "dog", BERT)


class Raced(QdrantVectors):
    """Lets something happen just before the first rows are written: another process is quicker."""

    def __init__(self, server: QdrantServer, before: Callable[[], object]) -> None:
        options = QdrantOptions(batch_rows=2, claim_s=0.2)
        self.link = QdrantLink(server.url, options, prepare=lambda _: None, catch_up=lambda: None)
        super().__init__(self.link, "true_recall", store="ours", dims=2, options=options)
        self._before = before

    def _batches(self, key: str, epoch: str, changes: Sequence[Change], version: int) -> Iterator[Any]:
        self._before()
        yield from super()._batches(key, epoch, changes, version)


@pytest.fixture
def index(server: QdrantServer, tmp_path: Path) -> Iterator[QdrantIndex]:
    """An index of the store "ours", fed by hand."""
    place, options = Place(server.url, "ours", SPACE), QdrantOptions(batch_rows=2, claim_s=0.2)
    with closing(QdrantIndex(Fts5Index(tmp_path / "words.db"), place, options)) as index:
        index.look()
        yield index


def items_of(server: QdrantServer) -> list[str]:
    return sorted(point["payload"]["item"] for point in rows_of(server) if "item" in point["payload"])


def test_an_older_form_that_comes_late_neither_brings_back_nor_overwrites_anything(
    server: QdrantServer, index: QdrantIndex
):
    rows = [a_change(name, "tea", vector=EAST) for name in "abc"]
    index.apply(HERS, rows, 5)

    def newer() -> None:
        index.version(HERS)
        index.apply(HERS, [gone("a"), a_change("b", "milk", vector=unit(0.0, 1.0))], 8)

    late = Raced(server, newer)
    late.apply(HERS, [rows[0], rows[1]], 7, 5)
    late.link.close()
    assert items_of(server) == ["b", "c"]
    found = index.search(a_query("milk", vector=EAST))
    assert found.versions == (8,)
    assert [cosine for cosine, i in zip(found.cosines, found.ids, strict=True) if i == "b"] == [pytest.approx(0.0)]


def test_who_writes_to_a_partition_that_is_dropped_meanwhile_leaves_nothing_behind(
    server: QdrantServer, index: QdrantIndex
):
    index.apply(HERS, [a_change("a", "tea", vector=EAST)], 5)
    late = Raced(server, lambda: index.drop(HERS))
    late.apply(HERS, [a_change("b", "tea", vector=EAST)], 7, 5)
    assert late.fetched(HERS) is None
    late.link.close()
    assert server.points() == []


def test_changes_that_do_not_follow_what_is_held_are_not_taken_in(server: QdrantServer, index: QdrantIndex):
    index.apply(HERS, [a_change("a", "tea", vector=EAST)], 5)
    other = Raced(server, lambda: None)
    other.apply(HERS, [a_change("c", "tea", vector=EAST)], 9, 7)
    other.drop(HERS)
    other.apply(HERS, [a_change("b", "tea", vector=EAST)], 7, 5)
    assert other.fetched(HERS) is None
    other.link.close()
    assert items_of(server) == []


def test_a_partition_that_a_dead_process_began_is_filled_by_the_next(server: QdrantServer, index: QdrantIndex):
    left = state_point(key_of("ours", HERS), "ours", HERS, State("dead", 0, 3))
    row = {**left.model_dump(), "id": "00000000-0000-0000-0000-000000000001"}
    row["payload"] = {"partition": key_of("ours", HERS), "epoch": "dead", "what": "active", "version": 1, "item": "old"}
    operations = [{"upsert": {"points": [left.model_dump(), row]}}]
    server.ask("/collections/true_recall/points/batch", {"operations": operations})
    assert index.version(HERS) == 0
    index.apply(HERS, [a_change("a", "tea", vector=EAST)], 5)
    assert index.version(HERS) == 5
    assert ids(index.search(a_query("tea", vector=EAST))) == ["a"]
    assert items_of(server) == ["a"]
