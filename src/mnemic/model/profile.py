"""Hard facts of a user: always in the prompt."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from mnemic.model.item import Memory
from mnemic.model.scope import Partition

EXTRACTION = "extraction"
DERIVED_SOURCES = (EXTRACTION, "curation", "reflection")
"""The sources of profile entries that nobody set by hand."""


@dataclass(frozen=True, slots=True)
class ProfileEntry:
    """One fact, as text under a key; `source` says who set it ("library", "cli", "extraction", …)."""

    partition: Partition
    key: str
    value: str
    source: str
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class Profile:
    """What is known of a user in one look: `static` facts by key, and the `dynamic` side: what matters or is new."""

    static: tuple[ProfileEntry, ...]
    dynamic: tuple[Memory, ...]
