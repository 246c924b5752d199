"""Every index of this project keeps the contract of the port, and indexes that do not are found out."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path

import pytest
from hypothesis import Phase, given, settings

from mnemic.adapters.indexes import base_files
from mnemic.adapters.indexes.fts5 import Fts5Index
from mnemic.adapters.indexes.hnsw import GraphKeeper
from mnemic.adapters.indexes.scan import ScanIndex, Table
from mnemic.adapters.indexes.tiered import SpacesIndex, TieredIndex
from mnemic.adapters.indexes.words import COMMON_ROWS
from mnemic.model.candidates import Change
from mnemic.model.scope import Partition
from mnemic.ports.index import Index
from mnemic.testing.index_contract import Fed, IndexContract, replay
from mnemic.testing.index_samples import NOW
from mnemic.testing.index_strategies import Use, uses
from tests.conformance import broken_indexes as broken


@pytest.fixture(autouse=True)
def without_faiss(monkeypatch: pytest.MonkeyPatch):
    """Tests of backends may have loaded faiss into this process, and beside it no graph is made."""
    monkeypatch.delitem(sys.modules, "faiss", raising=False)


class TestScanIndex(IndexContract):
    def new_index(self) -> Index:
        return ScanIndex()


class TestScanIndexWithoutRoom(IndexContract):
    def new_index(self) -> Index:
        return ScanIndex(budget_bytes=1)


class TestScanIndexOfLargePartitions(IndexContract):
    def new_index(self) -> Index:
        return ScanIndex(exact_rows=0, keyword_rows=1)


class ReopeningIndex(ScanIndex):
    """Writes every other state of a partition to a file, and goes on with what it reads from there."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self._folder = folder
        self._turn = 0

    def apply(self, partition: Partition, changes: Sequence[Change], version: int, *, holds_terms: bool = True) -> None:
        with self._guard:
            super().apply(partition, changes, version, holds_terms=holds_terms)
            self._turn += 1
            if partition in self._tables and self._turn % 2:
                table, path = self._tables[partition], self._folder / f"{self._turn}.base"
                with path.open("wb") as file:
                    base_files.write(file, table.freeze(nullcontext()), "stamp", self._turn)
                opened = base_files.read(path, "stamp", self._turn)
                assert opened is not None
                path.unlink()
                self._tables[partition] = Table.of_base(opened, COMMON_ROWS)


class TestScanIndexOfBaseFiles(IndexContract):
    @pytest.fixture(autouse=True)
    def folder(self, tmp_path: Path):
        self.tmp_path = tmp_path

    def new_index(self) -> Index:
        return ReopeningIndex(self.tmp_path)


class TestSpacesIndexOfBaseFiles(IndexContract):
    @pytest.fixture(autouse=True)
    def folder(self, tmp_path: Path):
        self.tmp_path = tmp_path

    def new_index(self) -> Index:
        return SpacesIndex(ScanIndex(), [ReopeningIndex(self.tmp_path)])


class TestScanIndexWithGraphs(IndexContract):
    @pytest.fixture(autouse=True)
    def folder(self, tmp_path: Path):
        self.tmp_path = tmp_path

    def new_index(self) -> Index:
        return ScanIndex(exact_rows=0, keyword_rows=1, graphs=GraphKeeper(self.tmp_path))


class OnDisk(IndexContract):
    @pytest.fixture(autouse=True)
    def folder(self, tmp_path: Path):
        self.tmp_path = tmp_path
        self.files = 0

    def new_file(self) -> Path:
        self.files += 1
        return self.tmp_path / str(self.files) / "fts5.db"


class TestFts5Index(OnDisk):
    def new_index(self) -> Index:
        return Fts5Index(self.new_file())


class TestSpacesIndex(IndexContract):
    def new_index(self) -> Index:
        return SpacesIndex(ScanIndex(), [ScanIndex(), ScanIndex()])


class TestTieredIndex(OnDisk):
    def new_index(self) -> Index:
        return TieredIndex(ScanIndex(), Fts5Index(self.new_file()), threshold_rows=2)


@pytest.mark.parametrize(
    "index, sentence",
    [
        (broken.ShowsPrivateRowsToEveryAgent, "rows_private_to_another_agent_are_not_seen_also_by_the_statistics"),
        (broken.NeverExpires, "rows_that_have_expired_are_not_seen_also_by_the_statistics"),
        (broken.ShowsInactiveRows, "inactive_rows_are_seen_only_when_asked_for"),
        (broken.SearchesEveryPartition, "candidates_come_from_the_partitions_of_the_query_alone"),
        (broken.CountsOtherPartitions, "other_partitions_do_not_count_in_the_statistics"),
        (broken.KeepsGoneRows, "a_gone_item_leaves_no_trace"),
        (broken.CountsGoneRows, "a_gone_item_leaves_no_trace"),
        (broken.GoesBackToOlderVersions, "a_call_whose_version_is_not_beyond_the_own_changes_nothing"),
        (broken.SaysItIsNewerThanItIs, "an_applied_partition_is_at_its_version_and_the_search_says_so"),
        (broken.NarrowsTheStatistics, "kinds_and_allowed_narrow_the_candidates_and_not_the_statistics"),
        (broken.IgnoresKinds, "kinds_and_allowed_narrow_the_candidates_and_not_the_statistics"),
        (broken.CountsATermOnce, "counts_and_lengths_are_exact"),
        (broken.ForgetsToDrop, "a_dropped_partition_is_at_version_0_and_empty_until_it_is_applied_again"),
        (broken.IgnoresTheDenseLimit, "dense_limit_bounds_the_rows_that_come_in_by_vector_alone"),
        (broken.LosesRowsFoundByVectorAlone, "rows_come_in_by_vector_alone_with_exact_counts_and_cosines"),
    ],
)
def test_the_suite_rejects_an_index_that(index: type[ScanIndex], sentence: str):
    arguments = {"agent": None, "now": NOW, "seen": ["a"], "include_inactive": False}
    test = getattr(IndexContract, f"test_{sentence}")
    wanted = {name: value for name, value in arguments.items() if name in inspect.signature(test).parameters}
    with pytest.raises(AssertionError):
        test(IndexContract(), Fed(index()), **wanted)


@pytest.mark.parametrize("index", [broken.CountsOtherPartitions, broken.CountsATermOnce, broken.NeverExpires])
def test_random_use_rejects_an_index_that(index: type[ScanIndex]):
    @settings(phases=[Phase.generate], database=None, deadline=None, report_multiple_bugs=False, max_examples=500)
    @given(use=uses())
    def compare(use: Use) -> None:
        replay(index(), use)

    with pytest.raises(AssertionError):
        compare()
