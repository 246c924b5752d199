"""Looks at documents, and removes them with all that was kept of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from mnemic.engine.access import forget_answers
from mnemic.engine.archive import deletion
from mnemic.engine.browse import MAX_PAGE
from mnemic.engine.cascade import Cascaded, cascade
from mnemic.engine.dependants import Hand
from mnemic.engine.engine import Parts
from mnemic.engine.indexing import reached
from mnemic.engine.secrets import clean_reason
from mnemic.errors import ConflictError, InvalidInputError, NotFoundError
from mnemic.model.document import Document, DocumentQuery
from mnemic.model.item import Chunk
from mnemic.model.records import HistoryEntry, Receipt
from mnemic.model.scope import Level, Scope, Visibility
from mnemic.ports.store import UnitOfWork


@dataclass(frozen=True, slots=True)
class DocumentPage:
    """Some documents in the order of their sources. `after`: the id to go on behind, None at the end."""

    documents: tuple[Document, ...]
    after: str | None


def list_documents(
    parts: Parts, scope: Scope, query: DocumentQuery, levels: Sequence[Level], after: str | None
) -> DocumentPage:
    """One page of visible documents of some levels (none: all). `query.limit`: 1..1000. Raises `NotFoundError` for an
    invisible `after`.
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
    """Erase the text, the passages, the vectors and the recorded history of a document, and what was made of them as
    `delete` does. Raises as `get_document`.
    """
    now, reason = parts.clock.now(), clean_reason(parts, reason)
    with parts.store.write() as work:
        document = _found(work, scope.visibility, reference)
        counts, followed = erase_documents(Hand(parts, work, actor, now), [document], reason=reason)
    notes = (*followed.notes, *reached(parts, [document.partition]))
    return Receipt(now, {**counts, "chunks": document.chunks}, notes=notes)


def erase_documents(hand: Hand, documents: Sequence[Document], *, reason: str) -> tuple[dict[str, int], Cascaded]:
    """Erase documents of one partition and what their history says of them, write down that they were deleted, and
    follow what that means for memories; counts by table.
    """
    if not documents:
        return {}, Cascaded()
    work, now, partition = hand.work, hand.now, documents[0].partition
    ids = [document.id for document in documents]
    entries = [deletion(partition, document_id, hand.actor, reason, now) for document_id in ids]
    passages = [passage for pair in zip(documents, entries, strict=True) for passage in _passages_gone(work, *pair)]
    counts = {"documents": work.documents.erase(partition, ids, now), "history": work.history.scrub(partition, ids)}
    work.history.add(entries)
    followed = cascade(hand, [*entries, *passages])
    forget_answers(work, [partition])
    return counts | ({"memories": followed.erased} if followed.erased else {}), followed


def _passages_gone(work: UnitOfWork, document: Document, entry: HistoryEntry) -> list[HistoryEntry]:
    """The entry of a document as one of each of its passages, which have none of their own."""
    visible = Visibility((document.partition,), document.private_agent)
    found = work.documents.passages(visible, document.id, 0, document.chunks)
    return [replace(entry, item_id=chunk.id) for chunk in found]


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
