"""What every store refuses of documents and chunks, before it writes anything."""

from __future__ import annotations

from collections.abc import Sequence

from mnemic.errors import ConflictError, InvalidInputError
from mnemic.model.document import Document, DocumentStatus
from mnemic.model.item import Chunk


def check_documents(documents: Sequence[Document]) -> None:
    """Raises `InvalidInputError` for a document that is to be stored as erased, or whose source holds U+0000."""
    for document in documents:
        if document.status == DocumentStatus.ERASED:
            raise InvalidInputError(f"document {document.id} cannot be stored as erased; erase it")
        if "\0" in document.source:
            raise InvalidInputError(f"the source of document {document.id} holds the character U+0000")


def check_chunks(document: Document, chunks: Sequence[Chunk]) -> None:
    """Raises `InvalidInputError` for chunks of another document, partition or agent, and for an index that comes twice;
    `ConflictError` for an id that comes twice.
    """
    place = (document.id, document.partition, document.private_agent)
    for chunk in chunks:
        if (chunk.document_id, chunk.partition, chunk.private_agent) != place:
            raise InvalidInputError(f"chunk {chunk.id} is of another document, partition or agent than {document.id}")
    if len({chunk.index for chunk in chunks}) < len(chunks):
        raise InvalidInputError(f"two chunks of document {document.id} have one index")
    if len({chunk.id for chunk in chunks}) < len(chunks):
        raise ConflictError(f"two chunks of document {document.id} have one id")


def refused(id: str, source: str) -> ConflictError:
    """Why a document is not put."""
    return ConflictError(
        f"document {id} cannot be stored: another one in its place has the source {source!r}, "
        "or it was erased, or it is private to another agent"
    )
