"""One transaction on one SQLite connection, and this store's statements, migrations, formats and comparisons."""

import heapq
import json
import sqlite3
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from operator import itemgetter

import numpy as np
from numpy.typing import NDArray

from mnemic.adapters.sql_files import named_statements, numbered_scripts
from mnemic.adapters.stores.checks import lazy_port
from mnemic.adapters.stores.sql import dialect
from mnemic.adapters.stores.sql.session import FilterCompiler, Parameters, SqlSession, partition_key
from mnemic.adapters.stores.sql.vectors import SqlEntityVectors
from mnemic.adapters.stores.sql.work import SqlWork
from mnemic.errors import BackendError, ConflictError, DamagedError, UnavailableError
from mnemic.model.columns import Row
from mnemic.model.filter import Scalar
from mnemic.model.scope import Partition, Visibility
from mnemic.ports.tables import AT_ONCE

_OWN = {"connection", "copying", "filters"}

APPLICATION_ID = 0x4D4E454D  # "MNEM", so that `file` and we can recognise a Mnemic store


def statements(topic: str) -> dict[str, str]:
    """The statements of a topic by name, without a closing semicolon: this store's own or the shared ones."""
    if topic in _OWN:
        return named_statements(__package__ or __name__, f"queries/{topic}.sql")
    return dialect.statements("sqlite", topic)


def migrations() -> list[tuple[int, str]]:
    """(version, script) of every migration, in order."""
    return numbered_scripts(__package__ or __name__, "migrations")


_FLOAT32 = np.dtype("<f4")
_version = itemgetter(-3)  # of a row of `changes`; its class and number follow

_INDEXED = {("bookkeeping", "slot", "eq"): "eq_slot", ("bookkeeping", "due_until", "gte"): "gte_due"}
"""The fragments that use the index of a field's key, by field, key and operator."""

_BOOL, _TEXT, _NUMBER = "'true', 'false'", "'text'", "'integer', 'real'"


@contextmanager
def translated_errors(doing: str) -> Generator[None]:
    """Translate SQLite's errors, with what was being done and what may help."""
    try:
        yield
    except (sqlite3.Error, sqlite3.Warning) as error:
        raise _translate_error(error, doing) from error
    except UnicodeDecodeError as error:  # sqlite3 raises it when its own error quotes a text that is not UTF-8
        raise DamagedError(f"the store contains text that cannot be read ({doing}); {_RESCUE}") from error


_RESCUE = "restore a backup, or save what is left with `mnemic rescue`"


def _translate_error(error: Exception, doing: str) -> BackendError:
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
        return DamagedError(f"the store's file is damaged or not a Mnemic store ({doing}): {error}; {_RESCUE}")
    if str(error).startswith("Could not decode"):  # the rest of the message is the text itself
        return DamagedError(f"the store contains text that cannot be read ({doing}); {_RESCUE}")
    kind, message = _MESSAGES.get(code, (BackendError, "the store failed ({doing}): {error}"))
    return kind(message.format(doing=doing, error=error))


_LOCKED = "the store is locked by another process ({doing}); try again later"
_DISK = "the disk cannot be read or written ({doing}): {error}; nothing was changed"
_MESSAGES: dict[int, tuple[type[BackendError], str]] = {
    sqlite3.SQLITE_BUSY: (UnavailableError, _LOCKED),
    sqlite3.SQLITE_LOCKED: (UnavailableError, _LOCKED),
    sqlite3.SQLITE_FULL: (
        UnavailableError,
        "the disk is full ({doing}); nothing was changed. Free some space and try again",
    ),
    sqlite3.SQLITE_IOERR: (UnavailableError, _DISK),
    sqlite3.SQLITE_CANTOPEN: (UnavailableError, _DISK),
    sqlite3.SQLITE_READONLY: (
        BackendError,
        "the store cannot be written ({doing}): check the permissions of its file and folder",
    ),
}


class SqliteFilters(FilterCompiler):
    """Filters for SQLite."""

    always, never, placeholder = "1", "0", ":{}"

    def __init__(self) -> None:
        super().__init__(statements("filters"))

    def _exists(self, field: str, keys: Sequence[str]) -> str:
        if keys:
            value = self._fragments["field_json"].format(field=field, path=self._path(keys))
            return self._fragments["exists"].format(field=value)
        if field == "categories":
            return f"({self._field(field)} != '[]')"
        return self._fragments["exists"].format(field=self._field(field))

    def _column(self, name: str, operator: str, value: Scalar) -> str:
        bound = self._bind(value)
        if operator != "contains":
            return self._fragments[operator].format(field=self._field(name), value=bound)
        if name == "categories":
            return self._fragments["contains_list"].format(column=name, value=bound, types=_TEXT)
        return self._fragments["contains_text"].format(field=self._field(name), value=bound)

    def _json(self, field: str, keys: Sequence[str], operator: str, value: Scalar) -> str:
        indexed = _INDEXED.get((field, ".".join(keys), operator))
        if indexed and isinstance(value, str):
            return self._fragments[indexed].format(value=self._bind(value))
        where, bound = self._path(keys), self._bind(value)
        types = _BOOL if isinstance(value, bool) else _TEXT if isinstance(value, str) else _NUMBER
        if operator == "contains":
            is_text = int(isinstance(value, str))
            fragment = self._fragments["contains_json"]
            return fragment.format(field=field, path=where, value=bound, types=types, is_text=is_text)
        read = self._fragments["field_json"].format(field=field, path=where)
        test = self._fragments[operator].format(field=read, value=bound)
        found = self._fragments["type_json"].format(field=field, path=where)
        return self._fragments["typed"].format(type=found, types=types, test=test)

    def _path(self, keys: Sequence[str]) -> str:
        return self._bind("$" + "".join(f'."{key}"' for key in keys))


