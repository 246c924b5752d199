"""From a document that was read to what is stored of it: its text without secrets, and its passages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from mnemic.engine.documents.request import IngestRequest
from mnemic.engine.indexing.indexed import indexed_text
from mnemic.engine.parts import Parts, new_id
from mnemic.engine.secrets import Redacted, redact
from mnemic.errors import InvalidInputError
from mnemic.model.document import Document
from mnemic.model.document_text import Heading, ReadDocument
from mnemic.model.ingest import Secrets
from mnemic.model.item import Chunk
from mnemic.model.terms import Terms
from mnemic.text.analyser import Analyser
from mnemic.text.boilerplate import boilerplate, trimmed
from mnemic.text.chunk_drafts import ChunkDraft, draft_chunks
from mnemic.text.chunking import Span
from mnemic.text.pages import last_page_of, page_of

CODE = "text/x-code"
MAX_ABOUT = 32
MAX_ABOUT_CHARS = 500
"""Of what a file says of itself: entries, and characters of one."""


_tokens = Analyser().token_count


@dataclass(frozen=True, slots=True)
class Prepared:
    """A document that is ready to be stored, but for its vectors. `indexed`: what is embedded of each chunk."""

    document: Document
    text: str
    chunks: tuple[tuple[Chunk, Terms], ...]
    indexed: tuple[str, ...]
    redacted: tuple[str, ...]


def prepare(parts: Parts, request: IngestRequest, document: Document, read: ReadDocument, at: datetime) -> Prepared:
    """The document with all it gets from what was read. Raises `InvalidInputError` when it holds a secret and secrets
    are refused.
    """
    clean = redact(parts, read.text)
    title, about = redact(parts, read.title), _about(parts, read.metadata)
    if clean.findings and request.secrets is Secrets.REFUSE:
        raise InvalidInputError(_refusal(clean))
    pages = tuple(clean.moved(page) for page in read.pages)
    headings = tuple(
        Heading(clean.moved(each.offset), each.level, redact(parts, each.title).text) for each in read.headings
    )
    filled = replace(
        document,
        title=title.text,
        media_type=read.media_type,
        pages=pages,
        headings=headings,
        reason="",
        metadata={"chunking": request.recipe, **({"about": about} if about else {})},
        updated_at=at,
    )
    drafts = _drafts(request, filled, clean.text)
    chunks = [_chunk(filled, draft, at) for draft in drafts]
    indexed = tuple(indexed_text(chunk) for chunk in chunks)
    rows = tuple((chunk, parts.terms(text)) for chunk, text in zip(chunks, indexed, strict=True))
    return Prepared(filled, clean.text, rows, indexed, clean.kinds)


def _drafts(request: IngestRequest, document: Document, text: str) -> list[ChunkDraft]:
    """The passages; those of nothing but running heads and feet are left out, and none ends in them. A text that would
    give no passage is one.
    """
    drafts = draft_chunks(
        text,
        request.config,
        request.chunking,
        is_code=document.media_type == CODE,
        page_starts=document.pages,
        headings=document.headings,
    )
    repeated = boilerplate(text, document.pages)
    if repeated:
        drafts = [draft for each in drafts if (draft := _without(text, each, repeated, document.pages)) is not None]
    if not drafts:
        start = len(text) - len(text.lstrip())
        drafts = [_cut(text, ChunkDraft("", 0, 0, 0, 0), start, start + len(text.strip()), document.pages)]
    return [replace(draft, index=index) for index, draft in enumerate(drafts)]


def _without(text: str, draft: ChunkDraft, repeated: Sequence[Span], pages: Sequence[int]) -> ChunkDraft | None:
    span = trimmed(text, (draft.start, draft.end), repeated)
    if span == (draft.start, draft.end):
        return draft
    return None if span is None else _cut(text, draft, *span, pages)


def _cut(text: str, draft: ChunkDraft, start: int, end: int, pages: Sequence[int]) -> ChunkDraft:
    """The same passage between other borders."""
    return replace(
        draft,
        text=text[start:end],
        start=start,
        end=end,
        token_count=_tokens(text[start:end]),
        page=page_of(pages, start),
        last_page=last_page_of(pages, start, end),
    )


def _chunk(document: Document, draft: ChunkDraft, at: datetime) -> Chunk:
    return Chunk(
        id=new_id(at),
        partition=document.partition,
        document_id=document.id,
        index=draft.index,
        start=draft.start,
        end=draft.end,
        text=draft.text,
        token_count=draft.token_count,
        title=document.title,
        source=document.source,
        created_at=at,
        observed_at=at,
        page=draft.page,
        last_page=draft.last_page,
        headings=draft.headings,
        private_agent=document.private_agent,
    )


def _about(parts: Parts, told: Mapping[str, str]) -> dict[str, str]:
    """What the file says of itself, within bounds and without secrets."""
    entries = list(told.items())[:MAX_ABOUT]
    return {key[:MAX_ABOUT_CHARS]: redact(parts, value).text[:MAX_ABOUT_CHARS] for key, value in entries}


def _refusal(clean: Redacted) -> str:
    first, *more = clean.findings
    others = f", and {len(more)} more" if more else ""
    return (
        f"it holds a secret ({first.kind}) in line {first.line}{others}; take it out, or ingest with secrets='redact' "
        "to keep the rest"
    )
