"""Small partitions wholly in memory; large ones with vectors in memory and words on disk. Each further embedding space
has its own index, kept in step. Vectors of two spaces are never compared.
"""

import logging
import threading
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from functools import partial
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from mnemic.adapters.indexes.fts5 import Fts5Index
from mnemic.adapters.indexes.scan import ScanIndex
from mnemic.adapters.indexes.views import Evidence, joined, nothing
from mnemic.errors import BackendError
from mnemic.model.candidates import Candidates, Change, Floats, IndexQuery, Nearness, Surroundings
from mnemic.model.scope import Partition
from mnemic.ports.index import Index

_Answer = TypeVar("_Answer")
_log = logging.getLogger("mnemic.index")


class TieredIndex:
    """The `Index` port: above `threshold_rows` items `keyword` finds words and `scan` vectors. A growing partition is
    dropped once and reloaded into both. The content of `keyword` is compared with the store first. If its file fails,
    the partition is loaded wholly into memory: same results, more memory.
    """

    def __init__(self, scan: ScanIndex, keyword: Fts5Index, threshold_rows: int) -> None:
        self.capabilities = replace(scan.capabilities, is_exact=False)
        self._scan = scan
        self._keyword = keyword
        self._threshold_rows = threshold_rows
        self._large: set[Partition] = set()
        self._whole: set[Partition] = set()
        self._told: dict[Partition, int] = {}
        self._guard = threading.Lock()

    def version(self, partition: Partition) -> int:
        held = self._scan.version(partition)
        if held and self._is_large(partition):
            held = min(held, self._or_reload(partition, lambda: self._keyword.version(partition), 0))
        with self._guard:
            self._told[partition] = held
        return held

    def apply(self, partition: Partition, changes: Sequence[Change], version: int) -> None:
        with self._guard:
            since = self._told.pop(partition, None)
        if self._scan.version(partition) == 0:
            self._begin(partition, changes, version)
        elif self._is_large(partition):
            self._scan.apply(partition, changes, version, holds_terms=False)
            self._or_reload(partition, lambda: self._keyword.apply(partition, changes, version, since=since), None)
        else:
            self._scan.apply(partition, changes, version)
            if self._scan.rows(partition) > self._threshold_rows and not self._is_whole(partition):
                self._mark_large(partition)
                self._scan.drop(partition)  # its base file too: words move to `keyword`

    def search(self, query: IndexQuery) -> Candidates:
        best = self._scan.best(query)
        found = [
            self._or_reload(partition, partial(self._search_divided, partition, query), nothing(len(query.terms)))
            if self._is_large(partition)
            else self._scan.evidence(partition, query, best)
            for partition in query.partitions
        ]
        self._scan.trim()
        return joined(found, len(query.terms))

    def drop(self, partition: Partition) -> None:
        with self._guard:
            self._large.discard(partition)
            self._whole.discard(partition)
            self._told.pop(partition, None)
        self._scan.drop(partition)
        self._keyword.drop(partition)

    def settle(self) -> None:
        self._scan.settle()
        self._keyword.settle()

    def close(self) -> None:
        self._scan.close()
        self._keyword.close()

    def _is_large(self, partition: Partition) -> bool:
        with self._guard:
            return partition in self._large

    def _is_whole(self, partition: Partition) -> bool:
        with self._guard:
            return partition in self._whole

    def _or_reload(self, partition: Partition, call: Callable[[], _Answer], otherwise: _Answer) -> _Answer:
        """A call on the file, or `otherwise` if it fails. The partition is then dropped and reloaded."""
        try:
            return call()
        except BackendError as error:
            _log.warning("%s; keeping the keyword index of a large partition in memory", error)
            with self._guard:
                self._whole.add(partition)
                self._large.discard(partition)
                self._told.pop(partition, None)
            self._scan.forget(partition)
            return otherwise

    def _mark_large(self, partition: Partition) -> None:
        with self._guard:
            self._large.add(partition)

    def _begin(self, partition: Partition, changes: Sequence[Change], version: int) -> None:
        """Load all of a partition. Words of a partition that became small must not survive an erasure."""
        live = len({change.item_id for change in changes} - {c.item_id for c in changes if c.is_gone})
        if self._is_whole(partition):
            self._scan.apply(partition, changes, version)
        elif live > self._threshold_rows or self._is_large(partition):
            self._mark_large(partition)
            self._scan.apply(partition, changes, version, holds_terms=False)
            self._or_reload(partition, lambda: self._keyword.apply(partition, changes, version, is_complete=True), None)
        else:
            self._scan.apply(partition, changes, version)
            self._or_reload(partition, lambda: self._forget(partition), None)

    def _forget(self, partition: Partition) -> None:
        if self._keyword.version(partition):
            self._keyword.drop(partition)

    def _search_divided(self, partition: Partition, query: IndexQuery) -> Evidence:
        """Dense rows first, then keyword rows with the counts of the dense ones, then all cosines."""
        alone = replace(query, partitions=(partition,))
        dense = replace(alone, terms=())
        near = self._scan.evidence(partition, dense)
        (words,) = self._keyword.evidence(alone, also=[str(i) for i in near.ids])
        if query.neighbours:
            beside = self._scan.neighbours(partition, [str(i) for i in words.ids], query.neighbours)
            (words,) = self._keyword.evidence(alone, also=beside)
        known = {str(i) for i in near.ids}
        further = [str(i) for i in words.ids if i not in known]
        cosine_of = dict(zip(near.ids, near.cosines, strict=True))
        if further and query.vector is not None:
            cosine_of |= self._scan.cosines(partition, query.vector, further)
        cosines = np.array([cosine_of.get(i, np.nan) for i in words.ids], dtype=np.float32)
        version = min(near.version, words.version)
        surroundings = self._scan.surroundings(partition, [str(i) for i in words.ids], query.words)
        return replace(words, cosines=cosines, population=near.population, version=version, surroundings=surroundings)


