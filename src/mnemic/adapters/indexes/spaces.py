"""Several embedding spaces side by side: one index for words and the first space, one scan for each further space.

Answers for keeping them in step and for making one answer of theirs. Vectors of two spaces never meet: each is compared
in its own index, and its cosines stay apart in the answer.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from mnemic.adapters.indexes.scan import ScanIndex
from mnemic.model.candidates import Candidates, Floats, IndexQuery, Nearness, Surroundings
from mnemic.model.change import Change
from mnemic.model.scope import Partition
from mnemic.ports.index import Index


class SpacesIndex:
    """The `Index` port over `main` and one scan per entry of `IndexQuery.further` and `Change.further`.

    The scans hold every row without its words, so that what is found by a further vector alone is known with its
    length, its time and its neighbours. A partition is as far as the part that is furthest behind; what the others have
    already is taken in by them once more, which is harmless.
    """

    def __init__(self, main: Index, further: Sequence[ScanIndex]) -> None:
        budgets = [index.capabilities.budget_bytes or 0 for index in (main, *further)]
        self.capabilities = replace(main.capabilities, has_vectors=True, budget_bytes=sum(budgets) or None)
        self._main = main
        self._further = tuple(further)

    def version(self, partition: Partition) -> int:
        return min(index.version(partition) for index in (self._main, *self._further))

    def apply(self, partition: Partition, changes: Sequence[Change], version: int) -> None:
        self._main.apply(partition, changes, version)
        for place, index in enumerate(self._further):
            mine = [change._replace(vector=_at(change.further, place), further=()) for change in changes]
            index.apply(partition, mine, version, holds_terms=False)

    def search(self, query: IndexQuery) -> Candidates:
        found = self._main.search(replace(query, further=()))
        near = [
            index.search(replace(query, terms=(), vector=_at(query.further, place), further=()))
            for place, index in enumerate(self._further)
        ]
        joint = self._with_rows(query, found, near) if any(each.ids.size for each in near) else found
        ids = [str(i) for i in joint.ids]
        return replace(
            joint,
            further=tuple(self._nearness(place, query, ids, each) for place, each in enumerate(near)),
            versions=tuple(min(versions) for versions in zip(found.versions, *(n.versions for n in near), strict=True)),
        )

    def drop(self, partition: Partition) -> None:
        for index in (self._main, *self._further):
            index.drop(partition)

    def settle(self) -> None:
        for index in (self._main, *self._further):
            index.settle()

    def close(self) -> None:
        for index in (self._main, *self._further):
            index.close()

    def _with_rows(self, query: IndexQuery, found: Candidates, near: Sequence[Candidates]) -> Candidates:
        """What was found, and behind it the rows that only further vectors found."""
        known = {str(i) for i in found.ids}
        added: dict[str, tuple[Candidates, int]] = {}
        for each in near:
            added |= {str(i): (each, row) for row, i in enumerate(each.ids) if str(i) not in known}
        if not added:
            return found
        counts, cosines = self._looked_up(query, added)
        rows = list(added.values())
        ids = np.array([*found.ids, *added], dtype=np.object_)
        return replace(
            found,
            ids=ids,
            counts=np.concatenate([found.counts, counts]),
            lengths=np.append(found.lengths, [each.lengths[row] for each, row in rows]).astype(np.float32),
            cosines=np.concatenate([found.cosines, cosines]),
            importances=np.append(found.importances, [each.importances[row] for each, row in rows]).astype(np.float32),
            flagged=_flagged(found, rows),
            observed=np.append(found.observed, [each.observed[row] for each, row in rows]).astype(np.int64),
            surroundings=self._surroundings(query, [str(i) for i in ids]),
        )

    def _looked_up(self, query: IndexQuery, wanted: Collection[str]) -> tuple[Floats, Floats]:
        """The counts of the query's terms in these rows, and their cosines in the first space, in order."""
        only = {"allowed": frozenset(wanted), "messages_until": None, "dense_limit": len(wanted), "neighbours": 0}
        found = self._main.search(replace(query, further=(), **only))
        place_of = {str(i): place for place, i in enumerate(found.ids)}
        counts = np.zeros((len(wanted), len(query.terms)), dtype=np.float32)
        cosines = np.full(len(wanted), np.nan, dtype=np.float32)
        for row, item_id in enumerate(wanted):
            if item_id in place_of:
                counts[row], cosines[row] = found.counts[place_of[item_id]], found.cosines[place_of[item_id]]
        return counts, cosines

    def _nearness(self, place: int, query: IndexQuery, ids: Sequence[str], near: Candidates) -> Nearness:
        """The cosines of all candidates in a further space, and its statistics."""
        vector, cosine_of = _at(query.further, place), dict[str, float]()
        if vector is not None:
            for partition in query.partitions:
                cosine_of |= self._further[place].cosines(partition, vector, ids)
        return Nearness(
            cosines=np.array([cosine_of.get(i, np.nan) for i in ids], dtype=np.float32),
            vectors=near.vectors,
            mean=near.cosine_mean,
            deviation=near.cosine_deviation,
        )

    def _surroundings(self, query: IndexQuery, ids: Sequence[str]) -> Surroundings:
        """Where all candidates stand; each stands in one partition, and sessions of two partitions differ."""
        whole, sessions = Surroundings.nowhere(len(ids)), 0
        for partition in query.partitions:
            here = self._further[0].surroundings(partition, ids, query.words)
            moved = np.where(here.sessions >= 0, here.sessions + sessions, -1)
            sessions = max(sessions, int(moved.max(initial=-1)) + 1)
            whole = Surroundings(
                before=np.maximum(whole.before, here.before),
                after=np.maximum(whole.after, here.after),
                sessions=np.maximum(whole.sessions, moved),
                is_named=whole.is_named | here.is_named,
                is_assistant=whole.is_assistant | here.is_assistant,
                is_question=whole.is_question | here.is_question,
            )
        return whole


def _flagged(found: Candidates, rows: Sequence[tuple[Candidates, int]]) -> NDArray[np.bool_] | None:
    """The flags of what was found, and of rows of others behind it."""
    beside = np.array([each.flagged is not None and each.flagged[row] for each, row in rows], dtype=np.bool_)
    own = np.zeros(found.ids.shape, dtype=np.bool_) if found.flagged is None else found.flagged
    joint = np.concatenate([own, beside])
    return joint if joint.any() else None


def _at(vectors: Sequence[Floats | None], place: int) -> Floats | None:
    return vectors[place] if place < len(vectors) else None


_: type[Index] = SpacesIndex
