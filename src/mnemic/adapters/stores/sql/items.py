"""Messages, conversations and memories over SQL."""

import builtins
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime

from mnemic.adapters.stores.sql.dependants import link_sources
from mnemic.adapters.stores.sql.dialect import CONVERSATION, MEMORY, MESSAGE
from mnemic.adapters.stores.sql.graph import GraphLinks
from mnemic.adapters.stores.sql.session import SqlPort, SqlSession
from mnemic.errors import ConflictError
from mnemic.model.candidates import Terms
from mnemic.model.columns import dumps, loads, micros
from mnemic.model.item import Conversation, Memory, Message, State
from mnemic.model.recall import MemoryQuery, MessageQuery
from mnemic.model.scope import Partition, Visibility, from_microseconds, to_microseconds

_HOLDERS = (State.ACTIVE, State.QUARANTINED)

Place = tuple[int, int, str]
"""The order of a listing: time of a message (microseconds), position, id."""

_LATEST: Place = ((1 << 63) - 1, 0, "")  # a place after every row: the largest number of a 64-bit column
_EARLIEST = -(1 << 63)  # the smallest number of a 64-bit column


class SqlMessages(SqlPort, topic="messages"):
    """The `Messages` port."""

    def conversation(self, partition: Partition, session: str, at: datetime) -> Conversation:
        self._session.check_writing()
        key = {"pid": self._session.writable_pid(partition), "session": session}
        row = self._session.run(self._sql["conversation"], key).fetchone()
        if row is None:
            columns = {**key, "org": partition.org, "at": to_microseconds(at)}
            self._session.write(self._sql["begin_conversation"], columns)
            return Conversation(partition, session, 0, 0, at, at)
        return Conversation(partition, session, row[0], row[1], from_microseconds(row[2]), from_microseconds(row[3]))

    def add(self, rows: Sequence[tuple[Message, Terms]]) -> None:
        self._session.lock(message.partition for message, _ in rows)
        places = [self._session.changed(message.partition) for message, _ in rows]
        columns = [
            {**MESSAGE.row(message), **_terms_columns(terms, place)}
            for (message, terms), place in zip(rows, places, strict=True)
        ]
        is_new = self._session.write_each(self._sql["insert"], columns)
        for (message, _), new in zip(rows, is_new, strict=True):
            if not new:
                raise ConflictError(
                    f"session {message.session!r} already has a message with external id {message.external_id!r}, "
                    f"position {message.position} or id {message.id}"
                )
        self._session.write_each(self._sql["advance_conversation"], columns)
        for pid, _ in places:
            self._session.advance(pid)

    def get(self, visible: Visibility, ids: Sequence[str]) -> list[Message]:
        rows = self._select("ids", self._session.visible(visible, ids=self._session.list_values(ids)))
        found = {(message.partition, message.id): message for message in rows}
        return [found[p, i] for i in ids for p in visible.partitions if (p, i) in found]

    def of_turn(self, visible: Visibility, turn_id: str) -> list[Message]:
        return self._select("turn", self._session.visible(visible, turn_id=turn_id))

    def by_external_id(self, partition: Partition, session: str, external_ids: Collection[str]) -> dict[str, Message]:
        pid = self._session.pid(partition)
        if pid is None or not external_ids:
            return {}
        key = {"pid": pid, "session": session, "external_ids": self._session.list_values(external_ids)}
        found = self._select("external_id", key)
        return {message.external_id: message for message in found if message.external_id is not None}

    def latest(self, visible: Visibility, session: str, limit: int) -> list[Message]:
        return self._select("latest", self._session.visible(visible, session=session, limit=limit))[::-1]

    def page(self, visible: Visibility, after: str | None, limit: int) -> list[Message]:
        return self._select("page", self._session.visible(visible, after=after or "", limit=limit))

    def erase(self, partition: Partition, ids: Sequence[str]) -> int:
        self._session.check_writing()
        if self._session.pid(partition) is None:
            return 0
        pid, changed = self._session.changed(partition)
        key = {"pid": pid, "changed": changed, "ids": self._session.list_values(ids)}
        erased = [row[0] for row in self._session.write(self._sql["erase"], key)]
        if erased:
            self._session.erased.add((partition, False))
            GraphLinks(self._session).cut(pid, erased)
            self._session.advance(pid)
            erase_vectors(self._session, pid, erased)
        return len(erased)

    def _select(self, where: str, parameters: Mapping[str, object]) -> list[Message]:
        sql = self._sql["select"] + "\n" + self._sql[f"where_{where}"]
        return [MESSAGE.noun(row) for row in self._session.run(sql, parameters)]


