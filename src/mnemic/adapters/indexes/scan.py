"""The exact index: every row of a partition in memory, within a byte budget, laid out for vectorised search."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Collection, Iterable, Sequence
from contextlib import AbstractContextManager
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from mnemic.adapters.indexes import views
from mnemic.adapters.indexes.base_files import Base, BaseFiles, Ids, Talk, join_texts, sort_ids
from mnemic.adapters.indexes.hnsw import Graph, GraphKeeper, Source, is_due
from mnemic.adapters.indexes.words import COMMON_ROWS, BestByKeyword, Counted, Words, merge_words
from mnemic.errors import InvalidInputError
from mnemic.model.candidates import MESSAGE, Candidates, Change, Floats, IndexQuery, Surroundings
from mnemic.model.item import Role
from mnemic.model.scope import Partition
from mnemic.ports.index import Index, IndexCapabilities
from mnemic.ranking.bm25 import CollectionStatistics

_ROW_BYTES = 400  # ids, dictionaries and columns of one row, measured with tracemalloc
_POSTING_BYTES = 8  # two 32-bit numbers: row and count
_SPARSE_ROWS = 1024  # smaller tables are not rebuilt: their gaps take less than 1 MiB
_BATCH_ROWS = 20_000  # processed at once, so that loading a partition needs little extra memory
_SEARCHES_WITHOUT_GRAPH = 4  # after opening a file: a process that asks once or twice would load a graph for nothing
_NAMED = ("agents", "kinds", "authors", "sessions")
_NO_PERSON = (Role.ASSISTANT, Role.TOOL)


class Table:
    """One partition: postings, columns and vectors by slot. Not thread-safe; its index holds the lock. A changed item
    gets a new slot. `is_sparse` shows when to rebuild. Without terms, a table finds rows by vector only.
    """

    def __init__(self, *, holds_terms: bool = True, common_rows: int = COMMON_ROWS) -> None:
        self.version = 0
        self.holds_terms = holds_terms
        self.graph: Graph | None = None
        self.searches_without_graph = 0
        self.unsaved = 0
        self.has_lost_texts = False
        self._rows = 0
        self._slots = Ids()
        self._live = 0
        self._words = Words(common_rows)
        self._agents: dict[str, int] = {}
        self._kinds: dict[str, int] = {}
        self._authors: dict[str, int] = {}
        self._sessions: dict[str, int] = {}
        self._talk = Talk()
        self._columns = views.Columns(0)
        self._views = views.Views()
        self._places = np.full(1, -1, dtype=np.int64)  # all -1 between two uses; the last one is for "none", slot -1

    @classmethod
    def of_base(cls, base: Base, common_rows: int) -> Table:
        """A table with the rows of a base file."""
        table = cls(holds_terms="terms" in base.texts, common_rows=common_rows)
        rows, columns = base.rows, table._columns
        columns.open(rows, base.arrays, base.vectors)
        table.version, table._rows, table._live, table._slots = base.version, rows, rows, Ids(base)
        for name in _NAMED:
            numbered = enumerate(base.list_texts(name), 0 if name == "sessions" else 1)
            setattr(table, f"_{name}", {value: code for code, value in numbered})
        table._talk = Talk(base.arrays["talk keys"], base.arrays["talk slots"])
        table.searches_without_graph = _SEARCHES_WITHOUT_GRAPH
        if table.holds_terms:
            table._words.open(base)
        return table

    def freeze(self, guard: AbstractContextManager[Any]) -> Base:
        """All current rows, to write to a file."""
        with guard:
            columns, rows, version = self._columns, self._rows, self.version
            changing = {name: getattr(columns, name)[:rows].copy() for name in ("alive", "before", "after")}
            parts = {name: values[:rows] for name, values in columns.list_arrays().items()} | changing
            vectors, ids, (keys, talking) = columns.vectors, self._name_rows(), self._talk.arrays()
            names = {name: [*getattr(self, f"_{name}")] for name in _NAMED}
            words = self._words.snapshot() if self.holds_terms else None
        live = np.flatnonzero(parts["alive"])
        place = np.full(rows + 1, -1, dtype=np.int64)  # the last one is for "none", slot -1
        place[live] = np.arange(len(live))
        arrays = {name: values[live] for name, values in parts.items()}
        arrays |= {name: place[arrays[name]] for name in ("before", "after")}
        is_live = place[talking] >= 0
        arrays |= {"talk keys": keys[is_live], "talk slots": place[talking[is_live]]}
        kept: list[str] = ids[live].tolist()
        texts = {name: join_texts(values) for name, values in names.items()}
        texts["ids"], placed = sort_ids(kept)
        arrays |= placed
        if words is not None:
            texts["terms"], posted = merge_words(*words, place)
            arrays |= posted
        return Base(version, len(live), arrays, texts, vectors, live, frozenset(kept))

    def _name_rows(self, places: views.Slots | None = None) -> NDArray[np.object_]:
        """The ids of these slots, or of all. Those of a base file are decoded when first needed."""
        ids = self._columns.ids
        self._slots.name(ids, places)
        return ids[: self._rows] if places is None else ids[places]

    @property
    def bytes_held(self) -> int:
        """The approximate memory of the table in bytes."""
        return self._rows * (_ROW_BYTES + self._columns.dims * 4) + self._words.held * _POSTING_BYTES

    @property
    def rows(self) -> int:
        """The number of items."""
        return self._live

    def source(self) -> Source:
        """The current rows, to build a graph from."""
        columns, rows = self._columns, self._rows
        live = np.flatnonzero(columns.alive[:rows] & columns.has_vector[:rows])
        return Source(rows, live, self._name_rows(), columns.vectors)

    @property
    def is_graph_due(self) -> bool:
        """True if there are vectors, and no graph or a stale one."""
        return self._columns.dims > 0 and is_due(self.graph, self._rows, self._live)

    @property
    def is_sparse(self) -> bool:
        """True if more than half of the slots are dead, and enough to matter."""
        return self._rows > _SPARSE_ROWS and self._live * 2 < self._rows

    def apply(self, changes: Iterable[Change]) -> None:
        """Apply changes, in order."""
        batch = list({change.item_id: change for change in changes}.values())
        self.unsaved += len(batch)
        if not batch:
            return
        columns = self._make_room(batch)
        for start in range(0, len(batch), _BATCH_ROWS):
            part = batch[start : start + _BATCH_ROWS]
            self._lose(part, columns)
            self._append([change for change in part if not change.is_gone], columns)

    def _lose(self, changes: Sequence[Change], columns: views.Columns) -> None:
        """Mark the old slots of changed items dead."""
        if not self._live:  # as while a partition loads
            return
        for change in changes:
            dead = self._slots.pop(change.item_id)
            if dead >= 0:
                self._live -= 1
                self.has_lost_texts |= change.is_gone
                columns.alive[dead] = False
                self._views.lose(dead, columns)

    def counted(self, query: IndexQuery) -> Counted:
        """Counts of the query's terms, and the statistics of the rows that it may see."""
        return self._words.counted(query.terms, self._view(query))

    def search(self, query: IndexQuery, best: BestByKeyword | None = None) -> views.Evidence:
        """The candidates and statistics of this partition. `best` None: all rows that share a term."""
        columns, view = self._columns, self._view(query)
        narrowed = self._narrow_rows(query, view)
        near = self._find_near(query, view, narrowed)
        counted = self.counted(query)
        wanted = view.mask if narrowed is None else narrowed
        if best is None:
            words, sums = self._sharing(counted, wanted), None
        elif narrowed is None:
            words, sums = self._words.best(counted, columns, view, best)
        else:
            words, sums = self._words.best_among(counted, columns, narrowed, best)
        places = views.distinct(np.concatenate([words, near.slots]))
        for _ in range(query.neighbours if self._talk else 0):
            beside = columns.beside(places)
            places = views.distinct(np.concatenate([places, beside[wanted[beside]]]))
        return views.Evidence(
            ids=self._name_rows(places),
            counts=counted.of(places),
            lengths=columns.lengths[places],
            cosines=views.cosines_at(columns, query.vector, places) if near.cosines is None else near.cosines[places],
            importances=columns.importances[places],
            observed=columns.observed[places],
            flagged=columns.flagged[places],
            items=view.items,
            total_length=view.total_length,
            document_frequencies=counted.statistics.document_frequencies,
            population=near.population,
            version=self.version,
            surroundings=self._surroundings(places, columns, query.words),
            keyword_sums=sums,
        )

    def surroundings(self, ids: Sequence[str], words: frozenset[str]) -> Surroundings:
        """The positions of these items, in order. Unknown ones have none."""
        columns = self._columns
        slots = self._slots.find_all(ids)
        held = np.flatnonzero(slots >= 0)
        found = self._surroundings(slots[held], columns, words)
        rows = len(ids)
        place = np.append(held, -1)  # so that -1 stays -1
        spread = Surroundings.nowhere(rows)
        parts = {name: getattr(spread, name).copy() for name in Surroundings.__dataclass_fields__}
        for name, values in parts.items():
            mine = getattr(found, name)
            values[held] = place[mine] if name in ("before", "after") else mine
        return Surroundings(**parts)

    def neighbours(self, ids: Collection[str], steps: int) -> list[str]:
        """The ids of messages up to `steps` before and after these items."""
        columns = self._columns
        places = np.sort(self._slots.find_all(ids))
        places = places[places >= 0]
        for _ in range(steps):
            beside = columns.beside(places)
            places = np.union1d(places, beside[columns.alive[beside]])
        return list(self._name_rows(places))

    def cosines(self, vector: Floats, ids: Collection[str]) -> dict[str, float]:
        """The cosine of each of these items with a vector to a unit vector."""
        slots = self._slots.find_all(ids)
        slots = slots[slots >= 0]
        slots = slots[self._columns.has_vector[slots]]
        found = views.cosines_at(self._columns, vector, slots)
        return dict(zip(self._name_rows(slots), found.tolist(), strict=True))

    def _make_room(self, batch: Sequence[Change]) -> views.Columns:
        dims = next((change.vector.shape[0] for change in batch if change.vector is not None), 0)
        if dims and self._columns.dims == 0:
            self._columns.take_vectors_of(dims)
        self._columns.ensure(self._rows + len(batch))
        return self._columns

    def _append(self, changes: Sequence[Change], columns: views.Columns) -> None:
        """Append rows column by column."""
        if not changes:
            return
        rows = cast("Any", Change._make(zip(*changes, strict=True)))  # a column per field
        first, end = self._rows, self._rows + len(changes)
        self._put_vectors(rows.vector, first, columns)
        columns.ids[first:end] = rows.item_id
        self._slots.put(rows.item_id, first)
        self._live += len(changes)
        columns.alive[first:end] = True
        columns.active[first:end] = rows.is_active
        columns.importances[first:end] = rows.importance
        columns.flagged[first:end] = rows.is_flagged
        columns.observed[first:end] = rows.observed_at
        columns.expires[first:end] = [views.NEVER if at is None else at for at in rows.expires_at]
        columns.agents[first:end] = _number_values(self._agents, rows.private_agent)
        columns.kinds[first:end] = _number_values(self._kinds, rows.kind)
        if rows.session.count(None) < len(changes):
            columns.authors[first:end] = _number_values(self._authors, [author or None for author in rows.author])
            columns.assistant[first:end] = [role in _NO_PERSON for role in rows.role]
            columns.question[first:end] = rows.is_question
            self._place(rows.session, rows.position, first, columns)
        if self.holds_terms:
            columns.lengths[first:end] = self._words.post(rows.terms, first)
        else:
            columns.lengths[first:end] = [len(terms.split()) for terms in rows.terms]
        self._rows = end
        self._views.take(range(first, end), columns)

    def _put_vectors(self, vectors: Sequence[Floats | None], first: int, columns: views.Columns) -> None:
        held = [vector for vector in vectors if vector is not None]
        if not held:
            return
        if wrong := {vector.shape[0] for vector in held} - {columns.dims}:
            raise InvalidInputError(f"a vector has {min(wrong)} dimensions, but the others have {columns.dims}")
        end = first + len(vectors)
        columns.has_vector[first:end] = has = [vector is not None for vector in vectors]
        if len(held) == len(vectors):
            np.concatenate(held, out=columns.vectors[first:end].reshape(-1))
        else:
            columns.vectors[first:end][has] = held

    def _place(
        self, sessions: Sequence[str | None], positions: Sequence[int], first: int, columns: views.Columns
    ) -> None:
        """Link messages to the ones before and after them."""
        placed: list[tuple[int, int, int, int]] = []
        for slot, (session, position) in enumerate(zip(sessions, positions, strict=True), first):
            if session is not None:
                code = self._sessions.setdefault(session, len(self._sessions))
                self._talk.put(code, position, slot)
                before, after = self._talk.find(code, position - 1), self._talk.find(code, position + 1)
                placed.append((slot, code, before, after))
        slots, codes, before, after = np.array(placed, dtype=np.int64).T
        columns.sessions[slots], columns.before[slots], columns.after[slots] = codes, before, after
        follows, leads = before >= 0, after >= 0
        columns.after[before[follows]] = slots[follows]
        columns.before[after[leads]] = slots[leads]

    def _sharing(self, counted: Counted, wanted: NDArray[np.bool_]) -> views.Slots:
        """The wanted rows that contain one of the terms."""
        chosen = np.zeros(self._rows, dtype=np.bool_)
        for slots in counted.slots:
            chosen[slots] = wanted[slots]
        return np.flatnonzero(chosen)

    def _surroundings(self, slots: views.Slots, columns: views.Columns, words: frozenset[str]) -> Surroundings:
        place_of = self._place_slots(slots)
        before, after = place_of[columns.before[slots]], place_of[columns.after[slots]]
        place_of[slots] = -1
        named = [code for author, code in self._authors.items() if words & set(author.casefold().split())]
        return Surroundings(
            before=before,
            after=after,
            sessions=columns.sessions[slots],
            is_named=np.isin(columns.authors[slots], named),
            is_assistant=columns.assistant[slots],
            is_question=columns.question[slots],
        )

    def _place_slots(self, slots: views.Slots) -> views.Slots:
        """The index of each slot among these, -1 for others. The caller resets these slots to -1 afterwards."""
        if self._places.shape[0] != self._columns.capacity + 1:
            self._places = np.full(self._columns.capacity + 1, -1, dtype=np.int64)
        self._places[slots] = np.arange(slots.shape[0])
        return self._places

    def _view(self, query: IndexQuery) -> views.View:
        own = self._agents.get(query.agent, 0) if query.agent is not None else 0
        return self._views.of(self._columns, query.now, own, include_inactive=query.include_inactive)

    def _find_near(self, query: IndexQuery, view: views.View, narrowed: NDArray[np.bool_] | None) -> views.Near:
        columns = self._columns
        if query.vector is None or columns.dims == 0 or self._rows == 0:
            return views.NOTHING_NEAR
        sought = views.Sought(views.checked(columns.dims, query.vector), query.dense_limit, self._rows, view, narrowed)
        return views.scanned(columns, sought) if self.graph is None else views.walked(columns, sought, self.graph)

    def _narrow_rows(self, query: IndexQuery, view: views.View) -> NDArray[np.bool_] | None:
        """The visible rows that the query admits, None for all."""
        if not query.kinds and query.allowed is None:
            return None
        columns, rows = self._columns, self._rows
        admitted = view.mask[:rows].copy()
        if query.kinds:
            codes = [self._kinds[kind] for kind in query.kinds if kind in self._kinds]
            admitted &= np.isin(columns.kinds[:rows], codes)
        if query.allowed is not None:
            slots = self._slots.find_all(query.allowed)
            allowed = np.zeros(rows, dtype=np.bool_)
            allowed[slots[slots >= 0]] = True
            if query.messages_until is not None:
                is_message = columns.kinds[:rows] == self._kinds.get(MESSAGE, 0)
                allowed |= is_message & (columns.observed[:rows] <= query.messages_until)
            admitted &= allowed
        return admitted


