"""What SQLite keeps in its own way: vectors as bytes, lists as JSON, truth values as numbers."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from mnemic.adapters.stores import rows
from mnemic.adapters.stores.rows import Row, dumps, loads
from mnemic.model.candidates import Terms
from mnemic.model.item import Change, Memory, State
from mnemic.ports.store import StaleTerms

_FLOAT32 = np.dtype("<f4")
_ACTIVE, _ERASED = State.ACTIVE.value, State.ERASED.value  # a member of an enum costs a look-up each time


def memory_columns(memory: Memory, terms: Terms, pid: int, changed: int) -> Mapping[str, object]:
    """The columns of a memory."""
    columns = rows.memory_columns(memory, terms, pid, changed)
    return {**columns, "categories": dumps(list(memory.categories)), "is_pinned": int(memory.is_pinned)}


def to_memory(row: Row) -> Memory:
    """The memory of a row selected by `memories.sql`."""
    return rows.to_memory(row, loads(row[12]))


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
        is_flagged,
    ) = row[:17]
    if state == _ERASED:
        return Change(item_id=item_id, is_gone=True)
    change = Change(  # by place, for speed: in the order of its fields
        item_id,
        False,
        kind,
        state == _ACTIVE,
        terms,
        None if blob is None else to_vector(blob),
        private or None,
        importance,
        observed,
        expires,
        session,
        position,
        author,
        role,
        is_question == 1,
        (),
        is_flagged == 1,
    )
    return change if made_by == analyser else StaleTerms(change, text)


def to_blob(vector: NDArray[np.float32]) -> bytes:
    """A vector as little-endian float32."""
    return np.asarray(vector, dtype="<f4").tobytes()


def to_vector(blob: bytes) -> NDArray[np.float32]:
    """The inverse of `to_blob`."""
    return np.frombuffer(blob, _FLOAT32)
