"""What is removed for good from the reference store, and the receipts."""

from __future__ import annotations

import secrets
from collections.abc import Collection, Sequence
from typing import Any

from mnemic.adapters.stores.memory.transaction import Transaction
from mnemic.errors import ConflictError
from mnemic.model.document import DocumentStatus
from mnemic.model.item import State
from mnemic.model.records import Receipt
from mnemic.model.scope import Partition

KEY_BYTES = 32
_BY_PARTITION = (
    "conversations",
    "messages",
    "memories",
    "documents",
    "chunks",
    "vectors",
    "jobs",
    "history",
    "profiles",
    "cursors",
    "supports",
    "mentions",
    "relations",
    "entity_vectors",
    "entities",
    "read_items",
    "research_steps",
)


class MemoryErasure:
    """The `Erasure` port."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction

    def count(self, partition: Partition) -> dict[str, int]:
        counts = {name: len(self._of(name, partition)) for name in _BY_PARTITION}
        return {name: count for name, count in counts.items() if count}

    def wipe(self, partition: Partition) -> dict[str, int]:
        counts = self.count(partition)
        tables = self._transaction.writable
        for name in (*_BY_PARTITION, "texts"):
            for key in self._of(name, partition):
                del getattr(tables, name)[key]
        tables.horizons.pop(partition, None)
        tables.floor = max(tables.floor, tables.versions.pop(partition, 0))
        return counts

    def derived(self, org: str, partitions: Sequence[Partition], ids: Collection[str]) -> list[tuple[Partition, str]]:
        tables = self._transaction.tables
        sources = {*ids}
        for table in (tables.messages, tables.memories, tables.chunks):
            sources |= {item_id for partition, item_id in table if partition in partitions}
        return [
            (partition, item_id)
            for (partition, item_id), row in tables.memories.items()
            if partition.org == org
            and partition not in partitions
            and row.item.state is not State.ERASED
            and any(source.source_id in sources for source in row.item.provenance)
        ]

    def private(self, org: str, agent: str) -> list[tuple[Partition, str]]:
        tables = self._transaction.tables
        memories = [row.item for row in tables.memories.values() if row.item.state is not State.ERASED]
        documents = [each for each in tables.documents.values() if each.status is not DocumentStatus.ERASED]
        return [
            (item.partition, item.id)
            for item in (*memories, *documents)
            if item.partition.org == org and item.private_agent == agent
        ]

    def key(self, inherited: bytes = b"") -> bytes:
        if not self._transaction.tables.secret and self._transaction.is_writing:
            self._transaction.writable.secret = inherited or secrets.token_bytes(KEY_BYTES)
        return self._transaction.tables.secret

    def add(self, receipt: Receipt) -> None:
        receipts = self._transaction.writable.receipts
        if (receipt.org, receipt.id) in receipts:
            raise ConflictError(f"receipt {receipt.id} is there already")
        receipts[receipt.org, receipt.id] = receipt

    def receipts(self, org: str) -> list[Receipt]:
        return [receipt for (owner, _), receipt in self._transaction.tables.receipts.items() if owner == org]

    def orgs(self) -> list[str]:
        return sorted({org for org, _ in self._transaction.tables.receipts})

    def _of(self, name: str, partition: Partition) -> list[Any]:
        table: dict[Any, Any] = getattr(self._transaction.tables, name)
        return [key for key in table if key[0] == partition or (name == "research_steps" and key[1] == partition)]
