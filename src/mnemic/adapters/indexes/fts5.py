"""The keyword index on disk, in SQLite's FTS5, for partitions too large for memory."""

import json
import os
import re
import sqlite3
import threading
from collections import Counter
from collections.abc import Collection, Generator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import cast

import numpy as np

from mnemic.adapters.indexes.views import Evidence, joined, nothing
from mnemic.adapters.sql_files import execute_when_unlocked, named_statements
from mnemic.errors import BackendError, ConfigError, UnavailableError
from mnemic.model.candidates import MESSAGE, Candidates, Change, IndexQuery
from mnemic.model.scope import Partition
from mnemic.ports.index import Index, IndexCapabilities

SQL = named_statements("mnemic.adapters.indexes", "fts5.sql")
APPLICATION_ID = 0x4D4E4932  # "MNI2"; another layout gets another number, and the file is rebuilt
_DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
_PASSING = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR)


class DamagedIndexError(Exception):
    """The file is unreadable, or of another analyser or layout. `IndexFile.start_afresh` fixes it."""


class IndexFile:
    """A derived SQLite file at `path`, created if missing, for terms of one `analyser`. Raises `ConfigError` for
    another program's database, `UnavailableError` if it is locked for `lock_wait_s` or the disk fails.
    """

    def __init__(self, path: str | Path, *, analyser: str, lock_wait_s: float) -> None:
        self.path = Path(path)
        self._analyser = analyser
        self._lock_wait_s = lock_wait_s
        self._guard = threading.Lock()
        self._idle: list[sqlite3.Connection] = []
        self._generation = 0

    @property
    def is_missing(self) -> bool:
        """True before the first transaction, and after the file was removed."""
        return not self.path.exists()

    @contextmanager
    def transaction(self, *, is_writing: bool) -> Generator[sqlite3.Connection]:
        """A transaction, rolled back if its block raises. Raises `DamagedIndexError`."""
        if self.is_missing:
            self.close()  # connections that hold a removed file should close it too
        with self._guard:
            generation = self._generation
            connection = self._idle.pop() if self._idle else None
        with _translate_errors(self.path):
            connection = connection or self._connect()
            try:
                connection.execute(SQL["begin_write" if is_writing else "begin_read"])
                yield connection
                connection.execute(SQL["commit"])
            finally:
                with suppress(sqlite3.Error):  # the first error is the one to raise
                    connection.rollback()
                self._give_back(connection, generation)

    def start_afresh(self) -> None:
        """Remove the file. The next transaction creates an empty one. Readers of the old one can finish."""
        self.close()
        for suffix in ("", "-wal", "-shm"):
            try:
                self.path.with_name(self.path.name + suffix).unlink(missing_ok=True)
            except OSError as error:
                raise UnavailableError(f"the damaged index {self.path} cannot be removed: {error}") from error

    def close(self) -> None:
        """Close all connections. They are reopened when needed."""
        with self._guard:
            self._generation += 1
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    def _give_back(self, connection: sqlite3.Connection, generation: int) -> None:
        with self._guard:
            if generation == self._generation and not connection.in_transaction:
                self._idle.append(connection)
                return
        connection.close()

    def _connect(self) -> sqlite3.Connection:
        try:
            self.path.parent.mkdir(0o700, parents=True, exist_ok=True)
            with suppress(FileExistsError, PermissionError):  # SQLite reports missing permissions
                os.close(os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
        except OSError as error:
            raise UnavailableError(f"the folder for the index {self.path} cannot be created: {error}") from error
        connection = sqlite3.connect(
            self.path, timeout=self._lock_wait_s, isolation_level=None, check_same_thread=False
        )
        with ExitStack() as undo:
            undo.callback(connection.close)
            self._check(connection)
            execute_when_unlocked(connection, SQL["write_ahead"], self._lock_wait_s)
            for pragma in ("synchronous", "cache_size", "secure_delete"):
                connection.execute(SQL[pragma])
            connection.execute(SQL["begin_write"])
            if connection.execute(SQL["is_new"]).fetchone()[0]:
                self._create(connection)
            connection.execute(SQL["commit"])
            if connection.execute(SQL["stamp"]).fetchone()[0] != self._analyser:
                raise DamagedIndexError("the index was built with a different analyser")
            undo.pop_all()
        return connection

    def _check(self, connection: sqlite3.Connection) -> None:
        connection.execute(SQL["begin_read"])
        is_new = connection.execute(SQL["is_new"]).fetchone()[0]
        found = connection.execute(SQL["application"]).fetchone()[0]
        connection.execute(SQL["commit"])
        if is_new or found == APPLICATION_ID:
            return
        if found >> 8 == APPLICATION_ID >> 8:
            raise DamagedIndexError("the index is in an old format")
        raise ConfigError(f"{self.path} is another program's database; use another path for the index")

    def _create(self, connection: sqlite3.Connection) -> None:
        for name, statement in SQL.items():
            if name.startswith("create_"):
                connection.execute(statement)
        connection.execute(SQL["write_stamp"], {"analyser": self._analyser})
        connection.execute(SQL["sign"].format(application_id=APPLICATION_ID))


@contextmanager
def _translate_errors(path: Path) -> Generator[None]:
    try:
        yield
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        if code in _DAMAGED:
            raise DamagedIndexError(str(error)) from error
        if code in (*_PASSING, sqlite3.SQLITE_CANTOPEN):
            raise UnavailableError(f"the index {path} is unavailable: {error}; you can safely delete it") from error
        raise BackendError(f"the index {path} failed: {error}; you can safely delete it") from error


_PLAIN = re.compile(r"[a-z0-9]+")
Row = tuple[str, bool, str, float, int, int | None, bool, int, str]
"""(agent, is_active, kind, importance, observed_at, expires_at, is_flagged, length, terms)."""


def token(term: str) -> str:
    """A term as one FTS5 word of only a to z and digits, distinct for each term."""
    return f"w{term}" if _PLAIN.fullmatch(term) else f"x{term.encode('utf-8', 'surrogatepass').hex()}"


def partition_token(pid: int) -> str:
    """The word in the first column of all rows of a partition."""
    return f"p{pid}"


def packed(terms: Sequence[str]) -> str:
    """Terms surrounded by single blanks, so that `occurrences` can count them without splitting."""
    return "".join(f" {term} " for term in terms)


def occurrences(packed_terms: str, term: str) -> int:
    """The number of times a term is in packed ones."""
    return packed_terms.count(f" {term} ")


class PartitionWriter:
    """Writes rows of one partition in one transaction; `finish` writes the statistics. These leave out expiring rows,
    which readers count, because time changes their number without a write.
    """

    def __init__(self, connection: sqlite3.Connection, pid: int) -> None:
        self._connection = connection
        self._pid = pid
        self._items: Counter[tuple[str, bool]] = Counter()
        self._lengths: Counter[tuple[str, bool]] = Counter()
        self._terms: Counter[tuple[str, bool, str]] = Counter()

    def take(self, change: Change) -> None:
        """Replace the item's older form, unless nothing changed."""
        new = None if change.is_gone else _row(change)
        key = {"pid": self._pid, "item_id": change.item_id}
        found = self._connection.execute(SQL["item"], key).fetchone()
        old: Row | None = None
        if found is not None:
            seq, agent, is_active, *rest = found
            old = (agent, bool(is_active), *rest)
            if old != new:
                self._remove(seq, old)
        if new is not None and old != new:
            self._add(change.item_id, new)

    def forget(self, item_id: str) -> None:
        self.take(Change(item_id=item_id, is_gone=True))

    def finish(self) -> None:
        """Update the statistics."""
        numbers: dict[tuple[str, bool], int] = {}
        for group in sorted(set(self._items) | set(self._lengths)):
            gid = numbers[group] = self._group(group)
            change = {"gid": gid, "items": self._items[group], "total_length": self._lengths[group]}
            self._connection.execute(SQL["count_group"], change)
        rows = [
            {"gid": numbers[agent, is_active], "term": term, "items": items}
            for (agent, is_active, term), items in sorted(self._terms.items())
            if items
        ]
        self._connection.executemany(SQL["count_term"], rows)
        if min(self._terms.values(), default=0) < 0:
            self._connection.execute(SQL["forget_unused_terms"], {"pid": self._pid})

    def _add(self, item_id: str, row: Row) -> None:
        agent, is_active, kind, importance, observed_at, expires_at, is_flagged, length, terms = row
        values = {
            "pid": self._pid,
            "item_id": item_id,
            "agent": agent,
            "is_active": is_active,
            "kind": kind,
            "importance": importance,
            "observed_at": observed_at,
            "expires_at": expires_at,
            "is_flagged": is_flagged,
            "length": length,
            "terms": terms,
        }
        seq = self._connection.execute(SQL["add_item"], values).fetchone()[0]
        self._connection.execute(SQL["add_words"], self._words(seq, terms))
        self._count(row, 1)

    def _remove(self, seq: int, row: Row) -> None:
        self._connection.execute(SQL["remove_words"], self._words(seq, row[-1]))
        self._connection.execute(SQL["remove_item"], {"seq": seq})
        self._count(row, -1)

    def _words(self, seq: int, terms: str) -> dict[str, object]:
        tokens = " ".join(token(term) for term in terms.split())
        return {"seq": seq, "partition": partition_token(self._pid), "tokens": tokens}

    def _count(self, row: Row, by: int) -> None:
        agent, is_active, _, _, _, expires_at, _, length, terms = row
        if expires_at is not None:
            return
        self._items[agent, is_active] += by
        self._lengths[agent, is_active] += by * length
        for term in set(terms.split()):
            self._terms[agent, is_active, term] += by

    def _group(self, group: tuple[str, bool]) -> int:
        key = {"pid": self._pid, "agent": group[0], "is_active": group[1]}
        found = self._connection.execute(SQL["group"], key).fetchone()
        return int((found or self._connection.execute(SQL["add_group"], key).fetchone())[0])


def _row(change: Change) -> Row:
    terms = change.terms.split()
    return (
        change.private_agent or "",
        change.is_active,
        change.kind,
        float(change.importance),
        change.observed_at,
        change.expires_at,
        change.is_flagged,
        len(terms),
        packed(terms),
    )


MAX_MATCH_TERMS = 256  # rarest first: more terms of a page-long query add time and no candidates
Found = tuple[str, int, float, int, int, str]
"""(id, length, importance, observed_at, is_flagged, packed terms)."""


class Fts5Index:
    """The `Index` port over a derived SQLite file that processes may share and anyone may delete. Returns the best
    `keyword_limit` rows by FTS5's order, with exact statistics of visible rows. A damaged file, or one of another
    `analyser`, is rebuilt. A file serves one store: a replaced store needs `apply(…, is_complete=True)`.
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
        """Like the port's. The transaction's lock is the lease: a second process with the same changes writes nothing.
        `since`: the version before the changes; an older index ignores them. `is_complete`: replace all rows, even
        newer ones.
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
        """The evidence of each partition of the query, including permitted rows with the ids `also`."""
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
        """Nothing to do: there is no background work."""

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
    connection: sqlite3.Connection, partition: Partition, changes: dict[str, Change], *, is_complete: bool
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
    """Items, total length and document frequencies of the visible rows, including expiring ones as of now."""
    items, total_length = cast("tuple[int, int]", connection.execute(SQL["totals"], parameters).fetchone())
    frequencies: Counter[str] = Counter(dict(connection.execute(SQL["frequencies"], parameters).fetchall()))
    for length, packed_terms in cast("list[tuple[int, str]]", connection.execute(SQL["expiring"], parameters)):
        items += 1
        total_length += length
        frequencies.update(term for term in terms if occurrences(packed_terms, term))
    return items, float(total_length), frequencies


def _match(pid: int, terms: Sequence[str], frequencies: Counter[str]) -> str:
    """The FTS5 query for any of the terms in the partition. Empty if no visible row has one."""
    known = sorted((term for term in terms if frequencies[term] > 0), key=lambda term: frequencies[term])
    words = " OR ".join(f'"{token(term)}"' for term in known[:MAX_MATCH_TERMS])
    return f'partition : "{partition_token(pid)}" AND terms : ({words})' if words else ""


_: type[Index] = Fts5Index
