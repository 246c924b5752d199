"""Searches small partitions in memory and large ones in PostgreSQL."""

import threading
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace

import numpy as np

from mnemic.adapters.indexes.postgres_index import PostgresIndex
from mnemic.adapters.indexes.views import Evidence, joined
from mnemic.model.candidates import Candidates, Change, IndexQuery, Nearness
from mnemic.model.health import Finding
from mnemic.model.scope import Partition
from mnemic.ports.index import Index, ServedIndex
from mnemic.ranking.bm25 import Bm25, CollectionStatistics, inner

_BM25 = Bm25()


class BoundedIndex:
    """The `Index` port. Partitions of more than `bound` items are in `database`, others in `memory`, which has
    `rows_of` items of a partition. A growing partition moves from memory to the database once. It stays there when it
    shrinks, and all processes with a bound find it there.
    """

    def __init__(self, memory: Index, database: PostgresIndex, bound: int, rows_of: Callable[[Partition], int]) -> None:
        self.capabilities = replace(memory.capabilities, is_exact=False)
        self._memory, self._database, self._bound, self._rows_of = memory, database, bound, rows_of
        self._large: set[Partition] = set()
        self._guard = threading.Lock()

    def version(self, partition: Partition) -> int:
        if not self._is_large(partition) and (held := self._memory.version(partition)):
            return held
        held = self._database.version(partition)
        if held:
            self._mark_large(partition)
        return held

    def apply(self, partition: Partition, changes: Sequence[Change], version: int) -> None:
        is_new = not self._is_large(partition) and not self._memory.version(partition)
        if is_new and len({each.item_id for each in changes if not each.is_gone}) > self._bound:
            self._mark_large(partition)
        if self._is_large(partition):
            self._database.apply(partition, changes, version)
            return
        self._memory.apply(partition, changes, version)
        if self._rows_of(partition) > self._bound:
            self._memory.drop(partition)
            self._mark_large(partition)

    def search(self, query: IndexQuery) -> Candidates:
        large = tuple(each for each in query.partitions if self._is_large(each))
        if not large:
            return self._memory.search(query)
        found = self._database.search(replace(query, partitions=large))
        small = tuple(each for each in query.partitions if each not in large)
        if not small:
            return found
        beside = self._memory.search(replace(query, partitions=small))
        version_of = dict(zip((*large, *small), (*found.versions, *beside.versions), strict=True))
        return replace(_merge(found, beside), versions=tuple(version_of[each] for each in query.partitions))

    def drop(self, partition: Partition) -> None:
        with self._guard:
            self._large.discard(partition)
        self._memory.drop(partition)
        self._database.drop(partition)

    def settle(self) -> None:
        for index in (self._memory, self._database):
            index.settle()

    def close(self) -> None:
        for index in (self._memory, self._database):
            index.close()

    def holds(self, partitions: Collection[Partition]) -> bool:
        return self._database.holds(partitions)

    def is_behind(self, partitions: Collection[Partition]) -> bool:
        return self._database.is_behind(partitions)

    def diagnose(self, known: Collection[Partition]) -> list[Finding]:
        (finding,) = self._database.diagnose(known)
        return [replace(finding, message=f"{finding.message}; partitions of up to {self._bound} rows are in memory")]

    def _is_large(self, partition: Partition) -> bool:
        with self._guard:
            return partition in self._large

    def _mark_large(self, partition: Partition) -> None:
        with self._guard:
            self._large.add(partition)


def _merge(one: Candidates, other: Candidates) -> Candidates:
    """Combine the candidates of two indexes."""
    terms = one.counts.shape[1]
    parts = [one, other]
    if any(part.keyword_sums for part in parts):
        parts = _with_sums(parts)
    spaces = min(len(part.nearness) for part in parts)
    main, *further = (joined([_evidence(part, part.nearness[n]) for part in parts], terms) for n in range(spaces))
    return replace(
        main,
        further=tuple(
            Nearness(cosines=each.cosines, vectors=each.vectors, mean=each.cosine_mean, deviation=each.cosine_deviation)
            for each in further
        ),
        missing=(*one.missing, *other.missing),
    )


def _with_sums(parts: Sequence[Candidates]) -> list[Candidates]:
    """Add the sums over all rows that share a term, if all of these rows are candidates."""
    whole = CollectionStatistics.of(
        sum(part.items for part in parts),
        sum(part.total_length for part in parts),
        np.sum([part.document_frequencies for part in parts], axis=0),
    )
    scores = [_BM25.scores(part.counts, part.lengths, whole).astype(np.float64) for part in parts]
    return [
        part if part.keyword_sums else replace(part, keyword_sums=(float(each.sum()), inner(each, each)))
        for part, each in zip(parts, scores, strict=True)
    ]


def _evidence(found: Candidates, near: Nearness) -> Evidence:
    square = near.deviation**2 + near.mean**2
    return Evidence(
        ids=found.ids,
        counts=found.counts,
        lengths=found.lengths,
        cosines=near.cosines,
        importances=found.importances,
        observed=found.observed,
        items=found.items,
        total_length=found.total_length,
        document_frequencies=found.document_frequencies,
        population=(near.vectors, near.mean * near.vectors, square * near.vectors),
        version=0,
        flagged=np.zeros(found.ids.shape, dtype=np.bool_) if found.flagged is None else found.flagged,
        surroundings=found.surroundings,
        keyword_sums=found.keyword_sums,
    )


_: type[Index] = BoundedIndex
_served: type[ServedIndex] = BoundedIndex
