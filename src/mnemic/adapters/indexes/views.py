"""Which rows of a table a reader sees, and how many: kept from one search to the next, and brought along by writes."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from mnemic.adapters.indexes.columns import NEVER, Columns

_SHORT_ROWS = 1_024  # a list that is counted anew each time
_LOST_ROWS = 4_096  # losses that are remembered
_VIEWS = 8  # readers whose views are kept: an agent more costs one pass over the columns


@dataclass(frozen=True, slots=True)
class Sample:
    """Some of the visible rows with a vector: `slots (n,)`, `vectors (n, dims)`, drawn when there were `of` of them."""

    slots: NDArray[np.int64]
    vectors: NDArray[np.float32]
    of: int


@dataclass(slots=True)
class View:
    """The visible rows of one kind of reader at any time within `since <= now < until`.

    `mask` has an entry per slot of the columns' capacity. Over the visible rows: `items`, `total_length`, `vectors`.
    `frequencies`: of a term how many of the first so many of its rows were visible when so many were `lost`.
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
        """How many visible rows are among the `slots` of a term, which ascend and only ever grow: of a long list from
        what was counted before, what was written since, and what was lost since.
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
        """Count a new row in, when it is visible."""
        expires = int(columns.expires[slot])
        is_ours = columns.agents[slot] in (0, self.agent)
        if expires <= self.since or not is_ours or not (columns.active[slot] or self.include_inactive):
            return
        self.until = min(self.until, expires)
        self.mask[slot] = True
        self._count(slot, columns, 1)

    def lose(self, slot: int, columns: Columns) -> None:
        """Count a row out, when it was visible."""
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
    """The views of a table that were asked for last."""

    def __init__(self) -> None:
        self._views: dict[tuple[int, bool], View] = {}

    def of(self, columns: Columns, now: int, agent: int, *, include_inactive: bool) -> View:
        """The view at `now` of who sees what is private to `agent` (0: to nobody)."""
        key = (agent, include_inactive)
        view = self._views.pop(key, None)
        if view is None or not view.since <= now < view.until or view.mask.shape[0] != columns.capacity:
            view = _seen(columns, now, agent, include_inactive=include_inactive)
        self._views[key] = view
        while len(self._views) > _VIEWS:
            del self._views[next(iter(self._views))]
        return view

    def take(self, slots: range, columns: Columns) -> None:
        """New rows were written; the columns had room for them already."""
        for view in self._fitting(columns):
            for slot in slots:
                view.take(slot, columns)

    def lose(self, slot: int, columns: Columns) -> None:
        """A row died."""
        for view in self._fitting(columns):
            view.lose(slot, columns)

    def _fitting(self, columns: Columns) -> list[View]:
        return [view for view in self._views.values() if view.mask.shape[0] == columns.capacity]


def _seen(columns: Columns, now: int, agent: int, *, include_inactive: bool) -> View:
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
