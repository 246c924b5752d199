"""Reports of `doctor` (the installation: store, models, jobs) and `health` (the quality of memories)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum


class Condition(StrEnum):
    """The condition of a part. A DEGRADED part still works, a BROKEN one does not."""

    OK = "ok"
    DEGRADED = "degraded"
    BROKEN = "broken"


@dataclass(frozen=True, slots=True)
class Finding:
    """One checked part: the result, and the `remedy` if something is wrong."""

    part: str
    condition: Condition
    message: str
    remedy: str = ""


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """All findings, and the worst condition among them."""

    findings: tuple[Finding, ...]

    @property
    def condition(self) -> Condition:
        """The worst condition found."""
        order = list(Condition)
        return max((finding.condition for finding in self.findings), key=order.index, default=Condition.OK)


class Ailment(StrEnum):
    """Problems that memories can have."""

    CONTRADICTORY = "contradictory"
    UNSUPPORTED = "unsupported"
    ORPHANED = "orphaned"
    DUPLICATE = "duplicate"
    JUNK = "junk"
    STALE = "stale"


WEIGHTS: Mapping[Ailment, float] = {
    Ailment.CONTRADICTORY: 1.0,
    Ailment.JUNK: 0.9,
    Ailment.UNSUPPORTED: 0.8,
    Ailment.ORPHANED: 0.6,
    Ailment.DUPLICATE: 0.4,
    Ailment.STALE: 0.2,
}
"""How much each problem lowers the score. Junk and possibly false memories weigh more than clutter."""


@dataclass(frozen=True, slots=True)
class Remedy:
    """How to fix a finding: a verb of Mnemic with its arguments, and the equivalent command. `is_safe`: `health` can
    apply the fix, and `undo` reverts it.
    """

    verb: str
    arguments: Mapping[str, object]
    command: str
    is_safe: bool = False


@dataclass(frozen=True, slots=True)
class HealthFinding:
    """A problem of the memories `ids` (or of a job), with the reason and the remedy. The first id is the memory that
    stays or is in question. `text` is the start of its text.
    """

    ailment: Ailment
    ids: tuple[str, ...]
    reason: str
    remedy: Remedy
    text: str = ""


@dataclass(frozen=True, slots=True)
class HealthScore:
    """A score from 0 to 100 for `memories` live memories. `counts`: findings by kind.

    100 x (1 - problems / memories), at least 0. Each memory counts with the highest of its findings' `WEIGHTS`. Of
    duplicates, all except the one that stays count. A permanently failed job counts as one memory. Without memories,
    the score is 100.
    """

    at: datetime
    score: float
    memories: int
    counts: Mapping[str, int] = field(default_factory=dict[str, int])


def health_score(at: datetime, memories: int, ailing: Mapping[str, Ailment], counts: Mapping[str, int]) -> HealthScore:
    """Compute the score. `ailing` has the worst finding of each affected memory, by id."""
    weight = sum(WEIGHTS[ailment] for ailment in ailing.values())
    share = weight / max(memories, 1)
    return HealthScore(at, round(100 * max(0.0, 1 - share), 1), memories, counts)
