"""The packed rows of the PostgreSQL search index, and their writer."""

import hashlib
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mnemic.adapters.indexes.postgres_link import SQL, Run
from mnemic.model.candidates import Change
from mnemic.model.item import Role

ENTRY = np.dtype([("slot", "<i4"), ("count", "<u2"), ("length", "<i4"), ("group", "<u2")])
"""A row of a term's postings."""
RECORD = np.dtype(
    [
        ("slot", "<i4"),
        ("length", "<i4"),
        ("importance", "<f4"),
        ("observed", "<i8"),
        ("session", "<i8"),
        ("position", "<i8"),
        ("is_assistant", "?"),
        ("is_question", "?"),
        ("is_flagged", "?"),
    ]
)
"""The fields of a row that scoring needs. `session` is 0 outside conversations."""
TERM = np.dtype([("term", "<i8"), ("count", "<u2")])
SAMPLE_SPAN = 1 << 16
"""Rows get a number below this from their ids, so a sample is the same every time."""
_BLOCK_SLOTS = 512  # as in the migration
_BATCH_ROWS = 5_000
_MOST_COUNTED = np.iinfo(np.uint16).max
_NO_PERSON = (Role.ASSISTANT, Role.TOOL)
_Group = tuple[str, bool, str]
_Held = tuple[int, int, bytes, bytes]
"""(slot, group, record, terms)."""


def hash_text(text: str) -> int:
    """A number for a term or session, never 0. The chance that two of a billion texts share one is 3 %."""
    return (
        int.from_bytes(hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), signed=True) or 1
    )


