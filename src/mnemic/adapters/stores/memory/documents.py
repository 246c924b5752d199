"""Documents and chunks of the reference store."""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import replace
from datetime import datetime

from mnemic.adapters.stores.document_checks import check_chunks, check_documents, refused
from mnemic.adapters.stores.memory.graph import MemoryGraph
from mnemic.adapters.stores.memory.research import MemoryResearchSteps
from mnemic.adapters.stores.memory.tables import Row
from mnemic.adapters.stores.memory.transaction import Transaction
from mnemic.errors import ConflictError
from mnemic.model.candidates import Terms
from mnemic.model.document import Document, DocumentQuery, DocumentStatus
from mnemic.model.item import Chunk, State
from mnemic.model.scope import Partition, Visibility
from mnemic.text.titles import title_key

_NO_TERMS = Terms("", "")


class MemoryDocuments:
    """The `Documents` port."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction

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
                raise ConflictError(f"chunk {chunk.id} cannot be stored: the id is taken")
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
        return self._seen(visible, found)

    def passages(self, visible: Visibility, document_id: str, first: int, count: int) -> builtins.list[Chunk]:
        items = [row.item for row in self._transaction.tables.chunks.values()]
        found = [chunk for chunk in items if chunk.document_id == document_id and chunk.index >= first]
        return sorted(self._seen(visible, found), key=lambda chunk: (chunk.index, chunk.id))[: max(count, 0)]

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
            raise refused(document.id, document.source)

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
            tables.chunks[partition, gone.id] = Row(gone, _NO_TERMS, changed, row.number)
        self._transaction.forget_vectors(partition, *(row.item.id for row in held))
        MemoryGraph(self._transaction).forget(partition, [row.item.id for row in held])

    def _seen(self, visible: Visibility, found: Sequence[Chunk]) -> builtins.list[Chunk]:
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
