"""Exports everything that a scope owns as JSON lines, and reads and checks such records for `imports`.

After the header: the profile, messages by id, cursors (so that no summary is made twice), memories oldest first, and
documents by source with text and passages as spans. Memories and documents include their history. The graph is read
again from them, so only its corrections are included. Vectors and erased rows are left out.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import datetime
from types import UnionType
from typing import Any, TypeVar, Union, cast, get_args, get_origin

from mnemic.engine import inputs
from mnemic.engine.dependants import MAX_FLAGS
from mnemic.engine.engine import PAGE_ROWS, Engine
from mnemic.engine.fields import derived_key, from_json, held_key, to_json
from mnemic.engine.profile import check_profile_fact, get_profile, profile_partition
from mnemic.engine.secrets import fact_without_secrets, fields_without_secrets, redact, tell_redacted, without_secrets
from mnemic.errors import InvalidInputError, MnemicError
from mnemic.model.bookkeeping import check_bookkeeping, key_in
from mnemic.model.columns import field_types
from mnemic.model.document import Document, DocumentQuery, DocumentStatus, Heading, ReadDocument, ReadLimits
from mnemic.model.graph import GRAPH_ITEM
from mnemic.model.item import CURSORS, Chunk, Flag, Memory, Message, ProfileEntry, Provenance, State, Trust
from mnemic.model.recall import MemoryQuery, Order
from mnemic.model.records import Action, HistoryEntry
from mnemic.model.scope import Level, Partition, Scope, Visibility, as_utc, check_unicode
from mnemic.ports.store import UnitOfWork
from mnemic.text.former_metadata import FormerMemory, part_document, part_entry, part_memory
from mnemic.text.outline import last_page_of

NO_LIMIT = 1 << 40  # more rows than a store can hold
_COUNTED = ("partition", "characters", "chunks", "headings")
_SPAN = (
    *("id", "index", "start", "end", "token_count", "page", "last_page"),
    *("headings", "created_at", "observed_at", "state", "trust"),
)
_RowT = TypeVar("_RowT")
_TEXTS = ("id", "source", "title", "media_type", "sha256", "reason")


@dataclass(frozen=True, slots=True)
class WholeDocument:
    """A document with its text, and its passages in order."""

    document: Document
    text: str
    chunks: tuple[Chunk, ...]


def whole_documents(engine: Engine, visible: Visibility) -> Iterator[tuple[WholeDocument, list[HistoryEntry]]]:
    """Every visible document by source with its history, each read at one moment."""

    def read_page(work: UnitOfWork, last: Document | None) -> list[Document]:
        after = None if last is None else (last.source, last.id)
        return work.documents.list(visible, DocumentQuery(limit=PAGE_ROWS, after=after))

    for listed in read_pages(engine, read_page):
        with engine.store.read() as work:
            found = _read(work, visible, listed.id)
        if found is not None:  # it was not erased meanwhile
            yield found


def read_pages(engine: Engine, read: Callable[[UnitOfWork, _RowT | None], Sequence[_RowT]]) -> Iterator[_RowT]:
    """Every row, page by page; `read` returns the page after a row. No unit of work stays open between pages."""
    last: _RowT | None = None
    while True:
        with engine.store.read() as work:
            page = read(work, last)
        yield from page
        if len(page) < PAGE_ROWS:
            return
        last = page[-1]


def _read(work: UnitOfWork, visible: Visibility, document_id: str) -> tuple[WholeDocument, list[HistoryEntry]] | None:
    for document in work.documents.get(visible, [document_id]):
        text = work.documents.text(visible, document.id) or ""
        chunks = tuple(work.documents.passages(visible, document.id, 0, NO_LIMIT))
        return WholeDocument(document, text, chunks), work.history.of(visible, document.id)
    return None


def document_record(whole: WholeDocument) -> dict[str, object]:
    """A document's record without its place."""
    document = whole.document
    kept = {field.name: to_json(getattr(document, field.name)) for field in fields(document)}
    for name in _COUNTED:
        del kept[name]
    headings = [[heading.offset, heading.level, heading.title] for heading in document.headings]
    spans = [{name: to_json(getattr(chunk, name)) for name in _SPAN} for chunk in whole.chunks]
    return {**kept, "headings": headings, "text": whole.text, "chunks": spans}


