"""What waits for a person's judgement."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from mnemic.model.item import Memory


@dataclass(frozen=True, slots=True)
class Review:
    """A memory that is quarantined, disputed or flagged, why, and since when."""

    memory: Memory
    reason: str
    since: datetime
