"""What works, what is degraded, and what to do about it."""

from __future__ import annotations

from dataclasses import dataclass
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