class DocumentReader:
    """Reads documents' records for one scope, and refuses what Mnemic would never have written."""

    def __init__(self, engine: Engine, scope: Scope) -> None:
        self._engine, self._scope = engine, scope

    def read(self, record: Mapping[str, Any], partition: Partition) -> WholeDocument:
        """A record's redacted document. Raises `InvalidInputError`, `KeyError`, `TypeError` or `ValueError`."""
        document, text = self._document(record, partition), _text(record["text"], "text")
        if len(text) > ReadLimits().max_characters:
            raise InvalidInputError(f"a document can have at most {ReadLimits().max_characters:,} characters")
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
        limit = self._engine.settings.max_text_chars
        texts = {name: inputs.check_line(record[name], name, limit=limit) for name in _TEXTS}
        inputs.check_foreign_id(texts["id"])
        if record["private_agent"] is not None and self._scope.agent is None:
            raise InvalidInputError("the item is private to an agent, but the scope has no agent")
        status = DocumentStatus(record["status"])
        metadata, bookkeeping = record["metadata"], record.get("bookkeeping")
        if bookkeeping is None and isinstance(metadata, dict):  # an earlier export has both in one
            metadata, bookkeeping = part_document(cast("dict[str, object]", metadata))
        if status is DocumentStatus.ERASED:
            raise InvalidInputError("erased data cannot be imported")
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
            metadata=inputs.check_metadata(metadata, self._engine.settings),
            bookkeeping=check_bookkeeping(inputs.check_metadata(bookkeeping, self._engine.settings)),
        )

    def _clean(self, whole: WholeDocument) -> WholeDocument:
        clean, document = redact(self._engine, whole.text), whole.document
        told, kinds = fields_without_secrets(
            self._engine,
            {
                "text": document.title,
                "reason": document.reason,
                "metadata": document.metadata,
                "bookkeeping": document.bookkeeping,
            },
        )
        headings = tuple(
            Heading(clean.moved(each.offset), each.level, redact(self._engine, each.title).text)
            for each in document.headings
        )
        pages = tuple(clean.moved(page) for page in document.pages)
        tell_redacted(self._engine, tuple(dict.fromkeys((*clean.kinds, *kinds))))
        document = replace(
            document,
            title=told["text"],
            reason=told["reason"],
            metadata=told["metadata"],
            bookkeeping=told["bookkeeping"],
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
                headings=tuple(redact(self._engine, heading).text for heading in chunk.headings),
            )
            for chunk in whole.chunks
        ]
        return WholeDocument(document, clean.text, tuple(chunks))


def _chunk(span: Any, document: Document, text: str) -> Chunk:
    if not isinstance(span, Mapping):
        raise InvalidInputError("each chunk must be a mapping")
    values = cast("Mapping[str, Any]", span)
    index, start, end, count = (_whole(values[name], name) for name in ("index", "start", "end", "token_count"))
    page = None if values["page"] is None else _whole(values["page"], "page")
    last_page = _last_page(values, document, page)
    state = State(values["state"])
    chunk_id = inputs.check_id(values["id"], "the id of a chunk")
    if not chunk_id.strip() or state is State.ERASED or page == 0 or not 0 <= start <= end <= len(text):
        raise InvalidInputError(f"chunk {index} is outside the text, is erased, or has no id or page")
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
        metadata=document.metadata,
        state=state,
        trust=Trust.lowest(Trust(values["trust"]), Trust.DOCUMENT),
    )


def _last_page(span: Mapping[str, Any], document: Document, page: int | None) -> int | None:
    """Last page of a passage. Computed from the document for exports of earlier versions, which lack it."""
    if "last_page" not in span:
        return page and max(page, last_page_of(document.pages, span["start"], span["end"]) or page)
    if span["last_page"] is None:
        return None
    last_page = _whole(span["last_page"], "last_page")
    if page is None or last_page < page:
        raise InvalidInputError(f"a passage cannot start on page {page} and end on page {last_page}")
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
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= inputs.MAX_WHOLE:
        raise InvalidInputError(f"{name} cannot be {value!r:.60}")
    return value


def _time(record: Mapping[str, Any], name: str) -> datetime:
    value = record[name]
    if not isinstance(value, str):
        raise InvalidInputError(f"{name} must be a time")
    return as_utc(datetime.fromisoformat(value), name)


FORMAT = "mnemic-export"
VERSION = 1  # raise it if an older Mnemic must not read the file
OWN_LEVELS = (Level.SESSION, Level.USER, Level.AGENT)
_LONG_AGO = datetime.fromisoformat("0001-01-01T00:00:00+00:00")


