"""Cursors over conversations, and upkeep, of the reference store."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime

from mnemic.adapters.stores.memory.transaction import Transaction
from mnemic.model.document import Document
from mnemic.model.item import Conversation, Memory, Message, State
from mnemic.model.recall import MessageQuery
from mnemic.model.records import JobState
from mnemic.model.scope import Partition, Visibility


class MemoryConversations:
    """The `Conversations` port."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction

    def get(self, partition: Partition, session: str) -> Conversation | None:
        return self._transaction.tables.conversations.get((partition, session))

    def messages(self, partition: Partition, session: str, after: int, limit: int) -> list[Message]:
        items = [row.item for row in self._transaction.tables.messages.values()]
        found = [m for m in items if (m.partition, m.session) == (partition, session) and m.position > after]
        kept = [message for message in found if message.state != State.ERASED]
        return sorted(kept, key=lambda message: message.position)[:limit]

    def said(self, visible: Visibility, query: MessageQuery) -> list[Message]:
        items = [row.item for row in self._transaction.tables.messages.values()]
        items = sorted((m for m in items if m.partition in visible.partitions), key=_said_last, reverse=True)
        if query.after is not None:
            places = [place for place, message in enumerate(items) if message.id == query.after]
            items = items[places[0] + 1 :] if places else []
        kept = [
            message
            for message in items
            if message.state != State.ERASED
            and query.session in (None, message.session)
            and (query.since is None or message.observed_at >= query.since)
            and (query.until is None or message.observed_at < query.until)
        ]
        return kept[: query.limit]

    def cursor(self, partition: Partition, session: str, name: str) -> int:
        return self._transaction.tables.cursors.get((partition, session, name), 0)

    def move(self, partition: Partition, session: str, name: str, was: int, to: int) -> bool:
        tables = self._transaction.writable
        if self.cursor(partition, session, name) != was:
            return False
        tables.versions.setdefault(partition, 0)
        tables.cursors[partition, session, name] = to
        return True


class MemoryUpkeep:
    """The `Upkeep` port."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction

    def idle(self, cursor: str, since: datetime, limit: int, within: Partition | None = None) -> list[Conversation]:
        tables = self._transaction.tables
        found = [
            talk
            for (partition, session), talk in tables.conversations.items()
            if within in (None, partition)
            and talk.last_at < since
            and tables.cursors.get((partition, session, cursor), 0) < talk.messages
        ]
        return sorted(found, key=lambda talk: (talk.last_at, talk.partition, talk.session))[:limit]

    def memories(self, partition: Partition, after: str, limit: int) -> list[Memory]:
        items = [row.item for (place, _), row in self._transaction.tables.memories.items() if place == partition]
        found = [memory for memory in items if memory.state != State.ERASED and memory.id > after]
        return sorted(found, key=lambda memory: memory.id)[:limit]

    def private_agents(self, partition: Partition) -> list[str]:
        tables = self._transaction.tables
        agents = {r.item.private_agent for r in tables.memories.values() if _lives(partition, r.item)}
        agents |= {d.private_agent for d in tables.documents.values() if _lives(partition, d)}
        return sorted(agent for agent in agents if agent is not None)

    def fade(self, partition: Partition, values: Mapping[str, float | None]) -> None:
        rows = self._transaction.writable.memories
        for item_id, faded in values.items():
            row = rows.get((partition, item_id))
            if row is not None and row.item.state != State.ERASED:
                rows[partition, item_id] = replace(row, item=replace(row.item, faded=faded))

    def last_run(self, schedule: str) -> datetime | None:
        return self._transaction.tables.schedules.get(schedule)

    def start_run(self, schedule: str, was: datetime | None, at: datetime) -> bool:
        schedules = self._transaction.writable.schedules
        if schedules.get(schedule) != was:
            return False
        schedules[schedule] = at
        return True

    def forget_jobs(self, before: datetime) -> int:
        jobs = self._transaction.writable.jobs
        old = [key for key, job in jobs.items() if job.state == JobState.DONE and job.created_at < before]
        for key in old:
            del jobs[key]
        return len(old)


def _lives(partition: Partition, row: Memory | Document) -> bool:
    state = row.state.value if isinstance(row, Memory) else row.status.value
    return row.partition == partition and state != State.ERASED.value


def _said_last(message: Message) -> tuple[datetime, int, str]:
    return message.observed_at, message.position, message.id
