"""Between rows and nouns: columns in, frozen dataclasses out, and back."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from datetime import datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mnemic.adapters.stores.sqlite.session import partition_of
from mnemic.model.change import Change
from mnemic.model.clocktime import from_microseconds, to_microseconds
from mnemic.model.history import Action, HistoryEntry
from mnemic.model.item import Kind, Memory, Message, Provenance, Role, State, Trust
from mnemic.model.job import Job, JobState
from mnemic.ports.store import StaleTerms, Terms

Row = tuple[Any, ...]


def dumps(value: object) -> str:
    """Compact JSON."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def micros(value: datetime | None) -> int | None:
    """Microseconds of a time, None of none."""
    return None if value is None else to_microseconds(value)


def moment(value: int | None) -> datetime | None:
    """The inverse of `micros`."""
    return None if value is None else from_microseconds(value)


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
        metadata=json.loads(row[17]),
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
        "categories": dumps(list(memory.categories)),
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
        "is_pinned": int(memory.is_pinned),
        "state": memory.state.value,
        "other_id": memory.other_id,
        "trust": memory.trust.value,
        "provenance": dumps([asdict(entry) for entry in memory.provenance]),
        "metadata": dumps(dict(memory.metadata)),
        "analyser": terms.analyser,
        "terms": terms.terms,
    }


def to_memory(row: Row) -> Memory:
    """The memory of a row selected by `memories.sql`."""
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
        categories=tuple(json.loads(row[12])),
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
        provenance=tuple(Provenance(**entry) for entry in json.loads(row[28])),
        metadata=json.loads(row[29]),
    )


def to_change(row: Row, analyser: str) -> Change | StaleTerms:
    """The change of a row selected by `partitions.sql`; stale when its terms are another analyser's."""
    (
        item_id,
        state,
        kind,
        made_by,
        terms,
        text,
        blob,
        private,
        importance,
        observed,
        expires,
        session,
        position,
        author,
        role,
        is_question,
    ) = row[:16]
    if state == State.ERASED:
        return Change(item_id=item_id, is_gone=True)
    change = Change(
        item_id=item_id,
        kind=kind,
        is_active=state == State.ACTIVE,
        terms=terms,
        vector=None if blob is None else to_vector(blob),
        private_agent=private or None,
        importance=importance,
        observed_at=observed,
        expires_at=expires,
        session=session,
        position=position,
        author=author,
        role=role,
        is_question=bool(is_question),
    )
    return change if made_by == analyser else StaleTerms(change, text)


def to_blob(vector: NDArray[np.float32]) -> bytes:
    """A vector as little-endian float32."""
    return np.asarray(vector, dtype="<f4").tobytes()


def to_vector(blob: bytes) -> NDArray[np.float32]:
    """The inverse of `to_blob`."""
    return np.frombuffer(blob, dtype="<f4")


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
    }


def to_job(row: Row) -> Job:
    """The job of a row selected by `jobs.sql`."""
    return Job(
        partition=partition_of(*row[:3]),
        id=row[3],
        kind=row[4],
        key=row[5],
        payload=json.loads(row[6]),
        state=JobState(row[7]),
        attempts=row[8],
        created_at=from_microseconds(row[9]),
        run_at=from_microseconds(row[10]),
        worker=row[11],
        leased_until=moment(row[12]),
        error=row[13],
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
        before=json.loads(row[9]),
        after=json.loads(row[10]),
    )
