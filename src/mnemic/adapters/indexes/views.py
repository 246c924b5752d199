"""The growing arrays of a table, views of its visible rows, merging of partitions, and nearest-vector search by exact
scan or by a graph plus a scan of the rest.
"""

from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from mnemic.errors import InvalidInputError
from mnemic.model.candidates import Candidates, Floats, Surroundings
from mnemic.ranking.bm25 import inner, products

NEVER = int(np.iinfo(np.int64).max)
_EMPTY = np.zeros(0, dtype=np.int32)
_Element = TypeVar("_Element", bound=np.generic)


class Postings:
    """The slots with one term, ascending, and the number of occurrences in each."""

    __slots__ = ("counts", "slots")

    def __init__(self) -> None:
        self.slots = array("i")
        self.counts = array("i")

    def arrays(self) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Both as arrays. Nothing can be added while one is in use."""
        if not self.slots:
            return _EMPTY, _EMPTY
        return np.frombuffer(self.slots, dtype=np.int32), np.frombuffer(self.counts, dtype=np.int32)


class Columns:
    """Arrays with room for `capacity` slots. Of a written row, only `alive`, `before` and `after` change."""

    def __init__(self, dims: int) -> None:
        self.dims = dims
        self._allocate(64)

    def _allocate(self, capacity: int) -> None:
        self.capacity = capacity
        self.ids = np.full(capacity, None, dtype=np.object_)
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
        self.flagged = np.zeros(capacity, dtype=np.bool_)
        self.has_vector = np.zeros(capacity, dtype=np.bool_)
        self.vectors = np.zeros((capacity, self.dims), dtype=np.float32)

    def list_arrays(self) -> dict[str, NDArray[Any]]:
        """The columns by name, without ids and vectors."""
        whole = cast("dict[str, object]", self.__dict__)
        return {
            name: cast("NDArray[Any]", values)
            for name, values in whole.items()
            if isinstance(values, np.ndarray) and name not in ("ids", "vectors")
        }

    def open(self, rows: int, arrays: Mapping[str, NDArray[Any]], vectors: Floats) -> None:
        """Take the rows of a base file, with its `vectors (capacity, dims)` as they are."""
        self.dims = 0  # so that no room is made for vectors
        self._allocate(vectors.shape[0])
        for name, values in self.list_arrays().items():
            values[:rows] = arrays[name]
        self.dims, self.vectors = vectors.shape[1], vectors

    def ensure(self, rows: int) -> None:
        """Make room for `rows` slots and a quarter more, so that new rows rarely move old ones. Unused room is free."""
        capacity = self.capacity
        if rows <= capacity:
            return
        old = self.__dict__.copy()
        self._allocate(max(rows + rows // 4, capacity * 2))
        for name, values in old.items():
            if isinstance(values, np.ndarray):
                getattr(self, name)[:capacity] = values

    def take_vectors_of(self, dims: int) -> None:
        """Make room for the first vectors."""
        self.dims = dims
        self.vectors = np.zeros((self.capacity, dims), dtype=np.float32)

    def beside(self, slots: NDArray[np.int64]) -> NDArray[np.int64]:
        """The slots of the messages just before or after these, perhaps with repeats."""
        found = np.concatenate([self.before[slots], self.after[slots]])
        return found[found >= 0]


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """The rows and statistics of one partition at `version`: parts of `Candidates`."""

    ids: NDArray[np.object_]
    counts: Floats
    lengths: Floats
    cosines: Floats
    importances: Floats
    observed: NDArray[np.int64]
    items: int
    total_length: float
    document_frequencies: NDArray[np.int64]
    population: tuple[int, float, float]
    """Number of vectors, sum of cosines, sum of their squares."""
    version: int
    flagged: NDArray[np.bool_]
    surroundings: Surroundings | None = None
    keyword_sums: tuple[float, float] | None = None
    """As in `Candidates`."""


def nothing(terms: int) -> Evidence:
    """The evidence of a partition without rows, for a query with this number of terms."""
    floats = np.zeros(0, dtype=np.float32)
    return Evidence(
        ids=np.zeros(0, dtype=np.object_),
        counts=np.zeros((0, terms), dtype=np.float32),
        lengths=floats,
        cosines=floats,
        importances=floats,
        observed=np.zeros(0, dtype=np.int64),
        items=0,
        total_length=0.0,
        document_frequencies=np.zeros(terms, dtype=np.int64),
        population=(0, 0.0, 0.0),
        version=0,
        flagged=np.zeros(0, dtype=np.bool_),
    )


def joined(found: Sequence[Evidence], terms: int) -> Candidates:
    """Merge the evidence of a query's partitions, in order, as if they were one."""
    every = [nothing(terms), *found]
    parts = [part for part in found if part.ids.shape[0]] or every[:1]
    vectors = sum(part.population[0] for part in every)
    mean = sum(part.population[1] for part in every) / vectors if vectors else 0.0
    square = sum(part.population[2] for part in every) / vectors if vectors else 0.0
    flagged = _concatenate([part.flagged for part in parts])
    sums = [part.keyword_sums for part in found if part.keyword_sums is not None]
    return Candidates(
        ids=_concatenate([part.ids for part in parts]),
        counts=_concatenate([part.counts for part in parts]),
        lengths=_concatenate([part.lengths for part in parts]),
        cosines=_concatenate([part.cosines for part in parts]),
        importances=_concatenate([part.importances for part in parts]),
        observed=_concatenate([part.observed for part in parts]),
        items=sum(part.items for part in every),
        total_length=sum(part.total_length for part in every),
        document_frequencies=np.stack([part.document_frequencies for part in every]).sum(axis=0).astype(np.int64),
        vectors=vectors,
        cosine_mean=mean,
        cosine_deviation=max(square - mean * mean, 0.0) ** 0.5,
        versions=tuple(part.version for part in found),
        flagged=flagged if flagged.any() else None,
        surroundings=Surroundings.joined(
            [part.surroundings or Surroundings.nowhere(part.ids.shape[0]) for part in parts]
        ),
        keyword_sums=(sum(one for one, _ in sums), sum(square for _, square in sums)) if sums else None,
    )


