"""Erases a session, a user, an agent or an org for good: rows, vectors, indexes and what was derived, with a receipt.

What belongs to the owner alone is removed without a trace, tombstones too. What lies elsewhere, such as an agent's
memory that was learnt from a user's words, is erased to a tombstone without text, with everything derived from it in
turn. The receipt holds counts and keyed hashes, no names: `replay` finds the same again in a backup that was put back.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from mnemic.engine.delete import COPIES_LEFT
from mnemic.engine.freshness import forget
from mnemic.engine.parts import Parts, new_id
from mnemic.model.document import DocumentQuery
from mnemic.model.history import Receipt
from mnemic.model.scope import Level, Partition, Scope, Visibility
from mnemic.ports.store import UnitOfWork

_PAGE = 500
_SEPARATOR = "\x1f"  # of the parts of an owner, and of what is hashed; it cannot be part of an id
Place = tuple[Partition, str]


@dataclass(slots=True)
class _Plan:
    """What is to go: whole partitions, and single items elsewhere."""

    partitions: list[Partition] = field(default_factory=list[Partition])
    messages: list[Place] = field(default_factory=list[Place])
    memories: list[Place] = field(default_factory=list[Place])
    documents: list[Place] = field(default_factory=list[Place])

    @property
    def items(self) -> list[Place]:
        """The single items, in the order of erasure."""
        return [*self.messages, *self.memories, *self.documents]


def erase(parts: Parts, scope: Scope, level: Level, *, is_dry_run: bool = False) -> Receipt:
    """Erase all that belongs to the owner of `level` in the scope, and what was derived from it, in one transaction.

    A session: its messages, its session-level memories and what was made of them. A user: everything of theirs, in all
    sessions. An agent: its level, and what is private to it. An org: everything but its keys and its audit log, which
    hold no text. Raises `InvalidInputError` when the scope lacks that part. Of a dry run the receipt is the plan: what
    the same call would remove now.
    """
    owner = scope.partition(level)
    now = parts.clock.now()
    if is_dry_run:
        with parts.store.read() as work:
            plan = _planned(work, scope, level)
            return Receipt(now, _counted(work, plan), org=scope.org, is_plan=True)
    with parts.store.write() as work:
        plan = _planned(work, scope, level)
        key = work.erasure.key()
        counts = _erased(work, plan, now)
        receipt = Receipt(
            at=now,
            counts=counts,
            id=new_id(now),
            org=scope.org,
            scope_hash=_hash(key, owner),
            hashes=tuple(sorted({*(_hash(key, each) for each in plan.partitions), *_item_hashes(key, plan.items)})),
        )
        work.erasure.add(receipt)
    return replace(receipt, notes=_cleaned(parts, plan))


def receipts(parts: Parts, scope: Scope) -> Sequence[Receipt]:
    """The receipts of all erasures in the scope's org, oldest first."""
    with parts.store.read() as work:
        return work.erasure.receipts(scope.org)


def replay(parts: Parts) -> dict[str, int]:
    """Erase again whatever the store's receipts say was erased, after an older backup was put back: counts by table.

    The receipts must be in the store, and its key must be the one they were made with.
    """
    now = parts.clock.now()
    with parts.store.write() as work:
        key, plan = work.erasure.key(), _Plan()
        everywhere = work.partitions.all()
        by_org = {org: _erased_before(work, org) for org in {partition.org for partition in everywhere}}
        for partition in everywhere:
            erased = by_org[partition.org]
            if not erased:
                continue
            if _hash(key, partition) in erased:
                plan.partitions.append(partition)
                continue
            visible = Visibility((partition,), None)
            plan.messages += [p for p in _all_messages(work, visible) if _hash(key, *p) in erased]
            plan.memories += [p for p in _all_memories(work, partition) if _hash(key, *p) in erased]
            documents = [(partition, each.id) for each in work.documents.list(visible, DocumentQuery())]
            plan.documents += [place for place in documents if _hash(key, *place) in erased]
        counts = _erased(work, plan, now)
    _cleaned(parts, plan)
    return counts


def _erased_before(work: UnitOfWork, org: str) -> set[str]:
    return {digest for receipt in work.erasure.receipts(org) for digest in receipt.hashes}