EXPORT_FORMATS = (FORMAT, "mcp-memory")


def export(engine: Engine, scope: Scope, levels: tuple[Level, ...] = OWN_LEVELS) -> Iterator[str]:
    """Yield an export's lines without line feeds. Levels that the scope does not name are skipped; shared rows of the
    org need ORG in `levels`. Raises `DamagedError` if rows of the store are lost.
    """
    engine.store.check()
    visible = scope.visibility.at(*levels) if levels else scope.visibility

    def read_memories(
        work: UnitOfWork, last: tuple[Memory, list[HistoryEntry]] | None
    ) -> list[tuple[Memory, list[HistoryEntry]]]:
        after = None if last is None else last[0].id
        query = MemoryQuery(now=_LONG_AGO, states=(), order=Order.OLDEST, limit=PAGE_ROWS, after=after)
        return [(m, work.history.of(visible, m.id)) for m in work.memories.list(visible, query)]

    header = {"format": FORMAT, "version": VERSION, "exported_at": to_json(engine.clock.now())}
    yield _line("header", header)
    for entry in get_profile(engine, scope):
        if levels and entry.partition.level not in levels:
            break
        yield _line("profile", {**_place(entry.partition), **_values(entry)})
    talks: dict[tuple[Partition, str], None] = {}
    for message in read_pages(engine, lambda work, last: work.messages.page(visible, last and last.id, PAGE_ROWS)):
        talks[message.partition, message.session] = None
        yield _line("message", {**_place(message.partition), **_values(message)})
    for (partition, session), cursors in _cursors(engine, talks):
        yield _line("conversation", {**_place(partition), "session": session, "cursors": cursors})
    for memory, history in read_pages(engine, read_memories):
        yield _line("memory", {**_place(memory.partition), **_values(memory)})
        for entry in history:
            yield _line("history", {**_place(entry.partition), **_values(entry)})
    for whole, history in whole_documents(engine, visible):
        yield _line("document", {**_place(whole.document.partition), **document_record(whole)})
        for entry in history:
            yield _line("history", {**_place(entry.partition), **_values(entry)})
    yield from _corrections(engine, visible)


def _corrections(engine: Engine, visible: Visibility) -> list[str]:
    """The lines of the graph's corrections."""
    with engine.store.read() as work:
        entries = work.history.of(visible, GRAPH_ITEM)
    return [_line("history", {**_place(entry.partition), **_values(entry)}) for entry in entries]


def _cursors(
    engine: Engine, talks: Iterable[tuple[Partition, str]]
) -> Iterator[tuple[tuple[Partition, str], dict[str, int]]]:
    """The moved cursors of each conversation."""
    with engine.store.read() as work:
        found = [(talk, {name: work.conversations.cursor(*talk, name) for name in CURSORS}) for talk in talks]
    for talk, cursors in found:
        if any(cursors.values()):
            yield talk, cursors


def _place(partition: Partition) -> dict[str, object]:
    """The level, and the session of a session-level row, since its owner may include its user."""
    session = partition.owner.split("\x1f")[-1] if partition.level is Level.SESSION else None
    return {"level": partition.level.value, "level_session": session}


def _values(noun: Message | Memory | HistoryEntry | ProfileEntry) -> dict[str, Any]:
    return {field.name: to_json(getattr(noun, field.name)) for field in fields(noun) if field.name != "partition"}


def _line(type_: str, record: Mapping[str, object]) -> str:
    return json.dumps({"type": type_, **record}, ensure_ascii=False, separators=(",", ":"))


Record = Mapping[str, Any]
Noun = ProfileEntry | Message | Memory | HistoryEntry
_NOUNS: Mapping[str, type[Noun]] = {
    "profile": ProfileEntry,
    "message": Message,
    "memory": Memory,
    "history": HistoryEntry,
}


@dataclass(frozen=True, slots=True)
class Cursors:
    """A conversation's cursors: how far each step has read, by name."""

    partition: Partition
    session: str
    positions: Mapping[str, int]


