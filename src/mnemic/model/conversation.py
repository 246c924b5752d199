"""The running state of one conversation."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from mnemic.model.scope import Partition

SUMMARISED = "summarised"
"""The cursor behind the last message that is part of a summary."""

UNREFLECTED = "unreflected"
"""The counter of summaries made since the last reflection."""

ENDED = "ended"
"""The cursor behind the last message that was said when somebody ended the session; up to here nothing waits in a
window."""

CURATED = "curated"
"""The cursor behind the last message from which the curator took what is worth keeping."""

CURATE_TRIES = "curate_tries"
"""The counter of the curator's runs that left a refused gem's turns behind the cursor."""

EXTRACTED = "extracted"
"""The cursor behind the last message in which facts were sought."""

CURSORS = (SUMMARISED, UNREFLECTED, ENDED, EXTRACTED, CURATED, CURATE_TRIES)
"""Every cursor and counter of a conversation, by name."""


@dataclass(frozen=True, slots=True)
class Conversation:
    """One session's talk: how many turns and messages it holds, and when it began and was last heard of."""

    partition: Partition
    session: str
    turns: int
    messages: int
    started_at: datetime
    last_at: datetime
