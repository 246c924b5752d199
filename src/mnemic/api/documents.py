"""The verbs of files: taking them in, and looking at what was taken in."""

from __future__ import annotations

import builtins
from collections.abc import Iterable
from dataclasses import replace
from os import PathLike, fspath
from typing import TypedDict, Unpack, cast

from mnemic.api.acting import Acting
from mnemic.api.known import refuse_unknown
from mnemic.engine.documents import (
    DocumentPage,
    delete_document,
    document_passages,
    document_text,
    get_document,
    list_documents,
)
from mnemic.engine.engine import Parts
from mnemic.engine.ingest import ingest
from mnemic.engine.ingest_plan import MAX_SOURCE_CHARS, IngestRequest, Progress, chunk_config
from mnemic.engine.inputs import check_choice, check_line
from mnemic.errors import InvalidInputError
from mnemic.model.document import Chunking, Document, DocumentQuery, DocumentStatus, IngestReport, Secrets
from mnemic.model.item import Chunk
from mnemic.model.records import Receipt
from mnemic.model.scope import Level, Scope
from mnemic.text.chunking import ChunkConfig

Content = str | PathLike[str] | bytes
"""What to ingest: the path of a file or folder, or the bytes of a file."""

LISTED = 50


class IngestFields(TypedDict, total=False):
    """The optional arguments of `ingest`.

    `level`: where the documents go; by default to the user, else the agent, else the session of the scope. `source`:
    what the path is called in the store, instead of its absolute path. `name`: of bytes; its ending tells their type.
    `is_private`: for the scope's agent alone. `is_dry_run`: say what would be read, and change nothing. `is_pruning`:
    remove the documents of files that are gone from the folder. `is_again`: read unchanged files too. `chunking`
    ("structure", "sentences", "paragraphs") and `config` say how passages are cut. `secrets`: a file that holds one
    fails ("refuse"), or is kept without it ("redact"). `progress` is called with files done, files in all, and the
    source at hand.
    """

    level: Level | str | None
    source: str | None
    name: str | None
    is_private: bool
    is_dry_run: bool
    is_pruning: bool
    is_again: bool
    chunking: Chunking | str
    config: ChunkConfig | None
    secrets: Secrets | str
    progress: Progress | None


class DocumentFields(TypedDict, total=False):
    """The optional arguments of `documents.list`. `under`: only sources that begin so. `after`: the id that the page
    before ended with.
    """

    levels: Iterable[Level | str]
    statuses: Iterable[DocumentStatus | str]
    under: str
    limit: int
    after: str | None


class IngestVerbs(Acting):
    """How files come in; a part of `Mnemic`."""

    _parts: Parts

    def ingest(self, scope: Scope, content: Content, **fields: Unpack[IngestFields]) -> IngestReport:
        """Take in a file, a folder with all that is in it, or bytes: read, cut into passages, and stored to be found.

        A file that is known and unchanged is left alone, one that has changed replaces what was kept of it at once. A
        file that cannot be read fails with a reason, and the others go on. Interrupted at any point, the same call
        goes on where it stopped. The report tells what became of each file. Raises InvalidInputError for a path where
        nothing is, and for arguments; BackendError when the store fails.
        """
        request = _request(self._parts, fields)
        data = content if isinstance(content, bytes) else _path(content)
        return ingest(self._parts, scope, data, request, actor=self._actor)

    @property
    def documents(self) -> DocumentVerbs:
        """The verbs of documents: list, get, text, passages, delete."""
        return DocumentVerbs(self._parts, self._actor)


class DocumentVerbs:
    """Files that were taken in. A document is named by its id or its source; what belongs to somebody else is not
    found.
    """

    def __init__(self, parts: Parts, actor: str) -> None:
        self._parts, self._actor = parts, actor

    def list(self, scope: Scope, **fields: Unpack[DocumentFields]) -> DocumentPage:
        """A page of documents in the order of their sources: 50, of every level and status, unless told otherwise."""
        refuse_unknown("documents.list", fields, DocumentFields)
        query = DocumentQuery(
            statuses=tuple(check_choice(DocumentStatus, each, "statuses") for each in fields.get("statuses", ())),
            under=check_line(fields.get("under", ""), "under", limit=MAX_SOURCE_CHARS),
            limit=_whole(fields.get("limit", LISTED), "limit", 1),
        )
        if DocumentStatus.ERASED in query.statuses:
            raise InvalidInputError("erased documents have nothing left to list")
        levels = tuple(check_choice(Level, level, "levels") for level in fields.get("levels", ()))
        after = fields.get("after")
        return list_documents(self._parts, scope, query, levels, None if after is None else _reference(after))

    def get(self, scope: Scope, id: str) -> Document:
        """A document, without its text."""
        return get_document(self._parts, scope, _reference(id))

    def text(self, scope: Scope, id: str) -> str:
        """The stored text of a document, which its passages and pages count in; "" when it was never read."""
        return document_text(self._parts, scope, _reference(id))

    def passages(self, scope: Scope, id: str, *, first: int = 0, count: int = LISTED) -> builtins.list[Chunk]:
        """The passages of a document in their order, at most `count`, from the index `first` on."""
        first, count = _whole(first, "first", 0), _whole(count, "count", 1)
        return document_passages(self._parts, scope, _reference(id), first, count)

    def delete(self, scope: Scope, id: str, *, reason: str = "") -> Receipt:
        """Remove a document with its text, passages, vectors and recorded history. The file itself is not touched."""
        return delete_document(self._parts, scope, _reference(id), actor=self._actor, reason=reason)


def _request(parts: Parts, fields: IngestFields) -> IngestRequest:
    unknown = [name for name in fields if name not in IngestFields.__annotations__]
    if unknown:
        raise InvalidInputError(f"ingest takes no {unknown[0]!r}; it takes {', '.join(IngestFields.__annotations__)}")
    level, config = fields.get("level"), fields.get("config") or chunk_config(parts.settings)
    if not isinstance(cast("object", config), ChunkConfig):
        raise InvalidInputError(f"config must be a ChunkConfig, not {type(config).__name__}")
    request = IngestRequest(
        level=None if level is None else check_choice(Level, level, "level"),
        source=fields.get("source"),
        name=fields.get("name"),
        chunking=check_choice(Chunking, fields.get("chunking", Chunking.STRUCTURE), "chunking"),
        config=config,
        secrets=check_choice(Secrets, fields.get("secrets", Secrets.REFUSE), "secrets"),
        progress=fields.get("progress"),
    )
    flags = {name: fields.get(name, False) for name in ("is_private", "is_dry_run", "is_pruning", "is_again")}
    for name, value in flags.items():
        if not isinstance(cast("object", value), bool):
            raise InvalidInputError(f"{name} must be true or false, not {value!r}")
    return replace(request, **flags)


def _path(content: object) -> str:
    if not isinstance(content, str | PathLike):
        raise InvalidInputError(f"what is ingested is a path or bytes, not {type(content).__name__}")
    path = fspath(cast("str | PathLike[str]", content))
    if not isinstance(cast("object", path), str):
        raise InvalidInputError("a path is a text; decode it with os.fsdecode")
    return path


def _reference(value: object) -> str:
    return check_line(value, "id", limit=MAX_SOURCE_CHARS)


def _whole(value: object, name: str, least: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise InvalidInputError(f"{name} must be a whole number from {least}, not {value!r}")
    return value
