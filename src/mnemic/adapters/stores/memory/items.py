"""The reference store's messages, conversations and memories."""

import builtins
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from copy import deepcopy
from dataclasses import replace
from datetime import datetime
from typing import Any, TypeVar

from mnemic.adapters.stores.memory.graph import MemoryGraph
from mnemic.adapters.stores.memory.tables import NO_TERMS, Port, Row, Transaction
from mnemic.errors import ConflictError
from mnemic.model.candidates import Terms
from mnemic.model.filter import Filter, field_at, meets
from mnemic.model.item import Conversation, Memory, Message, State
from mnemic.model.listing import group_pairs
from mnemic.model.recall import MemoryQuery, MessageQuery, Order
from mnemic.model.scope import Partition, Visibility

_ItemT = TypeVar("_ItemT", Message, Memory)


def copy_mappings(item: _ItemT) -> _ItemT:
    """The item with its own mappings, so that later changes by the caller have no effect."""
    mappings = {name: deepcopy(dict(getattr(item, name))) for name in ("metadata", "bookkeeping")}
    return replace(item, **mappings)


def _erase_items(
    transaction: Transaction,
    rows: dict[tuple[Partition, str], Row[_ItemT]],
    partition: Partition,
    ids: Sequence[str],
    **blank: object,
) -> int:
    """Turn items into tombstones without text and the `blank` fields, and remove their vectors and links."""
    keys = [key for i in set(ids) if (key := (partition, i)) in rows and rows[key].item.state != State.ERASED]
    for key in keys:
        values: dict[str, Any] = {"state": State.ERASED, "text": "", "metadata": {}, "bookkeeping": {}, **blank}
        gone = replace(rows[key].item, **values)
        rows[key] = Row(gone, NO_TERMS, transaction.changed(partition), rows[key].number)
        transaction.forget_vectors(*key)
    if keys:
        MemoryGraph(transaction).forget(partition, [item_id for _, item_id in keys])
    return len(keys)


class MemoryMessages(Port):
    """The `Messages` port."""

    def conversation(self, partition: Partition, session: str, at: datetime) -> Conversation:
        new = Conversation(partition, session, 0, 0, at, at)
        self._transaction.writable.versions.setdefault(partition, 0)
        return self._transaction.writable.conversations.setdefault((partition, session), new)

    def add(self, rows: Sequence[tuple[Message, Terms]]) -> None:
        for message, terms in rows:
            key = (message.partition, message.session)
            self._check_new(message)
            tables, changed = self._transaction.writable, self._transaction.changed(message.partition)
            kept = copy_mappings(message)
            tables.messages[(message.partition, message.id)] = Row(kept, terms, changed, self._transaction.number())
            old = tables.conversations[key]
            tables.conversations[key] = replace(
                old,
                turns=max(old.turns, message.turn),
                messages=max(old.messages, message.position),
                last_at=max(old.last_at, message.observed_at),
            )

    def get(self, visible: Visibility, ids: Sequence[str]) -> list[Message]:
        rows = self._transaction.tables.messages
        found = [rows[p, i].item for i in ids for p in visible.partitions if (p, i) in rows]
        return [message for message in found if message.state != State.ERASED]

    def of_turn(self, visible: Visibility, turn_id: str) -> list[Message]:
        found = [message for message in self._visible(visible) if message.turn_id == turn_id]
        return sorted(found, key=lambda message: (message.position, message.id))

    def by_external_id(self, partition: Partition, session: str, external_ids: Collection[str]) -> dict[str, Message]:
        rows = self._transaction.tables.messages.values()
        found = [row.item for row in rows if (row.item.partition, row.item.session) == (partition, session)]
        return {m.external_id: m for m in found if m.external_id is not None and m.external_id in external_ids}

    def latest(self, visible: Visibility, session: str, limit: int) -> list[Message]:
        found = [message for message in self._visible(visible) if message.session == session]
        return sorted(found, key=lambda message: (message.position, message.id))[-limit:] if limit > 0 else []

    def page(self, visible: Visibility, after: str | None, limit: int) -> list[Message]:
        found = [message for message in self._visible(visible) if after is None or message.id > after]
        return sorted(found, key=lambda message: message.id)[:limit]

    def erase(self, partition: Partition, ids: Sequence[str]) -> int:
        return _erase_items(self._transaction, self._transaction.tables.messages, partition, ids, name=None)

    def _check_new(self, message: Message) -> None:
        tables, external = self._transaction.tables, message.external_id
        said = tables.conversations[message.partition, message.session].messages
        is_taken = (message.partition, message.id) in tables.messages
        if not is_taken and (external is not None or message.position <= said):
            items = (row.item for row in tables.messages.values())
            is_taken = any(
                (m.partition, m.session) == (message.partition, message.session)
                and (m.position == message.position or (external is not None and m.external_id == external))
                for m in items
            )
        if is_taken:
            raise ConflictError(
                f"session {message.session!r} already has a message with external id {external!r}, "
                f"position {message.position} or id {message.id}"
            )

    def _visible(self, visible: Visibility) -> list[Message]:
        partitions = set(visible.partitions)
        items = [row.item for (p, _), row in self._transaction.tables.messages.items() if p in partitions]
        return [message for message in items if message.state != State.ERASED]


