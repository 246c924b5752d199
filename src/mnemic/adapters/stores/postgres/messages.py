"""What was said."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime

from mnemic.adapters.stores.postgres.graph import graph_links
from mnemic.adapters.stores.postgres.rows import message_columns
from mnemic.adapters.stores.postgres.session import Parameters, Session
from mnemic.adapters.stores.postgres.statements import statements
from mnemic.adapters.stores.rows import to_message
from mnemic.errors import ConflictError
from mnemic.model.candidates import Terms
from mnemic.model.item import Conversation, Message
from mnemic.model.scope import Partition, Visibility
from mnemic.model.values import from_microseconds, to_microseconds


class PostgresMessages:
    """The `Messages` port."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._sql = statements("messages")

    def conversation(self, partition: Partition, session: str, at: datetime) -> Conversation:
        key = {"pid": self._session.writable_pid(partition), "session": session}
        row = self._session.run(self._sql["conversation"], key).fetchone()
        if row is None:
            columns = {**key, "org": partition.org, "at": to_microseconds(at)}
            self._session.write(self._sql["begin_conversation"], columns)
            return Conversation(partition, session, 0, 0, at, at)
        return Conversation(partition, session, row[0], row[1], from_microseconds(row[2]), from_microseconds(row[3]))

    def add(self, rows: Sequence[tuple[Message, Terms]]) -> None:
        self._session.lock(message.partition for message, _ in rows)
        places = [self._session.changed(message.partition) for message, _ in rows]
        columns = [message_columns(*row, *place) for row, place in zip(rows, places, strict=True)]
        is_new = self._session.write_each(self._sql["insert"], columns)
        for (message, _), new in zip(rows, is_new, strict=True):
            if not new:
                raise ConflictError(
                    f"session {message.session!r} already has a message with external id {message.external_id!r}, "
                    f"position {message.position} or id {message.id}"
                )
        self._session.write_each(
            self._sql["advance_conversation"],
            [{**column, "at": column["observed_at"]} for column in columns],
        )
        for pid, _ in places:
            self._session.advance(pid)

    def get(self, visible: Visibility, ids: Sequence[str]) -> list[Message]:
        rows = self._select("ids", self._visible(visible, ids=list(ids)))
        found = {(message.partition, message.id): message for message in rows}
        return [found[p, i] for i in ids for p in visible.partitions if (p, i) in found]

    def of_turn(self, visible: Visibility, turn_id: str) -> list[Message]:
        return self._select("turn", self._visible(visible, turn_id=turn_id))

    def by_external_id(self, partition: Partition, session: str, external_ids: Collection[str]) -> dict[str, Message]:
        pid = self._session.pid(partition)
        if pid is None or not external_ids:
            return {}
        key = {"pid": pid, "session": session, "external_ids": list(external_ids)}
        found = self._select("external_id", key)
        return {message.external_id: message for message in found if message.external_id is not None}

    def latest(self, visible: Visibility, session: str, limit: int) -> list[Message]:
        return self._select("latest", self._visible(visible, session=session, limit=limit))[::-1]

    def page(self, visible: Visibility, after: str | None, limit: int) -> list[Message]:
        return self._select("page", self._visible(visible, after=after, limit=limit))

    def erase(self, partition: Partition, ids: Sequence[str]) -> int:
        self._session.check_writing()
        if self._session.pid(partition) is None:
            return 0
        pid, changed = self._session.changed(partition)
        rows = self._session.write(self._sql["erase"], {"pid": pid, "changed": changed, "ids": list(ids)})
        erased = [row[0] for row in rows]
        if erased:
            graph_links(self._session).cut(pid, erased)
            self._session.advance(pid)
            self._session.write(statements("vectors")["erase"], {"pid": pid, "ids": erased})
        return len(erased)

    def _select(self, where: str, parameters: Parameters) -> list[Message]:
        sql = self._sql["select"] + "\n" + self._sql[f"where_{where}"]
        return [to_message(row) for row in self._session.run(sql, parameters)]

    def _visible(self, visible: Visibility, **more: object) -> Parameters:
        return {"pids": self._session.pids(visible.partitions), **more}
