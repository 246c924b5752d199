"""Between rows and nouns: columns in, frozen dataclasses out, and back."""

from __future__ import annotations

import json
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from mnemic.adapters.stores import rows
from mnemic.adapters.stores.postgres.connections import Row
from mnemic.adapters.stores.postgres.texts import to_json
from mnemic.adapters.stores.rows import dumps
from mnemic.model.candidates import Terms
from mnemic.model.item import Change, Memory, Message, State
from mnemic.model.records import HistoryEntry, Job
from mnemic.ports.store import StaleTerms


def message_columns(message: Message, terms: Terms, pid: int, changed: int) -> Mapping[str, object]:
    """The columns of a message, its org among them."""
    return {**rows.message_columns(message, terms, pid, changed), "org": message.partition.org}


def memory_columns(memory: Memory, terms: Terms, pid: int, changed: int) -> Mapping[str, object]:
    """The columns of a memory, its org among them, and metadata and bookkeeping in the form that conditions look at."""
    columns = rows.memory_columns(memory, terms, pid, changed)
    looked_at = {"filterable": to_json(memory.metadata), "filterable_bookkeeping": to_json(memory.bookkeeping)}
    return {**columns, **looked_at, "org": memory.partition.org}


def to_memory(row: Row) -> Memory:
    """The memory of a row selected by `memories.sql`."""
    return rows.to_memory(row, row[12])


def job_columns(job: Job, pid: int) -> Mapping[str, object]:
    """The columns of a job, its org among them."""
    return {**rows.job_columns(job, pid), "org": job.partition.org}


def history_columns(entry: HistoryEntry, pid: int) -> Mapping[str, object]:
    """The columns of a history entry, its org among them."""
    return {**rows.history_columns(entry, pid), "org": entry.partition.org}


def to_change(row: Row, analyser: str) -> Change | StaleTerms:
    """The change of a row selected by `partitions.sql`; stale when its terms are another analyser's."""
    item_id, state, kind, made_by, terms, text, vector = row[:7]
    if state == State.ERASED:
        return Change(item_id=item_id, is_gone=True)
    change = Change(
        item_id=item_id,
        kind=kind,
        is_active=state == State.ACTIVE,
        terms=terms,
        vector=None if vector is None else to_vector(vector),
        private_agent=row[7] or None,
        importance=row[8],
        observed_at=row[9],
        expires_at=row[10],
        session=row[11],
        position=row[12],
        author=row[13],
        role=row[14],
        is_question=row[15],
        is_flagged=row[16],
    )
    return change if made_by == analyser else StaleTerms(change, text)


def to_literal(vector: NDArray[np.float32]) -> str:
    """A vector as pgvector's text form `[a,b,c]`, with digits enough for the same float32 to come back."""
    return dumps(np.asarray(vector, dtype=np.float32).tolist())


def to_vector(literal: str) -> NDArray[np.float32]:
    """The inverse of `to_literal`; pgvector writes the shortest digits that name a float32."""
    vector = np.array(json.loads(literal), dtype=np.float32)
    vector.flags.writeable = False
    return vector
