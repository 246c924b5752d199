"""One transaction on one PostgreSQL connection. A writing unit of work locks a partition's row when it first writes
there or reads it by name; several are locked in order. Reads of all visible rows lock nothing. Row security shows only
rows of the orgs named in the transaction, so a statement that forgets its partition finds nothing of another org.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import count

import numpy as np
from numpy.typing import NDArray
from psycopg import Connection, Cursor, ServerCursor

from mnemic.adapters.stores.checks import lazy_port
from mnemic.adapters.stores.postgres.connections import query, statements, to_json, translated_errors
from mnemic.adapters.stores.sql.session import FilterCompiler, Parameters, SqlSession, partition_key
from mnemic.adapters.stores.sql.vectors import SqlEntityVectors
from mnemic.adapters.stores.sql.work import SqlWork
from mnemic.model.columns import Row, dumps, partition_of
from mnemic.model.filter import Scalar
from mnemic.model.item import Memory
from mnemic.model.scope import Partition, Visibility

_STREAMED_ROWS = 1000  # fetched at once by a server-side cursor: bounds memory
_ROWS_AT_ONCE = 2000  # per statement: bounds its size, and the time other writers wait
_DOING = "reading or writing rows"
_COLUMNS = {"metadata": "filterable", "bookkeeping": "filterable_bookkeeping"}
"""Columns with a field in the form for conditions."""
_SIGNS = {"gt": ">", "gte": ">=", "lt": "<", "lte": "<="}


class PostgresFilters(FilterCompiler):
    """Filters for PostgreSQL. Equality on metadata or bookkeeping is a containment, which a GIN index answers. Other
    comparisons check the JSON type first, so that types never mix.
    """

    always, never, placeholder = "true", "false", "%({})s"

    def __init__(self) -> None:
        super().__init__(statements("filters"))

    def _exists(self, field: str, keys: Sequence[str]) -> str:
        if keys:
            return self._fragments["exists_json"].format(field=self._path(field, keys))
        kind = "exists_list" if field == "categories" else "exists"
        return self._fragments[kind].format(field=self._field(field))

    def _column(self, name: str, operator: str, value: Scalar) -> str:
        fragment = operator
        if operator == "contains":
            fragment = "contains_list" if name == "categories" else "contains_text"
        return self._fragments[fragment].format(field=self._field(name), value=self._bind(value))

    def _json(self, field: str, keys: Sequence[str], operator: str, value: Scalar) -> str:
        column = _COLUMNS[field]
        if operator == "eq":
            return self._fragments["eq_json"].format(column=column, value=self._document(keys, value))
        if operator == "contains":
            document = self._document(keys, [value])
            if not isinstance(value, str):
                return self._fragments["eq_json"].format(column=column, value=document)
            return self._fragments["contains_json_text"].format(
                column=column, document=document, field=self._path(field, keys), value=self._bind(value)
            )
        kind, bound = "number", to_json(value)
        if isinstance(value, str | bool):
            kind, bound = ("text" if isinstance(value, str) else "boolean"), value
        return self._fragments[f"order_{kind}"].format(
            field=self._path(field, keys), sign=_SIGNS[operator], value=self._bind(bound)
        )

    def _document(self, keys: Sequence[str], value: object) -> str:
        """The smallest mapping with this value at these keys, as a parameter."""
        for key in reversed(keys):
            value = {key: value}
        return self._bind(to_json(value))

    def _path(self, field: str, keys: Sequence[str]) -> str:
        steps = "".join(self._fragments["step"].format(key=self._bind(key)) for key in keys)
        column = self._fragments["field_json"].format(column=_COLUMNS[field])
        return f"({column} {steps})"


class Session(SqlSession):
    """Runs statements and tracks the partition numbers and versions of its transaction."""

    def __init__(self, connection: Connection[Row], place: str, *, is_writing: bool) -> None:
        super().__init__(is_writing=is_writing)
        self._connection = connection
        self._place = place
        self._numbers = count()
        self._locked: dict[int, int] = {}  # version by pid, before this transaction
        self._guard = statements("connection")
        self._orgs: set[str] = set()
        self._is_told = True  # the server knows all of `_orgs`
        self._entering: set[str] = set()

    def see(self, *orgs: str) -> None:
        """Let row security show these orgs too, from the next statement until this transaction ends."""
        if not self._orgs.issuperset(orgs):
            self._orgs.update(orgs)
            self._is_told = False

    def enter(self, *orgs: str) -> None:
        """The check is part of the next statement's round trip. A writer's check locks the org's placement, so a
        move of the org waits for the writer.
        """
        self.see(*orgs)
        self._entering |= {*orgs} - self._entered

    def run(self, sql: str, parameters: Parameters | None = None, /) -> Cursor[Row]:
        with translated_errors(_DOING, self._place):
            if self._is_told and not self._entering:
                return self._connection.execute(query(sql), parameters)
            with self._connection.pipeline():  # one round trip for all
                placements = self._tell()
                cursor = self._connection.execute(query(sql), parameters)
            self._admit(placements)
            return cursor

    def run_across(self, sql: str, parameters: Parameters | None = None, /) -> Cursor[Row]:
        with translated_errors(_DOING, self._place), self._connection.pipeline():
            self._connection.execute(query(self._guard["see_every_org"]), {"is_on": "on"})
            cursor = self._connection.execute(query(sql), parameters)
            self._connection.execute(query(self._guard["see_every_org"]), {"is_on": "off"})
        return cursor

    def merge_sorted(self, selects: Sequence[str], order: str, parameters: Parameters, /) -> Iterator[Row]:
        with (
            translated_errors(_DOING, self._place),
            ServerCursor(self._connection, f"stream_{next(self._numbers)}") as cursor,
        ):
            self._admit(self._tell())
            cursor.itersize = _STREAMED_ROWS
            cursor.execute(query("\nUNION ALL\n".join(selects) + f"\n{order}"), parameters)
            yield from cursor

    def write_each(self, sql: str, rows: Sequence[Parameters], /) -> list[bool]:
        self.check_writing()
        if not rows:
            return []
        with translated_errors(_DOING, self._place), self._connection.cursor() as cursor:
            self._admit(self._tell())
            cursor.executemany(query(sql), rows, returning=True)
            return [result.rowcount == 1 for result in cursor.results()]

    def write_many(self, sql: str, rows: Sequence[Parameters], /) -> None:
        """Run one statement over arrays, one per column: some thousand rows per round trip."""
        self.check_writing()
        for start in range(0, len(rows), _ROWS_AT_ONCE):
            part = rows[start : start + _ROWS_AT_ONCE]
            self.run(sql, {name: [row[name] for row in part] for name in part[0]})

    def forget(self, partition: Partition, /) -> None:
        self._locked.pop(self._pids.get(partition, -1), None)
        super().forget(partition)

    def list_values(self, values: Iterable[str], /) -> list[str]:
        return [*values]

    def pid(self, partition: Partition, /) -> int | None:
        return self._lock(partition) if self.is_writing else self.look_up_pid(partition)

    def look_up_pid(self, partition: Partition, /) -> int | None:
        return next(iter(self.pids([partition])), None)

    def pids(self, partitions: Sequence[Partition], /) -> list[int]:
        unknown = [
            partition for partition in partitions if partition not in self._pids and partition not in self._absent
        ]
        if unknown:
            self.versions(unknown)
        return [self._pids[partition] for partition in partitions if partition in self._pids]

    def versions(self, partitions: Sequence[Partition], /) -> dict[Partition, int]:
        self.enter(*(partition.org for partition in partitions))
        asked = {
            "orgs": [partition.org for partition in partitions],
            "levels": [partition.level.value for partition in partitions],
            "owners": [partition.owner for partition in partitions],
        }
        versions: dict[Partition, int] = {}
        for org, level, owner, pid, version in self.run(self._partitions["pids"], asked):
            partition = partition_of(org, level, owner)
            self._pids[partition] = pid
            versions[partition] = version
        if not self.is_writing:
            self._absent.update(partition for partition in partitions if partition not in versions)
        return versions

    def writable_pid(self, partition: Partition, /) -> int:
        self.check_writing()
        pid = self._lock(partition)
        while pid is None:
            row = self.run(self._partitions["create"], partition_key(partition)).fetchone()
            pid = self._lock(partition) if row is None else self._known(partition, row)
        return pid

    def changed(self, partition: Partition, /) -> tuple[int, int]:
        pid = self.writable_pid(partition)
        return pid, self._locked[pid] + 1

    def _next_version(self, pid: int, /) -> int:
        return self._locked[pid] + 1

    def _lock(self, partition: Partition) -> int | None:
        pid = self._pids.get(partition)
        if pid is None or pid not in self._locked:
            self.enter(partition.org)
            row = self.run(self._partitions["lock"], partition_key(partition)).fetchone()
            pid = None if row is None else self._known(partition, row)
        return pid

    def _tell(self) -> list[Cursor[Row]]:
        """Send the orgs to the server. Returns the placements to check, for `_admit`."""
        if not self._is_told:
            self._connection.execute(query(self._guard["see_orgs"]), {"orgs": sorted(self._orgs)})
            self._is_told = True
        orgs = sorted(self._entering)
        if orgs and self.is_writing:
            self._connection.execute(query(self._placements["hold"]), {"orgs": orgs})
        return [self._connection.execute(query(self._placements["find"]), {"org": org}) for org in orgs]

    def _admit(self, placements: Sequence[Cursor[Row]]) -> None:
        for placement in placements:
            self._check_placement(placement.fetchone())
        self._entered |= self._entering
        self._entering.clear()

    def _known(self, partition: Partition, row: Row) -> int:
        pid, version = row
        self._pids[partition] = pid
        self._locked[pid] = version
        return pid

    statements = staticmethod(statements)
    filters = staticmethod(PostgresFilters)

    @staticmethod
    def to_vector(vector: NDArray[np.float32], /) -> str:
        """Pgvector's text form `[a,b,c]`, with enough digits to restore the float32."""
        return dumps(np.asarray(vector, dtype=np.float32).tolist())

    @staticmethod
    def from_vector(value: str, /) -> NDArray[np.float32]:
        """Pgvector writes the shortest digits that identify a float32."""
        vector = np.array(json.loads(value), dtype=np.float32)
        vector.flags.writeable = False
        return vector

    @staticmethod
    def own_columns(memory: Memory, /) -> Parameters:
        """Categories as a list, and metadata and bookkeeping in the form for conditions."""
        looked_at = {"filterable": to_json(memory.metadata), "filterable_bookkeeping": to_json(memory.bookkeeping)}
        return {"categories": [*memory.categories], **looked_at}


class PostgresEntityVectors(SqlEntityVectors):
    """The `EntityVectors` port. A query is compared with every visible vector."""

    def nearest(
        self,
        visible: Visibility,
        space: str,
        vector: NDArray[np.float32],
        limit: int,
        between: Callable[[], None] = lambda: None,
    ) -> list[tuple[str, float]]:
        between()
        key = self._session.visible(visible, space=space, limit=max(limit, 0), vector=self._session.to_vector(vector))
        return [(row[0], float(row[1])) for row in self._session.run(self._sql["nearest"], key)]


class PostgresUnitOfWork(SqlWork[Session]):
    """Every port over one transaction."""

    entity_vectors = lazy_port(PostgresEntityVectors)
