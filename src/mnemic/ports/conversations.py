"""The ports of conversations and of upkeep, two of those that a unit of work exposes (see `ports.store`)."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Protocol

from mnemic.model.conversation import Conversation
from mnemic.model.item import Memory, Message
from mnemic.model.query import MessageQuery
from mnemic.model.scope import Partition, Visibility


class Conversations(Protocol):
    """How far each use case has come in a conversation: named cursors over its messages, or counters."""

    def get(self, partition: Partition, session: str) -> Conversation | None:
        """The conversation, None when nothing was ever said in it. Locks nothing."""
        ...

    def messages(self, partition: Partition, session: str, after: int, limit: int) -> list[Message]:
        """The first `limit` messages behind the position `after` that are not erased, in order."""
        ...

    def said(self, visible: Visibility, query: MessageQuery) -> list[Message]:
        """The visible messages that meet the query and are not erased, in its order; none behind an unknown id, those
        that follow where it was behind one that is erased.
        """
        ...

    def cursor(self, partition: Partition, session: str, name: str) -> int:
        """Where the cursor stands; 0 when it was never moved."""
        ...

    def move(self, partition: Partition, session: str, name: str, was: int, to: int) -> bool:
        """Compare and set: move the cursor if it still stands at `was`; False when not. Moves no version."""
        ...


class Upkeep(Protocol):
    """What only the worker does, over all partitions at once."""

    def idle(self, cursor: str, since: datetime, limit: int, within: Partition | None = None) -> list[Conversation]:
        """Those last heard of before `since` with messages behind the cursor, the longest silent first."""
        ...

    def memories(self, partition: Partition, after: str, limit: int) -> list[Memory]:
        """The first ones not erased behind the id `after` ("" at first), by id; expired and private ones too."""
        ...

    def private_agents(self, partition: Partition) -> list[str]:
        """The agents that memories or documents, not erased, are private to, in order."""
        ...

    def fade(self, partition: Partition, values: Mapping[str, float | None]) -> None:
        """Set what the importance of memories has faded to; this is no change of the memory and moves no version."""
        ...

    def last_run(self, schedule: str) -> datetime | None:
        """The time for which a schedule ran last; None when it never did."""
        ...

    def start_run(self, schedule: str, was: datetime | None, at: datetime) -> bool:
        """Compare and set: note a run for `at` if the last was `was`; False if not, so that one worker runs it."""
        ...

    def forget_jobs(self, before: datetime) -> int:
        """Remove jobs that are done and were created before; returns how many."""
        ...
