"""What every reader of memories gives."""

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
    """Whose memories are wanted of a file that may hold those of several: the parts of the scope that asks."""

    user: str | None = None
    agent: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One memory of another program. `place` says where it stands, for people (`MEMORY.md:12`); `line` counts from 1.

    `origin` is the other program's own id of it, "" where it has none. `trail`: the titles it stands under, outermost
    first. `is_dated`: it tells what is on the day of `observed_at`. `level` None: that of the scope.
    `metadata` is what its owner noted, `notes` what the reader found beside (`model.bookkeeping.IMPORT_NOTES`).
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
    expires_at: datetime | None = None
    categories: tuple[str, ...] = ()
    metadata: Mapping[str, object] = field(default_factory=dict[str, object])
    notes: Mapping[str, object] = field(default_factory=dict[str, object])


@dataclass(slots=True)
class MemoryReading:
    """Entries in order; what was left out on purpose, counted by kind; what could not be read, by line or place.

    `file`: the name of the file, "" for what has none. `conversations`: what the other program kept of what was said.
    """

    format: str
    file: str = ""
    entries: list[Entry] = field(default_factory=list[Entry])
    conversations: list[LoggedConversation] = field(default_factory=list[LoggedConversation])
    skipped: Counter[str] = field(default_factory=Counter[str])
    problems: list[str] = field(default_factory=list[str])
