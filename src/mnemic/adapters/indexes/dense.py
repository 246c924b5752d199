"""The rows of a table that are nearest to a vector: by exact scan, or by a graph and an exact scan of what it lacks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from mnemic.adapters.indexes.views import Columns, Sample, View
from mnemic.errors import InvalidInputError
from mnemic.model.candidates import Floats
from mnemic.ranking.bm25 import inner, products

Slots = NDArray[np.int64]
NO_SLOTS: Slots = np.zeros(0, dtype=np.int64)
SAMPLE_ROWS = 2048
_STALE_SHARE = 0.1
_MOST_OVERFETCH = 8  # rows asked of a graph for one that is wanted; beyond that a scan of the wanted rows is quicker


@dataclass(frozen=True, slots=True)
class Sought:
    """The `limit` rows nearest to `vector` among the visible ones, or among those of `narrowed (rows,)` if given."""

    vector: Floats
    limit: int
    rows: int
    view: View
    narrowed: NDArray[np.bool_] | None

    def wanted(self) -> NDArray[np.bool_]:
        """Of each row whether it may be found, `(rows,)`."""
        return self.view.mask[: self.rows] if self.narrowed is None else self.narrowed


@dataclass(frozen=True, slots=True)
class Near:
    """`slots`: the nearest that are wanted, in no order. `population`: how many visible vectors, the sum of their
    cosines and that of the squares. `cosines (rows,)`, NaN without a vector, where they were all computed, else None.
    """

    slots: Slots
    population: tuple[int, float, float]
    cosines: Floats | None


class Nearest(Protocol):
    """What names slots near a vector among the first `rows` slots of a table, except for those of `rest`."""

    rows: int
    size: int
    rest: Slots

    def nearest(self, vector: Floats, limit: int) -> Slots:
        """About the `limit` slots nearest to the vector; some may be dead."""
        ...


NOTHING_NEAR = Near(NO_SLOTS, (0, 0.0, 0.0), None)


def distinct(slots: Slots) -> Slots:
    """Each slot once, ascending; for a few thousand quicker than `np.unique`, which hashes."""
    ordered = np.sort(slots)
    return ordered[np.append(True, ordered[1:] != ordered[:-1])] if ordered.shape[0] else ordered


def cosines_at(columns: Columns, vector: Floats | None, slots: Slots) -> Floats:
    """The cosine of each of these rows to the unit vector given, `(n,) float32`; NaN without a vector."""
    found: Floats = np.full(len(slots), np.nan, dtype=np.float32)
    if vector is not None and columns.dims:
        has = columns.has_vector[slots]
        found[has] = products(columns.vectors[slots[has]], vector)
    return found


def checked(columns: Columns, vector: Floats) -> Floats:
    """The vector, when it can be compared with the stored ones; else `InvalidInputError`."""
    if vector.shape[0] != columns.dims:
        raise InvalidInputError(
            f"the query has {vector.shape[0]} dimensions, the stored vectors have {columns.dims}: "
            "vectors of two embedding spaces are never compared"
        )
    return vector


def scanned(columns: Columns, sought: Sought) -> Near:
    """By exact scan of all rows."""
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
    """By graph, and by exact scan of what it lacks; by exact scan alone of the wanted rows when these are few. The
    population is estimated from a sample of the visible vectors, the same one in search after search.
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
    """The population of the visible vectors, from at most `SAMPLE_ROWS` of them, drawn with a fixed seed."""
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
