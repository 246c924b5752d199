"""What index tests share: changes, queries, and the shortest index that is right."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mnemic.model.candidates import MESSAGE, Candidates, Change, Floats, IndexQuery
from mnemic.model.scope import Level, Partition

NOW = 1_000_000
HERS = Partition("acme", Level.USER, "anna")
HIS = Partition("acme", Level.USER, "bert")
ELSEWHERE = Partition("other", Level.USER, "anna")
EVERY_ROW = 1_000


def a_change(item_id: str = "a", terms: str = "green tea", **changes: Any) -> Change:
    """A fact that says `terms`, observed at `NOW`."""
    return Change(item_id=item_id, kind="fact", terms=terms, observed_at=NOW)._replace(**changes)


def gone(item_id: str) -> Change:
    """The item does not exist any more."""
    return Change(item_id=item_id, is_gone=True)


def a_query(*terms: str, **changes: Any) -> IndexQuery:
    """A question of `terms` in Anna's partition at `NOW`, on behalf of no agent, without a vector."""
    query = IndexQuery(partitions=(HERS,), agent=None, now=NOW, terms=terms, vector=None, dense_limit=EVERY_ROW)
    return replace(query, **changes)


@dataclass(frozen=True, slots=True)
class Row:
    """One candidate, in plain numbers; `cosine` None without a vector."""

    item_id: str
    counts: tuple[int, ...]
    length: int
    cosine: float | None
    importance: float
    observed: int
    is_flagged: bool = False


def rows(found: Candidates) -> list[Row]:
    """The candidates by id, rounded so that they can be compared."""
    flagged = np.zeros(found.ids.shape, dtype=np.bool_) if found.flagged is None else found.flagged
    numbers = (found.counts, found.lengths, found.cosines, found.importances, found.observed, flagged)
    columns = zip(found.ids, *numbers, strict=True)
    return sorted(
        (
            Row(
                str(item_id),
                tuple(int(count) for count in counts),
                int(length),
                None if np.isnan(cosine) else round(float(cosine), 4),
                round(float(importance), 4),
                int(observed),
                bool(is_flagged),
            )
            for item_id, counts, length, cosine, importance, observed, is_flagged in columns
        ),
        key=lambda row: row.item_id,
    )


def ids(found: Candidates) -> list[str]:
    """The ids of the candidates, in order of the ids."""
    return sorted(str(item_id) for item_id in found.ids)


@dataclass(frozen=True, slots=True)
class Statistics:
    """What an index says of all visible rows, in plain numbers."""

    items: int
    total_length: int
    document_frequencies: tuple[int, ...]
    vectors: int
    cosine_mean: float
    cosine_deviation: float


def statistics(found: Candidates) -> Statistics:
    """The statistics, rounded so that they can be compared."""
    return Statistics(
        found.items,
        int(found.total_length),
        tuple(int(frequency) for frequency in found.document_frequencies),
        found.vectors,
        round(found.cosine_mean, 4),
        round(found.cosine_deviation, 3),
    )


class NaiveIndex:
    """What an index must answer, computed row by row from the rows as they are; every visible row is a candidate."""

    def __init__(self) -> None:
        self._partitions: dict[Partition, dict[str, Change]] = {}

    def apply(self, partition: Partition, changes: Sequence[Change]) -> None:
        """Take in changes, in order."""
        held = self._partitions.setdefault(partition, {})
        for change in changes:
            held.pop(change.item_id, None)
            if not change.is_gone:
                held[change.item_id] = change

    def present(self, partition: Partition) -> list[Change]:
        """All rows of a partition."""
        return list(self._partitions.get(partition, {}).values())

    def statistics(self, query: IndexQuery) -> Statistics:
        """The statistics over all rows that the query may see."""
        seen = [change for partition in query.partitions for change in self.present(partition) if _sees(query, change)]
        cosines = [c for c in (_cosine(query, change) for change in seen) if c is not None]
        return Statistics(
            len(seen),
            sum(len(change.terms.split()) for change in seen),
            tuple(sum(term in change.terms.split() for change in seen) for term in query.terms),
            len(cosines),
            round(float(np.mean(cosines)), 4) if cosines else 0.0,
            round(float(np.std(cosines)), 3) if cosines else 0.0,
        )

    def rows(self, query: IndexQuery) -> list[Row]:
        """Every row that may be a candidate, by id."""
        admitted = [
            change
            for partition in query.partitions
            for change in self.present(partition)
            if _sees(query, change) and _admits(query, change)
        ]
        return sorted((_row(query, change) for change in admitted), key=lambda row: row.item_id)


def _sees(query: IndexQuery, change: Change) -> bool:
    is_live = change.expires_at is None or change.expires_at > query.now
    is_ours = change.private_agent is None or change.private_agent == query.agent
    return is_live and is_ours and (change.is_active or query.include_inactive)


def _admits(query: IndexQuery, change: Change) -> bool:
    is_kind = not query.kinds or change.kind in query.kinds
    is_old_message = (
        query.messages_until is not None and change.kind == MESSAGE and change.observed_at <= query.messages_until
    )
    return is_kind and (query.allowed is None or change.item_id in query.allowed or is_old_message)


def _cosine(query: IndexQuery, change: Change) -> float | None:
    if query.vector is None or change.vector is None:
        return None
    vector: Floats = change.vector
    return float(vector @ query.vector)


def _row(query: IndexQuery, change: Change) -> Row:
    terms, cosine = change.terms.split(), _cosine(query, change)
    return Row(
        change.item_id,
        tuple(terms.count(term) for term in query.terms),
        len(terms),
        None if cosine is None else round(cosine, 4),
        round(float(np.float32(change.importance)), 4),
        change.observed_at,
        change.is_flagged,
    )
