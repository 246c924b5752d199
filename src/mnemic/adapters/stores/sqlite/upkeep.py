"""What only the worker does, over all partitions."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from mnemic.adapters.stores.rows import micros, moment, to_conversation
from mnemic.adapters.stores.sqlite.rows import to_memory
from mnemic.adapters.stores.sqlite.session import Session
from mnemic.adapters.stores.sqlite.statements import statements
from mnemic.model.item import Conversation, Memory
from mnemic.model.scope import Partition
from mnemic.model.values import to_microseconds


class SqliteUpkeep:
    """The `Upkeep` port."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._sql = statements("upkeep")

    def idle(self, cursor: str, since: datetime, limit: int, within: Partition | None = None) -> list[Conversation]:
        key: dict[str, object] = {"cursor": cursor, "since": to_microseconds(since), "limit": limit}
        names = ["idle", "idle_order"] if within is None else ["idle", "idle_of", "idle_order"]
        if within is not None:
            key["pid"] = self._session.pid(within)
        return [to_conversation(row) for row in self._session.run("\n".join(self._sql[name] for name in names), key)]

    def memories(self, partition: Partition, after: str, limit: int) -> list[Memory]:
        key = {"pid": self._session.pid(partition), "after": after, "limit": limit}
        sql = statements("memories")["select"] + "\n" + self._sql["memories"]
        return [to_memory(row) for row in self._session.run(sql, key)]

    def private_agents(self, partition: Partition) -> list[str]:
        key = {"pid": self._session.pid(partition)}
        return [str(row[0]) for row in self._session.run(self._sql["private_agents"], key)]

    def fade(self, partition: Partition, values: Mapping[str, float | None]) -> None:
        self._session.check_writing()
        pid = self._session.pid(partition)
        for item_id, faded in values.items():
            self._session.write(self._sql["fade"], {"pid": pid, "id": item_id, "faded": faded})

    def last_run(self, schedule: str) -> datetime | None:
        row = self._session.run(self._sql["last_run"], {"name": schedule}).fetchone()
        return None if row is None else moment(row[0])

    def start_run(self, schedule: str, was: datetime | None, at: datetime) -> bool:
        key = {"name": schedule, "was": micros(was), "at": to_microseconds(at)}
        return self._session.write(self._sql["first_run" if was is None else "next_run"], key).rowcount == 1

    def forget_jobs(self, before: datetime) -> int:
        return self._session.write(self._sql["forget_jobs"], {"before": to_microseconds(before)}).rowcount
