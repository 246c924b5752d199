"""What a caller hands in: not yet checked, not yet anybody's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from mnemic.model.item import Kind, Provenance, Role, Trust
from mnemic.model.scope import Level


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageDraft:
    """A message to capture. `observed_at` None means the time of the call; `trust` None means that of the role."""

    role: Role
    text: str
    name: str | None = None
    observed_at: datetime | None = None
    external_id: str | None = None
    trust: Trust | None = None
    metadata: Mapping[str, object] = field(default_factory=dict[str, object])


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryDraft:
    """A memory to keep. `level` None means the scope's default level; `observed_at` None the time of the call."""

    text: str
    kind: Kind = Kind.FACT
    level: Level | None = None
    importance: float = 0.8
    confidence: float = 1.0
    categories: tuple[str, ...] = ()
    context: str = ""
    snippet: str = ""
    source: str = ""
    observed_at: datetime | None = None
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    expires_at: datetime | None = None
    is_private: bool = False
    is_pinned: bool = False
    trust: Trust = Trust.USER
    provenance: tuple[Provenance, ...] = ()
    metadata: Mapping[str, object] = field(default_factory=dict[str, object])
