"""What was made of what, in the reference store."""

from __future__ import annotations

from collections.abc import Collection

from mnemic.adapters.stores.memory.transaction import Transaction
from mnemic.model.document import DocumentStatus
from mnemic.model.item import Memory, State
from mnemic.model.scope import Partition
from mnemic.ports.store import SourceText


class MemoryDependants:
    """The `Dependants` port."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction

    def of(self, partition: Partition, ids: Collection[str]) -> list[Memory]:
        wanted = frozenset(ids)
        return [
            memory
            for memory in self._memories(partition.org)
            if any(
                memory.partition == partition or not self._holds(memory.partition, source_id)
                for source_id in memory.source_ids & wanted
            )
        ]

    def flagged(self, org: str, source_id: str) -> list[Memory]:
        return [m for m in self._memories(org) if any(flag.source_id == source_id for flag in m.flags)]

    def sources(self, memory: Memory) -> list[SourceText]:
        found = [
            source
            for source in self._texts(memory.partition.org)
            if source.id in memory.source_ids
            and (source.partition == memory.partition or not self._holds(memory.partition, source.id))
        ]
        return sorted(found, key=lambda source: (source.id, source.partition))

    def _memories(self, org: str) -> list[Memory]:
        items = [row.item for row in self._transaction.tables.memories.values()]
        return [memory for memory in items if memory.partition.org == org and memory.state is not State.ERASED]

    def _holds(self, partition: Partition, item_id: str) -> bool:
        tables = self._transaction.tables
        key = (partition, item_id)
        return any(key in table for table in (tables.messages, tables.memories, tables.chunks, tables.documents))

    def _texts(self, org: str) -> list[SourceText]:
        tables = self._transaction.tables
        rows = [*tables.messages.values(), *tables.memories.values(), *tables.chunks.values()]
        items = [row.item for row in rows if row.item.partition.org == org and row.item.state is not State.ERASED]
        documents = [d for d in tables.documents.values() if d.partition.org == org]
        return [SourceText(item.partition, item.id, item.text) for item in items] + [
            SourceText(d.partition, d.id, tables.texts.get((d.partition, d.id), ""))
            for d in documents
            if d.status is not DocumentStatus.ERASED
        ]