class Session(SqlSession):
    """Runs statements and tracks the partition numbers and versions of its transaction."""

    def __init__(self, connection: sqlite3.Connection, *, is_writing: bool) -> None:
        super().__init__(is_writing=is_writing)
        self._connection = connection
        self._versions: dict[int, int] = {}

    def run(self, sql: str, parameters: Parameters | None = None, /) -> sqlite3.Cursor:
        try:
            return self._connection.execute(sql, parameters or ())
        except (sqlite3.Error, sqlite3.Warning) as error:
            raise _translate_error(error, "reading or writing rows") from error

    def merge_sorted(self, selects: Sequence[str], order: str, parameters: Parameters, /) -> Iterator[Row]:
        return heapq.merge(*(self.run(f"{select}\n{order}", parameters) for select in selects), key=_version)

    def write_each(self, sql: str, rows: Sequence[Parameters], /) -> list[bool]:
        """Raises `ConflictError` if a row is refused for a reason that the statement does not handle."""
        self.check_writing()
        try:
            return [self._connection.execute(sql, row).rowcount == 1 for row in rows]
        except sqlite3.IntegrityError as error:
            raise ConflictError(f"a row cannot be stored: {error}") from error
        except (sqlite3.Error, sqlite3.Warning) as error:
            raise _translate_error(error, "writing rows") from error

    def write_many(self, sql: str, rows: Sequence[Parameters], /) -> None:
        self.check_writing()
        try:
            self._connection.executemany(sql, rows)
        except (sqlite3.Error, sqlite3.Warning) as error:
            raise _translate_error(error, "writing rows") from error

    def list_values(self, values: Iterable[str], /) -> str:
        """A list for `json_each`, which ends each value at a U+0000."""
        return json.dumps([*values], ensure_ascii=False)

    def pid(self, partition: Partition, /) -> int | None:
        if partition not in self._pids and partition not in self._absent:
            self.versions([partition])
        return self._pids.get(partition)

    def enter(self, *orgs: str) -> None:
        for org in {*orgs} - self._entered:
            self._check_placement(self.run(self._placements["find"], {"org": org}).fetchone())
            self._entered.add(org)

    def pids(self, partitions: Sequence[Partition], /) -> str:
        found = (self.pid(partition) for partition in partitions)
        return json.dumps([pid for pid in found if pid is not None])

    def versions(self, partitions: Sequence[Partition], /) -> dict[Partition, int]:
        self.enter(*(partition.org for partition in partitions))
        versions: dict[Partition, int] = {}
        for partition in partitions:
            row = self.run(self._partitions["pid"], partition_key(partition)).fetchone()
            if row is not None:
                self._pids[partition], versions[partition] = row
            elif not self.is_writing:
                self._absent.add(partition)
        return versions

    def writable_pid(self, partition: Partition, /) -> int:
        """There is one writer at a time, so there is nothing to lock."""
        pid = self.pid(partition)
        if pid is None:
            row = self.write(self._partitions["create"], partition_key(partition)).fetchone()
            pid = self._pids[partition] = int(row[0])
        return pid

    def changed(self, partition: Partition, /) -> tuple[int, int]:
        pid = self.writable_pid(partition)
        if pid not in self._versions:
            row = self.write(self._partitions["next_version"], {"pid": pid}).fetchone()
            self._versions[pid] = int(row[0])
        return pid, self._versions[pid]

    def _next_version(self, pid: int, /) -> int:
        return self._versions[pid]

    def forget(self, partition: Partition, /) -> None:
        self._versions.pop(self._pids.get(partition, -1), None)
        super().forget(partition)

    statements = staticmethod(statements)
    filters = staticmethod(SqliteFilters)

    @staticmethod
    def to_vector(vector: NDArray[np.float32], /) -> bytes:
        """Little-endian float32."""
        return np.asarray(vector, dtype=_FLOAT32).tobytes()

    @staticmethod
    def from_vector(value: bytes, /) -> NDArray[np.float32]:
        return np.frombuffer(value, _FLOAT32)


class SqliteEntityVectors(SqlEntityVectors):
    """The `EntityVectors` port. A query is compared with every visible vector."""

    def nearest(
        self,
        visible: Visibility,
        space: str,
        vector: NDArray[np.float32],
        limit: int,
        between: Callable[[], None] = lambda: None,
    ) -> list[tuple[str, float]]:
        key = self._session.visible(visible, space=space)
        between()
        rows: Iterator[tuple[str, bytes]] = iter(self._session.run(self._sql["visible"], key))
        best: dict[str, float] = {}
        while limit > 0 and (some := [*islice(rows, AT_ONCE)]):
            vectors = self._session.from_vector(b"".join(row[1] for row in some))
            cosines: NDArray[np.float32] = vectors.reshape(len(some), -1) @ vector
            fresh: dict[str, float] = {}
            places: list[int] = np.argsort(-cosines, kind="stable").tolist()
            for place in places:
                fresh.setdefault(some[place][0], cosines.item(place))
                if len(fresh) == limit:
                    break
            best |= {own: max(cosine, best.get(own, cosine)) for own, cosine in fresh.items()}
            best = dict(sorted(best.items(), key=lambda found: (-found[1], found[0]))[:limit])
            between()
        return [*best.items()]


class SqliteUnitOfWork(SqlWork[Session]):
    """Every port over one transaction."""

    entity_vectors = lazy_port(SqliteEntityVectors)
