"""The rows of one partition in memory, laid out for exact vectorised search."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Collection, Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from mnemic.adapters.indexes.evidence import Evidence
from mnemic.errors import InvalidInputError
from mnemic.model.candidates import MESSAGE, Floats, IndexQuery, Surroundings
from mnemic.model.change import Change
from mnemic.model.item import Role

NEVER = np.iinfo(np.int64).max
_ROW_BYTES = 400  # ids, dictionaries and columns of one row, measured with tracemalloc
_POSTING_BYTES = 8
_SPARSE_ROWS = 1024
_NO_PERSON = (Role.ASSISTANT, Role.TOOL)


class Postings:
    """The rows that hold one term, and how often."""

    __slots__ = ("counts", "slots")

    def __init__(self) -> None:
        self.slots = array("i")
        self.counts = array("i")


class Columns:
    """Growing arrays, one entry per slot."""

    def __init__(self, dims: int) -> None:
        self.dims = dims
        self._allocate(64)

    def _allocate(self, capacity: int) -> None:
        self.alive = np.zeros(capacity, dtype=np.bool_)
        self.active = np.zeros(capacity, dtype=np.bool_)
        self.lengths = np.zeros(capacity, dtype=np.float32)
        self.importances = np.zeros(capacity, dtype=np.float32)
        self.observed = np.zeros(capacity, dtype=np.int64)
        self.expires = np.zeros(capacity, dtype=np.int64)
        self.agents = np.zeros(capacity, dtype=np.int32)
        self.kinds = np.zeros(capacity, dtype=np.int32)
        self.authors = np.zeros(capacity, dtype=np.int32)
        self.sessions = np.full(capacity, -1, dtype=np.int64)
        self.before = np.full(capacity, -1, dtype=np.int64)
        self.after = np.full(capacity, -1, dtype=np.int64)
        self.assistant = np.zeros(capacity, dtype=np.bool_)
        self.question = np.zeros(capacity, dtype=np.bool_)
        self.has_vector = np.zeros(capacity, dtype=np.bool_)
        self.vectors = np.zeros((capacity, self.dims), dtype=np.float32)

    def ensure(self, rows: int) -> None:
        """Make room for `rows` slots."""
        capacity = self.alive.shape[0]
        if rows <= capacity:
            return
        old = self.__dict__.copy()
        self._allocate(max(rows, capacity * 2))
        for name, values in old.items():
            if isinstance(values, np.ndarray):
                getattr(self, name)[:capacity] = values


class Table:
    """One partition: postings, columns and vectors by slot. Not safe for threads; its index holds the lock.

    A changed item gets a new slot and its old one dies; `is_sparse` says when it is time to start afresh. A table that
    does not hold terms finds by vector alone and counts no words: another index does that for it.
    """

    def __init__(self, *, holds_terms: bool = True) -> None:
        self.version = 0
        self.holds_terms = holds_terms
        self.postings_held = 0
        self._ids: list[str] = []
        self._slots: dict[str, int] = {}
        self._terms: dict[str, Postings] = {}
        self._agents: dict[str, int] = {}
        self._kinds: dict[str, int] = {}
        self._authors: dict[str, int] = {}
        self._sessions: dict[str, int] = {}
        self._talk: dict[tuple[int, int], int] = {}
        self._columns: Columns | None = None

    @property
    def bytes_held(self) -> int:
        """About how much memory the table takes."""
        dims = self._columns.dims if self._columns else 0
        return len(self._ids) * (_ROW_BYTES + dims * 4) + self.postings_held * _POSTING_BYTES

    @property
    def rows(self) -> int:
        """How many items there are."""
        return len(self._slots)

    @property
    def is_sparse(self) -> bool:
        """True when more than half of the slots are dead, and there are enough of them to matter."""
        return len(self._ids) > _SPARSE_ROWS and len(self._slots) * 2 < len(self._ids)

    def apply(self, changes: Iterable[Change]) -> None:
        """Take in changes, in order."""
        batch = list({change.item_id: change for change in changes}.values())
        columns = self._make_room(batch)
        for change in batch:
            dead = self._slots.pop(change.item_id, None)
            if dead is not None:
                columns.alive[dead] = False
            if not change.is_gone:
                self._append(change, columns)

    def search(self, query: IndexQuery) -> Evidence:
        """The candidates of this partition and its statistics."""
        rows, columns = len(self._ids), self._columns or Columns(0)
        visible = self._visible(query, columns, rows)
        found = [self._terms.get(term) for term in query.terms]
        slots = [np.frombuffer(p.slots, dtype=np.int32) if p else np.zeros(0, dtype=np.int32) for p in found]
        frequencies = np.array([np.count_nonzero(visible[s]) for s in slots], dtype=np.int64)
        wanted = self._narrowed(query, columns, visible, rows)
        cosines, population = _cosines(query, columns, visible, rows)
        chosen = _nearest(cosines, wanted, query.dense_limit)
        for posting in slots:
            chosen[posting] |= wanted[posting]
        for _ in range(query.neighbours):
            chosen |= _beside(chosen, columns, rows) & wanted
        places = np.flatnonzero(chosen).astype(np.int64)
        return Evidence(
            ids=np.array([self._ids[slot] for slot in places], dtype=np.object_),
            counts=_counts(places, rows, found, slots),
            lengths=columns.lengths[places],
            cosines=cosines[places],
            importances=columns.importances[places],
            observed=columns.observed[places],
            items=int(np.count_nonzero(visible)),
            total_length=float(columns.lengths[:rows][visible].sum(dtype=np.float64)),
            document_frequencies=frequencies,
            population=population,
            version=self.version,
            surroundings=self._surroundings(places, columns, query.words),
        )

    def surroundings(self, ids: Sequence[str], words: frozenset[str]) -> Surroundings:
        """Where these items stand, in their order; those that are not held stand nowhere."""
        columns = self._columns or Columns(0)
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
        columns, rows = self._columns or Columns(0), len(self._ids)
        chosen = np.zeros(rows, dtype=np.bool_)
        chosen[[self._slots[i] for i in ids if i in self._slots]] = True
        for _ in range(steps):
            chosen |= _beside(chosen, columns, rows) & columns.alive[:rows]
        return [self._ids[slot] for slot in np.flatnonzero(chosen)]

    def cosines(self, vector: Floats, ids: Collection[str]) -> dict[str, float]:
        """The cosine of each of these items that has a vector to the unit vector given."""
        columns = self._columns or Columns(0)
        slots = [self._slots[i] for i in ids if i in self._slots]
        slots = [slot for slot in slots if columns.has_vector[slot]]
        found = products(columns.vectors[slots], vector) if slots else np.zeros(0, dtype=np.float32)
        return dict(zip((self._ids[slot] for slot in slots), found.tolist(), strict=True))

    def _make_room(self, batch: Sequence[Change]) -> Columns:
        dims = next((change.vector.shape[0] for change in batch if change.vector is not None), 0)
        if self._columns is None:
            self._columns = Columns(dims)
        elif dims and self._columns.dims == 0:
            self._columns.dims = dims
            self._columns.vectors = np.zeros((self._columns.alive.shape[0], dims), dtype=np.float32)
        self._columns.ensure(len(self._ids) + len(batch))
        return self._columns

    def _append(self, change: Change, columns: Columns) -> None:
        slot = len(self._ids)
        self._ids.append(change.item_id)
        self._slots[change.item_id] = slot
        terms = change.terms.split()
        for term, count in Counter(terms if self.holds_terms else ()).items():
            posting = self._terms.get(term)
            if posting is None:
                posting = self._terms[term] = Postings()
            posting.slots.append(slot)
            posting.counts.append(count)
            self.postings_held += 1
        columns.alive[slot] = True
        columns.active[slot] = change.is_active
        columns.lengths[slot] = len(terms)
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

    def _surroundings(self, slots: NDArray[np.int64], columns: Columns, words: frozenset[str]) -> Surroundings:
        place_of = np.full(len(self._ids) + 1, -1, dtype=np.int64)  # the last one is for "none", which is slot -1
        place_of[slots] = np.arange(slots.shape[0])
        named = [code for author, code in self._authors.items() if words & set(author.casefold().split())]
        return Surroundings(
            before=place_of[columns.before[slots]],
            after=place_of[columns.after[slots]],
            sessions=columns.sessions[slots],
            is_named=np.isin(columns.authors[slots], named),
            is_assistant=columns.assistant[slots],
            is_question=columns.question[slots],
        )

    def _visible(self, query: IndexQuery, columns: Columns, rows: int) -> NDArray[np.bool_]:
        agents = columns.agents[:rows]
        own = self._agents.get(query.agent, 0) if query.agent is not None else 0
        visible = columns.alive[:rows] & (columns.expires[:rows] > query.now)
        if not query.include_inactive:
            visible &= columns.active[:rows]
        return visible & ((agents == 0) | (agents == own)) if self._agents else visible

    def _narrowed(
        self, query: IndexQuery, columns: Columns, visible: NDArray[np.bool_], rows: int
    ) -> NDArray[np.bool_]:
        if query.kinds:
            codes = [self._kinds[kind] for kind in query.kinds if kind in self._kinds]
            visible = visible & np.isin(columns.kinds[:rows], codes)
        if query.allowed is not None:
            slots = [self._slots[i] for i in query.allowed if i in self._slots]
            allowed = np.zeros(rows, dtype=np.bool_)
            allowed[slots] = True
            if query.messages_until is not None:
                is_message = columns.kinds[:rows] == self._kinds.get(MESSAGE, 0)
                allowed |= is_message & (columns.observed[:rows] <= query.messages_until)
            visible = visible & allowed
        return visible


def products(vectors: Floats, vector: Floats) -> Floats:
    """The inner product of each row with `vector`, `(n,) float32`; that of a row does not depend on the other rows.

    Row by row on the calling thread: one product of matrix and vector is spread over all cores by the linear algebra
    library, is bound by memory all the same, and waits for the slowest core (10,000 rows of 384: 0.25 ms against 0.4 on
    idle cores, but against 20 to 50 ms where other processes keep the cores busy).
    """
    return np.matmul(vectors[:, None, :], vector)[:, 0]


def _code(codes: dict[str, int], value: str | None) -> int:
    return 0 if value is None else codes.setdefault(value, len(codes) + 1)


def _cosines(
    query: IndexQuery, columns: Columns, visible: NDArray[np.bool_], rows: int
) -> tuple[Floats, tuple[int, float, float]]:
    if query.vector is None or columns.dims == 0 or rows == 0:
        return np.full(rows, np.nan, dtype=np.float32), (0, 0.0, 0.0)
    if query.vector.shape[0] != columns.dims:
        raise InvalidInputError(
            f"the query has {query.vector.shape[0]} dimensions, the stored vectors have {columns.dims}: "
            "vectors of two embedding spaces are never compared"
        )
    cosines = products(columns.vectors[:rows], query.vector)
    has = columns.has_vector[:rows]
    cosines[~has] = np.nan
    seen = cosines[visible & has].astype(np.float64)
    return cosines, (seen.size, float(seen.sum()), float(np.square(seen).sum()))


def _beside(chosen: NDArray[np.bool_], columns: Columns, rows: int) -> NDArray[np.bool_]:
    """The rows said just before or just after one of the chosen."""
    beside = np.zeros(rows + 1, dtype=np.bool_)  # the last one is for "none", which is slot -1
    beside[columns.before[:rows][chosen]] = True
    beside[columns.after[:rows][chosen]] = True
    return beside[:rows]


def _nearest(cosines: Floats, wanted: NDArray[np.bool_], limit: int) -> NDArray[np.bool_]:
    chosen = np.zeros(cosines.shape[0], dtype=np.bool_)
    places = np.flatnonzero(wanted & ~np.isnan(cosines))
    if places.size > limit > 0:
        places = places[np.argpartition(-cosines[places], limit - 1)[:limit]]
    if limit > 0:
        chosen[places] = True
    return chosen


def _counts(
    places: NDArray[np.intp], rows: int, found: Sequence[Postings | None], slots: Sequence[NDArray[np.int32]]
) -> Floats:
    counts = np.zeros((places.size, len(found)), dtype=np.float32)
    row_of = np.full(rows, -1, dtype=np.int64)
    row_of[places] = np.arange(places.size)
    for column, (posting, where) in enumerate(zip(found, slots, strict=True)):
        if posting is not None:
            target = row_of[where]
            is_chosen = target >= 0
            counts[target[is_chosen], column] = np.frombuffer(posting.counts, dtype=np.int32)[is_chosen]
    return counts
