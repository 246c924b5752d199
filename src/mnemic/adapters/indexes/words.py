"""The words of a table, and the best rows by BM25 of a large one. Scoring all rows of a common term would take most of
a search, so a large table scores only rows of rarer terms. Common ones add their champions (the rows where they weigh
most, cached between searches) and, if rarer terms match few rows, the rows with two common terms.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mnemic.adapters.indexes.base_files import Base, find_text
from mnemic.adapters.indexes.views import Columns, Postings, Slots, View, distinct
from mnemic.model.candidates import Floats
from mnemic.ranking.bm25 import Bm25, CollectionStatistics, inner

COMMON_ROWS = 8_192
"""A term in more rows is common."""
CHAMPIONS = 2_048
"""Rows cached per common term."""
SCORED_ROWS = 4_096
"""The best rows by rarer terms that are also scored with the common terms."""
PAIRED_ROWS = 65_536
"""Terms in more rows are not combined with others."""
PAIRS = 3  # each further pair costs one intersection, and its terms are more common
_FRESH_SHARE = 0.02  # champions are chosen again after this share of the posting was written
_FRESH_ROWS = 1_024  # in addition to the share, so that a small posting is not sorted after each write
_RUN_ROWS = 1_024  # fewer are added directly to the postings of their terms
_MOST_RUNS = 64  # a search looks through each; fewer mean more merging on writes
_SPLIT_ROWS = 256  # split at once; the next ones reuse the memory of their words
_NO_POSTING = Postings()
_NO_SLOTS = np.zeros(0, dtype=np.int32)
_NO_STARTS = np.zeros(0, dtype=np.int64)
_NO_WEIGHTS: Floats = np.zeros(0, dtype=np.float32)
_BM25 = Bm25()


@dataclass(frozen=True, slots=True)
class Champions:
    """The rows of a posting where its term weighs most, and the sums of all weights and of their squares."""

    length: int
    slots: Slots
    total: float
    squares: float


@dataclass(frozen=True, slots=True)
class Counted:
    """The query's terms with their slots and counts, and the statistics of the visible rows."""

    terms: Sequence[str]
    slots: Sequence[NDArray[np.int32]]
    counts: Sequence[NDArray[np.int32]]
    statistics: CollectionStatistics

    def of(self, places: Slots) -> Floats:
        """The count of each term in these ascending slots, `(n, t)`."""
        found = np.zeros((places.shape[0], len(self.slots)), dtype=np.float32)
        for column, (held, times) in enumerate(zip(self.slots, self.counts, strict=True)):
            at, is_held = _find_places(held, places)
            found[is_held, column] = times[at[is_held]]
        return found


@dataclass(frozen=True, slots=True)
class BestByKeyword:
    """Choose about the best `rows` by BM25 among those that share a term, with the statistics of the whole query."""

    rows: int
    statistics: CollectionStatistics


@dataclass(frozen=True, slots=True)
class _Run:
    """The terms of many rows, by term number, then slot: `slots` and `counts` from `starts[i]` to `starts[i + 1]`
    belong to the term `codes[i]`. Codes ascend.
    """

    codes: NDArray[np.int64]
    starts: NDArray[np.int64]
    slots: NDArray[np.int32]
    counts: NDArray[np.int32]

    @classmethod
    def of(cls, codes: NDArray[np.int64], slots: NDArray[np.int32], counts: NDArray[np.int32]) -> _Run:
        """A run from a code per slot, in order."""
        starts = np.flatnonzero(np.append(True, codes[1:] != codes[:-1])) if len(codes) else _NO_STARTS
        return cls(codes[starts], np.append(starts, len(codes)), slots, counts)

    def append_to(self, posting: Postings, code: int) -> None:
        """Add a term's entries to its posting."""
        place = int(np.searchsorted(self.codes, code))
        if place < len(self.codes) and self.codes[place] == code:
            start, end = self.starts[place : place + 2].tolist()
            posting.slots.frombytes(self.slots[start:end].tobytes())
            posting.counts.frombytes(self.counts[start:end].tobytes())

    def without(self, is_open: NDArray[np.bool_]) -> _Run:
        """This run without some terms."""
        if not is_open.any():
            return self
        codes = np.repeat(self.codes, np.diff(self.starts))
        kept = ~is_open[codes]
        return _Run.of(codes[kept], self.slots[kept], self.counts[kept])

    def followed_by(self, later: _Run) -> _Run:
        """This run merged with one of later slots."""
        codes = np.concatenate([np.repeat(run.codes, np.diff(run.starts)) for run in (self, later)])
        order = np.argsort(codes, kind="stable")
        slots, counts = np.append(self.slots, later.slots), np.append(self.counts, later.counts)
        return _Run.of(codes[order], slots[order], counts[order])


