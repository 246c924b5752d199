"""Sources of memories and erasure over SQL. The table `sources` has a row per memory and source id."""

import secrets
from collections.abc import Collection, Mapping, Sequence

from mnemic.adapters.stores.sql.dialect import MEMORY, RECEIPT
from mnemic.adapters.stores.sql.session import SqlPort, SqlSession
from mnemic.errors import ConflictError
from mnemic.model.columns import partition_of
from mnemic.model.item import Memory
from mnemic.model.records import Receipt
from mnemic.model.scope import Partition
from mnemic.ports.store import STORE_SECRET_BYTES, SourceText

TABLES = (
    "context_records",
    "research_steps",
    "supports",
    "relations",
    "mentions",
    "entity_vectors",
    "entities",
    "read_items",
    "vectors",
    "chunks",
    "document_texts",
    "documents",
    "cursors",
    "messages",
    "conversations",
    "memories",
    "jobs",
    "history",
    "profiles",
)
"""Every table with a partition's rows, referring tables before the ones they refer to."""


class SqlDependants:
    """The `Dependants` port."""

    def __init__(self, session: SqlSession) -> None:
        self._session = session
        self._sql, self._select = session.statements("dependants"), session.statements("memories")["select"]

    def of(self, partition: Partition, ids: Collection[str]) -> list[Memory]:
        pid = self._session.pid(partition)
        if pid is None or not ids:
            return []
        asked = {"pid": pid, "org": partition.org, "ids": self._session.list_values(sorted(ids))}
        return self._find("where_made_of", asked, partition)

    def flagged(self, org: str, source_id: str) -> list[Memory]:
        self._session.see(org)
        return self._find("where_flagged", {"org": org, "source_id": source_id}, None)

    def sources(self, memory: Memory) -> list[SourceText]:
        pid = self._session.pid(memory.partition)
        if pid is None or not memory.source_ids:
            return []
        ids = self._session.list_values(sorted(memory.source_ids))
        held = {row[0] for row in self._session.run(self._sql["held"], {"pid": pid, "ids": ids})}
        asked = {"pid": pid, "org": memory.partition.org}
        found = self._texts({**asked, "ids": ids, "is_own": True})
        if elsewhere := memory.source_ids - held:
            found += self._texts({**asked, "ids": self._session.list_values(sorted(elsewhere)), "is_own": False})
        return sorted(found, key=lambda source: (source.id, source.partition))

    def _texts(self, asked: Mapping[str, object]) -> list[SourceText]:
        rows = self._session.run(self._sql["texts"], asked)
        return [SourceText(partition_of(*row[:3]), row[3], row[4]) for row in rows]

    def _find(self, where: str, asked: Mapping[str, object], locked: Partition | None) -> list[Memory]:
        """Find memories. A writing unit of work locks their partitions, then reads them again."""
        sql = f"{self._select}\n{self._sql[where]}"
        found = [MEMORY.noun(row) for row in self._session.run(sql, asked)]
        others = {memory.partition for memory in found} - {locked}
        if not others or not self._session.is_writing:
            return found
        for partition in sorted(others):
            self._session.pid(partition)
        return [m for m in map(MEMORY.noun, self._session.run(sql, asked)) if m.partition in {*others, locked}]


def link_sources(session: SqlSession, rows: Sequence[tuple[int, Memory]], *, is_relinked: bool = False) -> None:
    """Store the sources of memories in the partitions of these numbers. `is_relinked` replaces older ones."""
    sql = session.statements("dependants")
    for pid, memory in rows if is_relinked else ():
        session.write(sql["unlink"], {"pid": pid, "ids": session.list_values([memory.id])})
    columns = [
        {"pid": pid, "org": memory.partition.org, "memory_id": memory.id, "source_id": source_id}
        for pid, memory in rows
        for source_id in sorted(memory.source_ids)
    ]
    if columns:
        session.write_many(sql["link"], columns)


class SqlErasure(SqlPort, topic="erasure"):
    """The `Erasure` port."""

    def count(self, partition: Partition) -> dict[str, int]:
        key = {"pid": self._session.pid(partition)}
        counts = {name: int(self._session.run(self._of("count", name), key).fetchone()[0]) for name in TABLES}
        return {name: count for name, count in counts.items() if count}

    def wipe(self, partition: Partition) -> dict[str, int]:
        self._session.check_writing()
        key = {"pid": self._session.pid(partition)}
        counts = {name: self._session.write(self._of("wipe", name), key).rowcount for name in TABLES}
        self._session.erased |= {(partition, False), (partition, True)}
        if key["pid"] is not None:
            self._session.write(self._of("wipe", "sources"), key)
            self._session.write(self._sql["raise_floor"], key)
            self._session.write(self._of("wipe", "partitions"), key)
            self._session.forget(partition)
        return {name: count for name, count in counts.items() if count}

    def derived(self, org: str, partitions: Sequence[Partition], ids: Collection[str]) -> list[tuple[Partition, str]]:
        asked = {"org": org, "pids": self._session.pids(partitions), "ids": self._session.list_values(ids)}
        return self._find("derived", org, asked)

    def private(self, org: str, agent: str) -> list[tuple[Partition, str]]:
        return self._find("private", org, {"org": org, "agent": agent})

    def key(self, inherited: bytes = b"") -> bytes:
        row = self._session.run(self._sql["key"]).fetchone()
        secret = bytes(row[0]) if row else b""
        if not secret and self._session.is_writing:
            secret = inherited or secrets.token_bytes(STORE_SECRET_BYTES)
            self._session.write(self._sql["put_key"], {"secret": secret})
        return secret

    def add(self, receipt: Receipt) -> None:
        self._session.enter(receipt.org)
        if not self._session.write_each(self._sql["add"], [RECEIPT.row(receipt)])[0]:
            raise ConflictError(f"receipt {receipt.id} already exists")

    def receipts(self, org: str) -> list[Receipt]:
        self._session.see(org)
        return [RECEIPT.noun(row) for row in self._session.run(self._sql["receipts"], {"org": org})]

    def orgs(self) -> list[str]:
        return [str(row[0]) for row in self._session.run_across(self._sql["orgs"])]

    def _find(self, name: str, org: str, asked: Mapping[str, object]) -> list[tuple[Partition, str]]:
        self._session.see(org)
        return [(partition_of(*row[:3]), row[3]) for row in self._session.run(self._sql[name], asked)]

    def _of(self, name: str, table: str) -> str:
        return self._sql.get(f"{name}_{table}") or self._sql[name].format(table=table)
