"""How far each use case has come in a conversation."""

from __future__ import annotations

from mnemic.adapters.stores.rows import to_conversation, to_message
from mnemic.adapters.stores.said import Place, newest
from mnemic.adapters.stores.sqlite.session import Session
from mnemic.adapters.stores.sqlite.statements import statements
from mnemic.model.item import Conversation, Message
from mnemic.model.recall import MessageQuery
from mnemic.model.scope import Partition, Visibility


class SqliteConversations:
    """The `Conversations` port."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._sql = statements("conversations")

    def get(self, partition: Partition, session: str) -> Conversation | None:
        key = {"pid": self._session.pid(partition), "session": session}
        row = self._session.run(self._sql["get"], key).fetchone()
        return None if row is None else to_conversation(row)

    def messages(self, partition: Partition, session: str, after: int, limit: int) -> list[Message]:
        key = {"pid": self._session.pid(partition), "session": session, "after": after, "limit": limit}
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
        key = {"pid": self._session.pid(partition), "session": session, "name": name}
        row = self._session.run(self._sql["cursor"], key).fetchone()
        return 0 if row is None else row[0]

    def move(self, partition: Partition, session: str, name: str, was: int, to: int) -> bool:
        pid = self._session.writable_pid(partition) if was == 0 else self._session.pid(partition)
        key = {"pid": pid, "session": session, "name": name, "was": was, "to": to}
        return self._session.write(self._sql["move" if was else "move_from_0"], key).rowcount == 1