class SqlConversations(SqlPort, topic="conversations"):
    """The `Conversations` port. Only `move` locks the partition."""

    def get(self, partition: Partition, session: str) -> Conversation | None:
        key = {"pid": self._session.look_up_pid(partition), "session": session}
        row = self._session.run(self._sql["get"], key).fetchone()
        return None if row is None else CONVERSATION.noun(row)

    def messages(self, partition: Partition, session: str, after: int, limit: int) -> list[Message]:
        key = {"pid": self._session.look_up_pid(partition), "session": session, "after": after, "limit": limit}
        return [MESSAGE.noun(row) for row in self._session.run(self._sql["messages"], key)]

    def said(self, visible: Visibility, query: MessageQuery) -> list[Message]:
        """One indexed statement per partition, then merged."""
        behind: Place | None = _LATEST
        if query.after is not None:
            behind = next((p for each in visible.partitions if (p := self._place(each, query.after)) is not None), None)
        if behind is None:
            return []
        key: dict[str, object] = {
            "session": query.session,
            "since": _EARLIEST if query.since is None else to_microseconds(query.since),
            "until": _LATEST[0] if query.until is None else to_microseconds(query.until),
            "ending": query.ending,
            "limit": query.limit,
            **dict(zip(("at", "position", "id"), behind, strict=True)),
        }
        found: list[Message] = []
        for partition in visible.partitions:
            rows = self._session.run(self._sql["said"], {**key, "pid": self._session.pid(partition)})
            found += [MESSAGE.noun(row) for row in rows]
        return sorted(found, key=_place_of, reverse=True)[: query.limit]

    def metadata(self, visible: Visibility) -> dict[str, Mapping[str, object]]:
        return {
            row[0]: loads(row[1]) for row in self._session.run(self._sql["metadata"], self._session.visible(visible))
        }

    def sessions(self, visible: Visibility, limit: int) -> list[Conversation]:
        rows = self._session.run(self._sql["sessions"], self._session.visible(visible, limit=limit))
        return [CONVERSATION.noun(row) for row in rows]

    def cursor(self, partition: Partition, session: str, name: str) -> int:
        key = {"pid": self._session.look_up_pid(partition), "session": session, "name": name}
        row = self._session.run(self._sql["cursor"], key).fetchone()
        return 0 if row is None else row[0]

    def move(self, partition: Partition, session: str, name: str, was: int, to: int) -> bool:
        self._session.check_writing()
        pid = self._session.writable_pid(partition) if was == 0 else self._session.pid(partition)
        key = {"pid": pid, "org": partition.org, "session": session, "name": name, "was": was, "to": to}
        return self._session.write(self._sql["move" if was else "move_from_0"], key).rowcount == 1

    def _place(self, partition: Partition, item_id: str) -> Place | None:
        row = self._session.run(self._sql["place"], {"pid": self._session.pid(partition), "id": item_id}).fetchone()
        return None if row is None else (int(row[0]), int(row[1]), str(row[2]))