def _planned(work: UnitOfWork, scope: Scope, level: Level) -> _Plan:
    plan, everywhere = _Plan(), [each for each in work.partitions.all() if each.org == scope.org]
    owner = scope.partition(level)
    if level is Level.ORG:
        plan.partitions = everywhere
        return plan
    if level is Level.USER:
        sessions = f"{owner.owner}{_SEPARATOR}"
        plan.partitions = [
            each
            for each in everywhere
            if each == owner or (each.level is Level.SESSION and each.owner.startswith(sessions))
        ]
    else:
        plan.partitions = [each for each in everywhere if each == owner]
    if level is Level.SESSION and scope.session is not None and scope.message_partition != owner:
        said = _said(work, scope.message_partition, scope.session)
        plan.messages = [(scope.message_partition, message_id) for message_id in said]
    if level is Level.AGENT:
        plan.memories, plan.documents = _private(work, scope.org, owner.owner, plan.partitions)
    plan.memories += _derived(work, scope.org, plan)
    return plan


def _derived(work: UnitOfWork, org: str, plan: _Plan) -> list[Place]:
    """Memories elsewhere that come of what goes, and what comes of these, until there is no more."""
    known = {*plan.memories}
    found: list[Place] = []
    ids = [item_id for _, item_id in plan.items]
    partitions: Sequence[Partition] = plan.partitions
    while partitions or ids:
        fresh = [place for place in work.erasure.derived(org, partitions, ids) if place not in known]
        fresh = [place for place in fresh if place[0] not in plan.partitions]
        known |= {*fresh}
        found += fresh
        partitions, ids = (), [item_id for _, item_id in fresh]
    return found


def _private(
    work: UnitOfWork, org: str, agent: str, partitions: Sequence[Partition]
) -> tuple[list[Place], list[Place]]:
    """Memories and documents outside the partitions that are private to the agent."""
    memories: list[Place] = []
    documents: list[Place] = []
    for partition, item_id in work.erasure.private(org, agent):
        if partition not in partitions:
            is_document = bool(work.documents.get(Visibility((partition,), agent), [item_id]))
            (documents if is_document else memories).append((partition, item_id))
    return memories, documents


def _said(work: UnitOfWork, partition: Partition, session: str) -> list[str]:
    ids: list[str] = []
    after = 0
    while page := work.conversations.messages(partition, session, after, _PAGE):
        ids += [message.id for message in page]
        after = page[-1].position
    return ids


def _all_messages(work: UnitOfWork, visible: Visibility) -> list[Place]:
    places: list[Place] = []
    after: str | None = None
    while page := work.messages.page(visible, after, _PAGE):
        places += [(message.partition, message.id) for message in page]
        after = page[-1].id
    return places


def _all_memories(work: UnitOfWork, partition: Partition) -> list[Place]:
    places: list[Place] = []
    after = ""
    while page := work.upkeep.memories(partition, after, _PAGE):
        places += [(partition, memory.id) for memory in page]
        after = page[-1].id
    return places


def _counted(work: UnitOfWork, plan: _Plan) -> dict[str, int]:
    counts: dict[str, int] = {}
    for partition in plan.partitions:
        _add(counts, work.erasure.count(partition).items())
    _add(counts, (("messages", len(plan.messages)), ("memories", len(plan.memories))))
    _add(counts, (("documents", len(plan.documents)),))
    return counts


def _erased(work: UnitOfWork, plan: _Plan, now: datetime) -> dict[str, int]:
    """Carry a plan out: single items first, whole partitions last; what `_counted` counts."""
    counts: dict[str, int] = {}
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
    return counts


def _cleaned(parts: Parts, plan: _Plan) -> tuple[str, ...]:
    """Let index, window and files go of it too; what the files still hold, in words."""
    for partition in plan.partitions:
        forget(parts, partition)
    copied = {*plan.partitions, *(partition for partition, _ in plan.messages)}
    is_gone = not copied or parts.window is None or parts.window.forget(copied)
    return (*parts.store.scrub(), *(() if is_gone else (COPIES_LEFT,)))


def _grouped(places: Iterable[Place]) -> dict[Partition, list[str]]:
    grouped: dict[Partition, list[str]] = {}
    for partition, item_id in places:
        grouped.setdefault(partition, []).append(item_id)
    return grouped


def _add(counts: dict[str, int], more: Iterable[tuple[str, int]]) -> None:
    for table, count in more:
        if count:
            counts[table] = counts.get(table, 0) + count


def _item_hashes(key: bytes, places: Iterable[Place]) -> list[str]:
    return [_hash(key, *place) for place in places]


def _hash(key: bytes, partition: Partition, *parts: str) -> str:
    named = _SEPARATOR.join((partition.org, partition.level.value, partition.owner, *parts))
    return hmac.new(key, named.encode("utf-8", "surrogatepass"), hashlib.sha256).hexdigest()
