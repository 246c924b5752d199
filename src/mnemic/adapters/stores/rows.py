"""Between rows and nouns, as far as the SQL stores agree: columns in, frozen dataclasses out, and back.

The statements of both stores select the same columns in the same order. Vectors, lists and truth values are kept in
their own ways and stay with each store.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from functools import lru_cache
from typing import Any

from mnemic.model.candidates import Terms
from mnemic.model.chat import Usage
from mnemic.model.document import Document, DocumentStatus, Heading
from mnemic.model.item import Cause, Chunk, Conversation, Flag, Kind, Memory, Message, Provenance, Role, State, Trust
from mnemic.model.records import Action, HistoryEntry, Job, JobState
from mnemic.model.scope import Level, Partition
from mnemic.model.values import from_microseconds, to_microseconds
from mnemic.text.titles import title_key

Row = tuple[Any, ...]
_EMPTY: Mapping[str, type[dict[str, object] | list[object]]] = {"{}": dict[str, object], "[]": list[object]}


@lru_cache(maxsize=1024)
def partition_of(org: str, level: str, owner: str) -> Partition:
    """A partition from its columns."""
    return Partition(org, Level(level), owner)


def dumps(value: object) -> str:
    """Compact JSON, for a column of text."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def loads(text: str) -> Any:
    """The inverse of `dumps`; most columns hold nothing, which needs no parser."""
    make = _EMPTY.get(text)
    return json.loads(text) if make is None else make()


def micros(value: datetime | None) -> int | None:
    """Microseconds of a time, None of none."""
    return None if value is None else to_microseconds(value)


def moment(value: int | None) -> datetime | None:
    """The inverse of `micros`."""
    return None if value is None else from_microseconds(value)


def to_conversation(row: Row) -> Conversation:
    """The conversation of a row selected by `conversations.sql`."""
    return Conversation(
        partition=partition_of(*row[:3]),
        session=row[3],
        turns=row[4],
        messages=row[5],
        started_at=from_microseconds(row[6]),
        last_at=from_microseconds(row[7]),
    )


def message_columns(message: Message, terms: Terms, pid: int, changed: int) -> Mapping[str, object]:
    """The columns of a message."""
    return {
        "pid": pid,
        "id": message.id,
        "changed": changed,
        "session": message.session,
        "turn_id": message.turn_id,
        "turn": message.turn,
        "position": message.position,
        "role": message.role.value,
        "name": message.name,
        "text": message.text,
        "observed_at": to_microseconds(message.observed_at),
        "created_at": to_microseconds(message.created_at),
        "agent": message.agent,
        "external_id": message.external_id,
        "trust": message.trust.value,
        "state": message.state.value,
        "metadata": dumps(dict(message.metadata)),
        "bookkeeping": dumps(dict(message.bookkeeping)),
        "analyser": terms.analyser,
        "terms": terms.terms,
    }


def to_message(row: Row) -> Message:
    """The message of a row selected by `messages.sql`."""
    return Message(
        partition=partition_of(*row[:3]),
        id=row[3],
        session=row[4],
        turn_id=row[5],
        turn=row[6],
        position=row[7],
        role=Role(row[8]),
        name=row[9],
        text=row[10],
        observed_at=from_microseconds(row[11]),
        created_at=from_microseconds(row[12]),
        agent=row[13],
        external_id=row[14],
        trust=Trust(row[15]),
        state=State(row[16]),
        metadata=loads(row[17]),
        bookkeeping=loads(row[18]),
    )


