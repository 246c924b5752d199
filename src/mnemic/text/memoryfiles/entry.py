"""The result types of all readers of memories."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from mnemic.model.item import Kind
from mnemic.model.scope import Level
from mnemic.text.chatlogs import LoggedConversation

MAX_TAG_CHARS = 64  # a longer tag is a sentence, and is left out


@dataclass(frozen=True, slots=True)
class Owner:
    """The scope whose memories to take from a file that may hold those of several users."""

    user: str | None = None
    agent: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One memory of another program. `place`: its location for people (`MEMORY.md:12`); `line` counts from 1. `origin`:
    the other program's id, or "". `trail`: the titles above it, outermost first. `is_dated`: it describes the day of
    `observed_at`. `level` None: the scope's. `metadata`: the owner's; `notes`: the reader's
    (`model.bookkeeping.IMPORT_NOTES`).
    """

    text: str
    place: str
    line: int = 0
    origin: str = ""
    trail: tuple[str, ...] = ()
    kind: Kind = Kind.FACT
    level: Level | None = None
    observed_at: datetime | None = None
    is_dated: bool = False
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    expires_at: datetime | None = None
    categories: tuple[str, ...] = ()
    metadata: Mapping[str, object] = field(default_factory=dict[str, object])
    notes: Mapping[str, object] = field(default_factory=dict[str, object])


@dataclass(slots=True)
class MemoryReading:
    """Entries in order; skipped parts counted by kind; unreadable parts by line or place. `file`: the file name, or "".
    `conversations`: the messages that the other program kept.
    """

    format: str
    file: str = ""
    entries: list[Entry] = field(default_factory=list[Entry])
    conversations: list[LoggedConversation] = field(default_factory=list[LoggedConversation])
    skipped: Counter[str] = field(default_factory=Counter[str])
    problems: list[str] = field(default_factory=list[str])
