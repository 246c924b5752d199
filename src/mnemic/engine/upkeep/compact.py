"""Removes what re-reading and erasing documents leaves behind: tombstones of passages, once indexes have seen them.

An index that has not, in whatever process, is told by the store's horizon to read its partition from the beginning
(`engine/indexing/freshness.py`). That is dear for a large one, so that tombstones gather until they are worth it.
"""

from __future__ import annotations

import logging

from mnemic.engine.parts import Parts
from mnemic.model.scope import Partition

LEAST_TOMBSTONES = 100
LEAST_SHARE = 0.1
"""Fewer of the rows of a partition stay until the next night."""

AT_ONCE = 1000
"""So many go in one transaction, so that writers wait a moment only."""

MOST_OF_A_JOB = 100_000
"""The others wait for the next night, so that a job ends within its lease."""

_log = logging.getLogger("mnemic.compact")


def compact_partition(parts: Parts, partition: Partition) -> int:
    """Remove the tombstones of a partition's passages, if there are enough of them; returns how many went.

    Those of messages, memories and documents stay: they keep an import from bringing back what was deleted.
    """
    with parts.store.read() as work:
        gone = work.partitions.tombstones(partition)
        rows = work.partitions.count([partition]) if gone >= LEAST_TOMBSTONES else {}
    live = sum(rows.get(name, 0) for name in ("messages", "memories", "chunks"))
    if gone < max(LEAST_TOMBSTONES, LEAST_SHARE * live):
        return 0
    removed = 0
    while removed < min(gone, MOST_OF_A_JOB):
        with parts.store.write() as work:
            count = work.partitions.compact(partition, AT_ONCE)
        removed += count
        if not count:
            break
    _log.info("%s %s: %d tombstones of passages are gone", partition.level, partition.owner, removed)
    parts.observer.count("mnemic.compact.passages", removed)
    return removed
