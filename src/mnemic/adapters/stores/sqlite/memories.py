"""What is worth keeping."""

from __future__ import annotations

import builtins
import sqlite3
from collections.abc import Mapping, Sequence
from datetime import datetime

from mnemic.adapters.stores.dependants import link, relink
from mnemic.adapters.stores.rows import dumps, micros
from mnemic.adapters.stores.sqlite.filters import SqliteFilters
from mnemic.adapters.stores.sqlite.graph import graph_links
from mnemic.adapters.stores.sqlite.rows import memory_columns, to_memory
from mnemic.adapters.stores.sqlite.session import Session
from mnemic.adapters.stores.sqlite.statements import statements
from mnemic.errors import ConflictError
from mnemic.model.candidates import Terms
from mnemic.model.item import Memory
from mnemic.model.recall import MemoryQuery
from mnemic.model.scope import Partition, Visibility
from mnemic.model.values import to_microseconds


class SqliteMemories:
    """The `Memories` port."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._sql = statements("memories")
        self._links = statements("dependants")

    def add(self, rows: Sequence[tuple[Memory, Terms]]) -> list[bool]:
        return [self._add(memory, terms) for memory, terms in rows]

    def get(self, visible: Visibility, ids: Sequence[str]) -> builtins.list[Memory]:
        sql = self._sql["select"] + "\n" + self._sql["where_visible"] + "\n" + self._sql["and_ids"]
        rows = self._session.run(sql, {**self._visible(visible), "ids": dumps(list(ids))})
        found = {row[3]: to_memory(row) for row in rows}
        return [found[i] for i in ids if i in found]

    def holder(self, partition: Partition, private_agent: str | None, dedup_key: str) -> Memory | None:
        pid = self._session.pid(partition)
        key = {"pid": pid, "private_agent": private_agent or "", "dedup_key": dedup_key}
        row = self._session.run(self._sql["select"] + "\n" + self._sql["where_holder"], key).fetchone()
        return None if row is None else to_memory(row)

    def list(self, visible: Visibility, query: MemoryQuery) -> builtins.list[Memory]:
        sql, parameters = self._matching("select", visible, query)
        if query.after is not None:
            sql += "\n" + self._sql[f"after_{query.order.value}"]
            parameters["after"] = query.after
        sql += "\n" + self._sql[f"order_{query.order.value}"]
        if query.limit is not None:
            sql += "\n" + self._sql["limit"]
            parameters["limit"] = query.limit
        return [to_memory(row) for row in self._session.run(sql, parameters)]

    def ids(self, visible: Visibility, query: MemoryQuery) -> set[str]:
        sql, parameters = self._matching("select_ids", visible, query)
        return {row[0] for row in self._session.run(sql, parameters)}

    def replace(self, memory: Memory, terms: Terms, was_updated_at: datetime) -> bool:
        if self._session.pid(memory.partition) is None:
            return False
        pid, changed = self._session.changed(memory.partition)
        key = {"pid": pid, "id": memory.id}
        old = self._session.run(self._sql["text"], key).fetchone()
        columns = {**memory_columns(memory, terms, pid, changed), "was_updated_at": to_microseconds(was_updated_at)}
        try:
            if self._session.write(self._sql["replace"], columns).rowcount == 0:
                return False
        except sqlite3.IntegrityError as error:
            raise ConflictError("another memory in the same place already says that") from error
        self._session.advance(pid)
        relink(self._session, self._links, pid, memory)
        graph_links(self._session).follow(pid, memory, is_same_text=old[0] == memory.text)
        if old[0] != memory.text:
            self._session.write(statements("vectors")["erase"], {"pid": pid, "ids": dumps([memory.id])})
        return True

    def touch(self, partition: Partition, accesses: Mapping[str, int], at: datetime) -> None:
        key = {"pid": self._session.pid(partition), "counts": dumps(dict(accesses)), "at": to_microseconds(at)}
        self._session.write(self._sql["touch"], key)

    def erase(self, partition: Partition, ids: Sequence[str], at: datetime) -> int:
        if self._session.pid(partition) is None:
            return 0
        pid, changed = self._session.changed(partition)
        key = {"pid": pid, "changed": changed, "ids": dumps([*ids]), "at": to_microseconds(at)}
        erased = [row[0] for row in self._session.write(self._sql["erase"], key).fetchall()]
        if erased:
            graph_links(self._session).cut(pid, erased)
            self._session.advance(pid)
            self._session.write(self._links["unlink"], {"pid": pid, "ids": dumps(erased)})
            self._session.write(statements("vectors")["erase"], {"pid": pid, "ids": dumps(erased)})
        return len(erased)

    def _add(self, memory: Memory, terms: Terms) -> bool:
        pid, changed = self._session.changed(memory.partition)
        columns = memory_columns(memory, terms, pid, changed)
        try:
            if self._session.write(self._sql["insert"], columns).rowcount == 0:
                return False
        except sqlite3.IntegrityError as error:
            raise ConflictError(f"memory {memory.id} cannot be stored: {error}") from error
        self._session.advance(pid)
        link(self._session, self._links, [(pid, memory)])
        return True

    def _visible(self, visible: Visibility) -> dict[str, object]:
        return {"pids": self._session.pids(visible.partitions), "agent": visible.agent or ""}

    def _matching(self, select: str, visible: Visibility, query: MemoryQuery) -> tuple[str, dict[str, object]]:
        compiler = SqliteFilters()
        clause = compiler.clause(query.filter)
        sql = "\n".join((self._sql[select], self._sql["where_visible"], self._sql["and_query"], "AND " + clause))
        return sql, {
            **self._visible(visible),
            **compiler.parameters,
            "now": to_microseconds(query.now),
            "states": dumps([state.value for state in query.states]),
            "kinds": dumps([kind.value for kind in query.kinds]),
            "as_of": micros(query.as_of),
            "known_at": micros(query.known_at),
            "or_flagged": query.or_flagged,
        }
