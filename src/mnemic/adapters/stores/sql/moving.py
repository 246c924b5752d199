"""One transaction that moves an org between stores, for both SQL stores."""

from collections.abc import Mapping, Sequence
from typing import Any

from mnemic.adapters.stores.checks import new_age
from mnemic.adapters.stores.sql.dialect import PLACEMENT
from mnemic.adapters.stores.sql.session import SqlSession
from mnemic.model.columns import partition_of
from mnemic.model.records import Placement, PlacementState
from mnemic.model.scope import Partition
from mnemic.ports.moving import Transfer
from mnemic.ports.store import UnitOfWork

_PARTITIONS = "partitions"


def list_placements(session: SqlSession) -> list[Placement]:
    """The placements of every org, in order."""
    return [PLACEMENT.noun(row) for row in session.run_across(session.statements("placements")["list"])]


def find_absent_orgs(session: SqlSession) -> set[str]:
    """The orgs that have moved away or are still arriving."""
    states = (PlacementState.MOVED, PlacementState.ARRIVING)
    return {each.org for each in list_placements(session) if each.state in states}


class SqlTransfer:
    """The `Transfer` port."""

    def __init__(self, work: UnitOfWork, session: SqlSession, org: str) -> None:
        session.is_moving = True
        session.see(org)
        self.work, self._session, self._org = work, session, org
        self._sql = session.statements("placements")
        self._spaces: set[object] = set()

    def find(self) -> Placement | None:
        if "wait_for_transfers" in self._sql:  # separate, so that the next statement sees their changes
            self._session.write(self._sql["wait_for_transfers"], {"org": self._org})
        row = self._session.run(self._sql["find"], {"org": self._org}).fetchone()
        return None if row is None else PLACEMENT.noun(row)

    def put(self, placement: Placement | None) -> None:
        if "wait_for_writers" in self._sql:
            self._session.write(self._sql["wait_for_writers"], {"org": self._org})
        if placement is None:
            self._session.write(self._sql["drop"], {"org": self._org})
        else:
            self._session.write(self._sql["put"], PLACEMENT.row(placement))

    def write(self, table: str, key: Sequence[str], values: Sequence[Mapping[str, object]], *, is_new: bool) -> None:
        rows = [self.to_row(table, each) for each in values]
        if table == _PARTITIONS:
            self._session.lock(partition_of(*(row[name] for name in key)) for row in rows)
            return
        self._add_spaces(values)
        if is_new and rows:
            marks = ", ".join(self.mark(table, name) for name in rows[0])
            self._run("insert", table, rows, columns=", ".join(rows[0]), values=marks)
        elif rows:
            changes = ", ".join(f"{name} = {self.mark(table, name)}" for name in rows[0] if name not in key)
            self._run("update", table, rows, changes=changes or f"{key[0]} = {key[0]}", key=self._match(table, key))

    def remove(self, table: str, key: Sequence[str], values: Sequence[Mapping[str, object]]) -> None:
        rows = [self.to_row(table, {name: each[name] for name in key}) for each in values]
        if rows:
            self._run("remove", table, rows, key=self._match(table, key))
        if table == _PARTITIONS:
            for row in rows:
                self._session.forget(partition_of(*(row[name] for name in key)))

    def renew(self, version: int) -> None:
        row = self._session.run_across(self._sql["newest"], {"version": version}).fetchone()
        self._session.write(self._sql["renew"], {"org": self._org, "version": new_age(int(row[0]))})

    def mark(self, table: str, column: str) -> str:
        """The parameter of a column."""
        del table
        return f":{column}"

    def to_row(self, table: str, values: Mapping[str, object]) -> dict[str, Any]:
        """A row with this store's partition numbers."""
        del table
        pid = self._session.writable_pid
        return {name: pid(value) if isinstance(value, Partition) else value for name, value in values.items()}

    def _add_spaces(self, values: Sequence[Mapping[str, object]]) -> None:
        for row in values:
            if "space" in row and row["space"] not in self._spaces:
                vector = row["vector"]
                dims = len(vector) // 4 if isinstance(vector, bytes) else 0  # of float32
                self._session.write(self._sql["add_space"], {"space": row["space"], "dims": dims})
                self._spaces.add(row["space"])

    def _match(self, table: str, key: Sequence[str]) -> str:
        return " AND ".join(f"{name} = {self.mark(table, name)}" for name in key)

    def _run(self, statement: str, table: str, rows: Sequence[dict[str, Any]], **parts: str) -> None:
        self._session.write_each(self._sql[statement].format(table=table, **parts), rows)


_: type[Transfer] = SqlTransfer
