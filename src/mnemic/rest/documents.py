"""Documents: files that are sent here, read in a process of their own, cut into passages and found again.

Only what is sent is read: no route takes the path of a file on the server. A name or source is a label, nothing more.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Annotated, Any

from fastapi import APIRouter, Depends, File, Path, Query, Request, UploadFile
from starlette.responses import Response

from mnemic.api import Mnemic
from mnemic.api.documents import IngestFields
from mnemic.model.document import Chunking, DocumentStatus, Secrets
from mnemic.model.scope import Level
from mnemic.rest.answers import answer
from mnemic.rest.asking import PREFIX, Reads, Writes
from mnemic.rest.events import events, wants_events
from mnemic.rest.lanes import Lanes

MAX_REFERENCE_CHARS = 4096
Reference = Annotated[
    str, Path(min_length=1, max_length=MAX_REFERENCE_CHARS, description="its id, or its source, percent-encoded")
]


@dataclass(frozen=True, slots=True)
class Ingesting:
    """How a file is taken in."""

    source: Annotated[str | None, Query(description="what it is called in the store; its name unless told")] = None
    name: Annotated[str | None, Query(description="instead of that of the file; its ending tells the type")] = None
    level: Annotated[Level | None, Query(description="user, else agent, else session unless told")] = None
    is_private: Annotated[bool | None, Query(description="for the scope's agent alone")] = None
    is_dry_run: Annotated[bool | None, Query(description="say what would be read, and change nothing")] = None
    is_again: Annotated[bool | None, Query(description="read it although it has not changed")] = None
    chunking: Annotated[Chunking | None, Query(description="how passages are cut")] = None
    secrets: Annotated[Secrets | None, Query(description="a file that holds one fails, or is kept without it")] = None

    def given(self) -> IngestFields:
        """What was said."""
        said: Any = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: value for name, value in said.items() if value is not None}  # pyright: ignore[reportReturnType] -- names of IngestFields


@dataclass(frozen=True, slots=True)
class DocumentListing:
    """The parameters of a page."""

    levels: Annotated[list[Level] | None, Query(description="may be repeated")] = None
    statuses: Annotated[list[DocumentStatus] | None, Query(description="may be repeated")] = None
    under: Annotated[str | None, Query(description="only sources that begin so")] = None
    limit: Annotated[int | None, Query(ge=1, le=1000)] = None
    after: Annotated[str | None, Query(description="`after` of the page before")] = None

    def given(self) -> dict[str, Any]:
        """What was said."""
        said = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: value for name, value in said.items() if value is not None}


def routes(mnemic: Mnemic, lanes: Lanes) -> APIRouter:
    """The routes of documents."""
    router = lanes.router(PREFIX, "documents")
    _ingesting(router, mnemic)

    @router.get("/documents", operation_id="documents.list")
    def list_documents(asked: Reads, page: Annotated[DocumentListing, Depends()]) -> Response:
        """A page of documents in the order of their sources, with the status of each; `after` continues."""
        return answer(mnemic.documents.list(asked.scope, **page.given()))

    @router.get("/documents/{id:path}", operation_id="documents.get")
    def get(asked: Reads, id: Reference) -> Response:
        """A document and its status, without its text."""
        return answer(mnemic.documents.get(asked.scope, id))

    @router.delete("/documents/{id:path}", operation_id="documents.delete")
    def delete(
        asked: Writes, id: Reference, reason: Annotated[str, Query(description="why; kept in the history")] = ""
    ) -> Response:
        """Remove a document with its text, passages, vectors and recorded history."""
        asked.caller.require_own(asked.scope, mnemic.documents.get(asked.scope, id).partition)
        return answer(mnemic.documents.delete(asked.scope, id, reason=reason))

    @router.get("/texts/{id:path}", operation_id="documents.text")
    def text(asked: Reads, id: Reference) -> Response:
        """The stored text of a document, a JSON string, which its passages and pages count in."""
        return answer(mnemic.documents.text(asked.scope, id))

    @router.get("/passages/{id:path}", operation_id="documents.passages")
    def passages(
        asked: Reads,
        id: Reference,
        first: Annotated[int, Query(ge=0, le=2**31)] = 0,
        count: Annotated[int, Query(ge=1, le=1000)] = 50,
    ) -> Response:
        """The passages of a document in their order, from the index `first` on."""
        return answer(mnemic.documents.passages(asked.scope, id, first=first, count=count))

    return router


def _ingesting(router: APIRouter, mnemic: Mnemic) -> None:
    @router.post("/documents", operation_id="ingest")
    def ingest(
        asked: Writes, request: Request, file: Annotated[UploadFile, File()], wanted: Annotated[Ingesting, Depends()]
    ) -> Response:
        """Take in a file: read it, cut it into passages, and store these to be found. One that is known and unchanged
        is left alone, one that has changed replaces what was kept of it; the report says which, and why a file failed.
        With `Accept: application/x-ndjson` progress is told line by line, and the report ends it.
        """
        given, scope = wanted.given(), asked.scope
        asked.caller.require_level(given.get("level") or scope.default_level)
        if "name" not in given and file.filename:
            given["name"] = file.filename
        content = file.file.read()
        if wants_events(request):
            return events(lambda tell: mnemic.ingest(scope, content, **{**given, "progress": _telling(tell)}))
        return answer(mnemic.ingest(scope, content, **given))


def _telling(tell: Callable[[object], None]) -> Callable[[int, int, str], None]:
    return lambda done, total, source: tell({"event": "progress", "done": done, "total": total, "source": source})
