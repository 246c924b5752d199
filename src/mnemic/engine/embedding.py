"""Turns texts into vectors without ever letting a failing model stop a write or a question."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from mnemic.engine.parts import Parts, new_id
from mnemic.errors import BackendError, ConfigError
from mnemic.model.job import Job
from mnemic.model.scope import Partition
from mnemic.ports.store import MAIN_VIEW, UnitOfWork, VectorRow

EMBED_JOB = "embed"
_log = logging.getLogger("mnemic.embedding")


def document_vectors(parts: Parts, texts: Sequence[str]) -> list[NDArray[np.float32]] | None:
    """Vectors of texts about to be written, or None when they must follow by a job: the embedder is not local, or
    failed (logged as an error and counted). Without an embedder there are none to follow, and the answer is empty.
    """
    embedder = parts.embedder
    if embedder is None:
        return []
    if not embedder.capabilities.is_local:
        return None
    try:
        return list(embedder.embed_documents(texts))
    except (BackendError, ConfigError) as error:
        _log.error("embedding %d texts failed (%s); vectors will follow", len(texts), type(error).__name__)
        parts.observer.count("mnemic.embedding.failure", operation="write")
        return None


def query_vector(parts: Parts, text: str) -> NDArray[np.float32] | None:
    """The vector of a question; None for a blank one (no model call) and without an embedder.

    Raises `BackendError` when the embedder fails, so that the caller can say so in its answer.
    """
    embedder = parts.embedder
    if embedder is None or not text.strip():
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
    vectors: Sequence[NDArray[np.float32]] | None,
    at: datetime,
) -> None:
    """Store the vectors of items written in this unit of work, or leave the job that will."""
    if parts.embedder is None:
        return
    for partition in dict.fromkeys(partition for partition, _ in items):
        if vectors is None:
            job_id = new_id(at)
            job = Job(id=job_id, partition=partition, kind=EMBED_JOB, key=EMBED_JOB, created_at=at, run_at=at)
            work.jobs.add([job])
        else:
            space = parts.embedder.space.id
            pairs = zip(items, vectors, strict=True)
            rows = [VectorRow(i, MAIN_VIEW, space, v) for (p, i), v in pairs if p == partition and v.any()]
            work.vectors.put(partition, rows, at)