class RecordReader:
    """Reads records for one scope. Their rows become the scope's user's, agent's and org's."""

    def __init__(self, engine: Engine, scope: Scope) -> None:
        self._engine, self._scope = engine, scope
        self._former: dict[str, FormerMemory] = {}
        self._merged: set[str] = set()

    def noun(self, record: Record) -> Noun:
        """The noun of a record. Raises `InvalidInputError` with the reason if it is unusable."""
        kind = _NOUNS.get(record["type"])
        if kind is None:
            raise InvalidInputError(f"invalid record: unknown type {record['type']!r:.40}")
        try:
            check_unicode(json.dumps(record, ensure_ascii=False), "it")
            known = self._brought_up_to_date(record)
            values = {name: _value(kind, name, known[name]) for name in field_types(kind) if name != "partition"}
            noun = kind(partition=self._partition(record, kind), **values)
            _check_types(noun)
            return self._check_noun(self._clean(noun))
        except KeyError as error:
            raise InvalidInputError(f"invalid record: {error.args[0]} is missing") from error
        except (TypeError, ValueError, AttributeError, RecursionError, MnemicError) as error:
            raise InvalidInputError(f"invalid record: {error}") from error

    def note_merges(self, records: Iterable[Record]) -> None:
        """Collect merges from the records' history before the records are read."""
        merges = [r for r in records if r.get("type") == "history" and r.get("action") == Action.MERGED.value]
        told = [r for r in merges if "merged_ids" in repr(r.get("after")) or not r.get("after")]
        self._merged = {str(each.get("item_id")) for each in told}

    def _brought_up_to_date(self, record: Record) -> Record:
        """A record in the current form. Exports of earlier versions have no flags, and bookkeeping in the metadata."""
        metadata = record.get("metadata")
        if record["type"] == "memory" and "bookkeeping" not in record and isinstance(metadata, dict):
            former = FormerMemory(
                kind=str(record["kind"]),
                level=str(record["level"]),
                text=str(record["text"]),
                trust=str(record["trust"]),
                is_derived=bool(record["provenance"]),
                was_merged=record["id"] in self._merged,
            )
            self._former[str(record["id"])] = former
            theirs, own = part_memory(former, cast("Record", metadata))
            record = {**record, "metadata": theirs, "bookkeeping": own}
        if record["type"] == "history" and record.get("item_id") in self._former:
            sides = part_entry(self._former[record["item_id"]], record["before"], record["after"])
            record = record if sides is None else {**record, "before": sides[0], "after": sides[1]}
        return {"flags": [], "bookkeeping": {}, **record}

    def document(self, record: Record) -> WholeDocument:
        """The document of a record. Raises `InvalidInputError` with the reason if it is unusable."""
        try:
            check_unicode(json.dumps(record, ensure_ascii=False), "it")
            return DocumentReader(self._engine, self._scope).read(record, self._partition(record, Memory))
        except KeyError as error:
            raise InvalidInputError(f"invalid record: {error.args[0]} is missing") from error
        except (TypeError, ValueError, AttributeError, RecursionError, MnemicError) as error:
            raise InvalidInputError(f"invalid record: {error}") from error

    def _clean(self, noun: Noun) -> Noun:
        """The noun without secrets: other programs' exports may hold some."""
        if isinstance(noun, ProfileEntry):
            return fact_without_secrets(self._engine, noun)
        clean, kinds = without_secrets(self._engine, noun)
        tell_redacted(self._engine, kinds)
        return clean

    def cursors(self, record: Record) -> Cursors:
        """The cursors of a conversation's record. Raises `InvalidInputError` with the reason if they are unusable."""
        session, positions = record.get("session"), record.get("cursors")
        if not isinstance(session, str) or not isinstance(positions, Mapping):
            raise InvalidInputError("invalid record: a conversation requires a session and cursors")
        known = {name: position for name, position in cast("Record", positions).items() if name in CURSORS}
        if not all(_fits(position, int) for position in known.values()):
            raise InvalidInputError(f"invalid record: cursors cannot be {known!r:.60}")
        try:
            return Cursors(self._partition(record, Message), Scope(session=session).session or "", known)
        except (KeyError, TypeError, ValueError, MnemicError) as error:
            raise InvalidInputError(f"invalid record: {error}") from error

    def _partition(self, record: Record, kind: type[Noun]) -> Partition:
        if kind is ProfileEntry:
            return profile_partition(self._scope)
        level = Level(record["level"])
        if kind is Message and level not in (Level.USER, Level.SESSION):
            raise InvalidInputError(f"a message cannot have the {level.value} level")
        session = record["session"] if kind is Message else record.get("level_session")
        scope = self._scope if level is not Level.SESSION else replace(self._scope, session=session)
        return scope.partition(level)

    def _check_noun(self, noun: Noun) -> Noun:
        if isinstance(noun, ProfileEntry):
            check_profile_fact(self._engine, noun.key, noun.value)
            inputs.check_line(noun.source, "source")
            return noun
        inputs.check_foreign_id(noun.id)
        if isinstance(noun, HistoryEntry):
            inputs.check_line(noun.actor, "actor")
            return noun
        inputs.check_text(noun.text, "text", self._engine.settings)
        if noun.state is State.ERASED:
            raise InvalidInputError("erased data cannot be imported")
        metadata, notes = (
            inputs.check_metadata(each, self._engine.settings) for each in (noun.metadata, noun.bookkeeping)
        )
        noun = replace(noun, metadata=metadata, bookkeeping=check_bookkeeping(notes))
        return self._checked_message(noun) if isinstance(noun, Message) else self._checked_memory(noun)

    def _checked_message(self, message: Message) -> Message:
        Scope(org=self._scope.org, session=message.session)
        for name in ("turn_id", "name", "agent", "external_id"):
            inputs.check_line(getattr(message, name) or "", name)
        if message.position < 1 or message.turn < 1:
            raise InvalidInputError("position and turn must be at least 1")
        return replace(message, trust=Trust.lowest(message.trust, message.role.trust))

    def _checked_memory(self, memory: Memory) -> Memory:
        for name in ("context", "snippet", "source"):
            inputs.check_line(getattr(memory, name), name, limit=self._engine.settings.max_text_chars)
        for name in ("agent", "other_id"):
            inputs.check_line(getattr(memory, name) or "", name)
        for entry in memory.provenance:
            inputs.check_fraction(entry.support, "support")
        _check_flags(memory)
        if memory.valid_from and memory.valid_to and memory.valid_to <= memory.valid_from:
            raise InvalidInputError("valid_to must be later than valid_from")
        if memory.private_agent is not None and self._scope.agent is None:
            raise InvalidInputError("the item is private to an agent, but the scope has no agent")
        return replace(
            memory,
            importance=inputs.check_fraction(memory.importance, "importance"),
            confidence=inputs.check_fraction(memory.confidence, "confidence"),
            faded=None if memory.faded is None else inputs.check_fraction(memory.faded, "faded"),
            categories=inputs.check_categories(memory.categories),
            dedup_key=_own_key(memory),
            private_agent=None if memory.private_agent is None else self._scope.agent,
        )