def _concatenate(parts: Sequence[NDArray[_Element]]) -> NDArray[_Element]:
    """The parts as one array; a single part itself, since most questions find rows in one partition."""
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


_SHORT_ROWS = 1_024  # a shorter list is counted each time
_LOST_ROWS = 4_096  # remembered losses
_VIEWS = 8  # readers whose views are kept: one more agent costs one pass over the columns


@dataclass(frozen=True, slots=True)
class Sample:
    """A sample of the visible rows with a vector: `slots (n,)`, `vectors (n, dims)`, drawn from `of` rows."""

    slots: NDArray[np.int64]
    vectors: NDArray[np.float32]
    of: int


@dataclass(slots=True)
class View:
    """The visible rows of one kind of reader at any time within `since <= now < until`. `mask` has an entry per slot.
    Over the visible rows: `items`, `total_length`, `vectors`. `frequencies`, per term: how many of its first rows were
    visible at a number of `lost` rows.
    """

    agent: int
    include_inactive: bool
    since: int
    until: int
    mask: NDArray[np.bool_]
    items: int
    total_length: float
    vectors: int
    sample: Sample | None = None
    frequencies: dict[str, tuple[int, int, int]] = field(default_factory=dict[str, tuple[int, int, int]])
    lost: list[int] = field(default_factory=list[int])

    def holding(self, term: str, slots: NDArray[np.int32]) -> int:
        """The number of visible rows among a term's `slots`, which ascend and only grow. For a long list: the earlier
        count, updated by what was written and lost since.
        """
        if len(slots) <= _SHORT_ROWS:
            return int(np.count_nonzero(self.mask[slots]))
        length, losses, count = self.frequencies.get(term, (0, 0, 0))
        lost = np.array(self.lost[losses:], dtype=np.int64)
        at = np.minimum(np.searchsorted(slots, lost), len(slots) - 1)
        count -= int(np.count_nonzero((at < length) & (slots[at] == lost)))
        count += int(np.count_nonzero(self.mask[slots[length:]]))
        self.frequencies[term] = (len(slots), len(self.lost), count)
        return count

    def take(self, slot: int, columns: Columns) -> None:
        """Count a new row in if it is visible."""
        expires = int(columns.expires[slot])
        is_ours = columns.agents[slot] in (0, self.agent)
        if expires <= self.since or not is_ours or not (columns.active[slot] or self.include_inactive):
            return
        self.until = min(self.until, expires)
        self.mask[slot] = True
        self._count(slot, columns, 1)

    def lose(self, slot: int, columns: Columns) -> None:
        """Count a row out if it was visible."""
        if self.mask[slot]:
            self.mask[slot] = False
            self.lost.append(slot)
            if len(self.lost) > _LOST_ROWS:
                self.lost.clear()
                self.frequencies.clear()
            self._count(slot, columns, -1)

    def _count(self, slot: int, columns: Columns, by: int) -> None:
        self.items += by
        self.total_length += by * float(columns.lengths[slot])
        self.vectors += by * bool(columns.has_vector[slot])


