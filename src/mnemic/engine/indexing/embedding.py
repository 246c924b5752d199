"""Turns texts into vectors, in every space, without ever letting a failing model stop a write or a question."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from mnemic.engine.kinds import EMBED
from mnemic.engine.parts import Parts, new_id
from mnemic.engine.question import Watch
from mnemic.errors import BackendError, ConfigError
from mnemic.model.job import Job
from mnemic.model.scope import Partition
from mnemic.ports.embedder import Embedder, Vectors
from mnemic.ports.store import MAIN_VIEW, UnitOfWork, VectorRow

ItemVectors = tuple[NDArray[np.float32] | None, ...]
"""The vectors of one text, one per embedder: None where it must follow by a job, all zero where the text has none.
Behind them, where there is a retired space, that of its embedder; none is made of it later.
"""

SEARCH_MS = 12.0
"""Kept of a deadline for the search, when the embedder may not answer in time."""

_log = logging.getLogger("mnemic.embedding")
_questions = logging.getLogger("mnemic.recall")


def document_vectors(parts: Parts, texts: Sequence[str]) -> list[ItemVectors] | None:
    """Vectors of texts about to be written, or None when all must follow by a job: no embedder is local, or they failed
    (logged as an error and counted). Without an embedder there are none to follow, and the answer is empty.
    """
    if not parts.embedders:
        return []
    columns = [_column(parts, embedder, texts) for embedder in parts.embedders]
    if parts.retired is not None and not parts.retired.is_removed:
        columns.append(_column(parts, parts.retired.embedder, texts))
    if all(column is None for column in columns):
        return None
    return [tuple(None if column is None else column[row] for column in columns) for row in range(len(texts))]


def _column(parts: Parts, embedder: Embedder, texts: Sequence[str]) -> Vectors | None:
    """The vectors in one space, zero rows for texts that its embedder is not given; None: they must follow."""
    places = [place for place, text in enumerate(texts) if parts.reads(embedder, text)]
    try:
        if places and not embedder.capabilities.is_local:
            return None
        rows = np.zeros((len(texts), embedder.space.dims), dtype=np.float32)
        if places:
            rows[places] = embedder.embed_documents([texts[place] for place in places])
        return rows
    except (BackendError, ConfigError) as error:
        _log.error("embedding %d texts failed (%s); vectors will follow", len(texts), type(error).__name__)
        parts.observer.count("mnemic.embedding.failure", operation="write")
        return None


def question_vectors(
    parts: Parts, partitions: Sequence[Partition], text: str, watch: Watch
) -> tuple[ItemVectors, tuple[str, ...]]:
    """The vectors of a question to these partitions, one per embedder, None where there is none to be had, and what
    failed or was late. One of the retired space is behind them where a partition still needs it.

    A blank question costs no model call. With a deadline all embedders are asked at once.
    """
    asking = [_Asking(parts, embedder, text, watch) for embedder in _asked(parts, partitions)]
    vectors = tuple(each.answer() for each in asking)
    return vectors, tuple(each.failure for each in asking if each.failure)


def _asked(parts: Parts, partitions: Sequence[Partition]) -> Sequence[Embedder]:
    """Who is asked."""
    if parts.retired is None or parts.retired.is_removed:
        return parts.embedders
    present = [embedder.space.id for embedder in parts.embedders]
    try:
        with parts.store.read() as work:
            return parts.known_embedders if parts.retired.is_needed(work, partitions, present) else parts.embedders
    except BackendError as error:  # the search fails too, and says it where it is expected
        _questions.warning("which spaces are filled cannot be read (%s)", type(error).__name__)
        return parts.embedders


@dataclass(frozen=True, slots=True)
class Asked:
    """The vectors of a question, what was missing among them, and when its asking began (a performance counter)."""

    vectors: ItemVectors
    missing: tuple[str, ...]
    start: float


class _Asking:
    """One embedder, asked for the vector of a question."""

    def __init__(self, parts: Parts, embedder: Embedder, text: str, watch: Watch) -> None:
        self.failure = ""
        self._parts, self._embedder, self._text, self._watch = parts, embedder, text, watch
        is_asked = bool(text.strip()) and watch.deadline_ms is not None
        self._waiting = parts.pool.submit(self._vector) if is_asked else None

    def answer(self) -> NDArray[np.float32] | None:
        """The vector; None, and why in `failure`, when it fails or is late."""
        name = "the embedder" if len(self._parts.known_embedders) == 1 else self._embedder.space.model
        try:
            return self._vector() if self._waiting is None else self._waiting.result(self._watch.left_s(SEARCH_MS))
        except (BackendError, ConfigError) as error:
            kind = type(error).__name__
            _questions.error("embedding a question failed (%s); answering by keyword alone", kind)
            self._parts.observer.count("mnemic.embedding.failure", operation="read")
            self.failure = f"dense: {name} failed ({kind})"
        except TimeoutError:
            self._parts.observer.count("mnemic.recall.late", source="dense")
            late = "" if len(self._parts.known_embedders) == 1 else f"{name} "
            self.failure = f"dense: {late}not within the deadline of {self._watch.deadline_ms:g} ms"
        return None

    def _vector(self) -> NDArray[np.float32] | None:
        parts, embedder, text = self._parts, self._embedder, self._text
        if not text.strip() or not parts.reads(embedder, text):
            return None
        vector = parts.queries.get(embedder.space.id, text)
        if vector is None:
            vector = embedder.embed_queries([text])[0]
            parts.queries.put(embedder.space.id, text, vector)
        return vector


def put_vectors(
    parts: Parts,
    work: UnitOfWork,
    items: Sequence[tuple[Partition, str]],
    vectors: Sequence[ItemVectors] | None,
    at: datetime,
) -> None:
    """Store the vectors of items written in this unit of work, and leave the job that will make those that lack."""
    if not parts.embedders:
        return
    ready = [(None,)] * len(items) if vectors is None else vectors
    is_kept = parts.retired is not None and parts.retired.is_kept(work)
    embedders = parts.known_embedders if is_kept else parts.embedders
    for partition in dict.fromkeys(partition for partition, _ in items):
        mine = [(i, v) for (p, i), v in zip(items, ready, strict=True) if p == partition]
        if any(vector is None for _, of_item in mine for vector in of_item[: len(parts.embedders)]):
            add_embed_job(work, partition, at)
        rows = [
            VectorRow(item_id, MAIN_VIEW, embedder.space.id, vector)
            for item_id, of_item in mine
            for embedder, vector in zip(embedders, of_item, strict=False)
            if vector is not None and vector.any()
        ]
        work.vectors.put(partition, rows, at)


def add_embed_job(work: UnitOfWork, partition: Partition, at: datetime) -> None:
    """Leave the job that makes missing vectors of a partition, unless it waits already."""
    job = Job(id=new_id(at), partition=partition, kind=EMBED, key=EMBED, created_at=at, run_at=at)
    work.jobs.add([job])
