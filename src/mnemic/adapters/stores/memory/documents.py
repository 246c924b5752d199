"""The reference store's documents, research steps, dependants and erasure."""

import builtins
import secrets
from collections.abc import Collection, Sequence
from copy import deepcopy
from dataclasses import replace
from datetime import datetime
from typing import Any

from mnemic.adapters.stores.checks import check_chunks, check_documents, refuse_document
from mnemic.adapters.stores.memory.graph import MemoryGraph
from mnemic.adapters.stores.memory.tables import NO_TERMS, Port, Row, remove_if
from mnemic.errors import ConflictError
from mnemic.model.candidates import Terms
from mnemic.model.document import Document, DocumentQuery, DocumentStatus, Step
from mnemic.model.item import Chunk, Memory, State
from mnemic.model.records import Receipt
from mnemic.model.scope import Partition, Visibility
from mnemic.ports.store import STORE_SECRET_BYTES, SourceText
from mnemic.text.outline import title_key


class MemoryDocuments(Port):
    """The `Documents` port."""

    def put(self, documents: Sequence[Document]) -> None:
        check_documents(documents)
        for document in documents:
            self._check_put(document)
            self._put(document)

    def fill(self, document: Document, text: str, chunks: Sequence[tuple[Chunk, Terms]]) -> None:
        check_documents([document])
        check_chunks(document, [chunk for chunk, _ in chunks])
        tables, partition = self._transaction.writable, document.partition
        for chunk, _ in chunks:
            if (partition, chunk.id) in tables.chunks:
                raise ConflictError(f"chunk {chunk.id} cannot be stored: the id is already in use")
        self._check_put(document)
        changed = self._transaction.changed(partition)
        self._erase_chunks(partition, document.id, changed)
        MemoryResearchSteps(self._transaction).cut(partition, document.id)
        tables.texts[partition, document.id] = text
        for chunk, terms in chunks:
            tables.chunks[partition, chunk.id] = Row(chunk, terms, changed, self._transaction.number())
        self._put(document)

    def get(self, visible: Visibility, ids: Sequence[str]) -> builtins.list[Document]:
        rows = self._transaction.tables.documents
        found = [rows[p, i] for i in ids for p in visible.partitions if (p, i) in rows]
        return [document for document in found if _is_seen(visible, document)]

    def list(self, visible: Visibility, query: DocumentQuery) -> builtins.list[Document]:
        documents = self._transaction.tables.documents.values()
        found = [
            document
            for document in documents
            if visible.admits(document.partition, document.private_agent) and _meets(document, query)
        ]
        return sorted(found, key=lambda document: (document.source, document.id))[: query.limit]

    def text(self, visible: Visibility, id: str) -> str | None:
        found = self.get(visible, [id])
        return self._transaction.tables.texts.get((found[0].partition, id), "") if found else None

    def chunks(self, visible: Visibility, ids: Sequence[str]) -> builtins.list[Chunk]:
        rows = self._transaction.tables.chunks
        found = [rows[p, i].item for i in ids for p in visible.partitions if (p, i) in rows]
        return self._filter_visible(visible, found)

    def passages(self, visible: Visibility, document_id: str, first: int, count: int) -> builtins.list[Chunk]:
        items = [row.item for row in self._transaction.tables.chunks.values()]
        found = [chunk for chunk in items if chunk.document_id == document_id and chunk.index >= first]
        return sorted(self._filter_visible(visible, found), key=lambda chunk: (chunk.index, chunk.id))[: max(count, 0)]

    def erase(self, partition: Partition, ids: Sequence[str], at: datetime) -> int:
        tables = self._transaction.writable
        found = [document for i in set(ids) if (document := tables.documents.get((partition, i))) is not None]
        found = [document for document in found if document.status != DocumentStatus.ERASED]
        for document in found:
            key = (partition, document.id)
            tables.texts.pop(key, None)
            self._erase_chunks(*key, self._transaction.changed(partition))
            MemoryResearchSteps(self._transaction).cut(*key)
            tables.documents[key] = replace(
                document,
                status=DocumentStatus.ERASED,
                source="",
                title="",
                reason="",
                sha256="",
                pages=(),
                headings=(),
                characters=0,
                chunks=0,
                metadata={},
                bookkeeping={},
                updated_at=at,
            )
        return len(found)

    def _check_put(self, document: Document) -> None:
        tables = self._transaction.writable
        old = tables.documents.get((document.partition, document.id), document)
        place = (document.partition, document.private_agent, document.source)
        holders = [d.id for d in tables.documents.values() if (d.partition, d.private_agent, d.source) == place]
        if (
            old.status == DocumentStatus.ERASED
            or old.private_agent != document.private_agent
            or any(i != document.id for i in holders)
        ):
            raise refuse_document(document.id, document.source)

    def _put(self, document: Document) -> None:
        tables, key = self._transaction.writable, (document.partition, document.id)
        tables.versions.setdefault(document.partition, 0)
        held = [row for row in tables.chunks.values() if _is_of(row, *key)]
        tables.documents[key] = replace(
            document,
            characters=len(tables.texts.get(key, "")),
            chunks=len(held),
            metadata=deepcopy(dict(document.metadata)),
            bookkeeping=deepcopy(dict(document.bookkeeping)),
        )
        for row in held:
            chunk = replace(row.item, title=document.title, source=document.source)
            tables.chunks[document.partition, chunk.id] = replace(row, item=chunk)

    def _erase_chunks(self, partition: Partition, document_id: str, changed: int) -> None:
        tables = self._transaction.writable
        held = [row for row in tables.chunks.values() if _is_of(row, partition, document_id)]
        for row in held:
            gone = replace(row.item, state=State.ERASED, text="", headings=(), title="", source="")
            tables.chunks[partition, gone.id] = Row(gone, NO_TERMS, changed, row.number)
        self._transaction.forget_vectors(partition, *(row.item.id for row in held))
        MemoryGraph(self._transaction).forget(partition, [row.item.id for row in held])

    def _filter_visible(self, visible: Visibility, found: Sequence[Chunk]) -> builtins.list[Chunk]:
        kept = [chunk for chunk in found if chunk.state != State.ERASED]
        return [chunk for chunk in kept if visible.admits(chunk.partition, chunk.private_agent)]