class _Codes(dict[str, int]):
    """The number of each term: of those of a base file, the place in its sorted list, else the next free number."""

    def __init__(self, joined: bytes = b"", ends: NDArray[np.int64] | None = None) -> None:
        self._joined, self._ends = joined, _NO_STARTS if ends is None else ends
        self._next = len(self._ends)

    def __missing__(self, term: str) -> int:
        code = self._find_base_code(term)
        if code is None:
            code, self._next = self._next, self._next + 1
        self[term] = code
        return code

    @property
    def size(self) -> int:
        """How many numbers are taken."""
        return self._next

    def find(self, term: str) -> int | None:
        """The number of a known term, else None."""
        return self._find_base_code(term) if term not in self else self[term]

    def list_terms(self) -> list[bytes]:
        """All terms by number."""
        base = self._joined.split(b"\0") if len(self._ends) else []
        later = sorted((code, term) for term, code in self.items() if code >= len(base))
        return base + [term.encode("utf-8", "surrogatepass") for _, term in later]

    def _find_base_code(self, term: str) -> int | None:
        return find_text(self._joined, self._ends, term)


def merge_words(terms: Sequence[bytes], runs: Sequence[_Run], place: Slots) -> tuple[bytes, dict[str, NDArray[Any]]]:
    """The words of a base file: the joined terms in order, and arrays. `place`: the new place of each slot, or -1."""
    codes = np.concatenate([_NO_STARTS, *(np.repeat(run.codes, np.diff(run.starts)) for run in runs)])
    slots = place[np.concatenate([_NO_SLOTS, *(run.slots for run in runs)])]
    counts = np.concatenate([_NO_SLOTS, *(run.counts for run in runs)])
    is_live = slots >= 0
    codes, slots, counts = codes[is_live], slots[is_live], counts[is_live]
    found: list[int] = np.unique(codes).tolist()
    used = sorted(found, key=terms.__getitem__)
    rank = np.zeros(len(terms), dtype=np.int64)
    rank[np.array(used, dtype=np.int64)] = np.arange(len(used))
    codes = rank[codes]
    order = np.argsort(codes, kind="stable")
    run = _Run.of(codes[order], slots[order].astype(np.int32), counts[order])
    ends = np.cumsum([len(terms[code]) + 1 for code in used], dtype=np.int64) - 1
    parts = {"ends": ends, "starts": run.starts, "slots": run.slots, "counts": run.counts}
    return b"\0".join([terms[code] for code in used]), {f"posting {name}": part for name, part in parts.items()}


