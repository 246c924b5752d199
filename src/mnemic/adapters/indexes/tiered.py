"""Small partitions wholly in memory; of large ones the vectors in memory and the words on disk."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TypeVar

import numpy as np

from mnemic.adapters.indexes.evidence import Evidence, joined, nothing
from mnemic.adapters.indexes.fts5 import Fts5Index
from mnemic.adapters.indexes.scan import ScanIndex
from mnemic.errors import BackendError
from mnemic.model.candidates import Candidates, IndexQuery
from mnemic.model.change import Change
from mnemic.model.scope import Partition
from mnemic.ports.index import Index

_Answer = TypeVar("_Answer")
_log = logging.getLogger("mnemic.index")


class TieredIndex:
    """The `Index` port: a partition of more than `threshold_rows` items finds words by `keyword`, vectors by `scan`.

    A partition that grows beyond the threshold is forgotten once and comes back divided between the two. What
    `keyword` kept from an earlier process is compared with the store's rows when the partition is first asked for.
    Where the file of `keyword` fails (the disk is full, or another process keeps it locked), the partition comes back
    wholly in memory and stays so: answers are the same, and the cost is memory.
    """

    def __init__(self, scan: ScanIndex, keyword: Fts5Index, threshold_rows: int) -> None:
        self.capabilities = replace(scan.capabilities, is_exact=False)
        self._scan = scan
        self._keyword = keyword
        self._threshold_rows = threshold_rows
        self._large: set[Partition] = set()
        self._whole: set[Partition] = set()
        self._told: dict[Partition, int] = {}
        self._guard = threading.Lock()

    def version(self, partition: Partition) -> int:
        held = self._scan.version(partition)
        if held and self._is_large(partition):
            held = min(held, self._or_whole(partition, lambda: self._keyword.version(partition), 0))
        with self._guard:
            self._told[partition] = held
        return held

    def apply(self, partition: Partition, changes: Sequence[Change], version: int) -> None:
        with self._guard:
            since = self._told.pop(partition, None)
        if self._scan.version(partition) == 0:
            self._begin(partition, changes, version)
        elif self._is_large(partition):
            self._scan.apply(partition, changes, version, holds_terms=False)
            self._or_whole(partition, lambda: self._keyword.apply(partition, changes, version, since=since), None)
        else:
            self._scan.apply(partition, changes, version)
            if self._scan.rows(partition) > self._threshold_rows and not self._is_whole(partition):
                self._mark_large(partition)
                self._scan.forget(partition)

    def search(self, query: IndexQuery) -> Candidates:
        best = self._scan.best(query)
        found = [
            self._or_whole(partition, partial(self._divided, partition, query), nothing(len(query.terms)))
            if self._is_large(partition)
            else self._scan.evidence(partition, query, best)
            for partition in query.partitions
        ]
        self._scan.trim()
        return joined(found, len(query.terms))

    def drop(self, partition: Partition) -> None:
        with self._guard:
            self._large.discard(partition)
            self._whole.discard(partition)
            self._told.pop(partition, None)
        self._scan.drop(partition)
        self._keyword.drop(partition)

    def settle(self) -> None:
        self._scan.settle()
        self._keyword.settle()

    def close(self) -> None:
        self._scan.close()
        self._keyword.close()

    def _is_large(self, partition: Partition) -> bool:
        with self._guard:
            return partition in self._large

    def _is_whole(self, partition: Partition) -> bool:
        with self._guard:
            return partition in self._whole

    def _or_whole(self, partition: Partition, call: Callable[[], _Answer], otherwise: _Answer) -> _Answer:
        """What a call on the file gives; `otherwise` when it fails: the partition is then forgotten, and comes back."""
        try:
            return call()
        except BackendError as error:
            _log.warning("%s; the words of a large partition are held in memory instead", error)
            with self._guard:
                self._whole.add(partition)
                self._large.discard(partition)
                self._told.pop(partition, None)
            self._scan.forget(partition)
            return otherwise

    def _mark_large(self, partition: Partition) -> None:
        with self._guard:
            self._large.add(partition)

    def _begin(self, partition: Partition, changes: Sequence[Change], version: int) -> None:
        """Take in all of a partition; what was kept of one that is small by now must not outlive an erasure."""
        live = len({change.item_id for change in changes} - {c.item_id for c in changes if c.is_gone})
        if self._is_whole(partition):
            self._scan.apply(partition, changes, version)
        elif live > self._threshold_rows or self._is_large(partition):
            self._mark_large(partition)
            self._scan.apply(partition, changes, version, holds_terms=False)
            self._or_whole(partition, lambda: self._keyword.apply(partition, changes, version, is_complete=True), None)
        else:
            self._scan.apply(partition, changes, version)
            self._or_whole(partition, lambda: self._forget(partition), None)

    def _forget(self, partition: Partition) -> None:
        if self._keyword.version(partition):
            self._keyword.drop(partition)

    def _divided(self, partition: Partition, query: IndexQuery) -> Evidence:
        """Dense rows first, then keyword rows with the counts of the dense ones, then the cosines of them all."""
        alone = replace(query, partitions=(partition,))
        dense = replace(alone, terms=())
        near = self._scan.evidence(partition, dense)
        (words,) = self._keyword.evidence(alone, also=[str(i) for i in near.ids])
        if query.neighbours:
            beside = self._scan.neighbours(partition, [str(i) for i in words.ids], query.neighbours)
            (words,) = self._keyword.evidence(alone, also=beside)
        known = {str(i) for i in near.ids}
        further = [str(i) for i in words.ids if i not in known]
        cosine_of = dict(zip(near.ids, near.cosines, strict=True))
        if further and query.vector is not None:
            cosine_of |= self._scan.cosines(partition, query.vector, further)
        cosines = np.array([cosine_of.get(i, np.nan) for i in words.ids], dtype=np.float32)
        version = min(near.version, words.version)
        surroundings = self._scan.surroundings(partition, [str(i) for i in words.ids], query.words)
        return replace(words, cosines=cosines, population=near.population, version=version, surroundings=surroundings)


_: type[Index] = TieredIndex
