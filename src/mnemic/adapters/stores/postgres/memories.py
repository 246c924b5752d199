"""What is worth keeping."""

from __future__ import annotations

import builtins
from collections.abc import Mapping, Sequence
from datetime import datetime

from mnemic.adapters.stores.dependants import link, relink
from mnemic.adapters.stores.postgres.filters import PostgresFilters
from mnemic.adapters.stores.postgres.graph import graph_links
from mnemic.adapters.stores.postgres.rows import memory_columns, to_memory
from mnemic.adapters.stores.postgres.session import Session
from mnemic.adapters.stores.postgres.statements import statements
from mnemic.adapters.stores.rows import micros
from mnemic.errors import ConflictError
from mnemic.model.candidates import Terms
from mnemic.model.item import Memory, State
from mnemic.model.recall import MemoryQuery
from mnemic.model.scope import Partition, Visibility
from mnemic.model.values import to_microseconds

_HOLDERS = (State.ACTIVE, State.QUARANTINED)


class PostgresMemories:
    """The `Memories` port."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._sql = statements("memories")
        self._links = statements("dependants")

    def add(self, rows: Sequence[tuple[Memory, Terms]]) -> list[bool]:
        self._session.lock(memory.partition for memory, _ in rows)
        places = [self._session.changed(memory.partition) for memory, _ in rows]
        columns = [memory_columns(*row, *place) for row, place in zip(rows, places, strict=True)]
        is_new = self._session.write_each(self._sql["insert"], columns)
        self._check_ids([memory for (memory, _), new in zip(rows, is_new, strict=True) if not new])
        for (pid, _), new in zip(places, is_new, strict=True):
            if new:
                self._session.advance(pid)
        added = [(pid, memory) for (pid, _), (memory, _), new in zip(places, rows, is_new, strict=True) if new]
        link(self._session, self._links, added)
        return is_new

    def get(self, visible: Visibility, ids: Sequence[str]) -> builtins.list[Memory]:
        sql = self._sql["select"] + "\n" + self._sql["where_visible"] + "\n" + self._sql["and_ids"]
        rows = self._session.run(sql, {**self._visible(visible), "ids": [*ids]})
        found = {(memory.partition, memory.id): memory for memory in map(to_memory, rows)}
        return [found[p, i] for i in ids for p in visible.partitions if (p, i) in found]

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
        self._session.check_writing()
        if self._session.pid(memory.partition) is None:
            return False
        pid, changed = self._session.changed(memory.partition)
        key = {"pid": pid, "id": memory.id, "was_updated_at": to_microseconds(was_updated_at)}
        old = self._session.run(self._sql["present"], key).fetchone()
        if old is None:
            return False
        holder = self.holder(memory.partition, memory.private_agent, memory.dedup_key)
        if memory.state in _HOLDERS and holder is not None and holder.id != memory.id:
            raise ConflictError("another memory in the same place already says that")
        self._session.write(self._sql["replace"], memory_columns(memory, terms, pid, changed))
        self._session.advance(pid)
        relink(self._session, self._links, pid, memory)
        graph_links(self._session).follow(pid, memory, is_same_text=old[0] == memory.text)
        if old[0] != memory.text:
            self._session.write(statements("vectors")["erase"], {"pid": pid, "ids": [memory.id]})
        return True

    def touch(self, partition: Partition, accesses: Mapping[str, int], at: datetime) -> None:
        self._session.check_writing()
        pid, moment = self._session.pid(partition), to_microseconds(at)
        rows = [{"pid": pid, "id": i, "count": count, "at": moment} for i, count in accesses.items()]
        self._session.write_each(self._sql["touch"], rows)

    def erase(self, partition: Partition, ids: Sequence[str], at: datetime) -> int:
        self._session.check_writing()
        if self._session.pid(partition) is None:
            return 0
        pid, changed = self._session.changed(partition)
        key = {"pid": pid, "changed": changed, "ids": [*ids], "at": to_microseconds(at)}
        erased = [row[0] for row in self._session.write(self._sql["erase"], key)]
        if erased:
            graph_links(self._session).cut(pid, erased)
            self._session.advance(pid)
            self._session.write(self._links["unlink"], {"pid": pid, "ids": erased})
            self._session.write(statements("vectors")["erase"], {"pid": pid, "ids": erased})
        return len(erased)

    def _check_ids(self, refused: Sequence[Memory]) -> None:
        """Each was refused for its dedup key or its id; the first is an answer, the second an error."""
        if not refused:
            return
        pids = self._session.pids([memory.partition for memory in refused])
        rows = self._session.run(self._sql["taken_ids"], {"pids": pids, "ids": [memory.id for memory in refused]})
        taken = {row[0] for row in rows}
        for memory in refused:
            is_held = memory.state in _HOLDERS and memory.id in taken
            if memory.id in taken and not (
                is_held and self.holder(memory.partition, memory.private_agent, memory.dedup_key)
            ):
                raise ConflictError(f"memory {memory.id} cannot be stored: the id is taken")

    def _visible(self, visible: Visibility) -> dict[str, object]:
        return {"pids": self._session.pids(visible.partitions), "agent": visible.agent or ""}

    def _matching(self, select: str, visible: Visibility, query: MemoryQuery) -> tuple[str, dict[str, object]]:
        compiler = PostgresFilters()
        clause = compiler.clause(query.filter)
        sql = "\n".join((self._sql[select], self._sql["where_visible"], self._sql["and_query"], "AND " + clause))
        return sql, {
            **self._visible(visible),
            **compiler.parameters,
            "now": to_microseconds(query.now),
            "states": [state.value for state in query.states],
            "kinds": [kind.value for kind in query.kinds],
            "as_of": micros(query.as_of),
            "known_at": micros(query.known_at),
            "or_flagged": query.or_flagged,
        }
