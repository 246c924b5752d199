"""Versions of partitions and what changed since one."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from operator import itemgetter

from mnemic.adapters.stores.rows import Row, partition_of
from mnemic.adapters.stores.sqlite.rows import to_change
from mnemic.adapters.stores.sqlite.session import Session
from mnemic.adapters.stores.sqlite.statements import statements
from mnemic.model.item import Change
from mnemic.model.recall import Counts
from mnemic.model.scope import Partition, Visibility
from mnemic.model.values import to_microseconds
from mnemic.ports.store import Reading, StaleTerms

_changed = itemgetter(-1)  # the last column of every change query


class SqlitePartitions:
    """The `Partitions` port."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._sql = statements("partitions")

    def versions(self, partitions: Sequence[Partition]) -> dict[Partition, int]:
        found: dict[Partition, int] = {}
        for partition in partitions:
            key = {"org": partition.org, "level": partition.level.value, "owner": partition.owner}
            row = self._session.run(self._sql["version"], key).fetchone()
            found[partition] = row[0] if row else 0
        return found

    def changes(self, partition: Partition, since: int, reading: Reading) -> Iterator[Change | StaleTerms]:
        pid = self._session.pid(partition)
        if pid is None:
            return
        key = {"pid": pid, "since": since, "space": reading.space, "analyser": reading.analyser}
        messages: Iterable[Row] = self._session.run(self._sql["changed_messages"], key)
        memories: Iterable[Row] = self._session.run(self._sql["changed_memories"], key)
        chunks: Iterable[Row] = self._session.run(self._sql["changed_chunks"], key)
        for row in heapq.merge(messages, memories, chunks, key=_changed):
            yield to_change(row, reading.analyser)

    def count(self, partitions: Sequence[Partition]) -> dict[str, int]:
        row = self._session.run(self._sql["count"], {"pids": self._session.pids(partitions)}).fetchone()
        return dict(zip(("messages", "memories", "documents", "chunks", "vectors"), row, strict=True))

    def tally(self, visible: Visibility, now: datetime) -> Counts:
        key = {
            "pids": self._session.pids(visible.partitions),
            "agent": visible.agent or "",
            "now": to_microseconds(now),
        }
        memories, documents = (self._session.run(self._sql[name], key) for name in ("tally", "tally_documents"))
        return Counts.of(memories, documents)

    def horizon(self, partition: Partition) -> int:
        row = self._session.run(self._sql["horizon"], {"pid": self._session.pid(partition)}).fetchone()
        return int(row[0]) if row else 0

    def tombstones(self, partition: Partition) -> int:
        row = self._session.run(self._sql["tombstones"], {"pid": self._session.pid(partition)}).fetchone()
        return int(row[0]) if row else 0

    def compact(self, partition: Partition, limit: int) -> int:
        self._session.check_writing()
        key = {"pid": self._session.pid(partition), "limit": limit}
        versions = [int(row[0]) for row in self._session.write(self._sql["compact"], key).fetchall()]
        if versions:
            self._session.write(self._sql["raise_horizon"], {"pid": key["pid"], "changed": max(versions)})
        return len(versions)

    def all(self) -> list[Partition]:
        return [partition_of(*row) for row in self._session.run(self._sql["all"])]