class PartitionWriter:
    """Writes rows of one partition: `key` has its `pid`, `org` and `side`."""

    def __init__(self, run: Run, key: Mapping[str, object], next_slot: int) -> None:
        self._run, self._key, self.next_slot = run, key, next_slot
        self._hash = cache(hash_text)
        groups = run(SQL["groups"], {**key}).fetchall()
        self._groups: dict[_Group, int] = {
            (agent, active, kind): number for number, agent, active, kind, _, _ in groups
        }
        self._counted: Counter[int] = Counter()
        self._lengths: Counter[int] = Counter()

    def write(self, changes: Iterable[Change]) -> None:
        """Replace the rows of these items. A row with the same words keeps its slot and postings."""
        batch = list({change.item_id: change for change in changes}.values())
        for start in range(0, len(batch), _BATCH_ROWS):
            self._write(batch[start : start + _BATCH_ROWS])
        for (agent, is_active, kind), number in self._groups.items():
            counts = {"items": self._counted[number], "total_length": self._lengths[number]}
            if any(counts.values()) or number in self._counted:
                group = {"number": number, "agent": agent, "is_active": is_active, "kind": kind}
                self._run(SQL["count_group"], {**self._key, **group, **counts})

    def _write(self, batch: Sequence[Change]) -> None:
        ids = [change.item_id for change in batch]
        held: dict[str, _Held] = {
            item_id: tuple(rest) for item_id, *rest in self._run(SQL["held_rows"], {**self._key, "ids": ids}).fetchall()
        }
        lost: list[_Held] = []
        rows: list[dict[str, object]] = []
        posted: list[tuple[NDArray[Any], int, int, int]] = []
        for change in batch:
            old = held.get(change.item_id)
            if change.is_gone:
                lost += [old] if old else []
                continue
            group, terms = self._number_group(change), self._pack_terms(change.terms)
            if old is not None and old[1] == group and old[3] == terms.tobytes():
                slot = old[0]
            else:
                lost += [old] if old else []
                slot, self.next_slot = self.next_slot, self.next_slot + 1
                length = len(change.terms.split())
                posted.append((terms, slot, length, group))
                self._counted[group] += 1
                self._lengths[group] += length
            row = _pack_row(change, slot, self._hash)
            if old is None or slot != old[0] or row["record"] != old[2] or change.expires_at is not None:
                rows.append(row | {"group_number": group, "terms": terms.tobytes()})
        self._remove(lost)
        if rows:
            self._run(SQL["put_rows"], {**self._key, **{name: [row[name] for row in rows] for name in rows[0]}})
        self._post(posted)

    def _number_group(self, change: Change) -> int:
        group = (change.private_agent or "", change.is_active, change.kind)
        return self._groups.setdefault(group, len(self._groups) + 1)

    def _pack_terms(self, terms: str) -> NDArray[Any]:
        counted = sorted(
            (self._hash(term), min(times, _MOST_COUNTED)) for term, times in Counter(terms.split()).items()
        )
        return np.array(counted, dtype=TERM)

    def _post(self, posted: Sequence[tuple[NDArray[Any], int, int, int]]) -> None:
        if not sum(len(terms) for terms, *_ in posted):
            return
        sizes = [len(terms) for terms, *_ in posted]
        terms = np.concatenate([terms for terms, *_ in posted])
        entries = np.zeros(len(terms), dtype=ENTRY)
        entries["count"] = terms["count"]
        for place, name in enumerate(("slot", "length", "group"), start=1):
            entries[name] = np.repeat(np.array([row[place] for row in posted], dtype=np.int64), sizes)
        order = np.lexsort((entries["slot"], terms["term"]))
        self._run(SQL["add_postings"], {**self._key, **_split_blocks(terms["term"][order], entries[order])})

    def _remove(self, lost: Sequence[_Held]) -> None:
        """Remove rows, and their entries from the blocks of their terms."""
        if not lost:
            return
        slots = [slot for slot, *_ in lost]
        for _, group, record, _ in lost:
            self._counted[group] -= 1
            self._lengths[group] -= int(np.frombuffer(record, dtype=RECORD)["length"][0])
        self._run(SQL["remove_rows"], {**self._key, "slots": slots})
        named = {
            (term, slot // _BLOCK_SLOTS)
            for slot, _, _, terms in lost
            for term, _ in np.frombuffer(terms, TERM).tolist()
        }
        keys = {"term": [term for term, _ in named], "block": [block for _, block in named]}
        found = self._run(SQL["held_postings"], {**self._key, **keys}).fetchall()
        left = [np.frombuffer(entries, dtype=ENTRY) for _, _, entries in found]
        cut = {
            "term": [term for term, _, _ in found],
            "block": [block for _, block, _ in found],
            "entries": [rows[~np.isin(rows["slot"], slots)].tobytes() for rows in left],
        }
        if found:
            self._run(SQL["cut_postings"], {**self._key, **cut})
            self._run(SQL["remove_empty_postings"], {**self._key, **keys})


def _split_blocks(terms: NDArray[np.int64], entries: NDArray[Any]) -> dict[str, list[Any]]:
    """Columns of postings from entries that are sorted by term and slot."""
    blocks = entries["slot"] // _BLOCK_SLOTS
    is_first = np.append(True, (terms[1:] != terms[:-1]) | (blocks[1:] != blocks[:-1]))
    starts = np.flatnonzero(is_first)
    whole, size = entries.tobytes(), ENTRY.itemsize
    ends = np.append(starts[1:], len(entries)) * size
    packed = [whole[start:end] for start, end in zip((starts * size).tolist(), ends.tolist(), strict=True)]
    return {"term": terms[starts].tolist(), "block": blocks[starts].tolist(), "entries": packed}


def _pack_row(change: Change, slot: int, hash_of: Callable[[str], int]) -> dict[str, object]:
    session = None if change.session is None else hash_of(change.session)
    record = np.array(
        [
            (
                slot,
                len(change.terms.split()),
                change.importance,
                change.observed_at,
                session or 0,
                change.position,
                session is not None and change.role in _NO_PERSON,
                session is not None and change.is_question,
                change.is_flagged,
            )
        ],
        dtype=RECORD,
    )
    return {
        "slot": slot,
        "item_id": change.item_id,
        "group_number": 0,
        "expires_at": change.expires_at,
        "observed_at": change.observed_at,
        "session": session,
        "position": change.position,
        "author": " ".join(change.author.casefold().split()),
        "sample": zlib.crc32(change.item_id.encode("utf-8", "surrogatepass")) % SAMPLE_SPAN,
        "record": record.tobytes(),
        "terms": b"",
    }