_: type[Index] = TieredIndex


class SpacesIndex:
    """The `Index` port over `main` and a scan per further space. Scans hold rows without words, so that a hit from a
    further space has its length, time and neighbours. A partition's version is its oldest part's. Repeated changes are
    harmless.
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
            mine = [change._replace(vector=_vector_at(change.further, place), further=()) for change in changes]
            index.apply(partition, mine, version, holds_terms=False)

    def search(self, query: IndexQuery) -> Candidates:
        found = self._main.search(replace(query, further=()))
        near = [
            index.search(replace(query, terms=(), vector=_vector_at(query.further, place), further=()))
            for place, index in enumerate(self._further)
        ]
        joint = self._append_rows(query, found, near) if any(each.ids.size for each in near) else found
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

    def _append_rows(self, query: IndexQuery, found: Candidates, near: Sequence[Candidates]) -> Candidates:
        """The candidates, followed by rows found only in further spaces."""
        known = {str(i) for i in found.ids}
        added: dict[str, tuple[Candidates, int]] = {}
        for each in near:
            added |= {str(i): (each, row) for row, i in enumerate(each.ids) if str(i) not in known}
        if not added:
            return found
        counts, cosines = self._look_up_rows(query, added)
        rows = list(added.values())
        ids = np.array([*found.ids, *added], dtype=np.object_)
        return replace(
            found,
            ids=ids,
            counts=np.concatenate([found.counts, counts]),
            lengths=np.append(found.lengths, [each.lengths[row] for each, row in rows]).astype(np.float32),
            cosines=np.concatenate([found.cosines, cosines]),
            importances=np.append(found.importances, [each.importances[row] for each, row in rows]).astype(np.float32),
            flagged=_collect_flags(found, rows),
            observed=np.append(found.observed, [each.observed[row] for each, row in rows]).astype(np.int64),
            surroundings=self._surroundings(query, [str(i) for i in ids]),
        )

    def _look_up_rows(self, query: IndexQuery, wanted: Collection[str]) -> tuple[Floats, Floats]:
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
        vector, cosine_of = _vector_at(query.further, place), dict[str, float]()
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
        """The positions of all candidates. Each is in one partition, and sessions of two partitions differ."""
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


def _collect_flags(found: Candidates, rows: Sequence[tuple[Candidates, int]]) -> NDArray[np.bool_] | None:
    """The flags of the candidates and of the rows added after them."""
    beside = np.array([each.flagged is not None and each.flagged[row] for each, row in rows], dtype=np.bool_)
    own = np.zeros(found.ids.shape, dtype=np.bool_) if found.flagged is None else found.flagged
    joint = np.concatenate([own, beside])
    return joint if joint.any() else None


def _vector_at(vectors: Sequence[Floats | None], place: int) -> Floats | None:
    return vectors[place] if place < len(vectors) else None


_: type[Index] = SpacesIndex
