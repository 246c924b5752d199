"""Looks at documents, and removes them with all that was kept of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from mnemic.engine.browse import MAX_PAGE
from mnemic.engine.parts import Parts, new_id
from mnemic.engine.requests import forget_answers
from mnemic.errors import ConflictError, InvalidInputError, NotFoundError
from mnemic.model.document import Document, DocumentQuery
from mnemic.model.history import Action, HistoryEntry, Receipt
from mnemic.model.item import Chunk
from mnemic.model.scope import Level, Partition, Scope, Visibility
from mnemic.ports.store import UnitOfWork


@dataclass(frozen=True, slots=True)
class DocumentPage:
    """Some documents in the order of their sources. `after`: the id to go on behind, None at the end."""

    documents: tuple[Document, ...]
    after: str | None


def list_documents(
    parts: Parts, scope: Scope, query: DocumentQuery, levels: Sequence[Level], after: str | None
) -> DocumentPage:
    """One page of the visible documents of some levels (none: of all). `query.limit` must be within 1..1000.

    Raises `NotFoundError` when `after` is no visible document.
    """
    limit = MAX_PAGE if query.limit is None else query.limit
    if not 1 <= limit <= MAX_PAGE:
        raise InvalidInputError(f"limit must be from 1 to {MAX_PAGE}, not {limit}")
    visible = scope.visibility.at(*levels)
    with parts.store.read() as work:
        last = None if after is None else _by_id(work, scope.visibility, after)
        place = None if last is None else (last.source, last.id)
        found = work.documents.list(visible, replace(query, limit=limit + 1, after=place))
    page = tuple(found[:limit])
    return DocumentPage(page, page[-1].id if len(found) > limit else None)


def get_document(parts: Parts, scope: Scope, reference: str) -> Document:
    """The document with this id, or else with this source. Raises `NotFoundError` when there is none in this scope,
    `ConflictError` when several of its levels have one with this source.
    """
    with parts.store.read() as work:
        return _found(work, scope.visibility, reference)


def document_text(parts: Parts, scope: Scope, reference: str) -> str:
    """The stored text of a document, "" when it was never read. Raises as `get_document`."""
    with parts.store.read() as work:
        document = _found(work, scope.visibility, reference)
        return work.documents.text(scope.visibility, document.id) or ""


def document_passages(parts: Parts, scope: Scope, reference: str, first: int, count: int) -> list[Chunk]:
    """At most `count` passages of a document, from the index `first` on. Raises as `get_document`."""
    with parts.store.read() as work:
        document = _found(work, scope.visibility, reference)
        return work.documents.passages(scope.visibility, document.id, first, count)


def delete_document(parts: Parts, scope: Scope, reference: str, *, actor: str, reason: str = "") -> Receipt:
    """Erase the text, the passages, the vectors and the recorded history of a document. Raises as `get_document`."""
    now = parts.clock.now()
    with parts.store.write() as work:
        document = _found(work, scope.visibility, reference)
        counts = erase_documents(work, document.partition, [document.id], actor=actor, reason=reason, now=now)
    return Receipt(now, {**counts, "chunks": document.chunks})


def erase_documents(
    work: UnitOfWork, partition: Partition, ids: Sequence[str], *, actor: str, reason: str, now: datetime
) -> dict[str, int]:
    """Erase documents and what their history says of them, and write down that they were deleted; counts by table."""
    counts = {"documents": work.documents.erase(partition, ids, now), "history": work.history.scrub(partition, ids)}
    work.history.add(
        [
            HistoryEntry(
                id=new_id(now),
                partition=partition,
                item_id=document_id,
                action=Action.DELETED,
                actor=actor,
                at=now,
                reason=reason,
            )
            for document_id in ids
        ]
    )
    if ids:
        forget_answers(work, [partition])
    return counts


def _by_id(work: UnitOfWork, visible: Visibility, document_id: str) -> Document:
    found = work.documents.get(visible, [document_id])
    if not found:
        raise NotFoundError(f"there is no document {document_id!r} in this scope")
    return found[0]


def _found(work: UnitOfWork, visible: Visibility, reference: str) -> Document:
    found = work.documents.get(visible, [reference])
    found = found or work.documents.list(visible, DocumentQuery(sources=(reference,)))
    if not found:
        raise NotFoundError(f"there is no document {reference!r} in this scope")
    if len(found) > 1:
        places = ", ".join(f"{each.id} ({each.level.value})" for each in found)
        raise ConflictError(f"several documents are called {reference!r}; name one by its id: {places}")
    return found[0]
