"""What happened to items."""

from __future__ import annotations

from collections.abc import Sequence

from mnemic.adapters.stores.postgres.rows import history_columns
from mnemic.adapters.stores.postgres.session import Session
from mnemic.adapters.stores.postgres.statements import statements
from mnemic.adapters.stores.rows import to_history_entry
from mnemic.errors import ConflictError
from mnemic.model.records import HistoryEntry
from mnemic.model.scope import Partition, Visibility


class PostgresHistory:
    """The `History` port."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._sql = statements("history")

    def add(self, entries: Sequence[HistoryEntry]) -> None:
        pids = self._session.lock(entry.partition for entry in entries)
        columns = [history_columns(entry, pids[entry.partition]) for entry in entries]
        is_new = self._session.write_each(self._sql["insert"], columns)
        for entry, new in zip(entries, is_new, strict=True):
            if not new:
                raise ConflictError(f"history entry {entry.id} cannot be stored: the id is taken")

    def of(self, visible: Visibility, item_id: str) -> list[HistoryEntry]:
        key = {"pids": self._session.pids(visible.partitions), "agent": visible.agent or "", "item_id": item_id}
        return [to_history_entry(row) for row in self._session.run(self._sql["of"], key)]

    def scrub(self, partition: Partition, item_ids: Sequence[str]) -> int:
        self._session.check_writing()
        key = {"pid": self._session.pid(partition), "item_ids": list(item_ids)}
        return self._session.write(self._sql["scrub"], key).rowcount
