"""Indexes that are broken on purpose, each in one way: the exact scan with one spoilt answer or habit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from mnemic.adapters.indexes.scan import ScanIndex
from mnemic.model.candidates import Candidates, Change, IndexQuery
from mnemic.model.scope import Partition
from mnemic.testing.index_samples import ELSEWHERE, HERS, HIS

EVERYBODY = (HERS, HIS, ELSEWHERE)


class ShowsPrivateRowsToEveryAgent(ScanIndex):
    def apply(self, partition: Partition, changes: Sequence[Change], version: int, *, holds_terms: bool = True) -> None:
        shown = [change._replace(private_agent=None) for change in changes]
        super().apply(partition, shown, version, holds_terms=holds_terms)


class NeverExpires(ScanIndex):
    def search(self, query: IndexQuery) -> Candidates:
        return super().search(replace(query, now=-(2**60)))


class ShowsInactiveRows(ScanIndex):
    def search(self, query: IndexQuery) -> Candidates:
        return super().search(replace(query, include_inactive=True))


class SearchesEveryPartition(ScanIndex):
    def search(self, query: IndexQuery) -> Candidates:
        found = super().search(replace(query, partitions=EVERYBODY))
        return replace(found, versions=super().search(query).versions)


class CountsOtherPartitions(ScanIndex):
    def search(self, query: IndexQuery) -> Candidates:
        every = super().search(replace(query, partitions=EVERYBODY))
        return replace(super().search(query), document_frequencies=every.document_frequencies)


class KeepsGoneRows(ScanIndex):
    def apply(self, partition: Partition, changes: Sequence[Change], version: int, *, holds_terms: bool = True) -> None:
        kept = [change for change in changes if not change.is_gone]
        super().apply(partition, kept, version, holds_terms=holds_terms)


class CountsGoneRows(ScanIndex):
    """It never takes a row off its statistics."""

    def __init__(self) -> None:
        super().__init__()
        self._most = 0

    def search(self, query: IndexQuery) -> Candidates:
        found = super().search(query)
        self._most = max(self._most, found.items)
        return replace(found, items=self._most)


class GoesBackToOlderVersions(ScanIndex):
    def apply(self, partition: Partition, changes: Sequence[Change], version: int, *, holds_terms: bool = True) -> None:
        super().apply(partition, changes, max(version, self.version(partition) + 1), holds_terms=holds_terms)


class SaysItIsNewerThanItIs(ScanIndex):
    def search(self, query: IndexQuery) -> Candidates:
        return replace(super().search(query), versions=tuple(99 for _ in query.partitions))


class NarrowsTheStatistics(ScanIndex):
    def search(self, query: IndexQuery) -> Candidates:
        found = super().search(query)
        return replace(found, items=len(found.ids) if query.kinds or query.allowed is not None else found.items)


class IgnoresKinds(ScanIndex):
    def search(self, query: IndexQuery) -> Candidates:
        return super().search(replace(query, kinds=frozenset()))


class CountsATermOnce(ScanIndex):
    def search(self, query: IndexQuery) -> Candidates:
        found = super().search(query)
        return replace(found, counts=np.minimum(found.counts, np.float32(1.0)))


class ForgetsToDrop(ScanIndex):
    def drop(self, partition: Partition) -> None:
        pass


class IgnoresTheDenseLimit(ScanIndex):
    def search(self, query: IndexQuery) -> Candidates:
        return super().search(replace(query, dense_limit=1000))


class LosesRowsFoundByVectorAlone(ScanIndex):
    def search(self, query: IndexQuery) -> Candidates:
        found = super().search(query)
        kept = found.counts.any(axis=1)
        columns = ("ids", "counts", "lengths", "cosines", "importances", "observed")
        return replace(found, **{name: getattr(found, name)[kept] for name in columns})
