"""The exact index: every visible row of a partition, in memory, within a byte budget."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence

import numpy as np

from mnemic.adapters.indexes.table import Evidence, Table
from mnemic.model.candidates import Candidates, IndexQuery
from mnemic.model.change import Change
from mnemic.model.scope import Partition
from mnemic.ports.index import Index, IndexCapabilities


class ScanIndex:
    """The `Index` port by exact scan.

    Partitions that were not searched for longest are forgotten when all together hold more than `budget_bytes`; they
    come back from the store's rows when they are next asked for.
    """

    capabilities = IndexCapabilities(has_vectors=True, is_exact=True, is_durable=False)

    def __init__(self, *, budget_bytes: int = 1 << 30) -> None:
        self._budget_bytes = budget_bytes
        self._tables: OrderedDict[Partition, Table] = OrderedDict()
        self._bytes_held = 0
        self._guard = threading.RLock()

    def version(self, partition: Partition) -> int:
        with self._guard:
            table = self._tables.get(partition)
            return 0 if table is None else table.version

    def apply(self, partition: Partition, changes: Sequence[Change], version: int) -> None:
        with self._guard:
            table = self._tables.setdefault(partition, Table())
            self._tables.move_to_end(partition)
            if version > table.version:
                before = table.bytes_held
                table.apply(changes)
                table.version = version
                self._bytes_held += table.bytes_held - before
            if table.is_sparse:
                self.drop(partition)
            while len(self._tables) > 1 and self._bytes_held > self._budget_bytes:
                self.drop(next(iter(self._tables)))

    def search(self, query: IndexQuery) -> Candidates:
        with self._guard:
            tables = [self._tables.get(partition) for partition in query.partitions]
            for partition, table in zip(query.partitions, tables, strict=True):
                if table is not None:
                    self._tables.move_to_end(partition)
            found = [(table or Table()).search(query) for table in tables]
            return _joined(found, tuple(0 if table is None else table.version for table in tables), len(query.terms))

    def drop(self, partition: Partition) -> None:
        with self._guard:
            table = self._tables.pop(partition, None)
            self._bytes_held -= table.bytes_held if table else 0

    def close(self) -> None:
        with self._guard:
            self._tables.clear()
            self._bytes_held = 0

    @property
    def bytes_held(self) -> int:
        """About how much memory all partitions take."""
        return self._bytes_held


def _joined(found: Sequence[Evidence], versions: tuple[int, ...], terms: int) -> Candidates:
    """The evidence of several partitions as if their rows lay in one."""
    vectors = sum(part.population[0] for part in found)
    mean = sum(part.population[1] for part in found) / vectors if vectors else 0.0
    square = sum(part.population[2] for part in found) / vectors if vectors else 0.0
    floats, empty = np.zeros(0, dtype=np.float32), np.zeros(0, dtype=np.int64)
    return Candidates(
        ids=np.concatenate([np.zeros(0, dtype=np.object_), *(part.ids for part in found)]),
        counts=np.concatenate([np.zeros((0, terms), dtype=np.float32), *(part.counts for part in found)]),
        lengths=np.concatenate([floats, *(part.lengths for part in found)]),
        cosines=np.concatenate([floats, *(part.cosines for part in found)]),
        importances=np.concatenate([floats, *(part.importances for part in found)]),
        observed=np.concatenate([empty, *(part.observed for part in found)]),
        items=sum(part.items for part in found),
        total_length=sum(part.total_length for part in found),
        document_frequencies=sum((p.document_frequencies for p in found), np.zeros(terms, dtype=np.int64)),
        vectors=vectors,
        cosine_mean=mean,
        cosine_deviation=max(square - mean * mean, 0.0) ** 0.5,
        versions=versions,
    )


_: type[Index] = ScanIndex
