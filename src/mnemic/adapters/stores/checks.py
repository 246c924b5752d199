"""Checks that every store makes before it writes, and lazy creation of ports."""

import secrets
from collections.abc import Callable, Sequence
from typing import Any, TypeVar, cast

from mnemic.errors import ConflictError, InvalidInputError
from mnemic.model.document import Document, DocumentStatus
from mnemic.model.graph import Sheet
from mnemic.model.item import Chunk, Memory, State
from mnemic.ports.store import VERSIONS_OF_AN_AGE

_LONGEST_LEAP = 1000  # ages; an index file that outlives its store then hardly ever matches the new age
PortT = TypeVar("PortT")


class _LazyPort:
    def __init__(self, make: Callable[[Any], object]) -> None:
        self._make = make

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, work: Any, owner: type) -> object:
        port = work.__dict__[self._name] = self._make(work.transaction)
        return port


def lazy_port(make: Callable[[Any], PortT]) -> PortT:
    """A port of a unit of work, built from its `transaction` on first use. Typed as the port itself."""
    return cast("PortT", _LazyPort(make))


def check_documents(documents: Sequence[Document]) -> None:
    """Raise `InvalidInputError` for a document with the status erased, or U+0000 in its source."""
    for document in documents:
        if document.status == DocumentStatus.ERASED:
            raise InvalidInputError(f"document {document.id} cannot be stored as erased; erase it instead")
        if "\0" in document.source:
            raise InvalidInputError(f"the source of document {document.id} contains the character U+0000")


def check_chunks(document: Document, chunks: Sequence[Chunk]) -> None:
    """Raise `InvalidInputError` for chunks of another document, partition or agent, and for repeated indexes;
    `ConflictError` for repeated ids.
    """
    place = (document.id, document.partition, document.private_agent)
    for chunk in chunks:
        if (chunk.document_id, chunk.partition, chunk.private_agent) != place:
            raise InvalidInputError(f"chunk {chunk.id} differs from {document.id} in document, partition or agent")
    if len({chunk.index for chunk in chunks}) < len(chunks):
        raise InvalidInputError(f"two chunks of document {document.id} have the same index")
    if len({chunk.id for chunk in chunks}) < len(chunks):
        raise ConflictError(f"two chunks of document {document.id} have the same id")


def refuse_document(id: str, source: str) -> ConflictError:
    """The error for a document that cannot be put."""
    return ConflictError(
        f"document {id} cannot be stored: another document has the source {source!r}, "
        "or this one was erased or is private to another agent"
    )


def is_readable(memory: Memory) -> bool:
    """True if the graph reads this memory. Keep the statements `unread` and `readable` equal to it. Expiring memories
    leave no lasting trace, and unreviewed ones do not count yet. A superseded one was true until its end; without an
    end, another memory says the same.
    """
    is_past = memory.state is State.SUPERSEDED and memory.valid_to is not None
    return (memory.state is State.ACTIVE or is_past) and memory.expires_at is None


def check_sheets(sheets: Sequence[Sheet]) -> None:
    """Raise `InvalidInputError` for sheets with repetitions, or without an end of a relation."""
    if len({sheet.item_id for sheet in sheets}) < len(sheets):
        raise InvalidInputError("two graph entries describe the same item")
    for sheet in sheets:
        if len({(named.key, named.type) for named in sheet.names}) < len(sheet.names):
            raise InvalidInputError(f"the graph entry of {sheet.item_id} names an entity twice")
        if len({(each.source, each.target, each.type) for each in sheet.relations}) < len(sheet.relations):
            raise InvalidInputError(f"the graph entry for {sheet.item_id} contains the same relation more than once")
        ends = {end for each in sheet.relations for end in (each.source, each.target)}
        if not ends <= set(range(len(sheet.names))):
            raise InvalidInputError(f"the graph entry of {sheet.item_id} relates entities that it does not name")


def new_age(newest: int) -> int:
    """The first version of an age above the version `newest`."""
    return (newest // VERSIONS_OF_AN_AGE + 1 + secrets.randbelow(_LONGEST_LEAP)) * VERSIONS_OF_AN_AGE
