"""Gives entities the vectors they lack: of their names and descriptions, in the space of every configured embedder.

Capture does nothing for them. They are made when the graph is read, by night or by hand, and by `reembed`.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence

from mnemic.engine.parts import Parts
from mnemic.errors import BackendError, ConfigError
from mnemic.model.scope import Partition
from mnemic.ports.embedder import Embedder
from mnemic.ports.entity_vectors import EntityVector

PAGE = 1024
A_JOB = 4096
"""One job embeds so many names in each space, well within its lease."""

_log = logging.getLogger("mnemic.graph")


def fill_entities(parts: Parts, partition: Partition, limit: int | None = None) -> int:
    """Embed what entities of a partition say, as far as they have no vector, at most `limit` in each space; returns how
    many vectors were stored. Embedding happens outside of the writing transactions; each page is one.

    Raises `BackendError` or `ConfigError` when an embedder or the store fails; what was stored until then stays.
    """
    return sum(_fill(parts, embedder, partition, limit) for embedder in parts.embedders)


def try_to_fill(parts: Parts, partition: Partition, limit: int | None = None) -> None:
    """As `fill_entities`; where an embedder fails, the vectors follow in the next run, and names are found all the
    same.
    """
    try:
        fill_entities(parts, partition, limit)
    except (BackendError, ConfigError) as error:
        _log.error("embedding entities failed (%s); their vectors will follow", type(error).__name__)
        parts.observer.count("mnemic.embedding.failure", operation="graph")


def _fill(parts: Parts, embedder: Embedder, partition: Partition, limit: int | None) -> int:
    space, after, stored, asked = embedder.space.id, "", 0, 0
    while limit is None or asked < limit:
        size = PAGE if limit is None else min(PAGE, limit - asked)
        with parts.store.read() as work:
            page = work.entity_vectors.missing(partition, space, after, size)
        if not page:
            break
        after, asked = page[-1][0], asked + len(page)
        rows = _rows(embedder, [(own, said) for own, said in page if parts.reads(embedder, said)])
        if rows:
            with parts.store.write() as work:
                stored += work.entity_vectors.put(partition, rows)
    return stored


def _rows(embedder: Embedder, texts: Sequence[tuple[str, str]]) -> list[EntityVector]:
    """The vectors of some texts; none of one that says nothing to the embedder."""
    rows: list[EntityVector] = []
    size = embedder.capabilities.batch_size
    for start in range(0, len(texts), size):
        batch = texts[start : start + size]
        vectors = embedder.embed_documents([said for _, said in batch])
        for (own, said), vector in zip(batch, vectors, strict=True):
            if vector.any():
                rows.append(EntityVector(own, embedder.space.id, said, vector))
    return rows