class MemoryMemories(Port):
    """The `Memories` port."""

    def add(self, rows: Sequence[tuple[Memory, Terms]]) -> list[bool]:
        return [self._add(memory, terms) for memory, terms in rows]

    def get(self, visible: Visibility, ids: Sequence[str]) -> builtins.list[Memory]:
        rows = self._transaction.tables.memories
        found = [rows[p, i].item for i in ids for p in visible.partitions if (p, i) in rows]
        return [m for m in found if m.state != State.ERASED and visible.admits(m.partition, m.private_agent)]

    def holder(self, partition: Partition, private_agent: str | None, dedup_key: str) -> Memory | None:
        for row in self._transaction.tables.memories.values():
            if (row.item.partition, row.item.private_agent, row.item.dedup_key) == (
                partition,
                private_agent,
                dedup_key,
            ) and row.item.state in (State.ACTIVE, State.QUARANTINED):
                return row.item
        return None

    def list(self, visible: Visibility, query: MemoryQuery) -> builtins.list[Memory]:
        found = [memory for memory in self._visible(visible) if _meets(memory, query)]
        rank = _rank(query.order)
        found.sort(key=rank, reverse=query.order != Order.OLDEST)
        if query.after is not None:
            ranks = [rank(memory) for memory in self._visible(visible) if memory.id == query.after]
            is_oldest = query.order == Order.OLDEST
            found = [m for m in found if ranks and (rank(m) > ranks[0] if is_oldest else rank(m) < ranks[0])]
        return found[: query.limit]

    def ids(self, visible: Visibility, query: MemoryQuery) -> set[str]:
        return {memory.id for memory in self._visible(visible) if _meets(memory, query)}

    def replace(self, memory: Memory, terms: Terms, was_updated_at: datetime) -> bool:
        key = (memory.partition, memory.id)
        old = self._transaction.writable.memories.get(key)
        if old is None or old.item.updated_at != was_updated_at or old.item.state == State.ERASED:
            return False
        if memory.state in (State.ACTIVE, State.QUARANTINED):
            holder = self.holder(memory.partition, memory.private_agent, memory.dedup_key)
            if holder is not None and holder.id != memory.id:
                raise ConflictError("another memory at this level already has this text")
        changed = self._transaction.changed(memory.partition)
        kept = copy_mappings(memory)
        self._transaction.writable.memories[key] = Row(kept, terms, changed, old.number)
        MemoryGraph(self._transaction).follow(kept, is_same_text=memory.text == old.item.text)
        if memory.text != old.item.text:
            self._transaction.forget_vectors(*key)
        return True

    def touch(self, partition: Partition, accesses: Mapping[str, int], at: datetime) -> None:
        rows = self._transaction.writable.memories
        for item_id, count in accesses.items():
            row = rows.get((partition, item_id))
            if row is not None and row.item.state != State.ERASED:
                seen = max(row.item.last_accessed_at or at, at)
                total = row.item.access_count + count
                item = replace(row.item, access_count=total, last_accessed_at=seen, faded=None)
                rows[(partition, item_id)] = replace(row, item=item)

    def erase(self, partition: Partition, ids: Sequence[str], at: datetime) -> int:
        blank = dict.fromkeys(("context", "snippet", "source", "dedup_key"), "")
        blank_lists = dict.fromkeys(("categories", "provenance", "flags"), ())
        memories = self._transaction.tables.memories
        return _erase_items(self._transaction, memories, partition, ids, updated_at=at, **blank, **blank_lists)

    def _add(self, memory: Memory, terms: Terms) -> bool:
        tables, key = self._transaction.writable, (memory.partition, memory.id)
        is_kept = memory.state in (State.ACTIVE, State.QUARANTINED)
        if is_kept and self.holder(memory.partition, memory.private_agent, memory.dedup_key) is not None:
            return False
        if key in tables.memories:
            raise ConflictError(f"memory {memory.id} cannot be stored: the id is already in use")
        changed = self._transaction.changed(memory.partition)
        kept = copy_mappings(memory)
        tables.memories[key] = Row(kept, terms, changed, self._transaction.number())
        return True

    def _visible(self, visible: Visibility) -> builtins.list[Memory]:
        partitions = set(visible.partitions)
        items = [row.item for (p, _), row in self._transaction.tables.memories.items() if p in partitions]
        return [memory for memory in items if visible.admits(memory.partition, memory.private_agent)]


