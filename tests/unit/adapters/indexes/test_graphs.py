"""Graphs of large partitions: made beside the answers, kept in files, shared by processes, and never trusted."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Generator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mnemic.adapters.indexes import hnsw as graphs
from mnemic.adapters.indexes.hnsw import GraphKeeper, Source, lease, made, read
from mnemic.adapters.indexes.scan import ScanIndex
from mnemic.errors import ConfigError
from mnemic.model.candidates import Change
from mnemic.model.scope import Level, Partition
from mnemic.testing.index_contract import Fed
from mnemic.testing.index_samples import HERS, a_change, a_query, gone, ids, rows, statistics

ROWS, DIMS = 400, 16
NEVER = threading.Event()


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch):
    """Graphs are due already when few rows are lacking."""
    monkeypatch.setattr(graphs, "SPARE_ROWS", 20)


@pytest.fixture
def keeper(tmp_path: Path) -> Generator[GraphKeeper]:
    with closing(GraphKeeper(tmp_path / "graphs")) as kept:
        yield kept


def changes(first: int, count: int, seed: int = 0) -> list[Change]:
    vectors = np.random.default_rng([seed, first]).standard_normal((count, DIMS)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return [a_change(f"{first + n}", f"tea word{first + n}", vector=vectors[n]) for n in range(count)]


def source(rows: list[Change]) -> Source:
    held = np.array([row.item_id for row in rows], dtype=np.object_)
    return Source(
        len(rows), np.arange(len(rows)), held, np.stack([row.vector for row in rows if row.vector is not None])
    )


def fed(keeper: GraphKeeper, *more: Change) -> Fed:
    index = Fed(ScanIndex(exact_rows=10, graphs=keeper))
    index.write(*changes(0, ROWS), *more)
    index.catch_up(HERS)
    keeper.wait()
    return index


def near(index: Fed, like: Change, limit: int = 10, **fields: object) -> list[str]:
    return ids(index.search(a_query(vector=like.vector, dense_limit=limit, **fields)))


def graph_rows(index: Fed) -> int:
    assert isinstance(index.index, ScanIndex)
    return index.index.graph_rows(HERS)


def file_of(keeper_folder: Path) -> Path:
    (file,) = keeper_folder.glob("*.graph")
    return file


@pytest.mark.requirement("J-46")
def test_a_graph_finds_what_an_exact_scan_finds(keeper: GraphKeeper):
    index, exact = fed(keeper), Fed(ScanIndex())
    exact.write(*changes(0, ROWS))
    found = [set(near(index, each)) & set(near(exact, each)) for each in changes(0, 50, seed=1)]
    assert sum(map(len, found)) >= 0.95 * 500


@pytest.mark.requirement("N-23")
def test_a_large_memory_of_an_organisation_is_searched_by_an_hnsw_graph_of_16_links_and_an_expansion_of_64(
    keeper: GraphKeeper, monkeypatch: pytest.MonkeyPatch
):
    asked: list[dict[str, object]] = []
    package: Any = graphs._usearch()  # pyright: ignore[reportPrivateUsage] # noqa: SLF001 -- to see what it is asked for

    def watched(real: Callable[..., object] = package.Index, **options: object) -> object:
        asked.append(options)
        return real(**options)

    monkeypatch.setattr(package, "Index", watched)
    ours = Partition("acme", Level.ORG, "acme")
    index = ScanIndex(exact_rows=10, graphs=keeper)
    index.apply(ours, changes(0, ROWS), 1)
    index.settle()
    assert index.graph_rows(ours) == ROWS
    assert [(o["connectivity"], o["expansion_add"], o["metric"]) for o in asked] == [(16, 64, "cos")]


def test_rows_written_after_the_graph_was_made_are_found_at_once(keeper: GraphKeeper):
    index, new = fed(keeper), changes(ROWS, 15)
    index.write(*new)
    assert all(each.item_id in near(index, each) for each in new)


def test_a_row_that_is_gone_or_changed_is_not_found_by_its_old_vector(keeper: GraphKeeper):
    index = fed(keeper)
    first, second, other = changes(0, 3)
    index.write(gone("0"), second._replace(vector=other.vector))
    assert "0" not in near(index, first)
    assert "1" not in near(index, second, limit=1)
    assert "1" in near(index, other)


def test_a_graph_grows_with_the_table(keeper: GraphKeeper, tmp_path: Path):
    index = fed(keeper)
    index.write(*changes(ROWS, 100))
    index.catch_up(HERS)
    keeper.wait()
    graph = read(file_of(tmp_path / "graphs"), source([*changes(0, ROWS), *changes(ROWS, 100)]))
    assert graph is not None
    assert (graph.size, len(graph.rest), graph.gone) == (ROWS + 100, 0, 0)


def test_few_wanted_rows_are_all_found(keeper: GraphKeeper):
    index = fed(keeper)
    (like,) = changes(0, 1, seed=1)
    assert near(index, like, allowed=frozenset({"3", "5", "399"})) == ["3", "399", "5"]
    query = a_query(vector=like.vector, dense_limit=10, kinds=frozenset({"goal"}))
    index.write(*(row._replace(kind="goal") for row in changes(50, 12)))
    assert len(ids(index.search(query))) == 10


def test_the_statistics_of_a_large_partition_are_near_those_of_all_rows(keeper: GraphKeeper):
    index = fed(keeper)
    query = a_query("tea", "word3", vector=changes(0, 1)[0].vector, dense_limit=10)
    assert statistics(index.search(query)) == index.truth.statistics(query)
    kept = {row.item_id: row for row in index.truth.rows(query)}
    assert all(row == kept[row.item_id] for row in rows(index.search(query)))


def test_another_process_reads_the_file_and_makes_nothing(
    keeper: GraphKeeper, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    fed(keeper)
    monkeypatch.setattr("mnemic.adapters.indexes.hnsw.made", None)
    with closing(GraphKeeper(tmp_path / "graphs")) as second:
        index = fed(second)
        assert [near(index, each)[0] for each in changes(0, 3)]
        assert graph_rows(index) == ROWS


@pytest.mark.parametrize("damage", [b"", b"nothing", None])
def test_a_damaged_file_is_made_anew(keeper: GraphKeeper, tmp_path: Path, damage: bytes | None):
    fed(keeper)
    file = file_of(tmp_path / "graphs")
    whole = file.read_bytes()
    file.write_bytes(whole[:5000] + bytes(50) + whole[5050:] if damage is None else damage)
    with closing(GraphKeeper(tmp_path / "graphs")) as second:
        index = fed(second)
        assert all(each.item_id in near(index, each) for each in changes(0, 20))
    assert read(file, source(changes(0, ROWS))) is not None


def test_a_file_of_other_vectors_is_of_no_use_and_does_no_harm(keeper: GraphKeeper, tmp_path: Path):
    fed(keeper)
    file = file_of(tmp_path / "graphs")
    other = read(file, source(changes(0, ROWS, seed=9)))
    assert other is not None
    assert (len(other.rest), other.gone) == (ROWS, ROWS)


def test_a_dropped_partition_leaves_no_file(keeper: GraphKeeper, tmp_path: Path):
    index = fed(keeper)
    index.index.drop(HERS)
    assert list((tmp_path / "graphs").glob("*.graph")) == []
    index.catch_up(HERS)
    keeper.wait()
    assert file_of(tmp_path / "graphs").exists()


def test_what_was_erased_is_gone_from_the_file_once_it_is_made_anew(keeper: GraphKeeper, tmp_path: Path):
    index = fed(keeper)
    index.write(*(gone(f"{n}") for n in range(150)))
    index.catch_up(HERS)
    keeper.wait()
    graph = read(file_of(tmp_path / "graphs"), source(changes(0, ROWS)))
    assert graph is not None
    assert (graph.size, set(graph.rest.tolist())) == (ROWS - 150, set(range(150)))


def test_a_folder_that_cannot_be_written_costs_the_file_and_not_the_graph(tmp_path: Path):
    (tmp_path / "graphs").write_text("a file where the folder should be")
    with closing(GraphKeeper(tmp_path / "graphs")) as keeper:
        index = fed(keeper)
        assert graph_rows(index) == ROWS


def test_without_the_package_the_scan_finds_all(keeper: GraphKeeper, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("mnemic.adapters.indexes.hnsw.is_available", lambda: False)
    index = fed(keeper)
    assert graph_rows(index) == 0
    assert "0" in near(index, changes(0, 1)[0])


def test_a_process_killed_while_it_writes_leaves_what_the_next_one_needs(tmp_path: Path):
    script = (
        "import sys, pathlib\n"
        "from mnemic.adapters.indexes.hnsw import Graph\n"
        "from mnemic.adapters.indexes.hnsw import GraphKeeper\n"
        "from mnemic.testing.index_samples import HERS, a_change\n"
        "from mnemic.adapters.indexes.scan import ScanIndex\n"
        "from mnemic.testing.samples import unit\n"
        "def half(self, file, source):\n"
        "    file.write(b'half'); file.flush(); print('writing', flush=True); sys.stdin.read()\n"
        "Graph.write = half\n"
        "keeper = GraphKeeper(pathlib.Path(sys.argv[1]))\n"
        "index = ScanIndex(exact_rows=1, graphs=keeper)\n"
        "index.apply(HERS, [a_change(str(n), vector=unit(1.0, n)) for n in range(50)], 1)\n"
        "keeper.wait()\n"
    )
    command = [sys.executable, "-c", script, str(tmp_path / "graphs")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stdin=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "writing\n"
        os.kill(other.pid, signal.SIGKILL)
        other.wait()
    with closing(GraphKeeper(tmp_path / "graphs")) as keeper:
        assert graph_rows(fed(keeper)) == ROWS
    assert read(file_of(tmp_path / "graphs"), source(changes(0, ROWS))) is not None


def test_closing_does_not_wait_for_a_graph(keeper: GraphKeeper):
    stopped = threading.Event()
    stopped.set()
    assert made(source(changes(0, ROWS)), stopped) is None
    keeper.close()
    index = fed(keeper)
    assert "0" in near(index, changes(0, 1)[0])


def test_usearch_is_not_loaded_beside_faiss(monkeypatch: pytest.MonkeyPatch, keeper: GraphKeeper):
    monkeypatch.setitem(sys.modules, "faiss", sys)
    with pytest.raises(ConfigError, match="usearch and faiss"):
        made(source(changes(0, 2)), NEVER)
    index = fed(keeper)
    assert "0" in near(index, changes(0, 1)[0])


def test_the_lease_is_held_by_one_and_freed_by_the_death_of_its_process(tmp_path: Path):
    script = (
        "import sys, threading, pathlib\n"
        "from mnemic.adapters.indexes.hnsw import lease\n"
        "with lease(pathlib.Path(sys.argv[1]), threading.Event()) as held:\n"
        "    print(held, flush=True)\n"
        "    sys.stdin.read()\n"
    )
    command = [sys.executable, "-c", script, str(tmp_path / "lock")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stdin=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "True\n"
        stop = threading.Event()
        threading.Timer(0.1, stop.set).start()
        with lease(tmp_path / "lock", stop) as held:
            assert not held
        os.kill(other.pid, signal.SIGKILL)
        other.wait()
    with lease(tmp_path / "lock", NEVER) as held:
        assert held


def test_a_model_can_be_loaded_after_a_graph_was_made():
    program = "from mnemic.adapters.indexes.hnsw import _usearch; _usearch(); import onnxruntime; print('alive')"
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout.strip()) == (0, "alive"), ended.stderr
