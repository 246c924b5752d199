"""Hard facts of users."""

from __future__ import annotations

from collections.abc import Sequence

from mnemic.adapters.stores.postgres.session import Session
from mnemic.adapters.stores.postgres.statements import statements
from mnemic.model.item import ProfileEntry
from mnemic.model.scope import Partition
from mnemic.model.values import from_microseconds, to_microseconds


class PostgresProfiles:
    """The `Profiles` port."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._sql = statements("profiles")

    def put(self, entries: Sequence[ProfileEntry]) -> None:
        pids = self._session.lock(entry.partition for entry in entries)
        columns = [
            {
                "pid": pids[entry.partition],
                "org": entry.partition.org,
                "key": entry.key,
                "value": entry.value,
                "source": entry.source,
                "created_at": to_microseconds(entry.created_at),
                "updated_at": to_microseconds(entry.updated_at),
            }
            for entry in entries
        ]
        self._session.write_each(self._sql["put"], columns)

    def of(self, partition: Partition) -> list[ProfileEntry]:
        rows = self._session.run(self._sql["of"], {"pid": self._session.pid(partition)})
        return [
            ProfileEntry(partition, key, value, source, from_microseconds(created), from_microseconds(updated))
            for key, value, source, created, updated in rows
        ]

    def remove(self, partition: Partition, keys: Sequence[str]) -> int:
        self._session.check_writing()
        key = {"pid": self._session.pid(partition), "keys": list(keys)}
        return self._session.write(self._sql["remove"], key).rowcount
