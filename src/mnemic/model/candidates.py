"""What an index is asked, and what it answers: rows with their raw evidence, never a score of its own. The analysed
form of a text, as it is stored beside it. The identity of an embedding space.
"""

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
"""What an index calls the kind of a chunk."""
Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """Where `n` rows stand in the talk they come from; memories stand nowhere.

    `before`, `after` `(n,) int64`: the place, among the same rows, of the message said just before and just after, -1
    for none. `sessions (n,) int64`: equal numbers for messages of one session, -1 for none. Of each row `(n,) bool`:
    `is_named`, its author is named in the question; `is_assistant`, an assistant or a tool says it; `is_question`, it
    asks.
    """

    before: NDArray[np.int64]
    after: NDArray[np.int64]
    sessions: NDArray[np.int64]
    is_named: NDArray[np.bool_]
    is_assistant: NDArray[np.bool_]
    is_question: NDArray[np.bool_]

    @classmethod
    def nowhere(cls, rows: int) -> Surroundings:
        """The surroundings of rows that stand in no talk, or of which nothing is known."""
        none, no = np.full(rows, -1, dtype=np.int64), np.zeros(rows, dtype=np.bool_)
        return cls(before=none, after=none, sessions=none, is_named=no, is_assistant=no, is_question=no)

    @classmethod
    def joined(cls, parts: Sequence[Surroundings]) -> Surroundings:
        """Those of several partitions one behind the other; a session never reaches from one into another."""
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
    """A search in some partitions, on behalf of `agent` (whose private rows count), at `now` (microseconds).

    `terms` are distinct. `vector` is `(dims,) float32`, L2-normalised, or None. `kinds` empty means every kind.
    `allowed`, when given, names the only ids that may be answered. `words` are those of the question, folded, to
    know named authors by. `neighbours`: number of messages to add before and after each candidate. `dense_limit`
    bounds the rows that come in by vector alone. `further`: the question's vectors in further embedding spaces, in the
    order of these, None where it has none.
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
    """How near `n` rows are to a question in one space: `cosines (n,) float32`, NaN without a vector there; and of all
    visible rows with one: how many `vectors`, the `mean` of their cosines and the standard `deviation`.
    """

    cosines: Floats
    vectors: int
    mean: float
    deviation: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidates:
    """`n` rows that share a term with the query or are near its vector, in no order, and the statistics to score them.

    `ids (n,) object`; `counts (n, t) float32`: occurrences of each query term; `lengths (n,) float32`: terms in the
    row; `cosines (n,) float32`: NaN without a vector; `importances (n,) float32`; `observed (n,) int64` microseconds.
    Over all rows that the query may see: `items`, `total_length`, `document_frequencies (t,)`, and, over those with a
    vector, `vectors`, `cosine_mean`, `cosine_deviation`. `versions`: of each partition of the query, at the search.
    `surroundings` None: the index knows of none. `keyword_sums`, where only the best of the rows that share a term are
    among the n: over all of them that the query admits about the sum of their BM25 and of the squares; None: all are.
    `further`: the same rows in further embedding spaces. `flagged (n,) bool`: memories that have flags; None: no row.
    `missing`: which ways of finding rows could not be gone, and why.
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
        """In every space, the first one first."""
        first = Nearness(
            cosines=self.cosines, vectors=self.vectors, mean=self.cosine_mean, deviation=self.cosine_deviation
        )
        return (first, *self.further)

    @property
    def similarities(self) -> Floats:
        """The cosines in the first space in which there is anything to compare, `(n,) float32`, NaN without a vector.

        Always of one space: cosines of two models are on different scales.
        """
        return next((each.cosines for each in self.nearness if each.vectors), self.cosines)


@dataclass(frozen=True, slots=True)
class Terms:
    """Blank-separated terms, and the name of the analyser that made them."""

    analyser: str
    terms: str


@dataclass(frozen=True)
class Space:
    """Everything that decides what a vector means: two vectors may be compared only when all of it is equal.

    `dims` counts components, `max_tokens` model tokens; `precision` is the arithmetic of the model ("fp32", "int8").
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


class Change(NamedTuple):
    """The present searchable form of one item; `is_gone` means: forget it, the other fields say nothing.

    `kind` is the memory's kind, or "message". `terms` are blank-separated and made by the analyser. Times are
    microseconds since 1970-01-01 UTC. `vector` is `(dims,) float32`, L2-normalised, of the space asked for, or None;
    `further`: those of further spaces, in their order.
    `session`, `position`, `author` (the name, "" for none) and `role` are set for messages; `is_question` says that the
    text of a message ends with a question mark. `is_flagged`: a memory that has flags.

    A named tuple, since a process makes one of every row of a partition when it first asks for it: a frozen dataclass
    takes six times as long to make, and columns are made of tuples by one `zip`.
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
