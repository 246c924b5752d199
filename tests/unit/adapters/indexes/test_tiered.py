"""How large partitions are divided between memory and disk, seen from outside."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import closing
from pathlib import Path

import pytest

from mnemic.adapters.indexes.fts5 import Fts5Index
from mnemic.adapters.indexes.scan import ScanIndex
from mnemic.adapters.indexes.tiered import TieredIndex
from mnemic.config import Config
from mnemic.model.scope import Scope
from mnemic.model.settings import Settings
from mnemic.testing.index_samples import HERS, HIS, a_change, a_query, ids, rows, statistics
from mnemic.testing.samples import unit

ANNA = Scope(user="anna")
ROWS = [a_change(f"{n}", f"tea word{n}", vector=unit(1.0, n)) for n in range(6)]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "index" / "fts5.db"


@pytest.fixture
def index(path: Path) -> Generator[TieredIndex]:
    with closing(TieredIndex(ScanIndex(), Fts5Index(path), threshold_rows=3)) as opened:
        yield opened


def test_a_partition_within_the_threshold_makes_no_file(index: TieredIndex, path: Path):
    index.apply(HERS, ROWS[:3], 1)
    assert ids(index.search(a_query("tea"))) == ["0", "1", "2"]
    assert not path.exists()


def test_a_large_partition_answers_as_the_scan_alone_does(index: TieredIndex):
    scan = ScanIndex()
    for one in (index, scan):
        one.apply(HERS, ROWS, 1)
        one.apply(HIS, ROWS[:2], 1)
    query = a_query("tea", "word3", vector=unit(0.3, 1.0), partitions=(HIS, HERS))
    assert rows(index.search(query)) == rows(scan.search(query))
    assert statistics(index.search(query)) == statistics(scan.search(query))


def test_a_partition_that_grows_beyond_the_threshold_is_forgotten_once(index: TieredIndex):
    index.apply(HERS, ROWS[:3], 1)
    index.apply(HERS, ROWS[3:], 2)
    assert index.version(HERS) == 0
    index.apply(HERS, ROWS, 2)
    index.apply(HERS, [a_change("new", "tea")], 3)
    assert index.version(HERS) == 3
    assert len(ids(index.search(a_query("tea")))) == 7


def test_words_of_an_earlier_process_that_the_store_has_no_more_are_forgotten(path: Path):
    for kept, seen in ((ROWS, 6), (ROWS[:4], 4), (ROWS[:2], 2)):
        with closing(TieredIndex(ScanIndex(), Fts5Index(path), threshold_rows=3)) as index:
            index.apply(HERS, kept, 1)
            assert index.search(a_query("tea")).items == seen
    with closing(Fts5Index(path)) as words:
        assert words.version(HERS) == 0


def test_a_file_that_vanishes_under_a_large_partition_is_filled_again(index: TieredIndex, path: Path):
    index.apply(HERS, ROWS, 1)
    for file in path.parent.iterdir():
        file.unlink()
    assert index.version(HERS) == 0
    index.apply(HERS, ROWS, 1)
    assert len(ids(index.search(a_query("tea")))) == 6


def test_a_store_in_a_file_keeps_the_words_of_large_partitions_beside_it(tmp_path: Path):
    from mnemic.api import Mnemic

    config = Config(store=str(tmp_path / "memory.db"), embedder="none", settings=Settings(large_partition_rows=3))
    for _ in range(2):
        with Mnemic.open(config) as mnemic:
            mnemic.remember_many(ANNA, [f"tea number {n}" for n in range(5)])
            assert [hit.text for hit in mnemic.recall(ANNA, "number 3", limit=1)] == ["tea number 3"]
            assert len(mnemic.recall(ANNA, "tea")) == 5
    assert (tmp_path / "memory.db.index" / "fts5.db").exists()