class SqlMemories(SqlPort, topic="memories"):
    """The `Memories` port."""

    def add(self, rows: Sequence[tuple[Memory, Terms]]) -> list[bool]:
        self._session.lock(memory.partition for memory, _ in rows)
        places = [self._session.changed(memory.partition) for memory, _ in rows]
        columns = [self._columns(*row, place) for row, place in zip(rows, places, strict=True)]
        is_new = self._session.write_each(self._sql["insert"], columns)
        self._check_ids([memory for (memory, _), new in zip(rows, is_new, strict=True) if not new])
        for (pid, _), new in zip(places, is_new, strict=True):
            if new:
                self._session.advance(pid)
        added = [(pid, memory) for (pid, _), (memory, _), new in zip(places, rows, is_new, strict=True) if new]
        link_sources(self._session, added)
        return is_new

    def get(self, visible: Visibility, ids: Sequence[str]) -> builtins.list[Memory]:
        asked = self._session.visible(visible, ids=self._session.list_values(ids))
        found = {(memory.partition, memory.id): memory for memory in self._select(("where_visible", "and_ids"), asked)}
        return [found[p, i] for i in ids for p in visible.partitions if (p, i) in found]

    def holder(self, partition: Partition, private_agent: str | None, dedup_key: str) -> Memory | None:
        pid = self._session.pid(partition)
        key = {"pid": pid, "private_agent": private_agent or "", "dedup_key": dedup_key}
        return next(iter(self._select(("where_holder",), key)), None)

    def list(self, visible: Visibility, query: MemoryQuery) -> builtins.list[Memory]:
        names = [] if query.after is None else [f"after_{query.order.value}"]
        names += [f"order_{query.order.value}"] + ["limit"] * (query.limit is not None)
        sql, parameters = self._match_statement("select", visible, query)
        sql = "\n".join((sql, *(self._sql[name] for name in names)))
        rows = self._session.run(sql, {**parameters, "after": query.after, "limit": query.limit})
        return [MEMORY.noun(row) for row in rows]

    def ids(self, visible: Visibility, query: MemoryQuery) -> set[str]:
        sql, parameters = self._match_statement("select_ids", visible, query)
        return {row[0] for row in self._session.run(sql, parameters)}

    def replace(self, memory: Memory, terms: Terms, was_updated_at: datetime) -> bool:
        self._session.check_writing()
        if self._session.pid(memory.partition) is None:
            return False
        place = pid, _ = self._session.changed(memory.partition)
        key = {"pid": pid, "id": memory.id, "was_updated_at": to_microseconds(was_updated_at)}
        old = self._session.run(self._sql["present"], key).fetchone()
        if old is None:
            return False
        if self._session.write(self._sql["replace"], self._columns(memory, terms, place)).rowcount == 0:
            raise ConflictError("another memory at this level already has this text")
        self._session.advance(pid)
        link_sources(self._session, [(pid, memory)], is_relinked=True)
        GraphLinks(self._session).follow(pid, memory, is_same_text=old[0] == memory.text)
        if old[0] != memory.text:
            erase_vectors(self._session, pid, [memory.id])
        return True

    def touch(self, partition: Partition, accesses: Mapping[str, int], at: datetime) -> None:
        self._session.check_writing()
        key = {"pid": self._session.pid(partition), "at": to_microseconds(at)}
        counted = {"counts": dumps(dict(accesses)), "ids": [*accesses], "added": [*accesses.values()]}
        self._session.write(self._sql["touch"], {**key, **counted})

    def erase(self, partition: Partition, ids: Sequence[str], at: datetime) -> int:
        self._session.check_writing()
        if self._session.pid(partition) is None:
            return 0
        pid, changed = self._session.changed(partition)
        key = {"pid": pid, "changed": changed, "ids": self._session.list_values(ids), "at": to_microseconds(at)}
        erased = [row[0] for row in self._session.write(self._sql["erase"], key)]
        if erased:
            self._session.erased.add((partition, False))
            GraphLinks(self._session).cut(pid, erased)
            self._session.advance(pid)
            gone = {"pid": pid, "ids": self._session.list_values(erased)}
            self._session.write(self._session.statements("dependants")["unlink"], gone)
            erase_vectors(self._session, pid, erased)
        return len(erased)

    def _columns(self, memory: Memory, terms: Terms, place: tuple[int, int]) -> dict[str, object]:
        return {**MEMORY.row(memory), **self._session.own_columns(memory), **_terms_columns(terms, place)}

    def _check_ids(self, refused: Sequence[Memory]) -> None:
        """Raise for rows with a taken id. A taken dedup key is no error. SQLite distinguishes the two itself."""
        if not refused or "taken_ids" not in self._sql:
            return
        pids = self._session.pids([memory.partition for memory in refused])
        ids = self._session.list_values([memory.id for memory in refused])
        taken = {row[0] for row in self._session.run(self._sql["taken_ids"], {"pids": pids, "ids": ids})}
        for memory in refused:
            is_held = memory.state in _HOLDERS and memory.id in taken
            if memory.id in taken and not (
                is_held and self.holder(memory.partition, memory.private_agent, memory.dedup_key)
            ):
                raise ConflictError(f"memory {memory.id} cannot be stored: the id is already in use")

    def _select(self, names: Sequence[str], parameters: Mapping[str, object]) -> builtins.list[Memory]:
        sql = "\n".join(self._sql[name] for name in ("select", *names))
        return [MEMORY.noun(row) for row in self._session.run(sql, parameters)]

    def _match_statement(self, select: str, visible: Visibility, query: MemoryQuery) -> tuple[str, dict[str, object]]:
        compiler = self._session.filters()
        clause = compiler.clause(query.filter)
        sql = "\n".join((self._sql[select], self._sql["where_visible"], self._sql["and_query"], "AND " + clause))
        asked = self._session.visible(
            visible,
            now=to_microseconds(query.now),
            states=self._session.list_values(state.value for state in query.states),
            kinds=self._session.list_values(kind.value for kind in query.kinds),
            as_of=micros(query.as_of),
            known_at=micros(query.known_at),
            or_flagged=query.or_flagged,
            ending=query.ending,
        )
        return sql, {**asked, **compiler.parameters}


def erase_vectors(session: SqlSession, pid: int, ids: Sequence[str]) -> None:
    """Remove all vectors of these items."""
    session.write(session.statements("vectors")["erase"], {"pid": pid, "ids": session.list_values(ids)})


def _terms_columns(terms: Terms, place: tuple[int, int]) -> dict[str, object]:
    """Columns of an item's row besides the item's own."""
    pid, changed = place
    return {"pid": pid, "changed": changed, "analyser": terms.analyser, "terms": terms.terms}


def _place_of(message: Message) -> Place:
    return to_microseconds(message.observed_at), message.position, message.id