def memory_columns(memory: Memory, terms: Terms, pid: int, changed: int) -> Mapping[str, object]:
    """The columns of a memory."""
    return {
        "pid": pid,
        "id": memory.id,
        "changed": changed,
        "private_agent": memory.private_agent or "",
        "dedup_key": memory.dedup_key,
        "text": memory.text,
        "kind": memory.kind.value,
        "importance": memory.importance,
        "confidence": memory.confidence,
        "categories": list(memory.categories),
        "context": memory.context,
        "snippet": memory.snippet,
        "source": memory.source,
        "agent": memory.agent,
        "observed_at": to_microseconds(memory.observed_at),
        "created_at": to_microseconds(memory.created_at),
        "updated_at": to_microseconds(memory.updated_at),
        "valid_from": micros(memory.valid_from),
        "valid_to": micros(memory.valid_to),
        "retired_at": micros(memory.retired_at),
        "expires_at": micros(memory.expires_at),
        "last_accessed_at": micros(memory.last_accessed_at),
        "access_count": memory.access_count,
        "is_pinned": memory.is_pinned,
        "state": memory.state.value,
        "other_id": memory.other_id,
        "trust": memory.trust.value,
        "provenance": dumps([asdict(entry) for entry in memory.provenance]),
        "metadata": dumps(dict(memory.metadata)),
        "bookkeeping": dumps(dict(memory.bookkeeping)),
        "faded": memory.faded,
        "flags": dumps([_flag_columns(flag) for flag in memory.flags]),
        "analyser": terms.analyser,
        "terms": terms.terms,
    }


def to_memory(row: Row, categories: Sequence[str]) -> Memory:
    """The memory of a row selected by `memories.sql`; how its list of categories is kept is the store's affair."""
    return Memory(
        partition=partition_of(*row[:3]),
        id=row[3],
        text=row[4],
        kind=Kind(row[5]),
        dedup_key=row[6],
        created_at=from_microseconds(row[7]),
        updated_at=from_microseconds(row[8]),
        observed_at=from_microseconds(row[9]),
        importance=row[10],
        confidence=row[11],
        categories=tuple(categories),
        context=row[13],
        snippet=row[14],
        source=row[15],
        agent=row[16],
        private_agent=row[17] or None,
        valid_from=moment(row[18]),
        valid_to=moment(row[19]),
        retired_at=moment(row[20]),
        expires_at=moment(row[21]),
        last_accessed_at=moment(row[22]),
        access_count=row[23],
        is_pinned=bool(row[24]),
        state=State(row[25]),
        other_id=row[26],
        trust=Trust(row[27]),
        provenance=tuple(Provenance(**entry) for entry in loads(row[28])),
        metadata=loads(row[29]),
        faded=row[30],
        flags=tuple(_to_flag(entry) for entry in loads(row[31])),
        bookkeeping=loads(row[32]),
    )


def _flag_columns(flag: Flag) -> Mapping[str, object]:
    return {
        "source_id": flag.source_id,
        "cause": flag.cause.value,
        "at": to_microseconds(flag.at),
        "entry_id": flag.entry_id,
    }


def _to_flag(entry: Mapping[str, Any]) -> Flag:
    return Flag(entry["source_id"], Cause(entry["cause"]), from_microseconds(entry["at"]), entry["entry_id"])


def document_columns(document: Document, pid: int) -> Mapping[str, object]:
    """The columns of a document but for what counts its text and chunks."""
    return {
        "pid": pid,
        "org": document.partition.org,
        "id": document.id,
        "private_agent": document.private_agent or "",
        "source": document.source,
        "title": document.title,
        "title_key": title_key(document.title),
        "media_type": document.media_type,
        "status": document.status.value,
        "reason": document.reason,
        "sha256": document.sha256,
        "created_at": to_microseconds(document.created_at),
        "updated_at": to_microseconds(document.updated_at),
        "pages": dumps(document.pages),
        "headings": dumps([(heading.offset, heading.level, heading.title) for heading in document.headings]),
        "metadata": dumps(dict(document.metadata)),
        "bookkeeping": dumps(dict(document.bookkeeping)),
    }


