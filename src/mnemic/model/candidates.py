"""Queries to an index and its results (rows with raw evidence, never scores), stored terms, and embedding spaces."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mnemic.model.scope import Partition

MESSAGE = "message"
DOCUMENT = "document"
"""The kind of a chunk in an index."""
Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """The positions of `n` rows in their conversations. Memories have none.

    `before`, `after` `(n,) int64`: the index, among these rows, of the messages just before and after, -1 for none.
    `sessions (n,) int64`: equal numbers for messages of one session, -1 for none. `is_named`, `is_assistant`,
    `is_question`, each `(n,) bool`: the query names its author; an assistant or a tool wrote it; it is a question.
    """

    before: NDArray[np.int64]
    after: NDArray[np.int64]
    sessions: NDArray[np.int64]
    is_named: NDArray[np.bool_]
    is_assistant: NDArray[np.bool_]
    is_question: NDArray[np.bool_]

    @classmethod
    def nowhere(cls, rows: int) -> Surroundings:
        """Surroundings of rows that are in no conversation, or in an unknown one."""
        none, no = np.full(rows, -1, dtype=np.int64), np.zeros(rows, dtype=np.bool_)
        return cls(before=none, after=none, sessions=none, is_named=no, is_assistant=no, is_question=no)

    @classmethod
    def joined(cls, parts: Sequence[Surroundings]) -> Surroundings:
        """Concatenate the surroundings of several partitions. A session never spans two partitions."""
        if len(parts) == 1:
            return parts[0]
        firsts = np.cumsum([0, *(part.before.shape[0] for part in parts)])
        spans = np.cumsum([0, *(int(part.sessions.max(initial=-1)) + 1 for part in parts)])
        return cls(
            before=_moved([part.before for part in parts], firsts),
            after=_moved([part.after for part in parts], firsts),
            sessions=_moved([part.sessions for part in parts], spans),
            is_named=np.concatenate([part.is_named for part in parts]),
            is_assistant=np.concatenate([part.is_assistant for part in parts]),
            is_question=np.concatenate([part.is_question for part in parts]),
        )


def _moved(numbers: Sequence[NDArray[np.int64]], by: NDArray[np.int64]) -> NDArray[np.int64]:
    moved = [np.where(part >= 0, part + offset, -1) for part, offset in zip(numbers, by, strict=False)]
    return np.concatenate(moved).astype(np.int64)


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexQuery:
    """A search in some partitions for `agent` (whose private rows are visible), at `now` (microseconds).

    `terms` are distinct. `vector`: `(dims,) float32`, L2-normalised, or None. `kinds` empty: all. `allowed`, if given:
    the only ids that may be returned. `words`: the folded words of the query, to recognise named authors. `neighbours`:
    number of messages to add before and after each candidate. `dense_limit`: maximum rows found by vector alone.
    `further`: the query's vectors in other embedding spaces, in order, None if missing.
    """

    partitions: tuple[Partition, ...]
    agent: str | None
    now: int
    terms: tuple[str, ...]
    vector: Floats | None
    dense_limit: int
    kinds: frozenset[str] = frozenset()
    allowed: frozenset[str] | None = None
    messages_until: int | None = None
    include_inactive: bool = False
    words: frozenset[str] = frozenset()
    neighbours: int = 0
    further: tuple[Floats | None, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Nearness:
    """The similarity of `n` rows to a query in one space: `cosines (n,) float32`, NaN without a vector. For all
    visible rows with a vector: their number (`vectors`), and the `mean` and standard `deviation` of their cosines.
    """

    cosines: Floats
    vectors: int
    mean: float
    deviation: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidates:
    """`n` rows that share a term with the query or are near its vector, unordered, with statistics for scoring.

    `ids (n,) object`; `counts (n, t) float32`: occurrences of each query term; `lengths (n,) float32`: terms in the
    row; `cosines (n,) float32`: NaN without a vector; `importances (n,) float32`; `observed (n,) int64` microseconds.
    Over all visible rows: `items`, `total_length`, `document_frequencies (t,)`; over those with a vector: `vectors`,
    `cosine_mean`, `cosine_deviation`. `versions`: each partition's at the search. `surroundings` None: unknown.
    `keyword_sums`, if only the best rows that share a term are candidates: the approximate sums of BM25 and of its
    squares over all such rows; None: all are candidates. `further`: the same rows in other embedding spaces. `flagged
    (n,) bool`: memories with flags; None: no row. `missing`: sources that were unavailable, with the reason.
    """

    ids: NDArray[np.object_]
    counts: Floats
    lengths: Floats
    cosines: Floats
    importances: Floats
    observed: NDArray[np.int64]
    items: int
    total_length: float
    document_frequencies: NDArray[np.int64]
    vectors: int
    cosine_mean: float
    cosine_deviation: float
    versions: tuple[int, ...]
    surroundings: Surroundings | None = None
    keyword_sums: tuple[float, float] | None = None
    further: tuple[Nearness, ...] = ()
    flagged: NDArray[np.bool_] | None = None
    missing: tuple[str, ...] = ()

    @property
    def nearness(self) -> tuple[Nearness, ...]:
        """Nearness in every space, starting with the first."""
        first = Nearness(
            cosines=self.cosines, vectors=self.vectors, mean=self.cosine_mean, deviation=self.cosine_deviation
        )
        return (first, *self.further)

    @property
    def similarities(self) -> Floats:
        """The cosines in the first space that has any, `(n,) float32`, NaN without a vector. Never mixes spaces,
        because cosines of two models have different scales.
        """
        return next((each.cosines for each in self.nearness if each.vectors), self.cosines)


@dataclass(frozen=True, slots=True)
class Terms:
    """Space-separated terms, and the name of the analyser that made them."""

    analyser: str
    terms: str


@dataclass(frozen=True)
class Space:
    """Everything that determines what a vector means. Vectors are comparable only if all fields are equal.

    `dims` counts components, `max_tokens` the model's tokens. `precision` is the model's arithmetic ("fp32", "int8").
    """

    model: str
    revision: str
    precision: str
    dims: int
    pooling: str
    query_prefix: str
    document_prefix: str
    max_tokens: int

    @cached_property
    def id(self) -> str:
        """16 hexadecimal digits that differ whenever any field does."""
        canonical = json.dumps(asdict(self), sort_keys=True, ensure_ascii=True)
        return hashlib.sha256(canonical.encode()).hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class Scale:
    """Converts an embedding model's cosines to the scale of the built-in model's: `slope` * cosine + `shift`."""

    slope: float = 1.0
    shift: float = 0.0


class Change(NamedTuple):
    """The current searchable form of an item. `is_gone`: forget it; ignore the other fields.

    `kind` is the memory's kind, or "message". `terms` are space-separated, from the analyser. Times are microseconds
    since 1970-01-01 UTC. `vector`: `(dims,) float32`, L2-normalised, in the requested space, or None; `further`:
    vectors in other spaces, in order. Messages have `session`, `position`, `author` (a name or "") and `role`;
    `is_question`: the text ends with a question mark. `is_flagged`: a memory with flags.

    A named tuple, because a process creates one for every row of a partition: a frozen dataclass takes six times as
    long, and one `zip` turns tuples into columns.
    """

    item_id: str
    is_gone: bool = False
    kind: str = ""
    is_active: bool = True
    terms: str = ""
    vector: NDArray[np.float32] | None = None
    private_agent: str | None = None
    importance: float = 0.5
    observed_at: int = 0
    expires_at: int | None = None
    session: str | None = None
    position: int = 0
    author: str = ""
    role: str = ""
    is_question: bool = False
    further: tuple[NDArray[np.float32] | None, ...] = ()
    is_flagged: bool = False
