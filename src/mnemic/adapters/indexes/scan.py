"""The exact index: every visible row of a partition, in memory, within a byte budget."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Collection, Sequence

from mnemic.adapters.indexes.hnsw import Graph, GraphKeeper
from mnemic.adapters.indexes.table import Table
from mnemic.adapters.indexes.views import Evidence, joined, nothing
from mnemic.adapters.indexes.words import COMMON_ROWS, BestByKeyword
from mnemic.model.candidates import Candidates, Change, Floats, IndexQuery, Surroundings
from mnemic.model.scope import Partition
from mnemic.ports.index import Index, IndexCapabilities
from mnemic.ranking.bm25 import CollectionStatistics


class ScanIndex:
    """The `Index` port by exact scan of partitions with up to `exact_rows` items (None: of all).

    In a larger one about the best `keyword_rows` of the rows that share a term come in, by BM25, instead of all of
    them; exactly the best where no term is in more than `common_rows` rows (see `words`). Where `graphs` has one for
    it, the nearest vectors are those that the graph names and those it lacks, and the mean and deviation of the cosines
    are estimated from `dense.SAMPLE_ROWS` visible vectors. Cosines, counts, lengths and document frequencies are exact,
    of the visible rows, and of the moment of the search.

    Partitions that were not searched for longest are forgotten when all together hold more than `budget_bytes`; they
    come back from the store's rows when they are next asked for. One that is being caught up with (its version was
    asked or changes came) is kept until it has been searched, so that a search always ends.
    """

    def __init__(
        self,
        *,
        budget_bytes: int = 1 << 30,
        exact_rows: int | None = None,
        keyword_rows: int = 1_000,
        common_rows: int = COMMON_ROWS,
        graphs: GraphKeeper | None = None,
    ) -> None:
        self.capabilities = IndexCapabilities(
            has_vectors=True, is_exact=exact_rows is None, is_durable=False, budget_bytes=budget_bytes
        )
        self._budget_bytes = budget_bytes
        self._exact_rows = exact_rows
        self._keyword_rows = keyword_rows
        self._common_rows = common_rows
        self._graphs = graphs
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
            table = self._tables.setdefault(partition, Table(holds_terms=holds_terms, common_rows=self._common_rows))
            self._tables.move_to_end(partition)
            self._awaited.add(partition)
            if version > table.version:
                before = table.bytes_held
                table.apply(changes)
                table.version = version
                self._bytes_held += table.bytes_held - before
            if table.is_sparse:
                self.forget(partition)
            elif self._is_large(table):
                self._want_graph(partition, table)

    def search(self, query: IndexQuery) -> Candidates:
        with self._guard:
            best = self.best(query)
            found = [self.evidence(partition, query, best) for partition in query.partitions]
            self.trim()
            return joined(found, len(query.terms))

    def evidence(self, partition: Partition, query: IndexQuery, best: BestByKeyword | None = None) -> Evidence:
        """What one partition holds for `query`; with all rows that share a term, or only the best of them."""
        with self._guard:
            table = self._tables.get(partition)
            if table is None:
                return nothing(len(query.terms))
            self._tables.move_to_end(partition)
            self._awaited.discard(partition)
            return table.search(query, best)

    def best(self, query: IndexQuery) -> BestByKeyword | None:
        """How to choose among the rows that share a term, where one of the partitions is large."""
        with self._guard:
            return self._best(query)

    def _best(self, query: IndexQuery) -> BestByKeyword | None:
        tables = [self._tables[partition] for partition in query.partitions if partition in self._tables]
        if not any(self._is_large(table) for table in tables):
            return None
        statistics = CollectionStatistics.merged(table.counted(query).statistics for table in tables)
        return BestByKeyword(max(self._keyword_rows, query.dense_limit), statistics)

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
                    self.forget(partition)

    def drop(self, partition: Partition) -> None:
        self.forget(partition)
        if self._graphs is not None:
            self._graphs.forget(partition)

    def forget(self, partition: Partition) -> None:
        """As `drop`, but what is on disk stays for the next time."""
        with self._guard:
            table = self._tables.pop(partition, None)
            self._awaited.discard(partition)
            self._bytes_held -= table.bytes_held if table else 0

    def settle(self) -> None:
        if self._graphs is not None:
            self._graphs.wait()

    def close(self) -> None:
        if self._graphs is not None:
            self._graphs.close()
        with self._guard:
            self._tables.clear()
            self._awaited.clear()
            self._bytes_held = 0

    def rows(self, partition: Partition) -> int:
        """How many items of the partition are held."""
        with self._guard:
            return self._tables[partition].rows if partition in self._tables else 0

    def graph_rows(self, partition: Partition) -> int:
        """How many vectors the graph in use for the partition holds, 0 without one."""
        with self._guard:
            graph = self._tables[partition].graph if partition in self._tables else None
            return graph.size if graph else 0

    @property
    def bytes_held(self) -> int:
        """About how much memory all partitions take."""
        return self._bytes_held

    def _is_large(self, table: Table) -> bool:
        return self._exact_rows is not None and table.rows > self._exact_rows

    def _want_graph(self, partition: Partition, table: Table) -> None:
        """Have a graph made, and use it when it is there and the table still is; until then the scan finds vectors."""

        def use(graph: Graph) -> None:
            with self._guard:
                table.graph = graph

        if self._graphs is not None and table.is_graph_due:
            self._graphs.ask(partition, table.source, table.graph, use)


_: type[Index] = ScanIndex