def _rank(order: Order) -> Callable[[Memory], tuple[float, int, datetime, str]]:
    if order == Order.IMPORTANCE:
        return lambda memory: (memory.present_importance, memory.access_count, memory.created_at, memory.id)
    return lambda memory: (0.0, 0, memory.created_at, memory.id)


def _meets(memory: Memory, query: MemoryQuery) -> bool:
    as_of, known_at = query.as_of, query.known_at
    return (
        (memory.expires_at is None or memory.expires_at > query.now)
        and (
            (memory.state in query.states if query.states else memory.state != State.ERASED)
            or (query.or_flagged and bool(memory.flags) and memory.state == State.ACTIVE)
        )
        and (not query.kinds or memory.kind in query.kinds)
        and memory.id.endswith(query.ending)
        and (as_of is None or _holds_at(memory.valid_from or memory.observed_at, memory.valid_to, as_of))
        and (known_at is None or _holds_at(memory.created_at, memory.retired_at, known_at))
        and matches(memory, query.filter)
    )


def _holds_at(start: datetime, end: datetime | None, at: datetime) -> bool:
    return start <= at and (end is None or at < end)


class MemoryConversations(Port):
    """The `Conversations` port."""

    def get(self, partition: Partition, session: str) -> Conversation | None:
        return self._transaction.tables.conversations.get((partition, session))

    def messages(self, partition: Partition, session: str, after: int, limit: int) -> list[Message]:
        items = [row.item for row in self._transaction.tables.messages.values()]
        found = [m for m in items if (m.partition, m.session) == (partition, session) and m.position > after]
        kept = [message for message in found if message.state != State.ERASED]
        return sorted(kept, key=lambda message: message.position)[:limit]

    def metadata(self, visible: Visibility) -> dict[str, Mapping[str, object]]:
        items = [row.item for (p, _), row in self._transaction.tables.messages.items() if p in visible.partitions]
        return {message.id: message.metadata for message in items if message.metadata and message.state != State.ERASED}

    def said(self, visible: Visibility, query: MessageQuery) -> list[Message]:
        items = [row.item for row in self._transaction.tables.messages.values()]
        items = [message for message in items if message.partition in visible.partitions]
        items.sort(key=lambda message: (message.observed_at, message.position, message.id), reverse=True)
        if query.after is not None:
            places = [place for place, message in enumerate(items) if message.id == query.after]
            items = items[places[0] + 1 :] if places else []
        kept = [
            message
            for message in items
            if message.state != State.ERASED
            and query.session in (None, message.session)
            and message.id.endswith(query.ending)
            and (query.since is None or message.observed_at >= query.since)
            and (query.until is None or message.observed_at < query.until)
        ]
        return kept[: query.limit]

    def sessions(self, visible: Visibility, limit: int) -> list[Conversation]:
        messages = self.said(visible, MessageQuery(limit=sys.maxsize))
        said = group_pairs(((message.partition, message.session), message) for message in messages)
        found = [
            Conversation(*key, max(m.turn for m in each), len(each), each[-1].observed_at, each[0].observed_at)
            for key, each in said.items()
        ]
        return sorted(found, key=lambda talk: (-talk.last_at.timestamp(), talk.session))[:limit]

    def cursor(self, partition: Partition, session: str, name: str) -> int:
        return self._transaction.tables.cursors.get((partition, session, name), 0)

    def move(self, partition: Partition, session: str, name: str, was: int, to: int) -> bool:
        tables = self._transaction.writable
        if self.cursor(partition, session, name) != was:
            return False
        tables.versions.setdefault(partition, 0)
        tables.cursors[partition, session, name] = to
        return True


def matches(memory: Memory, filter_: Filter) -> bool:
    """True if the memory matches the filter."""
    return meets(lambda path: field_at(getattr(memory, path[0]), path[1:]), filter_)
