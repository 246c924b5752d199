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
    """What the mark `[number]` in the facts and documents stands for; `get(item_id)` finds it.

    Of an excerpt of a document also: which document, its title, the first and last page (from 1) it stands on where
    they are known, and which characters of the document's text are shown, from `start` until before `end`; `item_id` is
    the chunk that was found.
    """

    number: int
    item_id: str
    kind: str
    source: str
    observed_at: datetime
    document_id: str | None = None
    title: str = ""
    page: int | None = None
    last_page: int | None = None
    start: int | None = None
    end: int | None = None


@dataclass(frozen=True, slots=True)
class Context:
    """`messages` are ready to send. `blocks` are the parts they were made of, in order, by name: system, profile,
    working, facts, documents, history. `token_count` counts what memory added (everything but the system prompt and the
    current message). `recall` holds what is shown: the facts, then the best chunk of each excerpt of a document, in the
    order of their numbers. `timings_ms` says how long each source took; `degraded` which were missing and why.
    """

    messages: tuple[ChatMessage, ...]
    blocks: Mapping[str, str]
    citations: tuple[Citation, ...]
    token_count: int
    recall: Recall
    degraded: tuple[str, ...]
    timings_ms: Mapping[str, float]
