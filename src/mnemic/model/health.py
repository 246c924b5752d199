"""What works, what is degraded, and what to do about it.

How well what is remembered is: what is wrong with single memories, what to do about it, and one number for all.

How well the installation is (store, models, jobs) is another question: `model.health`, asked by `doctor`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum


class Condition(StrEnum):
    """How something is; DEGRADED still answers, BROKEN does not."""

    OK = "ok"
    DEGRADED = "degraded"
    BROKEN = "broken"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at: what was found, and, when it is not well, the `remedy` to apply."""

    part: str
    condition: Condition
    message: str
    remedy: str = ""


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """All findings; as bad as the worst of them."""

    findings: tuple[Finding, ...]

    @property
    def condition(self) -> Condition:
        """The worst condition found."""
        order = list(Condition)
        return max((finding.condition for finding in self.findings), key=order.index, default=Condition.OK)


class Ailment(StrEnum):
    """What can be wrong with what is remembered."""

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
"""How much of a memory each takes away: a store of junk is worth as little as one that may be
false, and what is only in the way weighs less."""


@dataclass(frozen=True, slots=True)
class Remedy:
    """What ends a finding: a verb of Mnemic, its arguments, and the same as a command. With `is_safe` the verb `health`
    does it, when it is asked to: what it changes then can be taken back by `undo`.
    """

    verb: str
    arguments: Mapping[str, object]
    command: str
    is_safe: bool = False


@dataclass(frozen=True, slots=True)
class HealthFinding:
    """One thing that is wrong with the memories `ids` (of a job: its id), why, and what ends it. The first of the ids
    is the one that stays or is in question; `text` is its beginning.
    """

    ailment: Ailment
    ids: tuple[str, ...]
    reason: str
    remedy: Remedy
    text: str = ""


@dataclass(frozen=True, slots=True)
class HealthScore:
    """From 0 to 100 at a moment, of so many live `memories`; `counts`: the findings by kind.

    100 x (1 - what ails / memories), where each memory that something is wrong with ails by the greatest of the
    `WEIGHTS` of its findings, of several that say the same all but the one that stays, and a job that gave up as one
    memory; never below 0. Nothing remembered is 100.
    """

    at: datetime
    score: float
    memories: int
    counts: Mapping[str, int] = field(default_factory=dict[str, int])


def health_score(at: datetime, memories: int, ailing: Mapping[str, Ailment], counts: Mapping[str, int]) -> HealthScore:
    """The score of so many memories, of which `ailing` names those with a finding, by id, with the gravest."""
    weight = sum(WEIGHTS[ailment] for ailment in ailing.values())
    share = weight / max(memories, 1)
    return HealthScore(at, round(100 * max(0.0, 1 - share), 1), memories, counts)
