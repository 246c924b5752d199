"""Stores the documents of an export, each whole in one transaction with its history and its vectors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from mnemic.engine.exchange.export_documents import WholeDocument
from mnemic.engine.exchange.import_logs import ImportReport
from mnemic.engine.indexing.embedding import ItemVectors, document_vectors, put_vectors
from mnemic.engine.indexing.indexed import indexed_text
from mnemic.engine.parts import Parts
from mnemic.errors import ConflictError, InvalidInputError
from mnemic.model.document import DocumentQuery
from mnemic.model.history import HistoryEntry
from mnemic.model.scope import Scope, Visibility
from mnemic.ports.store import UnitOfWork

EMBEDDED = 256
"""Passages that are embedded at once, so that a book does not stand in memory twice."""


def restore_document(
    parts: Parts,
    scope: Scope,
    report: ImportReport,
    numbered: tuple[int, WholeDocument],
    history: Sequence[HistoryEntry],
) -> None:
    """Store a document unless it is here, was here and is deleted, or its source was read from the same bytes here.

    One whose source is here with other bytes is told as a problem, with the number of its line.
    """
    number, whole = numbered
    document = whole.document
    with parts.store.read() as work:
        is_known = _is_known(work, whole, scope)
    if is_known:
        report.known["document"] += 1
        return
    if not report.is_dry_run:
        try:
            _store(parts, whole, history)
        except (ConflictError, InvalidInputError) as error:
            report.problems.append(f"line {number}: {error}")
            return
    report.added["document"] += 1
    parts.observer.count("mnemic.import.document", level=document.level.value)


def _is_known(work: UnitOfWork, whole: WholeDocument, scope: Scope) -> bool:
    document = whole.document
    visible = Visibility((document.partition,), scope.agent)
    if work.history.of(visible, document.id) or work.documents.get(visible, [document.id]):
        return True
    same = work.documents.list(visible, DocumentQuery(sources=(document.source,)))
    place = (document.private_agent, document.sha256)
    return bool(document.sha256) and any((each.private_agent, each.sha256) == place for each in same)


def _store(parts: Parts, whole: WholeDocument, history: Sequence[HistoryEntry]) -> None:
    document, texts = whole.document, [indexed_text(chunk) for chunk in whole.chunks]
    rows = [(chunk, parts.terms(text)) for chunk, text in zip(whole.chunks, texts, strict=True)]
    vectors: list[ItemVectors] = []
    for start in range(0, len(texts), EMBEDDED):
        batch = texts[start : start + EMBEDDED]
        vectors += document_vectors(parts, batch) or [(None,) * len(parts.embedders)] * len(batch)
    with parts.store.write() as work:
        work.documents.fill(document, whole.text, rows)
        work.history.add([replace(entry, partition=document.partition) for entry in history])
        items = [(document.partition, chunk.id) for chunk in whole.chunks]
        put_vectors(parts, work, items, vectors, document.updated_at)
