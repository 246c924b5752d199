"""What happened to items."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from mnemic.adapters.stores.rows import dumps, history_columns, to_history_entry
from mnemic.adapters.stores.sqlite.session import Session
from mnemic.adapters.stores.sqlite.statements import statements
from mnemic.errors import ConflictError
from mnemic.model.records import HistoryEntry
from mnemic.model.scope import Partition, Visibility


class SqliteHistory:
    """The `History` port."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._sql = statements("history")

    def add(self, entries: Sequence[HistoryEntry]) -> None:
        for entry in entries:
            columns = history_columns(entry, self._session.writable_pid(entry.partition))
            try:
                self._session.write(self._sql["insert"], columns)
            except sqlite3.IntegrityError as error:
                raise ConflictError(f"history entry {entry.id} cannot be stored: {error}") from error

    def of(self, visible: Visibility, item_id: str) -> list[HistoryEntry]:
        key = {"pids": self._session.pids(visible.partitions), "agent": visible.agent or "", "item_id": item_id}
        return [to_history_entry(row) for row in self._session.run(self._sql["of"], key)]

    def scrub(self, partition: Partition, item_ids: Sequence[str]) -> int:
        key = {"pid": self._session.pid(partition), "item_ids": dumps(list(item_ids))}
        return self._session.write(self._sql["scrub"], key).rowcount