class Views:
    """The most recently used views of a table."""

    def __init__(self) -> None:
        self._views: dict[tuple[int, bool], View] = {}

    def of(self, columns: Columns, now: int, agent: int, *, include_inactive: bool) -> View:
        """The view at `now` for a reader with the private rows of `agent` (0: none)."""
        key = (agent, include_inactive)
        view = self._views.pop(key, None)
        if view is None or not view.since <= now < view.until or view.mask.shape[0] != columns.capacity:
            view = _make_view(columns, now, agent, include_inactive=include_inactive)
        self._views[key] = view
        while len(self._views) > _VIEWS:
            del self._views[next(iter(self._views))]
        return view

    def take(self, slots: range, columns: Columns) -> None:
        """Update for new rows, for which the columns already had room."""
        for view in self._fitting_views(columns):
            for slot in slots:
                view.take(slot, columns)

    def lose(self, slot: int, columns: Columns) -> None:
        """Update for a dead row."""
        for view in self._fitting_views(columns):
            view.lose(slot, columns)

    def _fitting_views(self, columns: Columns) -> list[View]:
        return [view for view in self._views.values() if view.mask.shape[0] == columns.capacity]


def _make_view(columns: Columns, now: int, agent: int, *, include_inactive: bool) -> View:
    mask = columns.alive & (columns.expires > now)
    if not include_inactive:
        mask &= columns.active
    mask &= (columns.agents == 0) | (columns.agents == agent)
    return View(
        agent=agent,
        include_inactive=include_inactive,
        since=now,
        until=int(columns.expires.min(where=mask, initial=NEVER)),
        mask=mask,
        items=int(np.count_nonzero(mask)),
        total_length=float(columns.lengths.sum(where=mask, dtype=np.float64)),
        vectors=int(np.count_nonzero(mask & columns.has_vector)),
    )


Slots = NDArray[np.int64]
NO_SLOTS: Slots = np.zeros(0, dtype=np.int64)
SAMPLE_ROWS = 2048  # the standard deviation of 2,048 rows is off by less than 2 %
_STALE_SHARE = 0.1  # of the rows may come or go before a new sample is drawn; lower draws more often
_MOST_OVERFETCH = 8  # rows asked of a graph per wanted one; above that a scan of the wanted rows is faster


@dataclass(frozen=True, slots=True)
class Sought:
    """The `limit` rows nearest to `vector` among the visible ones, or among `narrowed (rows,)` if given."""

    vector: Floats
    limit: int
    rows: int
    view: View
    narrowed: NDArray[np.bool_] | None

    def wanted(self) -> NDArray[np.bool_]:
        """For each row, whether it may be found, `(rows,)`."""
        return self.view.mask[: self.rows] if self.narrowed is None else self.narrowed


@dataclass(frozen=True, slots=True)
class Near:
    """`slots`: the nearest wanted rows, unordered. `population`: number of visible vectors, sum of their cosines and of
    the squares. `cosines (rows,)`: NaN without a vector; None if not all were computed.
    """

    slots: Slots
    population: tuple[int, float, float]
    cosines: Floats | None


class Nearest(Protocol):
    """Proposes slots near a vector among the first `rows` slots of a table, except `rest`."""

    rows: int
    size: int
    rest: Slots

    def nearest(self, vector: Floats, limit: int) -> Slots:
        """About the `limit` nearest slots. Some may be dead."""
        ...


NOTHING_NEAR = Near(NO_SLOTS, (0, 0.0, 0.0), None)


def distinct(slots: Slots) -> Slots:
    """The slots without repeats, ascending. For a few thousand faster than `np.unique`, which hashes."""
    ordered = np.sort(slots)
    return ordered[np.append(True, ordered[1:] != ordered[:-1])] if ordered.shape[0] else ordered


