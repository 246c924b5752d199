"""What only the worker does, over all partitions."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from mnemic.adapters.stores.postgres.rows import to_memory
from mnemic.adapters.stores.postgres.session import Session
from mnemic.adapters.stores.postgres.statements import statements
from mnemic.adapters.stores.rows import micros, moment, to_conversation
from mnemic.model.item import Conversation, Memory
from mnemic.model.scope import Partition
from mnemic.model.values import to_microseconds


class PostgresUpkeep:
    """The `Upkeep` port."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._sql = statements("upkeep")

    def idle(self, cursor: str, since: datetime, limit: int, within: Partition | None = None) -> list[Conversation]:
        key: dict[str, object] = {"cursor": cursor, "since": to_microseconds(since), "limit": limit}
        if within is None:
            rows = self._session.run_across("\n".join((self._sql["idle"], self._sql["idle_order"])), key)
        else:
            key["pids"] = self._session.pids([within])
            rows = self._session.run("\n".join(self._sql[name] for name in ("idle", "idle_of", "idle_order")), key)
        return [to_conversation(row) for row in rows]

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
        rows = [{"pid": pid, "id": item_id, "faded": faded} for item_id, faded in values.items()]
        self._session.write_each(self._sql["fade"], rows)

    def last_run(self, schedule: str) -> datetime | None:
        row = self._session.run(self._sql["last_run"], {"name": schedule}).fetchone()
        return None if row is None else moment(row[0])

    def start_run(self, schedule: str, was: datetime | None, at: datetime) -> bool:
        key = {"name": schedule, "was": micros(was), "at": to_microseconds(at)}
        return self._session.write(self._sql["first_run" if was is None else "next_run"], key).rowcount == 1

    def forget_jobs(self, before: datetime) -> int:
        return self._session.write_across(self._sql["forget_jobs"], {"before": to_microseconds(before)}).rowcount
