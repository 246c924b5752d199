"""Remembers what was recalled, and writes it down together with other writes, so that a question costs no flush.

What was not yet written when the process dies is lost: an access count is no acknowledged data.
"""

from __future__ import annotations

import logging
import threading
from collections import Counter
from collections.abc import Iterable
from datetime import datetime

from mnemic.errors import BackendError
from mnemic.model.item import Memory
from mnemic.model.recall import Hit
from mnemic.model.scope import Partition
from mnemic.ports.store import Store, UnitOfWork

MAX_PENDING = 1000
_log = logging.getLogger("mnemic.accesses")


class AccessLog:
    """Accesses that are not yet written, by memory. Safe to use from several threads."""

    def __init__(self) -> None:
        self._pending: Counter[tuple[Partition, str]] = Counter()
        self._at: datetime | None = None
        self._guard = threading.Lock()

    def note(self, store: Store, hits: Iterable[Hit], at: datetime) -> None:
        """Count the memories among the hits (general background does not count), and write when there are many."""
        keys = [(h.item.partition, h.id) for h in hits if isinstance(h.item, Memory) and not h.is_fallback]
        with self._guard:
            self._pending.update(keys)
            self._at = at if self._at is None else max(self._at, at)
            is_full = len(self._pending) >= MAX_PENDING
        if is_full:
            self.flush(store)

    def drain(self, work: UnitOfWork) -> None:
        """Write all of it in this unit of work, whatever becomes of it."""
        with self._guard:
            pending, at = self._pending, self._at
            self._pending, self._at = Counter(), None
        if at is None:
            return
        by_partition: dict[Partition, dict[str, int]] = {}
        for (partition, item_id), count in pending.items():
            by_partition.setdefault(partition, {})[item_id] = count
        for partition in sorted(by_partition):
            work.memories.touch(partition, by_partition[partition], at)

    def flush(self, store: Store) -> None:
        """Write all of it in a unit of work of its own; a store that cannot be written now loses it (logged)."""
        with self._guard:
            if not self._pending:
                return
        try:
            with store.write() as work:
                self.drain(work)
        except BackendError as error:
            _log.warning("access counts could not be written (%s)", type(error).__name__)
