"""Documents in an export: one record each, with its text and the spans of its passages; and the way back.

A passage is written as its span: its text is the document's, and both come back as they were.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import datetime
from typing import Any, cast

from mnemic.engine.inputs import check_foreign_id, check_id, check_line, check_metadata
from mnemic.engine.memories.fields import to_json
from mnemic.engine.parts import Parts
from mnemic.engine.secrets import fields_without_secrets, redact, tell_redacted
from mnemic.errors import InvalidInputError
from mnemic.model.clocktime import as_utc
from mnemic.model.document import Document, DocumentQuery, DocumentStatus
from mnemic.model.document_text import Heading, ReadDocument, ReadLimits
from mnemic.model.history import HistoryEntry
from mnemic.model.item import Chunk, State, Trust
from mnemic.model.scope import Partition, Scope, Visibility
from mnemic.ports.store import UnitOfWork
from mnemic.text.pages import last_page_of

MAX_WHOLE = 2**31 - 1
_PAGE = 500
_ALL = 1 << 40
_COUNTED = ("partition", "characters", "chunks", "headings")
_SPAN = (
    "id",
    "index",
    "start",
    "end",
    "token_count",
    "page",
    "last_page",
    "headings",
    "created_at",
    "observed_at",
    "state",
    "trust",
)
_TEXTS = ("id", "source", "title", "media_type", "sha256", "reason")


@dataclass(frozen=True, slots=True)
class WholeDocument:
    """A document with its text and its passages in order."""

    document: Document
    text: str
    chunks: tuple[Chunk, ...]


def whole_documents(parts: Parts, visible: Visibility) -> Iterator[tuple[WholeDocument, list[HistoryEntry]]]:
    """Every visible document by source, each read at one moment, with its history."""
    after: tuple[str, str] | None = None
    while True:
        with parts.store.read() as work:
            page = work.documents.list(visible, DocumentQuery(limit=_PAGE, after=after))
        for listed in page:
            with parts.store.read() as work:
                found = _read(work, visible, listed.id)
            if found is not None:  # it was not erased meanwhile
                yield found
        if len(page) < _PAGE:
            return
        after = (page[-1].source, page[-1].id)


def _read(work: UnitOfWork, visible: Visibility, document_id: str) -> tuple[WholeDocument, list[HistoryEntry]] | None:
    for document in work.documents.get(visible, [document_id]):
        text = work.documents.text(visible, document.id) or ""
        chunks = tuple(work.documents.passages(visible, document.id, 0, _ALL))
        return WholeDocument(document, text, chunks), work.history.of(visible, document.id)
    return None


def document_record(whole: WholeDocument) -> dict[str, object]:
    """What is written of a document but for its place."""
    document = whole.document
    kept = {field.name: to_json(getattr(document, field.name)) for field in fields(document)}
    for name in _COUNTED:
        del kept[name]
    headings = [[heading.offset, heading.level, heading.title] for heading in document.headings]
    spans = [{name: to_json(getattr(chunk, name)) for name in _SPAN} for chunk in whole.chunks]
    return {**kept, "headings": headings, "text": whole.text, "chunks": spans}


class DocumentReader:
    """Reads records of documents for one scope, and refuses what Mnemic itself would never have written."""

    def __init__(self, parts: Parts, scope: Scope) -> None:
        self._parts, self._scope = parts, scope

    def read(self, record: Mapping[str, Any], partition: Partition) -> WholeDocument:
        """The document of a record, in this partition, without the secrets that whoever wrote it may have kept.

        Raises `InvalidInputError`, `KeyError`, `TypeError` or `ValueError` for what is not usable.
        """
        document, text = self._document(record, partition), _text(record["text"], "text")
        if len(text) > ReadLimits().max_characters:
            raise InvalidInputError(f"a document has at most {ReadLimits().max_characters:,} characters")
        ReadDocument(
            title=document.title,
            media_type=document.media_type,
            text=text,
            pages=document.pages,
            headings=document.headings,
        )
        chunks = [_chunk(span, document, text) for span in _list(record["chunks"], "chunks")]
        return self._clean(WholeDocument(document, text, tuple(sorted(chunks, key=lambda chunk: chunk.index))))

    def _document(self, record: Mapping[str, Any], partition: Partition) -> Document:
        limit = self._parts.settings.max_text_chars
        texts = {name: check_line(record[name], name, limit=limit) for name in _TEXTS}
        check_foreign_id(texts["id"])
        if record["private_agent"] is not None and self._scope.agent is None:
            raise InvalidInputError("it is private to an agent, and the scope names none")
        status = DocumentStatus(record["status"])
        if status is DocumentStatus.ERASED:
            raise InvalidInputError("what was erased does not come back")
        return Document(
            partition=partition,
            id=texts["id"],
            source=texts["source"],
            title=texts["title"],
            media_type=texts["media_type"],
            sha256=texts["sha256"],
            reason=texts["reason"],
            status=status,
            created_at=_time(record, "created_at"),
            updated_at=_time(record, "updated_at"),
            private_agent=None if record["private_agent"] is None else self._scope.agent,
            pages=tuple(_whole(page, "pages") for page in _list(record["pages"], "pages")),
            headings=tuple(_heading(each) for each in _list(record["headings"], "headings")),
            metadata=check_metadata(record["metadata"], self._parts.settings),
        )

    def _clean(self, whole: WholeDocument) -> WholeDocument:
        clean, document = redact(self._parts, whole.text), whole.document
        told, kinds = fields_without_secrets(
            self._parts, {"text": document.title, "reason": document.reason, "metadata": document.metadata}
        )
        headings = tuple(
            Heading(clean.moved(each.offset), each.level, redact(self._parts, each.title).text)
            for each in document.headings
        )
        pages = tuple(clean.moved(page) for page in document.pages)
        tell_redacted(self._parts, tuple(dict.fromkeys((*clean.kinds, *kinds))))
        document = replace(
            document,
            title=told["text"],
            reason=told["reason"],
            metadata=told["metadata"],
            headings=headings,
            pages=pages,
        )
        chunks = [
            replace(
                chunk,
                title=document.title,
                start=(start := clean.moved(chunk.start)),
                end=(end := max(start, clean.moved(chunk.end))),
                text=clean.text[start:end],
                headings=tuple(redact(self._parts, heading).text for heading in chunk.headings),
            )
            for chunk in whole.chunks
        ]
        return WholeDocument(document, clean.text, tuple(chunks))


def _chunk(span: Any, document: Document, text: str) -> Chunk:
    if not isinstance(span, Mapping):
        raise InvalidInputError("chunks must be mappings")
    values = cast("Mapping[str, Any]", span)
    index, start, end, count = (_whole(values[name], name) for name in ("index", "start", "end", "token_count"))
    page = None if values["page"] is None else _whole(values["page"], "page")
    last_page = _last_page(values, document, page)
    state = State(values["state"])
    chunk_id = check_id(values["id"], "the id of a chunk")
    if not chunk_id.strip() or state is State.ERASED or page == 0 or not 0 <= start <= end <= len(text):
        raise InvalidInputError(f"chunk {index} is outside the text, or it is erased, or it has no id or page")
    return Chunk(
        id=chunk_id,
        partition=document.partition,
        document_id=document.id,
        index=index,
        start=start,
        end=end,
        text=text[start:end],
        token_count=count,
        title=document.title,
        source=document.source,
        created_at=_time(values, "created_at"),
        observed_at=_time(values, "observed_at"),
        page=page,
        last_page=last_page,
        headings=tuple(_text(heading, "headings") for heading in _list(values["headings"], "headings")),
        private_agent=document.private_agent,
        state=state,
        trust=Trust(values["trust"]),
    )


def _last_page(span: Mapping[str, Any], document: Document, page: int | None) -> int | None:
    """Where a passage ends; exports of earlier versions do not say it, and then it follows from the document."""
    if "last_page" not in span:
        return page and max(page, last_page_of(document.pages, span["start"], span["end"]) or page)
    if span["last_page"] is None:
        return None
    last_page = _whole(span["last_page"], "last_page")
    if page is None or last_page < page:
        raise InvalidInputError(f"a passage cannot begin on page {page} and end on page {last_page}")
    return last_page


def _heading(value: Any) -> Heading:
    offset, level, title = _list(value, "headings")
    return Heading(_whole(offset, "headings"), _whole(level, "headings"), _text(title, "headings"))


def _list(value: Any, name: str) -> Sequence[Any]:
    if not isinstance(value, list):
        raise InvalidInputError(f"{name} must be a list")
    return cast("list[Any]", value)


def _text(value: Any, name: str) -> str:
    if not isinstance(value, str):
        raise InvalidInputError(f"{name} must be text")
    return value


def _whole(value: Any, name: str) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= MAX_WHOLE:
        raise InvalidInputError(f"{name} cannot be {value!r:.60}")
    return value


def _time(record: Mapping[str, Any], name: str) -> datetime:
    value = record[name]
    if not isinstance(value, str):
        raise InvalidInputError(f"{name} must be a time")
    return as_utc(datetime.fromisoformat(value), name)
