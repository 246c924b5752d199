"""What is to go for good, and its going: shared by `erase`, which plans it, and `replay`, which finds it again."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from mnemic.engine.memories.lasting_facts import profile_job, told_in
from mnemic.engine.requests import forget_answers
from mnemic.model.scope import Partition, Visibility
from mnemic.ports.store import UnitOfWork

SEPARATOR = "\x1f"  # of the parts of an owner, and of what is hashed; it cannot be part of an id
Place = tuple[Partition, str]


@dataclass(slots=True)
class Plan:
    """What is to go: whole partitions, and single items elsewhere."""

    partitions: list[Partition] = field(default_factory=list[Partition])
    messages: list[Place] = field(default_factory=list[Place])
    memories: list[Place] = field(default_factory=list[Place])
    documents: list[Place] = field(default_factory=list[Place])

    @property
    def items(self) -> list[Place]:
        """The single items, in the order of erasure."""
        return [*self.messages, *self.memories, *self.documents]

    def hashes(self, key: bytes) -> set[str]:
        """The keyed hashes of all of it, as a receipt keeps them."""
        return {
            *(keyed_hash(key, each) for each in self.partitions),
            *(keyed_hash(key, *place) for place in self.items),
        }


def derived(work: UnitOfWork, org: str, plan: Plan) -> list[Place]:
    """Memories elsewhere that come of what goes, and what comes of these, until there is no more. Never another user's:
    what was exported and taken in for somebody else has the same ids.
    """
    known = {*plan.memories}
    found: list[Place] = []
    ids = [item_id for _, item_id in plan.items]
    partitions: Sequence[Partition] = plan.partitions
    near = {*plan.partitions, *(place for place, _ in plan.items)}
    while partitions or ids:
        fresh = [place for place in work.erasure.derived(org, partitions, ids) if place not in known]
        fresh = [place for place in fresh if place[0] not in plan.partitions]
        fresh = [place for place in fresh if any(each.may_feed(place[0]) for each in near)]
        known |= {*fresh}
        found += fresh
        near = {place for place, _ in fresh}
        partitions, ids = (), [item_id for _, item_id in fresh]
    return found


def counted(work: UnitOfWork, plan: Plan) -> dict[str, int]:
    """What carrying a plan out would remove: rows by table."""
    counts: dict[str, int] = {}
    for partition in plan.partitions:
        _add(counts, work.erasure.count(partition).items())
    _add(counts, (("messages", len(plan.messages)), ("memories", len(plan.memories))))
    _add(counts, (("documents", len(plan.documents)), ("profiles", len(_told(work, plan)))))
    return counts


def carried_out(work: UnitOfWork, plan: Plan, now: datetime) -> dict[str, int]:
    """Carry a plan out: single items first, whole partitions last; what `counted` counts."""
    counts: dict[str, int] = {}
    for partition, keys in _grouped(_told(work, plan)).items():
        _add(counts, (("profiles", work.profiles.remove(partition, keys)),))
        work.jobs.add([profile_job(now, partition, key) for key in keys])
    for partition, ids in _grouped(plan.messages).items():
        _add(counts, (("messages", work.messages.erase(partition, ids)),))
        work.history.scrub(partition, ids)
    for partition, ids in _grouped(plan.memories).items():
        _add(counts, (("memories", work.memories.erase(partition, ids, now)),))
        work.history.scrub(partition, ids)
    for partition, ids in _grouped(plan.documents).items():
        _add(counts, (("documents", work.documents.erase(partition, ids, now)),))
        work.history.scrub(partition, ids)
    for partition in plan.partitions:
        _add(counts, work.erasure.wipe(partition).items())
    forget_answers(work, {*plan.partitions, *(partition for partition, _ in plan.items)})
    return counts


def keyed_hash(key: bytes, partition: Partition, *parts: str) -> str:
    """HMAC-SHA-256 (RFC 2104) of a partition, or of an item in it, in hexadecimal digits."""
    named = SEPARATOR.join((partition.org, partition.level.value, partition.owner, *parts))
    return hmac.new(key, named.encode("utf-8", "surrogatepass"), hashlib.sha256).hexdigest()


def _told(work: UnitOfWork, plan: Plan) -> list[Place]:
    """The profile entries that nobody set by hand and that the messages of a plan say: their partitions and keys."""
    return [
        (partition, key)
        for partition, ids in _grouped(plan.messages).items()
        for key in told_in(work, work.messages.get(Visibility((partition,), None), ids))
    ]


def _grouped(places: Iterable[Place]) -> dict[Partition, list[str]]:
    grouped: dict[Partition, list[str]] = {}
    for partition, item_id in places:
        grouped.setdefault(partition, []).append(item_id)
    return grouped


def _add(counts: dict[str, int], more: Iterable[tuple[str, int]]) -> None:
    for table, count in more:
        if count:
            counts[table] = counts.get(table, 0) + count
