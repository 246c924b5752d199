"""Computes the features of all candidates of all questions, as recall does, and caches them in one file per set.

This module runs the engine (`ranked` of `engine.recall`) and manages the cache, but does not fit or judge. The given
folder contains two caches: `<set>.npz` with the features, and `vectors.npz` with the vectors of all texts by a hash of
the text.
"""

from __future__ import annotations

import hashlib
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from numpy.typing import NDArray

from mnemic.api import Mnemic
from mnemic.build import build
from mnemic.config import Config
from mnemic.engine.engine import Engine
from mnemic.engine.indexing import question_vectors
from mnemic.engine.inputs import Question, Watch
from mnemic.engine.recall import ranked
from mnemic.engine.score import Scored
from mnemic.evaluation.dataset import Dataset
from mnemic.evaluation.retrieval import QuestionClock, Space, spaces_of, stored
from mnemic.model.candidates import Space as VectorSpace
from mnemic.model.scope import Scope
from mnemic.ports.models import Embedder, EmbedderCapabilities, Vectors

FEATURES = (
    "keyword",
    "dense",
    "keyword_before",
    "keyword_after",
    "dense_after",
    "session_keyword",
    "session_dense",
    "answer",
    "brief",
    "asks",
    "author_named",
    "assistant",
    "assistant_asked",
    "dated",
)
"""The columns, in order: all that a weight stands for but those in `beliefs.BY_HAND`."""

HITS = 100
"""Recall is asked for so many, as in an evaluation; it bounds what comes in by vector alone."""


@dataclass(frozen=True, slots=True)
class Asked:
    """One question and its `n` candidates: `rows (n,)` index the corpus, `features (n, FEATURES) float32`, and
    `observed (n,)` in microseconds decides between equal scores.
    """

    qid: str
    rows: NDArray[np.int32]
    features: NDArray[np.float32]
    observed: NDArray[np.int64]


class KeptEmbedder:
    """Another embedder whose vectors are kept in a file by text; queries and documents are kept apart."""

    def __init__(self, inner: Embedder, path: Path) -> None:
        self._inner, self._path = inner, path
        self._known: dict[str, Vectors] = {}
        if path.exists():
            with np.load(path) as file:
                self._known = dict(zip(file["names"].tolist(), file["vectors"], strict=True))
        self._read = len(self._known)

    @property
    def space(self) -> VectorSpace:
        """The space of the inner embedder."""
        return self._inner.space

    @property
    def capabilities(self) -> EmbedderCapabilities:
        """Those of the inner embedder."""
        return self._inner.capabilities

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """As the port says; a text seen before costs nothing."""
        missing = [text for text in dict.fromkeys(texts) if _name("d", text) not in self._known]
        if missing:
            self._keep("d", missing, self._inner.embed_documents(missing))
        return self._of("d", texts)

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """As the port says; a text seen before costs nothing."""
        missing = [text for text in dict.fromkeys(texts) if _name("q", text) not in self._known]
        if missing:
            self._keep("q", missing, self._inner.embed_queries(missing))
        return self._of("q", texts)

    def close(self) -> None:
        """Write what is new, and close the inner embedder."""
        if len(self._known) > self._read:
            np.savez(self._path, names=np.array(list(self._known)), vectors=np.stack(list(self._known.values())))
        self._inner.close()

    def _keep(self, kind: str, texts: Sequence[str], vectors: Vectors) -> None:
        self._known.update(zip((_name(kind, text) for text in texts), vectors, strict=True))

    def _of(self, kind: str, texts: Sequence[str]) -> Vectors:
        if not texts:
            return np.zeros((0, self.space.dims), dtype=np.float32)
        return np.stack([self._known[_name(kind, text)] for text in texts])


def features_of(name: str, dataset: Dataset, cache: Path) -> list[Asked]:
    """The features of all questions of the set that have an answer, from the cache or, where it has none, made now."""
    file = cache / f"{name}.npz"
    if not file.exists():
        _write(file, list(_asked(dataset, cache / "vectors.npz")))
    return _read(file)


@contextmanager
def opened(vectors: Path | None) -> Generator[tuple[Mnemic, Engine, QuestionClock]]:
    """An empty memory with the shipped embedder, whose vectors are kept in the file `vectors`, and its clock. Without a
    file it is searched by words alone.
    """
    with TemporaryDirectory(prefix="mnemic-fit-") as folder:
        parts = build(Config(store=str(Path(folder) / "memory.db"), embedder="none" if vectors is None else "minilm"))
        if parts.embedder is not None and vectors is not None:
            parts = replace(parts, embedder=KeptEmbedder(parts.embedder, vectors))
        clock = QuestionClock(parts.clock)
        parts = replace(parts, clock=clock)
        with Mnemic(parts, has_worker=False) as mnemic:
            yield mnemic, parts, clock


def _asked(dataset: Dataset, vectors: Path) -> Iterator[Asked]:
    place_of = {row.id: place for place, row in enumerate(dataset.corpus)}
    with opened(vectors) as (mnemic, parts, clock):
        for space in spaces_of(dataset):
            yield from _of_space(mnemic, parts, clock, space, place_of)


def _of_space(
    mnemic: Mnemic, parts: Engine, clock: QuestionClock, space: Space, place_of: Mapping[str, int]
) -> Iterator[Asked]:
    rows = {item: place_of[row] for batch in stored(mnemic, space, 256) for item, row in batch}
    visible = Scope(user=space.user).visibility.at()
    for question in space.questions:
        if question.is_unanswerable or not (question.gold or question.gold_sessions):
            continue
        asked = Question(text=question.text, limit=HITS)
        watch = Watch(None)
        vectors, _ = question_vectors(parts, visible.partitions, asked, watch)
        with clock.at(question.time):
            scored = ranked(parts, visible, asked, vectors, watch).scored
        yield _candidates(question.id, scored, rows)


def _candidates(qid: str, scored: Scored, rows: Mapping[str, int]) -> Asked:
    found = scored.candidates
    features = np.zeros((len(found.ids), len(FEATURES)), dtype=np.float32)
    for column, name in enumerate(FEATURES):
        if name in scored.features:
            features[:, column] = scored.features[name]
    return Asked(qid, np.array([rows[str(i)] for i in found.ids], dtype=np.int32), features, found.observed)


def _write(file: Path, questions: Sequence[Asked]) -> None:
    np.savez(
        file,
        qids=np.array([asked.qid for asked in questions]),
        ends=np.cumsum([len(asked.rows) for asked in questions]),
        rows=np.concatenate([asked.rows for asked in questions]),
        features=np.concatenate([asked.features for asked in questions]),
        observed=np.concatenate([asked.observed for asked in questions]),
    )


def _read(file: Path) -> list[Asked]:
    with np.load(file) as kept:
        qids, ends, rows = kept["qids"].tolist(), kept["ends"].tolist(), kept["rows"]
        features, observed = kept["features"], kept["observed"]
    starts = [0, *ends[:-1]]
    return [
        Asked(qid, rows[start:end], features[start:end], observed[start:end])
        for qid, start, end in zip(qids, starts, ends, strict=True)
    ]


def _name(kind: str, text: str) -> str:
    return kind + hashlib.blake2b(text.encode(), digest_size=12).hexdigest()
