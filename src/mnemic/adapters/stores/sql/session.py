"""Shared by both SQL stores: how filters combine conditions, and the abstract session (one transaction) that the ports
use. Dialects define how a single condition is written.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from mnemic.adapters.stores.sql.dialect import PLACEMENT
from mnemic.errors import NotFoundError, UnavailableError, UnsupportedError
from mnemic.model.columns import Row
from mnemic.model.filter import All, AnyOf, Condition, Filter, Not, Scalar
from mnemic.model.item import Memory
from mnemic.model.records import PlacementState
from mnemic.model.scope import Partition, Visibility


class FilterCompiler(ABC):
    """Compiles one filter from SQL `fragments`. `parameters` holds the values of its clause."""

    always: ClassVar[str]
    never: ClassVar[str]
    placeholder: ClassVar[str]
    """The dialect's form of a parameter, with `{}` for its name."""

    def __init__(self, fragments: Mapping[str, str]) -> None:
        self.parameters: dict[str, object] = {}
        self._fragments = fragments

    def clause(self, filter_: Filter) -> str:
        """A boolean SQL expression, never null."""
        match filter_:
            case All(parts):
                return "(" + " AND ".join(self.clause(part) for part in parts) + ")" if parts else self.always
            case AnyOf(parts):
                return "(" + " OR ".join(self.clause(part) for part in parts) + ")" if parts else self.never
            case Not(part):
                return f"(NOT {self.clause(part)})"
            case Condition():
                return self._condition(filter_)

    def _condition(self, condition: Condition) -> str:
        operator, value = condition.operator, condition.value
        if isinstance(value, tuple):
            return self.clause(AnyOf(tuple(Condition(condition.path, "eq", part) for part in value)))
        if operator == "ne":
            return f"(NOT {self._condition(Condition(condition.path, 'eq', value))})"
        field, *keys = condition.path
        if operator == "exists":
            test = self._exists(field, keys)
            return test if value else f"(NOT {test})"
        return self._json(field, keys, operator, value) if keys else self._column(field, operator, value)

    @abstractmethod
    def _exists(self, field: str, keys: Sequence[str]) -> str:
        """True if the field, or the value at these keys, exists."""

    @abstractmethod
    def _column(self, name: str, operator: str, value: Scalar) -> str:
        """Compare a column."""

    @abstractmethod
    def _json(self, field: str, keys: Sequence[str], operator: str, value: Scalar) -> str:
        """Compare the value at these metadata or bookkeeping keys. False if its type differs."""

    def _field(self, name: str) -> str:
        if name == "level":
            return self._fragments["field_level"]
        return self._fragments["field_column"].format(column=name)

    def _bind(self, value: object) -> str:
        name = f"f{len(self.parameters)}"
        self.parameters[name] = value
        return self.placeholder.format(name)


Parameters = Mapping[str, object]


class Rows(Protocol):
    """The result of a statement. `rowcount`: the number of changed rows."""

    @property
    def rowcount(self) -> int: ...
    def fetchone(self) -> Any: ...
    def __iter__(self) -> Iterator[Any]: ...


Erased = tuple[Partition, bool]
"""A partition where texts were removed, and whether they were chunks. Files that copy these rows must go."""