def _number_values(codes: dict[str, int], values: Sequence[str | None]) -> list[int]:
    """A number for each value, 0 for None."""
    return [0 if value is None else codes.setdefault(value, len(codes) + 1) for value in values]


class ScanIndex:
    """The `Index` port by exact scan of partitions up to `exact_rows` items (None: all).

    In larger ones, only about the best `keyword_rows` rows by BM25 are candidates instead of all that share a term;
    exactly the best if no term is in more than `common_rows` rows (see `words`). If `graphs` has a graph, it proposes
    the nearest vectors together with a scan of the rows it lacks, and `dense.SAMPLE_ROWS` visible vectors give the mean
    and deviation of cosines. Cosines, counts, lengths and document frequencies are always exact and current.

    Above `budget_bytes` in total, the least recently searched partitions are dropped and loaded again from the store
    when needed. One that is being updated (its version was read or changes came) stays until it is searched, so that a
    search always completes.
    """

    def __init__(
        self,
        *,
        budget_bytes: int = 1 << 30,
        exact_rows: int | None = None,
        keyword_rows: int = 1_000,
        common_rows: int = COMMON_ROWS,
        graphs: GraphKeeper | None = None,
        bases: BaseFiles | None = None,
    ) -> None:
        self.capabilities = IndexCapabilities(
            has_vectors=True, is_exact=exact_rows is None, is_durable=False, budget_bytes=budget_bytes
        )
        self._budget_bytes = budget_bytes
        self._exact_rows = exact_rows
        self._keyword_rows = keyword_rows
        self._common_rows = common_rows
        self._graphs = graphs
        self._bases = bases
        self._tables: OrderedDict[Partition, Table] = OrderedDict()
        self._awaited: set[Partition] = set()
        self._bytes_held = 0
        self._guard = threading.RLock()

    def version(self, partition: Partition) -> int:
        with self._guard:
            table = self._tables.get(partition) or self._open(partition)
            if table is None:
                return 0
            self._awaited.add(partition)
            return table.version

    def apply(self, partition: Partition, changes: Sequence[Change], version: int, *, holds_terms: bool = True) -> None:
        """Like the port's. Without `holds_terms`, a new partition is stored without its terms."""
        with self._guard:
            table = self._tables.setdefault(partition, Table(holds_terms=holds_terms, common_rows=self._common_rows))
            self._tables.move_to_end(partition)
            self._awaited.add(partition)
            if version > table.version:
                before = table.bytes_held
                table.apply(changes)
                table.version = version
                self._bytes_held += table.bytes_held - before
                if self._bases is not None:
                    self._note_base(self._bases, partition, table)
            if table.is_sparse:
                self.forget(partition)
            elif self._is_large(table) and not table.searches_without_graph:
                self._want_graph(partition, table)

    def _note_base(self, bases: BaseFiles, partition: Partition, table: Table) -> None:
        """Have a file written if due. One that holds erased rows goes: whoever erased them may have been killed."""
        if table.has_lost_texts:
            bases.drop([partition])
            table.has_lost_texts, table.unsaved = False, table.rows
        bases.note(partition, table, self._guard)

    def _open(self, partition: Partition) -> Table | None:
        """The table of a partition's base file, None without one."""
        base = self._bases.open(partition) if self._bases is not None else None
        if base is None:
            return None
        table = self._tables[partition] = Table.of_base(base, self._common_rows)
        self._bytes_held += table.bytes_held
        return table

    def search(self, query: IndexQuery) -> Candidates:
        with self._guard:
            best = self.best(query)
            found = [self.evidence(partition, query, best) for partition in query.partitions]
            self.trim()
            return views.joined(found, len(query.terms))

    def evidence(self, partition: Partition, query: IndexQuery, best: BestByKeyword | None = None) -> views.Evidence:
        """One partition's evidence for `query`, with all rows that share a term, or only the best."""
        with self._guard:
            table = self._tables.get(partition)
            if table is None:
                return views.nothing(len(query.terms))
            self._tables.move_to_end(partition)
            self._awaited.discard(partition)
            if table.searches_without_graph:
                table.searches_without_graph -= 1
                if not table.searches_without_graph and self._is_large(table):
                    self._want_graph(partition, table)
            return table.search(query, best)

    def best(self, query: IndexQuery) -> BestByKeyword | None:
        """How to choose among the rows that share a term if a partition is large."""
        with self._guard:
            return self._best(query)

    def _best(self, query: IndexQuery) -> BestByKeyword | None:
        tables = [self._tables[partition] for partition in query.partitions if partition in self._tables]
        if not any(self._is_large(table) for table in tables):
            return None
        statistics = CollectionStatistics.merged(table.counted(query).statistics for table in tables)
        return BestByKeyword(max(self._keyword_rows, query.dense_limit), statistics)

    def cosines(self, partition: Partition, vector: Floats, ids: Collection[str]) -> dict[str, float]:
        """The cosine of each of these items with a vector to a unit vector."""
        with self._guard:
            return self._tables[partition].cosines(vector, ids) if partition in self._tables else {}

    def neighbours(self, partition: Partition, ids: Collection[str], steps: int) -> list[str]:
        """The ids of messages up to `steps` before and after these items, if loaded."""
        with self._guard:
            return self._tables[partition].neighbours(ids, steps) if partition in self._tables else []

    def surroundings(self, partition: Partition, ids: Sequence[str], words: frozenset[str]) -> Surroundings:
        """The positions of these items in their conversations, if loaded."""
        with self._guard:
            table = self._tables.get(partition)
            return Surroundings.nowhere(len(ids)) if table is None else table.surroundings(ids, words)

    def trim(self) -> None:
        """Drop the least recently searched partitions until the rest fits the budget."""
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
        if self._bases is not None:
            self._bases.drop([partition])

    def forget(self, partition: Partition) -> None:
        """Like `drop`, but keeps files for the next time."""
        with self._guard:
            table = self._tables.pop(partition, None)
            self._awaited.discard(partition)
            self._bytes_held -= table.bytes_held if table else 0

    def settle(self) -> None:
        if self._graphs is not None:
            self._graphs.wait()
        if self._bases is not None:
            self._bases.settle()

    def close(self) -> None:
        if self._graphs is not None:
            self._graphs.close()
        if self._bases is not None:
            self._bases.close()
        with self._guard:
            self._tables.clear()
            self._awaited.clear()
            self._bytes_held = 0

    def rows(self, partition: Partition) -> int:
        """The number of loaded items of the partition."""
        with self._guard:
            return self._tables[partition].rows if partition in self._tables else 0

    def graph_rows(self, partition: Partition) -> int:
        """The number of vectors in the partition's graph, 0 without one."""
        with self._guard:
            graph = self._tables[partition].graph if partition in self._tables else None
            return graph.size if graph else 0

    @property
    def bytes_held(self) -> int:
        """The approximate memory of all partitions in bytes."""
        return self._bytes_held

    def _is_large(self, table: Table) -> bool:
        return self._exact_rows is not None and table.rows > self._exact_rows

    def _want_graph(self, partition: Partition, table: Table) -> None:
        """Request a graph, and use it once it is built if the table still exists. Until then the scan finds vectors."""

        def use(graph: Graph) -> None:
            with self._guard:
                table.graph = graph

        if self._graphs is not None and table.is_graph_due:
            self._graphs.ask(partition, table.source, table.graph, use)


_: type[Index] = ScanIndex