class Words:
    """Postings by term. Not thread-safe; its index holds the lock."""

    def __init__(self, common_rows: int = COMMON_ROWS) -> None:
        self.held = 0
        self._common_rows = common_rows
        self._codes = _Codes()
        self._runs: list[_Run] = []
        self._postings: dict[str, Postings] = {}
        self._champions: dict[str, Champions] = {}
        self._scores: Floats = np.zeros(0, dtype=np.float32)  # all 0 between two uses

    def open(self, base: Base) -> None:
        """Start with the words of a base file."""
        parts = [base.arrays[f"posting {name}"] for name in ("ends", "starts", "slots", "counts")]
        ends, starts, slots, counts = parts
        self._codes = _Codes(base.texts["terms"], ends)
        self._runs = [_Run(np.arange(len(ends)), starts, slots, counts)]
        self.held = len(slots)

    def snapshot(self) -> tuple[list[bytes], list[_Run]]:
        """The terms by number, and runs of all their postings. These never change."""
        parts = [(self._codes[term], *posting.arrays()) for term, posting in self._postings.items()]
        opened = [_Run.of(np.full(len(slots), code), slots.copy(), counts.copy()) for code, slots, counts in parts]
        is_open = np.zeros(self._codes.size, dtype=np.bool_)
        is_open[np.array([code for code, _, _ in parts], dtype=np.int64)] = True
        return self._codes.list_terms(), [*(run.without(is_open) for run in self._runs), *opened]

    def post(self, texts: Sequence[str], first: int) -> NDArray[np.intp]:
        """Add the terms of rows from slot `first` on. Returns the number of terms of each, `(rows,)`. Many rows are one
        run over all terms, because a list per term would take most of the loading time.
        """
        rows = len(texts)
        parts = [self._encode_words(texts[start : start + _SPLIT_ROWS]) for start in range(0, rows, _SPLIT_ROWS)]
        codes = np.concatenate(parts).astype(np.int64)
        places = np.repeat(np.arange(rows), [text.count(" ") + 1 for text in texts])
        if "" in self._codes:  # the result of splitting a row without terms
            is_term = codes != self._codes[""]
            codes, places = codes[is_term], places[is_term]
        keys, counts = np.unique(codes * rows + places, return_counts=True)
        lengths = np.bincount(places, minlength=rows)
        codes, places = np.divmod(keys, rows)
        run = _Run.of(codes, (places + first).astype(np.int32), counts.astype(np.int32))
        self.held += len(keys)
        if rows < _RUN_ROWS:
            for term in dict.fromkeys(" ".join(texts).split(" ")):
                run.append_to(self._posting(term), self._codes[term])
        else:
            for term, posting in self._postings.items():
                run.append_to(posting, self._codes[term])
            self._keep(run)
        return lengths

    def _encode_words(self, texts: Sequence[str]) -> NDArray[np.int32]:
        """The numbers of all words of these texts, in order. An empty text is one empty word."""
        words = " ".join(texts).split(" ")
        return np.fromiter(map(self._codes.__getitem__, words), np.int32, len(words))

    def _keep(self, run: _Run) -> None:
        """Keep a run. Small ones are merged, to keep their number low."""
        self._runs.append(run)
        while len(self._runs) > _MOST_RUNS and len(self._runs[-2].slots) <= len(self._runs[-1].slots):
            later = self._runs.pop()
            self._runs[-1] = self._runs[-1].followed_by(later)

    def _posting(self, term: str) -> Postings:
        """The posting of a known term, built from the runs on first use."""
        posting = self._postings.get(term)
        if posting is None:
            posting, code = self._postings.setdefault(term, Postings()), self._codes[term]
            for run in self._runs:
                run.append_to(posting, code)
        return posting

    def counted(self, terms: Sequence[str], view: View) -> Counted:
        """Counts of these terms, and the statistics of the rows in view."""
        is_known = [term in self._postings or self._codes.find(term) is not None for term in terms]
        found = [
            (self._posting(term) if known else _NO_POSTING).arrays()
            for term, known in zip(terms, is_known, strict=True)
        ]
        frequencies = [view.holding(term, slots) for term, (slots, _) in zip(terms, found, strict=True)]
        statistics = CollectionStatistics.of(view.items, view.total_length, frequencies)
        return Counted(terms, [slots for slots, _ in found], [counts for _, counts in found], statistics)

    def best(self, counted: Counted, columns: Columns, view: View, best: BestByKeyword) -> tuple[Slots, _Sums]:
        """The best visible rows by BM25 and score sums, both exact unless the query has a common term."""
        whole, idf = best.statistics, _BM25.idf(best.statistics)
        is_common = [len(slots) > self._common_rows for slots in counted.slots]
        rare = [place for place, common in enumerate(is_common) if not common]
        common = [place for place, common in enumerate(is_common) if common]
        limit = SCORED_ROWS if common else best.rows
        kept, _, sums = self._score_rows(counted, columns, view.mask, whole, rare, limit)
        if not common:
            return kept, sums
        chosen = [self._choose_champions(counted, columns, whole, place) for place in common]
        both = _find_shared_rows([counted.slots[place] for place in common]) if len(kept) < best.rows else ()
        kept = distinct(np.concatenate([kept, *(champions.slots for champions in chosen), *both]))
        kept = kept[view.mask[kept]]
        scores = _BM25.scores(counted.of(kept), columns.lengths[kept], whole)
        for place, champions in zip(common, chosen, strict=True):
            share = counted.statistics.document_frequencies[place] / max(len(counted.slots[place]), 1)
            weight = float(idf[place])
            more = (champions.total * weight * share, champions.squares * weight * weight * share)
            sums = _add_sums(sums, more, max(view.items, 1))
        return _take_largest(kept, scores, best.rows)[0], sums

    def best_among(
        self, counted: Counted, columns: Columns, wanted: NDArray[np.bool_], best: BestByKeyword
    ) -> tuple[Slots, _Sums]:
        """Like `best` for the wanted rows, but always exact: all that share a term are scored."""
        everything = range(len(counted.slots))
        places, _, sums = self._score_rows(counted, columns, wanted, best.statistics, everything, best.rows)
        return places, sums

    def _score_rows(
        self,
        counted: Counted,
        columns: Columns,
        wanted: NDArray[np.bool_],
        whole: CollectionStatistics,
        terms: Sequence[int],
        limit: int,
    ) -> tuple[Slots, Floats, _Sums]:
        """The best wanted rows with one of some terms, their scores, and the sums over all such rows."""
        if self._scores.shape[0] != columns.capacity:
            self._scores = np.zeros(columns.capacity, dtype=np.float32)
        idf, sums = _BM25.idf(whole), self._scores
        held = np.concatenate([_NO_SLOTS, *(counted.slots[place] for place in terms)])
        added = np.concatenate(
            [_NO_WEIGHTS, *(_weigh_term(counted, columns, whole, place) * idf[place] for place in terms)]
        )
        start = 0
        for place in terms:  # a term names a row once, several terms may name the same row
            end = start + len(counted.slots[place])
            sums[held[start:end]] += added[start:end]
            start = end
        is_wanted = wanted[held]
        seen, added = held[is_wanted], added[is_wanted].astype(np.float64)
        scores = sums[seen]
        places = distinct(_take_largest(seen, scores, limit * max(len(terms), 1))[0])
        found, total = sums[places], (float(added.sum()), inner(added, scores.astype(np.float64)))
        sums[held] = 0
        return *_take_largest(places, found, limit), total

    def _choose_champions(
        self, counted: Counted, columns: Columns, whole: CollectionStatistics, place: int
    ) -> Champions:
        """A common term's champions, chosen again if many rows were written since. These are included."""
        term, slots, counts = counted.terms[place], counted.slots[place], counted.counts[place]
        known = self._champions.get(term)
        if known is None or len(slots) - known.length > _FRESH_ROWS + _FRESH_SHARE * known.length:
            weights = _weigh_term(counted, columns, whole, place)
            first = _take_largest(slots, weights, CHAMPIONS)[0].astype(np.int64)
            exact = weights.astype(np.float64)
            known = Champions(len(slots), first, float(exact.sum()), inner(exact, exact))
            self._champions[term] = known
        newer = slots[known.length :]
        if not newer.shape[0]:
            return known
        weights = _BM25.saturated(counts[known.length :], columns.lengths[newer], whole.average_length)
        newer = _take_largest(newer, weights, CHAMPIONS // 4)[0]
        return Champions(known.length, np.concatenate([known.slots, newer]), known.total, known.squares)


_Sums = tuple[float, float]


def _weigh_term(counted: Counted, columns: Columns, whole: CollectionStatistics, place: int) -> Floats:
    """A term's contribution to each of its rows, before its own weight."""
    lengths = columns.lengths[counted.slots[place]]
    return _BM25.saturated(counted.counts[place], lengths, whole.average_length)


def _take_largest(places: NDArray[np.int32] | Slots, scores: Floats, limit: int) -> tuple[Slots, Floats]:
    """Indices and values of the highest scores, in the original order."""
    if places.shape[0] <= limit:
        return places.astype(np.int64), scores
    chosen = np.sort(np.argpartition(scores, places.shape[0] - limit)[-limit:])
    return places[chosen].astype(np.int64), scores[chosen]


def _find_shared_rows(postings: Sequence[NDArray[np.int32]]) -> list[Slots]:
    """The rows that the rarest term shares with each of the next rarest."""
    first, *others = sorted(postings, key=len)
    if len(first) > PAIRED_ROWS:
        return []
    slots = first.astype(np.int64)
    return [slots[_find_places(other, slots)[1]] for other in others[:PAIRS]]


def _add_sums(one: _Sums, other: _Sums, rows: int) -> _Sums:
    """Add the sums of two terms, assuming that they occur independently."""
    return one[0] + other[0], one[1] + other[1] + 2 * one[0] * other[0] / rows


def _find_places(held: NDArray[np.int32], places: Slots) -> tuple[Slots, NDArray[np.bool_]]:
    """The position of each of some ascending slots in a posting, and whether it is there."""
    if not held.shape[0]:
        return np.zeros(places.shape, dtype=np.int64), np.zeros(places.shape, dtype=np.bool_)
    at = np.searchsorted(held, places.astype(np.int32))
    at[at == held.shape[0]] = 0
    return at, held[at] == places
