"""The rows of one partition in memory, laid out for vectorised search."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mnemic.adapters.indexes.columns import NEVER, Columns, Postings
from mnemic.adapters.indexes.dense import NOTHING_NEAR, Near, Slots, Sought, checked, cosines_at, scanned, walked
from mnemic.adapters.indexes.evidence import Evidence
from mnemic.adapters.indexes.graph import Graph, Source, is_due
from mnemic.adapters.indexes.views import View, Views
from mnemic.errors import InvalidInputError
from mnemic.model.candidates import MESSAGE, Floats, IndexQuery, Surroundings
from mnemic.model.change import Change
from mnemic.model.item import Role
from mnemic.ranking.bm25 import Bm25, CollectionStatistics

_ROW_BYTES = 400  # ids, dictionaries and columns of one row, measured with tracemalloc
_POSTING_BYTES = 8
_SPARSE_ROWS = 1024
_BATCH_ROWS = 20_000  # taken in at once, so that a partition that loads needs little more memory than it will hold
_NO_PERSON = (Role.ASSISTANT, Role.TOOL)
_NO_POSTING = Postings()


@dataclass(frozen=True, slots=True)
class Counted:
    """The query's terms in one table, each as its slots and how often each of these holds it, and the statistics of the
    visible rows.
    """

    slots: Sequence[NDArray[np.int32]]
    counts: Sequence[NDArray[np.int32]]
    statistics: CollectionStatistics


@dataclass(frozen=True, slots=True)
class BestByKeyword:
    """Of the rows that share a term, only the best `rows` by BM25 come in, with the statistics of the whole query."""

    rows: int
    statistics: CollectionStatistics


class Table:
    """One partition: postings, columns and vectors by slot. Not safe for threads; its index holds the lock.

    A changed item gets a new slot and its old one dies; `is_sparse` says when it is time to start afresh. A table that
    does not hold terms finds by vector alone and counts no words: another index does that for it.
    """

    def __init__(self, *, holds_terms: bool = True) -> None:
        self.version = 0
        self.holds_terms = holds_terms
        self.postings_held = 0
        self.graph: Graph | None = None
        self._rows = 0
        self._slots: dict[str, int] = {}
        self._terms: dict[str, Postings] = {}
        self._agents: dict[str, int] = {}
        self._kinds: dict[str, int] = {}
        self._authors: dict[str, int] = {}
        self._sessions: dict[str, int] = {}
        self._talk: dict[tuple[int, int], int] = {}
        self._columns = Columns(0)
        self._views = Views()
        self._places = np.full(1, -1, dtype=np.int64)  # all -1 between two uses; the last one is for "none", slot -1

    @property
    def bytes_held(self) -> int:
        """About how much memory the table takes."""
        return self._rows * (_ROW_BYTES + self._columns.dims * 4) + self.postings_held * _POSTING_BYTES

    @property
    def rows(self) -> int:
        """How many items there are."""
        return len(self._slots)

    def source(self) -> Source:
        """What a graph is made of, as it is now."""
        columns, rows = self._columns, self._rows
        live = np.flatnonzero(columns.alive[:rows] & columns.has_vector[:rows])
        return Source(rows, live, columns.ids, columns.vectors)

    @property
    def is_graph_due(self) -> bool:
        """True when there are vectors, and no graph or one that lacks too much."""
        return self._columns.dims > 0 and is_due(self.graph, self._rows, len(self._slots))

    @property
    def is_sparse(self) -> bool:
        """True when more than half of the slots are dead, and there are enough of them to matter."""
        return self._rows > _SPARSE_ROWS and len(self._slots) * 2 < self._rows

    def apply(self, changes: Iterable[Change]) -> None:
        """Take in changes, in order."""
        batch = list({change.item_id: change for change in changes}.values())
        columns = self._make_room(batch)
        for start in range(0, len(batch), _BATCH_ROWS):
            first = self._rows
            words = self._take(batch[start : start + _BATCH_ROWS], columns)
            if self.holds_terms:
                self._post(words, first)

    def _take(self, changes: Sequence[Change], columns: Columns) -> list[list[str]]:
        """Write rows, all but their postings; the terms of each new row, in order."""
        words: list[list[str]] = []
        for change in changes:
            dead = self._slots.pop(change.item_id, None)
            if dead is not None:
                columns.alive[dead] = False
                self._views.lose(dead, columns)
            if not change.is_gone:
                words.append(change.terms.split())
                self._append(change, columns, len(words[-1]))
                self._views.take(self._rows - 1, columns)
        return words

    def _post(self, words: Sequence[Sequence[str]], first: int) -> None:
        """Add the terms of the rows from slot `first` on to the postings: of many rows at once, since a loop over terms
        would be most of the time that a partition takes to load.
        """
        codes: dict[str, int] = {}
        flat = np.array([codes.setdefault(term, len(codes)) for terms in words for term in terms], dtype=np.int64)
        places = np.repeat(np.arange(len(words)), [len(terms) for terms in words])
        keys, counts = np.unique(flat * len(words) + places, return_counts=True)
        slots = (keys % max(len(words), 1) + first).astype(np.int32)
        ends = np.searchsorted(keys, np.arange(1, len(codes) + 1) * len(words)).tolist()
        start = 0
        for term, end in zip(codes, ends, strict=True):
            posting = self._terms.get(term) or self._terms.setdefault(term, Postings())
            posting.slots.frombytes(slots[start:end].tobytes())
            posting.counts.frombytes(counts[start:end].astype(np.int32).tobytes())
            start = end
        self.postings_held += len(keys)

    def counted(self, query: IndexQuery) -> Counted:
        """How often the query's terms occur, and the statistics of the rows that it may see."""
        view = self._view(query)
        found = [self._terms.get(term, _NO_POSTING).arrays() for term in query.terms]
        frequencies = [np.count_nonzero(view.mask[slots]) for slots, _ in found]
        statistics = CollectionStatistics.of(view.items, view.total_length, frequencies)
        return Counted([slots for slots, _ in found], [counts for _, counts in found], statistics)

    def search(self, query: IndexQuery, best: BestByKeyword | None = None) -> Evidence:
        """The candidates of this partition and its statistics; `best` None: all rows that share a term."""
        columns, view = self._columns, self._view(query)
        narrowed = self._narrowed(query, view)
        near = self._near(query, view, narrowed)
        counted = self.counted(query)
        wanted = view.mask if narrowed is None else narrowed
        chosen = np.zeros(self._rows, dtype=np.bool_)
        sums = None
        if best is None:
            for slots in counted.slots:
                chosen[slots] = wanted[slots]
        else:
            slots, sums = _best(counted, columns, wanted, best)
            chosen[slots] = True
        chosen[near.slots] = True
        places = np.flatnonzero(chosen)
        for _ in range(query.neighbours if self._talk else 0):
            beside = columns.beside(places)
            chosen[beside[wanted[beside]]] = True
            places = np.flatnonzero(chosen)
        return Evidence(
            ids=columns.ids[places],
            counts=self._counts(places, counted),
            lengths=columns.lengths[places],
            cosines=cosines_at(columns, query.vector, places) if near.cosines is None else near.cosines[places],
            importances=columns.importances[places],
            observed=columns.observed[places],
            items=view.items,
            total_length=view.total_length,
            document_frequencies=counted.statistics.document_frequencies,
            population=near.population,
            version=self.version,
            surroundings=self._surroundings(places, columns, query.words),
            keyword_sums=sums,
        )

    def surroundings(self, ids: Sequence[str], words: frozenset[str]) -> Surroundings:
        """Where these items stand, in their order; those that are not held stand nowhere."""
        columns = self._columns
        slots = np.array([self._slots.get(i, -1) for i in ids], dtype=np.int64)
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
        """The ids of the messages up to `steps` before and after these items."""
        columns = self._columns
        places = np.array(sorted(self._slots[i] for i in ids if i in self._slots), dtype=np.int64)
        for _ in range(steps):
            beside = columns.beside(places)
            places = np.union1d(places, beside[columns.alive[beside]])
        return list(columns.ids[places])

    def cosines(self, vector: Floats, ids: Collection[str]) -> dict[str, float]:
        """The cosine of each of these items that has a vector to the unit vector given."""
        slots = np.array([self._slots[i] for i in ids if i in self._slots], dtype=np.int64)
        slots = slots[self._columns.has_vector[slots]]
        found = cosines_at(self._columns, vector, slots)
        return dict(zip(self._columns.ids[slots], found.tolist(), strict=True))

    def _make_room(self, batch: Sequence[Change]) -> Columns:
        dims = next((change.vector.shape[0] for change in batch if change.vector is not None), 0)
        if dims and self._columns.dims == 0:
            self._columns.take_vectors_of(dims)
        self._columns.ensure(self._rows + len(batch))
        return self._columns

    def _append(self, change: Change, columns: Columns, length: int) -> None:
        slot = self._rows
        self._rows += 1
        columns.ids[slot] = change.item_id
        self._slots[change.item_id] = slot
        columns.alive[slot] = True
        columns.active[slot] = change.is_active
        columns.lengths[slot] = length
        columns.importances[slot] = change.importance
        columns.observed[slot] = change.observed_at
        columns.expires[slot] = NEVER if change.expires_at is None else change.expires_at
        columns.agents[slot] = _code(self._agents, change.private_agent)
        columns.kinds[slot] = _code(self._kinds, change.kind)
        if change.session is not None:
            self._place(slot, change, columns, change.session)
        if change.vector is not None:
            if change.vector.shape[0] != columns.dims:
                raise InvalidInputError(
                    f"a vector of {change.vector.shape[0]} dimensions among those of {columns.dims}"
                )
            columns.has_vector[slot] = True
            columns.vectors[slot] = change.vector

    def _place(self, slot: int, change: Change, columns: Columns, session: str) -> None:
        """Put a message between the one before and the one after it."""
        code = self._sessions.setdefault(session, len(self._sessions))
        self._talk[code, change.position] = slot
        before = self._talk.get((code, change.position - 1), -1)
        after = self._talk.get((code, change.position + 1), -1)
        columns.sessions[slot], columns.before[slot], columns.after[slot] = code, before, after
        if before >= 0:
            columns.after[before] = slot
        if after >= 0:
            columns.before[after] = slot
        columns.authors[slot] = _code(self._authors, change.author or None)
        columns.assistant[slot] = change.role in _NO_PERSON
        columns.question[slot] = change.is_question

    def _surroundings(self, slots: Slots, columns: Columns, words: frozenset[str]) -> Surroundings:
        place_of = self._placed(slots)
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

    def _placed(self, slots: Slots) -> Slots:
        """The place of each slot among these, -1 for the others; whoever is done puts -1 back at these slots."""
        if self._places.shape[0] != self._columns.capacity + 1:
            self._places = np.full(self._columns.capacity + 1, -1, dtype=np.int64)
        self._places[slots] = np.arange(slots.shape[0])
        return self._places

    def _counts(self, slots: Slots, counted: Counted) -> Floats:
        counts = np.zeros((slots.shape[0], len(counted.slots)), dtype=np.float32)
        place_of = self._placed(slots)
        for column, (held, times) in enumerate(zip(counted.slots, counted.counts, strict=True)):
            target = place_of[held]
            is_chosen = target >= 0
            counts[target[is_chosen], column] = times[is_chosen]
        place_of[slots] = -1
        return counts

    def _view(self, query: IndexQuery) -> View:
        own = self._agents.get(query.agent, 0) if query.agent is not None else 0
        return self._views.of(self._columns, query.now, own, include_inactive=query.include_inactive)

    def _near(self, query: IndexQuery, view: View, narrowed: NDArray[np.bool_] | None) -> Near:
        columns = self._columns
        if query.vector is None or columns.dims == 0 or self._rows == 0:
            return NOTHING_NEAR
        sought = Sought(checked(columns, query.vector), query.dense_limit, self._rows, view, narrowed)
        return scanned(columns, sought) if self.graph is None else walked(columns, sought, self.graph)

    def _narrowed(self, query: IndexQuery, view: View) -> NDArray[np.bool_] | None:
        """The visible rows that the query admits, None when these are all."""
        if not query.kinds and query.allowed is None:
            return None
        columns, rows = self._columns, self._rows
        admitted = view.mask[:rows].copy()
        if query.kinds:
            codes = [self._kinds[kind] for kind in query.kinds if kind in self._kinds]
            admitted &= np.isin(columns.kinds[:rows], codes)
        if query.allowed is not None:
            slots = [self._slots[i] for i in query.allowed if i in self._slots]
            allowed = np.zeros(rows, dtype=np.bool_)
            allowed[slots] = True
            if query.messages_until is not None:
                is_message = columns.kinds[:rows] == self._kinds.get(MESSAGE, 0)
                allowed |= is_message & (columns.observed[:rows] <= query.messages_until)
            admitted &= allowed
        return admitted


def _code(codes: dict[str, int], value: str | None) -> int:
    return 0 if value is None else codes.setdefault(value, len(codes) + 1)


def _best(
    counted: Counted, columns: Columns, wanted: NDArray[np.bool_], best: BestByKeyword
) -> tuple[Slots, tuple[float, float]]:
    """The best rows by BM25, and over all that are wanted the sum of the scores and of their squares."""
    scores = np.zeros(wanted.shape[0], dtype=np.float32)
    touched = np.zeros(wanted.shape[0], dtype=np.bool_)
    whole = best.statistics
    for place, (slots, counts) in enumerate(zip(counted.slots, counted.counts, strict=True)):
        one = CollectionStatistics(whole.items, whole.average_length, whole.document_frequencies[place : place + 1])
        scores[slots] += Bm25().scores(counts[:, None], columns.lengths[slots], one)
        touched[slots] = True
    places = np.flatnonzero(touched & wanted)
    found = scores[places].astype(np.float64)
    if places.shape[0] > best.rows:
        places = places[np.argpartition(found, places.shape[0] - best.rows)[-best.rows :]]
    return places, (float(found.sum()), float(np.dot(found, found)))
