"""What an extractor found in messages, before it is compared with what is known."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from mnemic.model.item import Kind, Provenance, Trust


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """One thing worth keeping: a sentence in the third person that is understood without its conversation.

    `slot` names the attribute of the user that it fills, such as `home`, and `value` with what; both "" where it fills
    none. `observed_at`: when it was said. `valid_from`, `valid_to`: when it is true in the world, where that is known.
    `provenance` names the messages and the characters in them that say so. `trust` is the lowest of its sources.
    `profile`: lines for the user's profile, by key.
    """

    text: str
    kind: Kind
    observed_at: datetime
    importance: float = 0.5
    confidence: float = 0.8
    categories: tuple[str, ...] = ()
    context: str = ""
    snippet: str = ""
    slot: str = ""
    value: str = ""
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    provenance: tuple[Provenance, ...] = ()
    trust: Trust = Trust.USER
    metadata: Mapping[str, object] = field(default_factory=dict[str, object])
    profile: Mapping[str, str] = field(default_factory=dict[str, str])
