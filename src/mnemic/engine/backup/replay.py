"""Erases again what receipts say was erased, in rows that were put back from a backup made before.

A receipt names nothing: with the key it was made with, the same hashes are made of what there is, and compared. It
speaks of what was there when it was made: what came later, of an owner who came back, stays.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from mnemic.engine.erasure.plan import Place, Plan, carried_out, derived, keyed_hash
from mnemic.engine.parts import new_id
from mnemic.engine.requests import forget_answers
from mnemic.model.document import DocumentQuery
from mnemic.model.history import Receipt
from mnemic.model.item import Memory, Message
from mnemic.model.scope import Partition, Visibility
from mnemic.ports.store import Store, UnitOfWork

_PAGE = 500
_EVER = datetime.max.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Owed:
    """The receipts of one store and the key they were made with, b"" when there are none."""

    key: bytes
    receipts: tuple[Receipt, ...]


@dataclass(frozen=True, slots=True)
class Replay:
    """`receipts`: how many were followed. `erased`: the rows that this removed, by table. `is_foreign`: some were made
    with another key, so that they are not kept themselves; a receipt of what they removed is.
    """

    receipts: int
    erased: Mapping[str, int]
    is_foreign: bool


def owed_by(work: UnitOfWork) -> Owed:
    """The receipts of all orgs of a store."""
    return Owed(work.erasure.key(), tuple(each for org in work.erasure.orgs() for each in work.erasure.receipts(org)))


def replay(store: Store, owed: Owed, now: datetime, *, made_at: datetime) -> Replay:
    """Erase what these receipts tell of, in one transaction, and keep them. None of them may be the store's already.

    Receipts from `made_at` on, when the rows were put aside, speak of all rows, whatever the clock said when those were
    written.
    """
    erased: dict[str, int] = {}
    if not owed.receipts:
        return Replay(0, erased, is_foreign=False)
    with store.write() as work:
        own = work.erasure.key(owed.key)
        plans = _plans(work, owed, made_at)
        is_foreign = own != owed.key
        kept = [_receipt(org, plan, own, now) for org, plan in plans.items()] if is_foreign else owed.receipts
        for receipt in kept:
            work.erasure.add(receipt)
        for plan in plans.values():
            for table, rows in carried_out(work, plan, now).items():
                erased[table] = erased.get(table, 0) + rows
    return Replay(len(owed.receipts), erased, is_foreign)


def _plans(work: UnitOfWork, owed: Owed, made_at: datetime) -> dict[str, Plan]:
    """By org, what these receipts tell of and is there."""
    gone: dict[str, dict[str, datetime]] = {}
    for receipt in owed.receipts:
        latest = gone.setdefault(receipt.org, {})
        until = receipt.at if receipt.at < made_at else _EVER
        for digest in (receipt.scope_hash, *receipt.hashes):
            latest[digest] = max(until, latest.get(digest, until))
    plans: dict[str, Plan] = {}
    for partition in work.partitions.all():
        latest = gone.get(partition.org)
        if latest:
            _look_through(work, partition, owed.key, latest, plans.setdefault(partition.org, Plan()))
    for org, plan in plans.items():
        plan.memories += derived(work, org, plan)
    return {org: plan for org, plan in plans.items() if plan.partitions or plan.items}


def _look_through(work: UnitOfWork, partition: Partition, key: bytes, gone: Mapping[str, datetime], plan: Plan) -> None:
    """Add to a plan what is gone of a partition: all of it where nothing in it is newer, else item by item."""
    until = gone.get(keyed_hash(key, partition))
    messages = [*_messages(work, partition)]
    memories = [*_memories(work, partition)]
    documents = [*_documents(work, partition)]
    facts = [(entry.key, entry.updated_at) for entry in work.profiles.of(partition)]
    if until is not None and all(at <= until for _, at in (*messages, *memories, *documents, *facts)):
        plan.partitions.append(partition)
        return

    def is_gone(place: Place, at: datetime) -> bool:
        told = gone.get(keyed_hash(key, *place), until)
        return told is not None and at <= max(told, until or told)

    plan.messages += [place for place, at in messages if is_gone(place, at)]
    plan.memories += [place for place, at in memories if is_gone(place, at)]
    plan.documents += [place for place, at in documents if is_gone(place, at)]
    if until is not None:
        work.profiles.remove(partition, [name for name, at in facts if at <= until])
        forget_answers(work, [partition])


def _messages(work: UnitOfWork, partition: Partition) -> Iterator[tuple[Place, datetime]]:
    after: str | None = None
    while page := work.messages.page(Visibility((partition,), None), after, _PAGE):
        yield from (_placed(message) for message in page)
        after = page[-1].id


def _memories(work: UnitOfWork, partition: Partition) -> Iterator[tuple[Place, datetime]]:
    after = ""
    while page := work.upkeep.memories(partition, after, _PAGE):
        yield from (_placed(memory) for memory in page)
        after = page[-1].id


def _documents(work: UnitOfWork, partition: Partition) -> Iterator[tuple[Place, datetime]]:
    found = {
        each.id: each.created_at
        for agent in (None, *work.upkeep.private_agents(partition))
        for each in work.documents.list(Visibility((partition,), agent), DocumentQuery())
    }
    yield from (((partition, name), at) for name, at in found.items())


def _placed(item: Message | Memory) -> tuple[Place, datetime]:
    return (item.partition, item.id), item.created_at


def _receipt(org: str, plan: Plan, key: bytes, now: datetime) -> Receipt:
    """The receipt of a replay with a foreign key, so that the next restore of the same backup knows of it."""
    counts = {"partitions": len(plan.partitions), "items": len(plan.items)}
    return Receipt(now, counts, id=new_id(now), org=org, hashes=tuple(sorted(plan.hashes(key))))
