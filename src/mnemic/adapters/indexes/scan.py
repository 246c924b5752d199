"""The exact index: every visible row of a partition, in memory, within a byte budget."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Collection, Sequence

from mnemic.adapters.indexes.evidence import Evidence, joined, nothing
from mnemic.adapters.indexes.table import Table
from mnemic.model.candidates import Candidates, Floats, IndexQuery, Surroundings
from mnemic.model.change import Change
from mnemic.model.scope import Partition
from mnemic.ports.index import Index, IndexCapabilities


class ScanIndex:
    """The `Index` port by exact scan.

    Partitions that were not searched for longest are forgotten when all together hold more than `budget_bytes`; they
    come back from the store's rows when they are next asked for. One that is being caught up with (its version was
    asked or changes came) is kept until it has been searched, so that a search always ends.
    """

    capabilities = IndexCapabilities(has_vectors=True, is_exact=True, is_durable=False)

    def __init__(self, *, budget_bytes: int = 1 << 30) -> None:
        self._budget_bytes = budget_bytes
        self._tables: OrderedDict[Partition, Table] = OrderedDict()
        self._awaited: set[Partition] = set()
        self._bytes_held = 0
        self._guard = threading.RLock()

    def version(self, partition: Partition) -> int:
        with self._guard:
            table = self._tables.get(partition)
            if table is None:
                return 0
            self._awaited.add(partition)
            return table.version

    def apply(self, partition: Partition, changes: Sequence[Change], version: int, *, holds_terms: bool = True) -> None:
        """As the port says; a partition that is new here is held without its terms when not `holds_terms`."""
        with self._guard:
            table = self._tables.setdefault(partition, Table(holds_terms=holds_terms))
            self._tables.move_to_end(partition)
            self._awaited.add(partition)
            if version > table.version:
                before = table.bytes_held
                table.apply(changes)
                table.version = version
                self._bytes_held += table.bytes_held - before
            if table.is_sparse:
                self.drop(partition)

    def search(self, query: IndexQuery) -> Candidates:
        with self._guard:
            found = [self.evidence(partition, query) for partition in query.partitions]
            self.trim()
            return joined(found, len(query.terms))

    def evidence(self, partition: Partition, query: IndexQuery) -> Evidence:
        """What one partition holds for `query`."""
        with self._guard:
            table = self._tables.get(partition)
            if table is None:
                return nothing(len(query.terms))
            self._tables.move_to_end(partition)
            self._awaited.discard(partition)
            return table.search(query)

    def cosines(self, partition: Partition, vector: Floats, ids: Collection[str]) -> dict[str, float]:
        """The cosine of each of these items that is held with a vector to the unit vector given."""
        with self._guard:
            return self._tables[partition].cosines(vector, ids) if partition in self._tables else {}

    def neighbours(self, partition: Partition, ids: Collection[str], steps: int) -> list[str]:
        """The ids of the messages up to `steps` before and after these items, as far as they are held."""
        with self._guard:
            return self._tables[partition].neighbours(ids, steps) if partition in self._tables else []

    def surroundings(self, partition: Partition, ids: Sequence[str], words: frozenset[str]) -> Surroundings:
        """Where these items stand in the talk they come from, as far as they are held."""
        with self._guard:
            table = self._tables.get(partition)
            return Surroundings.nowhere(len(ids)) if table is None else table.surroundings(ids, words)

    def trim(self) -> None:
        """Forget what was not searched for longest, until the rest is within the budget."""
        with self._guard:
            for partition in list(self._tables)[:-1]:
                if self._bytes_held <= self._budget_bytes:
                    return
                if partition not in self._awaited:
                    self.drop(partition)

    def drop(self, partition: Partition) -> None:
        with self._guard:
            table = self._tables.pop(partition, None)
            self._awaited.discard(partition)
            self._bytes_held -= table.bytes_held if table else 0

    def close(self) -> None:
        with self._guard:
            self._tables.clear()
            self._awaited.clear()
            self._bytes_held = 0

    def rows(self, partition: Partition) -> int:
        """How many items of the partition are held."""
        with self._guard:
            return self._tables[partition].rows if partition in self._tables else 0

    @property
    def bytes_held(self) -> int:
        """About how much memory all partitions take."""
        return self._bytes_held


_: type[Index] = ScanIndex
