"""The keyword index on disk, by SQLite's FTS5: for partitions whose words should not be held in memory."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import cast

import numpy as np

from mnemic.adapters.indexes.evidence import Evidence, joined, nothing
from mnemic.adapters.indexes.fts5_file import SQL, DamagedIndexError, IndexFile
from mnemic.adapters.indexes.fts5_writer import PartitionWriter, occurrences, partition_token, token
from mnemic.model.candidates import MESSAGE, Candidates, IndexQuery
from mnemic.model.change import Change
from mnemic.model.scope import Partition
from mnemic.ports.index import Index, IndexCapabilities

MAX_MATCH_TERMS = 256  # rarest first: the many terms of a whole page asked as a question add time and no candidates
Found = tuple[str, int, float, int, int, str]
"""Id, length, importance, observed_at, is_flagged, packed terms."""


class Fts5Index:
    """The `Index` port over one derived SQLite file, which several processes may use; it may be deleted at any time.

    FTS5 names the best `keyword_limit` rows by its own order; counts and statistics are exact and of the visible rows
    alone. A file that is damaged, or of another `analyser`, is made anew. One file serves one store: a store put in
    its place from elsewhere needs `apply(…, is_complete=True)` or a file of its own.
    """

    capabilities = IndexCapabilities(has_vectors=False, is_exact=False, is_durable=True)

    def __init__(
        self, path: str | Path, *, analyser: str = "", keyword_limit: int = 400, lock_wait_s: float = 10.0
    ) -> None:
        self._file = IndexFile(path, analyser=analyser, lock_wait_s=lock_wait_s)
        self._keyword_limit = keyword_limit

    def version(self, partition: Partition) -> int:
        if self._file.is_missing:
            return 0
        try:
            with self._file.transaction(is_writing=False) as connection:
                return _version(connection, partition)
        except DamagedIndexError:
            self._file.start_afresh()
            return 0

    def apply(
        self,
        partition: Partition,
        changes: Sequence[Change],
        version: int,
        *,
        since: int | None = None,
        is_complete: bool = False,
    ) -> None:
        """As the port says. The lock of the transaction is the lease: of two processes that bring the same news, the
        second changes nothing. `since`: the version these changes follow; an index that is not that far (another
        process has dropped it) takes nothing in. `is_complete`: they are all there is, so that whatever else is held
        is forgotten, even if the index was further.
        """
        try:
            with self._file.transaction(is_writing=True) as connection:
                held = _version(connection, partition)
                if not is_complete and (version <= held or (since is not None and since > held)):
                    return
                _apply(connection, partition, {change.item_id: change for change in changes}, is_complete=is_complete)
                pid = _pid(connection, partition)
                connection.execute(SQL["set_version"], {"pid": pid, "version": version})
        except DamagedIndexError:
            self._file.start_afresh()

    def search(self, query: IndexQuery) -> Candidates:
        return joined(self.evidence(query), len(query.terms))

    def evidence(self, query: IndexQuery, also: Collection[str] = ()) -> list[Evidence]:
        """What each partition of the query holds; rows of the ids `also` that the query admits are among it."""
        try:
            with self._file.transaction(is_writing=False) as connection:
                return [
                    _evidence(connection, partition, query, also, self._keyword_limit) for partition in query.partitions
                ]
        except DamagedIndexError:
            self._file.start_afresh()
            return [nothing(len(query.terms)) for _ in query.partitions]

    def drop(self, partition: Partition) -> None:
        if self._file.is_missing:
            return
        try:
            with self._file.transaction(is_writing=True) as connection:
                pid = _pid(connection, partition)
                if pid is not None:
                    _apply(connection, partition, {}, is_complete=True)
                    for statement in ("remove_frequencies", "remove_groups", "remove_partition"):
                        connection.execute(SQL[statement], {"pid": pid})
        except DamagedIndexError:
            self._file.start_afresh()

    def settle(self) -> None:
        """Makes nothing in the background."""

    def close(self) -> None:
        self._file.close()


def _key(partition: Partition) -> dict[str, str]:
    return {"org": partition.org, "level": partition.level.value, "owner": partition.owner}


def _pid(connection: sqlite3.Connection, partition: Partition) -> int | None:
    found = connection.execute(SQL["partition"], _key(partition)).fetchone()
    return None if found is None else int(found[0])


def _version(connection: sqlite3.Connection, partition: Partition) -> int:
    found = connection.execute(SQL["partition"], _key(partition)).fetchone()
    return 0 if found is None else int(found[1])


def _apply(
    connection: sqlite3.Connection,
    partition: Partition,
    changes: dict[str, Change],
    *,
    is_complete: bool,
) -> None:
    pid = _pid(connection, partition)
    if pid is None:
        pid = int(connection.execute(SQL["add_partition"], _key(partition)).fetchone()[0])
    writer = PartitionWriter(connection, pid)
    if is_complete:
        held: list[tuple[str]] = connection.execute(SQL["item_ids"], {"pid": pid}).fetchall()
        for (item_id,) in held:
            if item_id not in changes:
                writer.forget(item_id)
    for change in changes.values():
        writer.take(change)
    writer.finish()


def _evidence(
    connection: sqlite3.Connection, partition: Partition, query: IndexQuery, also: Collection[str], limit: int
) -> Evidence:
    pid, version = _pid(connection, partition), _version(connection, partition)
    if pid is None:
        return nothing(len(query.terms))
    parameters: dict[str, object] = {
        "pid": pid,
        "agent": query.agent or "",
        "now": query.now,
        "include_inactive": query.include_inactive,
        "kinds": json.dumps(sorted(query.kinds)) if query.kinds else None,
        "allowed": None if query.allowed is None else json.dumps(sorted(query.allowed)),
        "message": MESSAGE,
        "messages_until": query.messages_until,
        "terms": json.dumps(query.terms),
        "ids": json.dumps(sorted(also)),
        "limit": limit,
    }
    items, total_length, frequencies = _statistics(connection, query.terms, parameters)
    rows: list[Found] = []
    match = _match(pid, query.terms, frequencies)
    if match:
        rows = connection.execute(SQL["matching"], parameters | {"match": match}).fetchall()
    if also:
        known = {row[0] for row in rows}
        named: list[Found] = connection.execute(SQL["named"], parameters).fetchall()
        rows += [row for row in named if row[0] not in known]
    counts = [[occurrences(row[5], term) for term in query.terms] for row in rows]
    return Evidence(
        ids=np.array([row[0] for row in rows], dtype=np.object_),
        counts=np.array(counts, dtype=np.float32).reshape(len(rows), len(query.terms)),
        lengths=np.array([row[1] for row in rows], dtype=np.float32),
        cosines=np.full(len(rows), np.nan, dtype=np.float32),
        importances=np.array([row[2] for row in rows], dtype=np.float32),
        observed=np.array([row[3] for row in rows], dtype=np.int64),
        flagged=np.array([row[4] for row in rows], dtype=np.bool_),
        items=items,
        total_length=total_length,
        document_frequencies=np.array([frequencies[term] for term in query.terms], dtype=np.int64),
        population=(0, 0.0, 0.0),
        version=version,
    )


def _statistics(
    connection: sqlite3.Connection, terms: Sequence[str], parameters: dict[str, object]
) -> tuple[int, float, Counter[str]]:
    """Items, total length and document frequencies of the visible rows, those that will expire counted now."""
    items, total_length = cast("tuple[int, int]", connection.execute(SQL["totals"], parameters).fetchone())
    frequencies: Counter[str] = Counter(dict(connection.execute(SQL["frequencies"], parameters).fetchall()))
    for length, packed_terms in cast("list[tuple[int, str]]", connection.execute(SQL["expiring"], parameters)):
        items += 1
        total_length += length
        frequencies.update(term for term in terms if occurrences(packed_terms, term))
    return items, float(total_length), frequencies


def _match(pid: int, terms: Sequence[str], frequencies: Counter[str]) -> str:
    """The FTS5 query: any of the terms, within the partition; empty when no visible row has one of them."""
    known = sorted((term for term in terms if frequencies[term] > 0), key=lambda term: frequencies[term])
    words = " OR ".join(f'"{token(term)}"' for term in known[:MAX_MATCH_TERMS])
    return f'partition : "{partition_token(pid)}" AND terms : ({words})' if words else ""


_: type[Index] = Fts5Index
