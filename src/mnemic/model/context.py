"""What is put in front of the model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from mnemic.model.item import Role
from mnemic.model.recall import Recall


class Placement(StrEnum):
    """Where the blocks go.

    LEADING merges all into one leading system message. BEFORE_LAST_USER keeps system prompt and profile as an
    untouched, cacheable prefix and puts what changes from turn to turn right before the current message.
    """

    LEADING = "leading"
    BEFORE_LAST_USER = "before_last_user"


@dataclass(frozen=True, slots=True)
class ChatMessage:
    """A message as chat models take it."""

    role: Role
    content: str


@dataclass(frozen=True, slots=True)
class Citation:
    """What the mark `[number]` in the facts stands for; `get(item_id)` finds it."""

    number: int
    item_id: str
    kind: str
    source: str
    observed_at: datetime


@dataclass(frozen=True, slots=True)
class Context:
    """`messages` are ready to send. `blocks` are the parts they were made of, in order, by name: system, profile,
    working, facts, history. `token_count` counts what memory added (everything but the system prompt and the current
    message). `timings_ms` says how long each source took; `degraded` which were missing and why.
    """

    messages: tuple[ChatMessage, ...]
    blocks: Mapping[str, str]
    citations: tuple[Citation, ...]
    token_count: int
    recall: Recall
    degraded: tuple[str, ...]
    timings_ms: Mapping[str, float]
