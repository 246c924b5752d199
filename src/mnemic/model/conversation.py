"""The running state of one conversation."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from mnemic.model.scope import Partition


@dataclass(frozen=True, slots=True)
class Conversation:
    """One session's talk: how many turns and messages it holds, and when it began and was last heard of."""

    partition: Partition
    session: str
    turns: int
    messages: int
    started_at: datetime
    last_at: datetime
