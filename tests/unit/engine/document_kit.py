"""Documents as an ingest stores them, without reading files."""

from __future__ import annotations

from collections.abc import Sequence

from mnemic.engine.engine import Engine, new_id
from mnemic.engine.indexing import document_vectors, indexed_text, put_vectors
from mnemic.model.document import Document, DocumentStatus
from mnemic.model.item import Chunk
from mnemic.model.scope import Level, Scope


def keep(
    parts: Engine,
    scope: Scope,
    texts: Sequence[str],
    *,
    source: str = "docs/contract.pdf",
    title: str = "Lease contract",
    level: Level = Level.USER,
    agent: str | None = None,
    pages: Sequence[int] | None = None,
    headings: Sequence[tuple[str, ...]] | None = None,
    gap: str = "\n\n",
    known: Document | None = None,
    metadata: dict[str, object] | None = None,
) -> list[Chunk]:
    """Store a document whose passages are these texts, with `gap` between them, and give its chunks."""
    now, start = parts.clock.now(), 0
    document = Document(
        id=known.id if known else new_id(now),
        partition=scope.partition(level),
        source=source,
        title=title,
        media_type="application/pdf",
        status=DocumentStatus.READY,
        created_at=known.created_at if known else now,
        updated_at=now,
        private_agent=agent,
        metadata=metadata or {},
    )
    chunks: list[Chunk] = []
    for index, text in enumerate(texts):
        chunk = Chunk(
            id=new_id(now),
            partition=document.partition,
            document_id=document.id,
            index=index,
            start=start,
            end=start + len(text),
            text=text,
            token_count=len(text.split()),
            title=title,
            source=source,
            created_at=now,
            observed_at=now,
            page=pages[index] if pages else None,
            last_page=pages[index] if pages else None,
            headings=headings[index] if headings else (),
            private_agent=agent,
        )
        chunks.append(chunk)
        start += len(text) + len(gap)
    indexed = [indexed_text(chunk) for chunk in chunks]
    vectors = document_vectors(parts, indexed)
    with parts.store.write() as work:
        rows = [(chunk, parts.terms(text)) for chunk, text in zip(chunks, indexed, strict=True)]
        work.documents.fill(document, gap.join(texts), rows)
        put_vectors(parts, work, [(chunk.partition, chunk.id) for chunk in chunks], vectors, now)
    return chunks


def document_of(parts: Engine, scope: Scope, chunk: Chunk) -> Document:
    """The document that a chunk is of."""
    with parts.store.read() as work:
        return work.documents.get(scope.visibility, [chunk.document_id])[0]