class SqlSession(ABC):
    """Runs statements and tracks the partition numbers and versions of its transaction."""

    def __init__(self, *, is_writing: bool) -> None:
        self.is_writing = is_writing
        self._partitions = self.statements("partitions")
        self._pids: dict[Partition, int] = {}
        self._absent: set[Partition] = set()  # in a read transaction, what is missing stays missing
        self.erased: set[Erased] = set()
        self._advanced: set[int] = set()
        self._placements = self.statements("placements")
        self._entered: set[str] = set()
        self.is_moving = False
        """Allow this transaction to access an org that is not served, because it moves the org."""

    @staticmethod
    @abstractmethod
    def statements(topic: str, /) -> dict[str, str]:
        """The statements of a topic in this store's dialect."""

    @abstractmethod
    def run(self, sql: str, parameters: Parameters | None = None, /) -> Rows:
        """Execute one statement. Ignores parameters that it does not use."""

    def run_across(self, sql: str, parameters: Parameters | None = None, /) -> Rows:
        """Execute one statement over the rows of every org: for maintenance, and to look up a presented key."""
        return self.run(sql, parameters)

    @abstractmethod
    def merge_sorted(self, selects: Sequence[str], order: str, parameters: Parameters, /) -> Iterator[Row]:
        """Merge the rows of several statements, fetched lazily. The last columns of each are the `order`."""

    def see(self, *orgs: str) -> None:
        """Declare that rows of these orgs are read without naming their partitions. Does nothing by default."""
        del orgs

    @abstractmethod
    def enter(self, *orgs: str) -> None:
        """Like `see`, for orgs whose rows are read or written for a caller. Raises `UnavailableError` while a move
        stops them, and `NotFoundError` after it.
        """

    def _check_placement(self, row: Row | None) -> None:
        placement = None if row is None else PLACEMENT.noun(row)
        if placement is None or self.is_moving:
            return
        if placement.state is PlacementState.MOVED:
            raise NotFoundError(f"org {placement.org} has moved to another store; `mnemic org list` shows which")
        if placement.state is PlacementState.ARRIVING or (
            placement.state is PlacementState.STOPPED and self.is_writing
        ):
            raise UnavailableError(f"org {placement.org} is moving between stores; try again in a few seconds")

    def write(self, sql: str, parameters: Parameters | None = None, /) -> Rows:
        """Execute one statement that changes rows. Raises `UnsupportedError` in a read transaction."""
        self.check_writing()
        return self.run(sql, parameters)

    def write_across(self, sql: str, parameters: Parameters, /) -> Rows:
        """Like `run_across`, for a statement that changes rows."""
        self.check_writing()
        return self.run_across(sql, parameters)

    @abstractmethod
    def write_each(self, sql: str, rows: Sequence[Parameters], /) -> list[bool]:
        """Execute a statement for each row. Returns whether it wrote one."""

    @abstractmethod
    def write_many(self, sql: str, rows: Sequence[Parameters], /) -> None:
        """Execute a statement for all rows in one call."""

    def check_writing(self) -> None:
        """Raise `UnsupportedError` in a read transaction."""
        if not self.is_writing:
            raise UnsupportedError("this unit of work is read-only; open one with write()", capability="write")

    @abstractmethod
    def list_values(self, values: Iterable[str], /) -> object:
        """A parameter for `= ANY`."""

    @abstractmethod
    def pid(self, partition: Partition, /) -> int | None:
        """The number of a partition, None if never written. A writing transaction locks it."""

    def look_up_pid(self, partition: Partition, /) -> int | None:
        """Like `pid`, never locked."""
        return self.pid(partition)

    @abstractmethod
    def pids(self, partitions: Sequence[Partition], /) -> object:
        """The numbers of existing partitions, as a parameter for `= ANY`, without locks."""

    @abstractmethod
    def versions(self, partitions: Sequence[Partition], /) -> dict[Partition, int]:
        """The versions of existing partitions."""

    @abstractmethod
    def writable_pid(self, partition: Partition, /) -> int:
        """The number of a partition, created if new, and locked."""

    def lock(self, partitions: Iterable[Partition], /) -> dict[Partition, int]:
        """The numbers of these partitions, created if new, and locked in order."""
        self.check_writing()
        return {partition: self.writable_pid(partition) for partition in sorted(set(partitions))}

    @abstractmethod
    def changed(self, partition: Partition, /) -> tuple[int, int]:
        """(number, version) for writing rows. Call `advance` after writing one."""

    def advance(self, pid: int, /) -> None:
        """Set the partition's version to that of `changed`. Only the first call in a transaction has an effect."""
        if pid not in self._advanced:
            self.write(self._partitions["advance"], {"pid": pid, "version": self._next_version(pid)})
            self._advanced.add(pid)

    @abstractmethod
    def _next_version(self, pid: int, /) -> int:
        """The version of rows written in this transaction, after `changed`."""

    def forget(self, partition: Partition, /) -> None:
        """Remove the partition. Naming it again in this transaction recreates it."""
        pid = self._pids.pop(partition, None)
        self._advanced.discard(-1 if pid is None else pid)

    def visible(self, visible: Visibility, **more: object) -> dict[str, object]:
        """The parameters `pids` and `agent` of statements over visible rows, and others."""
        return {"pids": self.pids(visible.partitions), "agent": visible.agent or "", **more}

    @staticmethod
    @abstractmethod
    def filters() -> FilterCompiler:
        """A compiler for one filter."""

    @staticmethod
    @abstractmethod
    def to_vector(vector: NDArray[np.float32], /) -> object:
        """A vector as a parameter."""

    @staticmethod
    @abstractmethod
    def from_vector(value: Any, /) -> NDArray[np.float32]:
        """The inverse of `to_vector`."""

    @staticmethod
    def own_columns(memory: Memory, /) -> Parameters:
        """The columns of a memory that this store has in its own format."""
        del memory
        return {}


def partition_key(partition: Partition) -> Parameters:
    """The columns that identify a partition's row."""
    return {"org": partition.org, "level": partition.level.value, "owner": partition.owner}


class SqlPort:
    """A port over one transaction, with the statements of its topic."""

    _topic: ClassVar[str]

    def __init_subclass__(cls, topic: str = "") -> None:
        if topic:
            cls._topic = topic

    def __init__(self, session: SqlSession) -> None:
        self._session = session
        self._sql = session.statements(self._topic)
