"""Erases a session, a user, an agent or an org for good: rows, vectors, indexes and what was derived, with a receipt.

What belongs to the owner alone is removed without a trace, tombstones too. What lies elsewhere, such as an agent's
memory that was learnt from a user's words, is erased to a tombstone without text, with everything derived from it in
turn. The receipt holds counts and keyed hashes, no names: `replay` finds the same again in a backup. With an org goes
the key of its part of sealed backups.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from datetime import datetime

from mnemic.engine.erasure.delete import COPIES_LEFT
from mnemic.engine.erasure.plan import SEPARATOR, Place, Plan, carried_out, counted, derived, keyed_hash
from mnemic.engine.indexing.freshness import forget, reached
from mnemic.engine.parts import Parts, new_id
from mnemic.model.history import Receipt
from mnemic.model.scope import Level, Partition, Scope, Visibility
from mnemic.ports.store import UnitOfWork

_PAGE = 500


def erase(parts: Parts, scope: Scope, level: Level, *, is_dry_run: bool = False) -> Receipt:
    """Erase all that belongs to the owner of `level` in the scope, and what was derived from it, in one transaction.

    A session: its messages, its session-level memories and what was made of them. A user: everything of theirs, in all
    sessions. An agent: its level, and what is private to it. An org: everything but its keys and its audit log, which
    hold no text, and the data keys of its sealed backups; where the keyring fails, nothing is erased. Raises
    `InvalidInputError` when the scope lacks that part. Of a dry run the receipt is the plan: what the same call would
    remove now.
    """
    owner = scope.partition(level)
    now = parts.clock.now()
    keyring = parts.keyring if level is Level.ORG else None
    if is_dry_run:
        keys = () if keyring is None else keyring.of([scope.org])[scope.org]
        with parts.store.read() as work:
            plan = _planned(work, scope, level)
            counts = _with_keys(counted(work, plan), sum(bool(key.secret) for key in keys))
            return Receipt(now, counts, org=scope.org, is_plan=True)
    # The keys go last before the commit, and nobody is given new ones until after it: whoever seals rows of before with
    # a new key finds the receipt when he looks again.
    with (
        nullcontext(_no_keys) if keyring is None else keyring.destroying() as destroy,
        parts.store.write() as work,
    ):
        plan = _planned(work, scope, level)
        key = work.erasure.key()
        counts = carried_out(work, plan, now)
        receipt = Receipt(
            at=now,
            counts=_with_keys(counts, destroy(scope.org, now, None)),
            id=new_id(now),
            org=scope.org,
            scope_hash=keyed_hash(key, owner),
            hashes=tuple(sorted(plan.hashes(key))),
        )
        work.erasure.add(receipt)
    return replace(receipt, notes=_cleaned(parts, plan))


def receipts(parts: Parts, scope: Scope) -> Sequence[Receipt]:
    """The receipts of all erasures in the scope's org, oldest first."""
    with parts.store.read() as work:
        return work.erasure.receipts(scope.org)


def _planned(work: UnitOfWork, scope: Scope, level: Level) -> Plan:
    plan, everywhere = Plan(), [each for each in work.partitions.all() if each.org == scope.org]
    owner = scope.partition(level)
    if level is Level.ORG:
        plan.partitions = everywhere
        return plan
    if level is Level.USER:
        sessions = f"{owner.owner}{SEPARATOR}"
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
    plan.memories += derived(work, scope.org, plan)
    return plan


def _no_keys(_org: str, _at: datetime, _until: datetime | None) -> int:
    return 0


def _with_keys(counts: dict[str, int], keys: int) -> dict[str, int]:
    return {**counts, "data_keys": keys} if keys else counts


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


def _cleaned(parts: Parts, plan: Plan) -> tuple[str, ...]:
    """Let index, window and files go of it too; what the files still hold, in words."""
    for partition in plan.partitions:
        forget(parts, partition)
    copied = {*plan.partitions, *(partition for partition, _ in plan.messages)}
    is_gone = not copied or parts.window is None or parts.window.forget(copied)
    left = reached(parts, {*plan.partitions, *(partition for partition, _ in plan.items)})
    return (*parts.store.scrub(), *left, *(() if is_gone else (COPIES_LEFT,)))
