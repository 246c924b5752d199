"""What was said."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Sequence
from datetime import datetime

from mnemic.adapters.stores.rows import dumps, message_columns, to_message
from mnemic.adapters.stores.sqlite.graph import graph_links
from mnemic.adapters.stores.sqlite.session import Session
from mnemic.adapters.stores.sqlite.statements import statements
from mnemic.errors import ConflictError
from mnemic.model.candidates import Terms
from mnemic.model.item import Conversation, Message
from mnemic.model.scope import Partition, Visibility
from mnemic.model.values import from_microseconds, to_microseconds


class SqliteMessages:
    """The `Messages` port."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._sql = statements("messages")

    def conversation(self, partition: Partition, session: str, at: datetime) -> Conversation:
        self._session.check_writing()
        key = {"pid": self._session.writable_pid(partition), "session": session}
        row = self._session.run(self._sql["conversation"], key).fetchone()
        if row is None:
            self._session.write(self._sql["begin_conversation"], {**key, "at": to_microseconds(at)})
            return Conversation(partition, session, 0, 0, at, at)
        return Conversation(partition, session, row[0], row[1], from_microseconds(row[2]), from_microseconds(row[3]))

    def add(self, rows: Sequence[tuple[Message, Terms]]) -> None:
        for message, terms in rows:
            pid, changed = self._session.changed(message.partition)
            try:
                self._session.write(self._sql["insert"], message_columns(message, terms, pid, changed))
            except sqlite3.IntegrityError as error:
                raise ConflictError(
                    f"session {message.session!r} already has a message with external id {message.external_id!r}, "
                    f"position {message.position} or id {message.id}"
                ) from error
            self._session.advance(pid)
            self._session.run(
                self._sql["advance_conversation"],
                {
                    "pid": pid,
                    "session": message.session,
                    "turn": message.turn,
                    "position": message.position,
                    "at": to_microseconds(message.observed_at),
                },
            )

    def get(self, visible: Visibility, ids: Sequence[str]) -> list[Message]:
        key = {"pids": self._session.pids(visible.partitions), "ids": dumps(list(ids))}
        found = {row[3]: to_message(row) for row in self._session.run(self._sql["get"], key)}
        return [found[i] for i in ids if i in found]

    def of_turn(self, visible: Visibility, turn_id: str) -> list[Message]:
        key = {"pids": self._session.pids(visible.partitions), "turn_id": turn_id}
        return [to_message(row) for row in self._session.run(self._sql["of_turn"], key)]

    def by_external_id(self, partition: Partition, session: str, external_ids: Collection[str]) -> dict[str, Message]:
        pid = self._session.pid(partition)
        if pid is None or not external_ids:
            return {}
        key = {"pid": pid, "session": session, "external_ids": dumps(list(external_ids))}
        found = [to_message(row) for row in self._session.run(self._sql["by_external_id"], key)]
        return {message.external_id: message for message in found if message.external_id is not None}

    def latest(self, visible: Visibility, session: str, limit: int) -> list[Message]:
        key = {"pids": self._session.pids(visible.partitions), "session": session, "limit": limit}
        return [to_message(row) for row in self._session.run(self._sql["latest"], key)][::-1]

    def page(self, visible: Visibility, after: str | None, limit: int) -> list[Message]:
        key = {"pids": self._session.pids(visible.partitions), "after": after or "", "limit": limit}
        return [to_message(row) for row in self._session.run(self._sql["page"], key)]

    def erase(self, partition: Partition, ids: Sequence[str]) -> int:
        if self._session.pid(partition) is None:
            return 0
        pid, changed = self._session.changed(partition)
        key = {"pid": pid, "changed": changed, "ids": dumps(list(ids))}
        erased = [row[0] for row in self._session.write(self._sql["erase"], key).fetchall()]
        if erased:
            graph_links(self._session).cut(pid, erased)
            self._session.advance(pid)
            self._session.write(statements("vectors")["erase"], {"pid": pid, "ids": dumps(erased)})
        return len(erased)