def _own_key(memory: Memory) -> str:
    """The exported dedup key, if it matches the text. A file cannot claim another text's key."""
    usual = held_key(memory.text, memory.kind, memory.valid_from, key_in(memory.bookkeeping))
    derived = (derived_key(memory.kind, text) for text in (memory.text, f"{memory.text} {memory.id}"))
    return memory.dedup_key if memory.dedup_key in derived else usual


def _value(kind: type[Noun], name: str, value: Any) -> Any:
    if get_origin(field_types(kind)[name]) is tuple:
        _check_list(name, value)
    found: object = from_json(kind, name, value)
    return as_utc(found, name) if isinstance(found, datetime) else found


def _check_list(name: str, value: object) -> None:
    if not isinstance(value, list):
        raise InvalidInputError(f"{name} must be a list")


def _check_flags(memory: Memory) -> None:
    if len(memory.flags) > MAX_FLAGS:
        raise InvalidInputError(f"a memory can have at most {MAX_FLAGS} flags")
    for name in {name for flag in memory.flags for name in (flag.source_id, flag.entry_id)}:
        if "\0" in inputs.check_id(name):
            raise InvalidInputError(f"a flag cannot refer to the invalid id {name!r:.40}")


def _check_types(noun: object) -> None:
    for name, hint in field_types(type(noun)).items():
        value = getattr(noun, name)
        if not _fits(value, hint):
            raise InvalidInputError(f"{name} cannot be {value!r:.60}")


def _fits(value: Any, hint: Any) -> bool:
    """True if a value has the field's declared type. Integers are from 0 to `inputs.MAX_WHOLE`."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        return any(_fits(value, choice) for choice in arguments)
    if origin is tuple:
        return isinstance(value, tuple) and all(_fits(v, arguments[0]) for v in cast("tuple[object, ...]", value))
    if hint in (int, float):
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        return is_number and (hint is float or (isinstance(value, int) and 0 <= value <= inputs.MAX_WHOLE))
    if hint in (Provenance, Flag) and isinstance(value, Provenance | Flag):
        _check_types(value)
        return True
    return isinstance(value, origin or hint)
