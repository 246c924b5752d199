"""The rows of a table that are nearest to a vector: by exact scan, or by a graph and an exact scan of what it lacks."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mnemic.adapters.indexes.columns import Columns
from mnemic.adapters.indexes.views import View
from mnemic.errors import InvalidInputError
from mnemic.model.candidates import Floats

Slots = NDArray[np.int64]
NO_SLOTS: Slots = np.zeros(0, dtype=np.int64)


@dataclass(frozen=True, slots=True)
class Near:
    """`slots`: the nearest that are wanted, in no order. `population`: how many visible vectors, the sum of their
    cosines and that of the squares. `cosines (rows,)`, NaN without a vector, where they were all computed, else None.
    """

    slots: Slots
    population: tuple[int, float, float]
    cosines: Floats | None


NOTHING_NEAR = Near(NO_SLOTS, (0, 0.0, 0.0), None)


def products(vectors: Floats, vector: Floats) -> Floats:
    """The inner product of each row with `vector`, `(n,) float32`; that of a row does not depend on the other rows.

    Row by row on the calling thread: one product of matrix and vector is spread over all cores by the linear algebra
    library, is bound by memory all the same, and waits for the slowest core (10,000 rows of 384: 0.25 ms against 0.4 on
    idle cores, but against 20 to 50 ms where other processes keep the cores busy).
    """
    return np.matmul(vectors[:, None, :], vector)[:, 0]


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


def scanned(
    columns: Columns, vector: Floats, view: View, wanted: NDArray[np.bool_] | None, rows: int, limit: int
) -> Near:
    """By exact scan of `rows` rows; `wanted (rows,)` None: all that are visible."""
    cosines = products(columns.vectors[:rows], vector)
    if view.vectors == rows:
        seen = cosines.astype(np.float64)
    else:
        has = columns.has_vector[:rows]
        cosines[~has] = np.nan
        seen = cosines[view.mask[:rows] & has].astype(np.float64)
    population = (seen.size, float(seen.sum()), float(np.dot(seen, seen)))
    if limit <= 0:
        return Near(NO_SLOTS, population, cosines)
    if wanted is None and view.vectors == rows:
        return Near(_best(cosines, limit), population, cosines)
    admitted = view.mask[:rows] if wanted is None else wanted
    places = np.flatnonzero(admitted & columns.has_vector[:rows])
    return Near(places[_best(cosines[places], limit)], population, cosines)


def _best(cosines: Floats, limit: int) -> Slots:
    if cosines.shape[0] <= limit:
        return np.arange(cosines.shape[0], dtype=np.int64)
    return np.argpartition(cosines, cosines.shape[0] - limit)[-limit:].astype(np.int64)
