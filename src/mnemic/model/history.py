"""What happened to an item, and why."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from mnemic.model.scope import Partition


class Action(StrEnum):
    """What was done."""

    CREATED = "created"
    UPDATED = "updated"
    MERGED = "merged"
    RESTATED = "restated"
    SUPERSEDED = "superseded"
    DISPUTED = "disputed"
    QUARANTINED = "quarantined"
    TRUSTED = "trusted"
    REJECTED = "rejected"
    ARCHIVED = "archived"
    FEEDBACK = "feedback"
    RESTORED = "restored"
    FLAGGED = "flagged"
    CLEARED = "cleared"
    REMADE = "remade"
    DELETED = "deleted"
    ASSESSED = "assessed"


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryEntry:
    """One change of one item: who (`actor`), what, when, why (`reason`), and the changed fields before and after."""

    id: str
    partition: Partition
    item_id: str
    action: Action
    actor: str
    at: datetime
    reason: str = ""
    before: Mapping[str, object] = field(default_factory=dict[str, object])
    after: Mapping[str, object] = field(default_factory=dict[str, object])


@dataclass(frozen=True, slots=True)
class Receipt:
    """What a deletion removed: row counts by table. Holds no text and no name.

    That of an erasure has an `id` and is kept with the org. `scope_hash` and `hashes` are keyed hashes, in hexadecimal
    digits, of the partition erased for good, and of what was erased elsewhere; with the store's key and an older backup
    the same can be found and erased again. `notes`: what the technology could not make sure of, in words. A plan
    (`is_plan`) says what would be removed, and nothing was.
    """

    at: datetime
    counts: Mapping[str, int]
    id: str = ""
    org: str = ""
    scope_hash: str = ""
    hashes: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    is_plan: bool = False
