"""The backend `bm25`: Okapi BM25 over lower-cased, blank-separated words, in this process, without other packages.
Scores equal those of `rank_bm25.BM25Okapi` with its own constants, which the tests verify. Decision 0006 says why the
package itself is not used. For exact words in languages with blanks; `sqlite` handles word forms and all scripts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mnemic.backends.in_memory import Arrays, Document, InMemoryBackend, Scored
from mnemic.backends.primitive import FACTS, MemoryRegistry
from mnemic.ranking.bm25 import Bm25, CollectionStatistics

K1 = 1.5  # saturation of repeated words; 1.2 to 2 is usual (Robertson and Zaragoza 2009)
B = 0.75  # length normalisation: 0 none, 1 full; 0.75 is usual
EPSILON = 0.25
"""The share of the average weight that replaces the negative weight of a word in over half of the documents."""

Words = list[str]


def split_words(text: str) -> Words:
    """Lower-cased words between blanks, in order, with repetitions."""
    return text.lower().split()


@MemoryRegistry.register("bm25")
class Bm25Backend(InMemoryBackend[Words]):
    """Finds documents that share at least one word with the query, even if all shared words weigh 0. The index covers
    the whole collection. Every store and delete discards it, and the next query rebuilds it. Scores are 0 or more.
    Equal scores are ordered by shared words, most first.
    """

    facts = FACTS["bm25"]

    def __init__(self) -> None:
        super().__init__()
        self._words: dict[str, Words] = {}
        self._index: _Index | None = None

    def _read(self, content: str) -> Words:
        return split_words(content)

    def _ask(self, query: str) -> Words:
        return split_words(query)

    def _best(self, evidence: Words, limit: int) -> Sequence[Scored]:
        if self._index is None:
            self._index = _Index(self._words.values())
        ids = list(self._words)
        return [(ids[row], score) for row, score in self._index.best(evidence, limit)]

    def _add(self, doc_id: str, evidence: Words) -> None:
        self._words[doc_id] = evidence
        self._index = None

    def _remove(self, doc_id: str) -> None:
        del self._words[doc_id]
        self._index = None

    def _replace(self, documents: Sequence[tuple[str, Document]], arrays: Arrays) -> None:  # noqa: ARG002 -- words are quickly read again
        self._words = {doc_id: split_words(document.content) for doc_id, document in documents}
        self._index = None


@dataclass(frozen=True, slots=True)
class _Okapi(Bm25):
    """BM25 with the weight of Robertson and Spärck Jones (1976), which is `floor` where negative."""

    floor: float = 0.0

    def idf(self, statistics: CollectionStatistics) -> NDArray[np.float32]:
        frequencies = statistics.document_frequencies.astype(np.float64)
        weights = _weights(statistics.items, frequencies)
        return np.where(weights < 0, self.floor, weights).astype(np.float32)


class _Index:
    """The immutable counts of one collection."""

    def __init__(self, documents: Iterable[Words]) -> None:
        postings: dict[str, dict[int, int]] = {}
        lengths: list[int] = []
        for row, document in enumerate(documents):
            lengths.append(len(document))
            for word, count in Counter(document).items():
                postings.setdefault(word, {})[row] = count
        self._postings = postings
        self._lengths = np.array(lengths, dtype=np.float32)
        frequencies = np.array([len(rows) for rows in postings.values()], dtype=np.float64)
        average = float(_weights(len(lengths), frequencies).mean()) if postings else 0.0
        self._score = _Okapi(k1=K1, b=B, floor=max(0.0, EPSILON * average))

    def best(self, query: Words, limit: int) -> list[tuple[int, float]]:
        """Rows with their scores. A repeated query word counts each time."""
        known = [word for word in query if word in self._postings]
        if not known:
            return []
        rows = np.array(sorted({row for word in known for row in self._postings[word]}), dtype=np.int64)
        columns = {word: [self._postings[word].get(int(row), 0) for row in rows] for word in set(known)}
        counts = np.array([columns[word] for word in known], dtype=np.float32).T
        frequencies = [len(self._postings[word]) for word in known]
        statistics = CollectionStatistics.of(len(self._lengths), float(self._lengths.sum()), frequencies)
        scores = self._score.scores(counts, self._lengths[rows], statistics)
        order = np.lexsort((rows, -(counts > 0).sum(axis=1), -scores))[:limit]
        return [(int(rows[place]), float(scores[place])) for place in order]


def _weights(items: int, frequencies: NDArray[np.float64]) -> NDArray[np.float64]:
    # 0.5 smooths: no logarithm of 0 (Robertson and Sparck Jones 1976)
    return np.log(items - frequencies + 0.5) - np.log(frequencies + 0.5)
