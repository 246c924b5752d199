"""The port of documents and chunks, one of those that a unit of work exposes (see `ports.store`)."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from mnemic.model.document import Document, DocumentQuery
from mnemic.model.item import Chunk
from mnemic.model.scope import Partition, Visibility
from mnemic.model.terms import Terms


class Documents(Protocol):
    """Files that were read, and their passages."""

    def put(self, documents: Sequence[Document]) -> None:
        """Insert each, or replace the row with its id and partition (never its text and chunks, nor what counts these).
        Advances no version. Raises `ConflictError` when another document that is not erased has its source in its
        partition and private agent, when it was erased itself, and when it was another agent's; `InvalidInputError` for
        the status ERASED and for a source with the character U+0000.
        """
        ...

    def fill(self, document: Document, text: str, chunks: Sequence[tuple[Chunk, Terms]]) -> None:
        """Put the document, its text and its chunks in the place of those it had, all at once: chunks that it had are
        erased with their vectors. `characters` and `chunks` are counted here. Advances the partition's version.
        Raises the errors of `put`; `ConflictError` when the id of a chunk is taken in the partition, also by an erased
        one; `InvalidInputError` for chunks of another document, partition or agent, and when two have one index.
        """
        ...

    def get(self, visible: Visibility, ids: Sequence[str]) -> list[Document]:
        """Those that exist, are visible and not erased, in the order of `ids`."""
        ...

    def list(self, visible: Visibility, query: DocumentQuery) -> list[Document]:
        """The visible documents that meet the query, ordered by source, then id."""
        ...

    def text(self, visible: Visibility, id: str) -> str | None:
        """The text of a document, "" before it was ever read; None when it is unknown, not visible or erased."""
        ...

    def chunks(self, visible: Visibility, ids: Sequence[str]) -> list[Chunk]:
        """The chunks that exist, are visible and not erased, in the order of `ids`."""
        ...

    def passages(self, visible: Visibility, document_id: str, first: int, count: int) -> list[Chunk]:
        """The chunks of a document from index `first` on, at most `count`, in order; none when it is not visible."""
        ...

    def erase(self, partition: Partition, ids: Sequence[str], at: datetime) -> int:
        """Remove text, chunks, vectors, title, source, reason, digest, pages, headings and metadata of documents and
        leave tombstones; advances the partition's version when there were any. Returns how many there were.
        """
        ...
