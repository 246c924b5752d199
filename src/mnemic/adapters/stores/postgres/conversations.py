"""How far each use case has come in a conversation. Only `move` locks the partition."""

from __future__ import annotations

from mnemic.adapters.stores.postgres.session import Session
from mnemic.adapters.stores.postgres.statements import statements
from mnemic.adapters.stores.rows import to_conversation, to_message
from mnemic.adapters.stores.said import Place, newest
from mnemic.model.item import Conversation, Message
from mnemic.model.recall import MessageQuery
from mnemic.model.scope import Partition, Visibility


class PostgresConversations:
    """The `Conversations` port."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._sql = statements("conversations")

    def get(self, partition: Partition, session: str) -> Conversation | None:
        key = {"pids": self._session.pids([partition]), "session": session}
        row = self._session.run(self._sql["get"], key).fetchone()
        return None if row is None else to_conversation(row)

    def messages(self, partition: Partition, session: str, after: int, limit: int) -> list[Message]:
        key = {"pids": self._session.pids([partition]), "session": session, "after": after, "limit": limit}
        return [to_message(row) for row in self._session.run(self._sql["messages"], key)]

    def said(self, visible: Visibility, query: MessageQuery) -> list[Message]:
        return newest(visible.partitions, query, self._place, self._said)

    def _place(self, partition: Partition, item_id: str) -> Place | None:
        row = self._session.run(self._sql["place"], {"pid": self._session.pid(partition), "id": item_id}).fetchone()
        return None if row is None else (int(row[0]), int(row[1]), str(row[2]))

    def _said(self, partition: Partition, key: dict[str, object]) -> list[Message]:
        rows = self._session.run(self._sql["said"], {**key, "pid": self._session.pid(partition)})
        return [to_message(row) for row in rows]

    def cursor(self, partition: Partition, session: str, name: str) -> int:
        key = {"pids": self._session.pids([partition]), "session": session, "name": name}
        row = self._session.run(self._sql["cursor"], key).fetchone()
        return 0 if row is None else row[0]

    def move(self, partition: Partition, session: str, name: str, was: int, to: int) -> bool:
        self._session.check_writing()
        pid = self._session.writable_pid(partition) if was == 0 else self._session.pid(partition)
        key = {"pid": pid, "org": partition.org, "session": session, "name": name, "was": was, "to": to}
        return self._session.write(self._sql["move" if was else "move_from_0"], key).rowcount == 1