def to_document(row: Row) -> Document:
    """The document of a row selected by `documents.sql`."""
    return Document(
        partition=partition_of(*row[:3]),
        id=row[3],
        private_agent=row[4] or None,
        source=row[5],
        title=row[6],
        media_type=row[7],
        status=DocumentStatus(row[8]),
        reason=row[9],
        sha256=row[10],
        created_at=from_microseconds(row[11]),
        updated_at=from_microseconds(row[12]),
        pages=tuple(loads(row[13])),
        headings=tuple(Heading(*heading) for heading in loads(row[14])),
        characters=row[15],
        chunks=row[16],
        metadata=loads(row[17]),
        bookkeeping=loads(row[18]),
    )


def chunk_columns(chunk: Chunk, terms: Terms, pid: int, changed: int) -> Mapping[str, object]:
    """The columns of a chunk; its title, source and agent are those of its document."""
    return {
        "pid": pid,
        "org": chunk.partition.org,
        "id": chunk.id,
        "changed": changed,
        "document_id": chunk.document_id,
        "chunk_index": chunk.index,
        "page_number": chunk.page,
        "last_page_number": chunk.last_page,
        "span_start": chunk.start,
        "span_end": chunk.end,
        "token_count": chunk.token_count,
        "headings": dumps(chunk.headings),
        "text": chunk.text,
        "trust": chunk.trust.value,
        "state": chunk.state.value,
        "created_at": to_microseconds(chunk.created_at),
        "observed_at": to_microseconds(chunk.observed_at),
        "analyser": terms.analyser,
        "terms": terms.terms,
    }


def to_chunk(row: Row) -> Chunk:
    """The chunk of a row selected by `documents.sql`."""
    return Chunk(
        partition=partition_of(*row[:3]),
        id=row[3],
        document_id=row[4],
        index=row[5],
        start=row[6],
        end=row[7],
        text=row[8],
        token_count=row[9],
        title=row[10],
        source=row[11],
        created_at=from_microseconds(row[12]),
        observed_at=from_microseconds(row[13]),
        page=row[14],
        headings=tuple(loads(row[15])),
        private_agent=row[16] or None,
        state=State(row[17]),
        trust=Trust(row[18]),
        last_page=row[19],
    )


def job_columns(job: Job, pid: int) -> Mapping[str, object]:
    """The columns of a job."""
    return {
        "pid": pid,
        "id": job.id,
        "kind": job.kind,
        "key": job.key,
        "payload": dumps(dict(job.payload)),
        "state": job.state.value,
        "attempts": job.attempts,
        "created_at": to_microseconds(job.created_at),
        "run_at": to_microseconds(job.run_at),
        "worker": job.worker,
        "leased_until": micros(job.leased_until),
        "error": job.error,
        "usage": dumps(asdict(job.usage)),
    }


def to_job(row: Row) -> Job:
    """The job of a row selected by `jobs.sql`."""
    return Job(
        partition=partition_of(*row[:3]),
        id=row[3],
        kind=row[4],
        key=row[5],
        payload=loads(row[6]),
        state=JobState(row[7]),
        attempts=row[8],
        created_at=from_microseconds(row[9]),
        run_at=from_microseconds(row[10]),
        worker=row[11],
        leased_until=moment(row[12]),
        error=row[13],
        usage=Usage(**loads(row[14])),
    )


def to_history_entry(row: Row) -> HistoryEntry:
    """The entry of a row selected by `history.sql`."""
    return HistoryEntry(
        partition=partition_of(*row[:3]),
        id=row[3],
        item_id=row[4],
        action=Action(row[5]),
        actor=row[6],
        reason=row[7],
        at=from_microseconds(row[8]),
        before=loads(row[9]),
        after=loads(row[10]),
    )


def history_columns(entry: HistoryEntry, pid: int) -> Mapping[str, object]:
    """The columns of a history entry."""
    return {
        "pid": pid,
        "id": entry.id,
        "item_id": entry.item_id,
        "action": entry.action.value,
        "actor": entry.actor,
        "reason": entry.reason,
        "at": to_microseconds(entry.at),
        "before": dumps(dict(entry.before)),
        "after": dumps(dict(entry.after)),
    }
