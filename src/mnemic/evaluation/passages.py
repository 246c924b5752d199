"""Keeps the rows of a test set as documents of one passage each, as ingesting them would, without cutting them anew."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from mnemic.engine.indexing.embedding import document_vectors, put_vectors
from mnemic.engine.indexing.indexed import indexed_text
from mnemic.engine.parts import Parts, new_id
from mnemic.evaluation.dataset import CorpusRow
from mnemic.model.clocktime import as_utc
from mnemic.model.document import Document, DocumentStatus
from mnemic.model.item import Chunk
from mnemic.model.scope import Level, Scope


def keep_passages(parts: Parts, scope: Scope, rows: Sequence[CorpusRow]) -> list[tuple[str, str]]:
    """Store each row as a document of the user with its title and one passage; (id of the passage, id of the row)."""
    now = parts.clock.now()
    documents = [_document(scope, row, now) for row in rows]
    chunks = [_chunk(document, row, now) for document, row in zip(documents, rows, strict=True)]
    texts = [indexed_text(chunk) for chunk in chunks]
    vectors = document_vectors(parts, texts)
    with parts.store.write() as work:
        for document, row, chunk, text in zip(documents, rows, chunks, texts, strict=True):
            work.documents.fill(document, row.text, [(chunk, parts.terms(text))])
        put_vectors(parts, work, [(chunk.partition, chunk.id) for chunk in chunks], vectors, now)
    return [(chunk.id, row.id) for chunk, row in zip(chunks, rows, strict=True)]


def _document(scope: Scope, row: CorpusRow, now: datetime) -> Document:
    return Document(
        id=new_id(now),
        partition=scope.partition(Level.USER),
        source=row.id,
        title=row.title or "",
        media_type="text/plain",
        status=DocumentStatus.READY,
        created_at=now,
        updated_at=now,
    )


def _chunk(document: Document, row: CorpusRow, now: datetime) -> Chunk:
    chunk = Chunk(
        id=new_id(now),
        partition=document.partition,
        document_id=document.id,
        index=0,
        start=0,
        end=len(row.text),
        text=row.text,
        token_count=len(row.text.split()),
        title=document.title,
        source=document.source,
        created_at=now,
        observed_at=now,
    )
    return chunk if row.time is None else replace(chunk, observed_at=as_utc(row.time, "time"))
