"""What became of a fact, and what a model says of two memories."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Verdict(StrEnum):
    """What was done with a fact."""

    ADD = "add"
    MERGE = "merge"
    SUPERSEDE = "supersede"
    DISPUTE = "dispute"
    DROP = "drop"
    QUARANTINE = "quarantine"


class Judgement(StrEnum):
    """How the newer of two statements stands to the older: CHANGED means that both cannot hold at one time."""

    SAME = "same"
    CHANGED = "changed"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Decision:
    """What was done with a fact. `memory_id`: the memory that now says it, or, of what was known to be over, what holds
    instead; None when it was dropped. `other_id`: the one it was merged with, or set against.
    """

    action: Verdict
    memory_id: str | None
    other_id: str | None = None
    reason: str = ""
