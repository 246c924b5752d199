"""The growing arrays of a table: one entry per slot, and one list of slots per term."""

from __future__ import annotations

from array import array

import numpy as np
from numpy.typing import NDArray

NEVER = int(np.iinfo(np.int64).max)
_EMPTY = np.zeros(0, dtype=np.int32)


class Postings:
    """The slots that hold one term, ascending, and how often each does."""

    __slots__ = ("counts", "slots")

    def __init__(self) -> None:
        self.slots = array("i")
        self.counts = array("i")

    def arrays(self) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Both as arrays; while somebody holds one, nothing can be added."""
        if not self.slots:
            return _EMPTY, _EMPTY
        return np.frombuffer(self.slots, dtype=np.int32), np.frombuffer(self.counts, dtype=np.int32)


class Columns:
    """Arrays with room for `capacity` slots; of a row that is written only `alive`, `before` and `after` change."""

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

    def ensure(self, rows: int) -> None:
        """Make room for `rows` slots, and for a quarter more, so that what was read does not move with the next row:
        room that is not used takes no memory.
        """
        capacity = self.capacity
        if rows <= capacity:
            return
        old = self.__dict__.copy()
        self._allocate(max(rows + rows // 4, capacity * 2))
        for name, values in old.items():
            if isinstance(values, np.ndarray):
                getattr(self, name)[:capacity] = values

    def take_vectors_of(self, dims: int) -> None:
        """Make room for vectors, of which there was none so far."""
        self.dims = dims
        self.vectors = np.zeros((self.capacity, dims), dtype=np.float32)

    def beside(self, slots: NDArray[np.int64]) -> NDArray[np.int64]:
        """The slots said just before or just after these; some may be named twice."""
        found = np.concatenate([self.before[slots], self.after[slots]])
        return found[found >= 0]