def _is_of(row: Row[Chunk], partition: Partition, document_id: str) -> bool:
    chunk = row.item
    return (chunk.partition, chunk.document_id) == (partition, document_id) and chunk.state != State.ERASED


def _is_seen(visible: Visibility, document: Document) -> bool:
    is_there = document.status != DocumentStatus.ERASED
    return is_there and visible.admits(document.partition, document.private_agent)


def _meets(document: Document, query: DocumentQuery) -> bool:
    return (
        (document.status in query.statuses if query.statuses else document.status != DocumentStatus.ERASED)
        and (query.sources is None or document.source in query.sources)
        and document.source.startswith(query.under)
        and (query.titles is None or (title_key(document.title) or None) in query.titles)
        and (query.after is None or (document.source, document.id) > query.after)
    )


class MemoryResearchSteps(Port):
    """The `ResearchSteps` port."""

    def put(self, partition: Partition, document: Document, steps: Sequence[Step]) -> int:
        tables = self._transaction.writable
        known = tables.documents.get((document.partition, document.id))
        if known is None or known.status is DocumentStatus.ERASED or known.updated_at != document.updated_at:
            return 0
        tables.versions.setdefault(partition, 0)
        for step in steps:
            tables.research_steps[partition, document.partition, document.id, step.key] = step
        return len(steps)

    def get(self, partition: Partition, document: Document, keys: Collection[str]) -> dict[str, Step]:
        steps = self._transaction.tables.research_steps
        places = {key: (partition, document.partition, document.id, key) for key in keys}
        return {key: steps[place] for key, place in places.items() if place in steps}

    def forget(self, before: datetime) -> int:
        return remove_if(self._transaction.writable.research_steps, lambda step: step.at < before)

    def cut(self, partition: Partition, document_id: str) -> None:
        steps = self._transaction.writable.research_steps
        for place in [place for place in steps if place[1:3] == (partition, document_id)]:
            del steps[place]


class MemoryDependants(Port):
    """The `Dependants` port."""

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
        rows = tables.items()
        items = [row.item for row in rows if row.item.partition.org == org and row.item.state is not State.ERASED]
        documents = [d for d in tables.documents.values() if d.partition.org == org]
        return [SourceText(item.partition, item.id, item.text) for item in items] + [
            SourceText(d.partition, d.id, tables.texts.get((d.partition, d.id), ""))
            for d in documents
            if d.status is not DocumentStatus.ERASED
        ]


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
    "context_records",
)


class MemoryErasure(Port):
    """The `Erasure` port."""

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
        messages = [row.item for row in tables.messages.values() if row.item.state is not State.ERASED]
        return [
            (item.partition, item.id)
            for item in (*memories, *documents, *messages)
            if item.partition.org == org and item.private_agent == agent
        ]

    def key(self, inherited: bytes = b"") -> bytes:
        if not self._transaction.tables.secret and self._transaction.is_writing:
            self._transaction.writable.secret = inherited or secrets.token_bytes(STORE_SECRET_BYTES)
        return self._transaction.tables.secret

    def add(self, receipt: Receipt) -> None:
        receipts = self._transaction.writable.receipts
        if (receipt.org, receipt.id) in receipts:
            raise ConflictError(f"receipt {receipt.id} already exists")
        receipts[receipt.org, receipt.id] = receipt

    def receipts(self, org: str) -> list[Receipt]:
        return [receipt for (owner, _), receipt in self._transaction.tables.receipts.items() if owner == org]

    def orgs(self) -> list[str]:
        return sorted({org for org, _ in self._transaction.tables.receipts})

    def _of(self, name: str, partition: Partition) -> list[Any]:
        table: dict[Any, Any] = getattr(self._transaction.tables, name)
        return [key for key in table if key[0] == partition or (name == "research_steps" and key[1] == partition)]
