"""One side of an answer, messages and memories or the passages of documents: what was found of it, and its scores.

A side can take in rows that did not come in by themselves; they are scored as if they had.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from mnemic.engine.indexing.freshness import search
from mnemic.engine.parts import Parts
from mnemic.engine.recall.graph import Reach
from mnemic.engine.recall.score import Scored
from mnemic.model.candidates import Candidates, IndexQuery, Surroundings

Score = Callable[[Candidates], Scored]


@dataclass(frozen=True, slots=True)
class Ranked:
    """Every candidate in order, and what the graph reached; None where it was not asked, or for what `missing` says."""

    scored: Scored
    reached: Reach | None = None
    missing: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Side:
    """What a query found, and its scores."""

    query: IndexQuery
    is_passages: bool
    found: Candidates
    score: Score
    scored: Scored

    @classmethod
    def searched(cls, parts: Parts, query: IndexQuery, score: Score, *, is_passages: bool = False) -> Side:
        """The answer of the index, scored."""
        found = search(parts, query, passages=is_passages)
        return cls(query, is_passages, found, score, score(found))

    def with_ids(self, parts: Parts, ids: Collection[str]) -> Side:
        """The same with these rows too, as far as they are of this side and the query admits them."""
        wanted = frozenset(ids) if self.query.allowed is None else self.query.allowed.intersection(ids)
        wanted -= frozenset(map(str, self.found.ids))
        if not wanted:
            return self
        asked = replace(self.query, allowed=wanted, messages_until=None, neighbours=0, dense_limit=len(wanted))
        beside = search(parts, asked, passages=self.is_passages)
        if not beside.ids.shape[0]:
            return self
        found = joined(self.found, beside)
        return replace(self, found=found, scored=self.score(found))


def joined(found: Candidates, beside: Candidates) -> Candidates:
    """The candidates with those of a search of the same rows for other ids, under the statistics of the first."""
    terms = found.counts.shape[1]
    none = Surroundings.nowhere(found.ids.shape[0])
    return replace(
        found,
        ids=np.concatenate([found.ids, beside.ids]),
        counts=np.concatenate([found.counts, beside.counts[:, :terms]]),
        lengths=np.concatenate([found.lengths, beside.lengths]),
        cosines=np.concatenate([found.cosines, beside.cosines]),
        importances=np.concatenate([found.importances, beside.importances]),
        observed=np.concatenate([found.observed, beside.observed]),
        surroundings=Surroundings.joined(
            [found.surroundings or none, beside.surroundings or Surroundings.nowhere(beside.ids.shape[0])]
        ),
        flagged=_flagged(found, beside),
        further=tuple(
            replace(one, cosines=np.concatenate([one.cosines, other.cosines]))
            for one, other in zip(found.further, beside.further, strict=True)
        ),
    )


def _flagged(found: Candidates, beside: Candidates) -> NDArray[np.bool_] | None:
    if found.flagged is None and beside.flagged is None:
        return None
    flags = [np.zeros(each.ids.shape, np.bool_) if each.flagged is None else each.flagged for each in (found, beside)]
    return np.concatenate(flags)