def cosines_at(columns: Columns, vector: Floats | None, slots: Slots) -> Floats:
    """The cosines of these rows to a unit vector, `(n,) float32`, NaN without a vector."""
    found: Floats = np.full(len(slots), np.nan, dtype=np.float32)
    if vector is not None and columns.dims:
        has = columns.has_vector[slots]
        found[has] = products(columns.vectors[slots[has]], vector)
    return found


def checked(dims: int, vector: Floats) -> Floats:
    """The vector, if it is comparable with the stored ones. Raises `InvalidInputError`."""
    if vector.shape[0] != dims:
        raise InvalidInputError(
            f"the query vector has {vector.shape[0]} dimensions, but the stored vectors have {dims}; "
            "vectors from different embedders cannot be compared"
        )
    return vector


def scanned(columns: Columns, sought: Sought) -> Near:
    """Search by exact scan of all rows."""
    rows, view = sought.rows, sought.view
    cosines = products(columns.vectors[:rows], sought.vector)
    if view.vectors == rows:
        seen = cosines.astype(np.float64)
    else:
        has = columns.has_vector[:rows]
        cosines[~has] = np.nan
        seen = cosines[view.mask[:rows] & has].astype(np.float64)
    population = (seen.size, float(seen.sum()), inner(seen, seen))
    if sought.limit <= 0:
        return Near(NO_SLOTS, population, cosines)
    if sought.narrowed is None and view.vectors == rows:
        return Near(_best(cosines, sought.limit), population, cosines)
    places = np.flatnonzero(sought.wanted() & columns.has_vector[:rows])
    return Near(places[_best(cosines[places], sought.limit)], population, cosines)


def walked(columns: Columns, sought: Sought, graph: Nearest) -> Near:
    """Search by graph and an exact scan of what it lacks, or only by scan if few rows are wanted. The population is
    estimated from a sample of the visible vectors, the same for every search.
    """
    population = sampled(columns, sought.vector, sought.view)
    if sought.limit <= 0:
        return Near(NO_SLOTS, population, None)
    wanted, vector = sought.wanted(), sought.vector
    count = sought.view.vectors if sought.narrowed is None else int(np.count_nonzero(wanted))
    fetched = -(-sought.limit * graph.size // max(count, 1))
    if fetched > sought.limit * _MOST_OVERFETCH:
        places = np.flatnonzero(wanted & columns.has_vector[: sought.rows])
        return Near(places[_best(products(columns.vectors[places], vector), sought.limit)], population, None)
    places = np.concatenate([graph.nearest(vector, fetched), graph.rest])
    places = places[wanted[places] & columns.has_vector[places]]
    tail = np.flatnonzero(wanted[graph.rows :] & columns.has_vector[graph.rows : sought.rows])
    cosines = products(columns.vectors[graph.rows : sought.rows], vector)[tail]
    cosines = np.concatenate([products(columns.vectors[places], vector), cosines])
    return Near(np.concatenate([places, tail + graph.rows])[_best(cosines, sought.limit)], population, None)


def sampled(columns: Columns, vector: Floats, view: View) -> tuple[int, float, float]:
    """The population, estimated from up to `SAMPLE_ROWS` visible vectors drawn with a fixed seed."""
    sample = view.sample
    if sample is None or abs(sample.of - view.vectors) > _STALE_SHARE * sample.of:
        sample = view.sample = _draw_sample(columns, view)
    seen = products(sample.vectors, vector)[view.mask[sample.slots]].astype(np.float64)
    scale = view.vectors / seen.shape[0] if seen.shape[0] else 0.0
    return view.vectors, float(seen.sum()) * scale, inner(seen, seen) * scale


def _draw_sample(columns: Columns, view: View) -> Sample:
    slots = np.flatnonzero(view.mask & columns.has_vector)
    if len(slots) > SAMPLE_ROWS:
        slots = np.sort(np.random.default_rng(0).choice(slots, SAMPLE_ROWS, replace=False))
    return Sample(slots, columns.vectors[slots], view.vectors)


def _best(cosines: Floats, limit: int) -> Slots:
    if cosines.shape[0] <= limit:
        return np.arange(cosines.shape[0], dtype=np.int64)
    return np.argpartition(cosines, cosines.shape[0] - limit)[-limit:].astype(np.int64)
