"""Erases an item to a tombstone, or a session, user, agent or org for good, in all layers and with derivatives.

The owner's own data leaves no trace. Derivatives elsewhere, such as an agent's memory about a user, become tombstones
without text. The receipt holds counts and keyed hashes, no names; `replay` finds the same in a backup. Erasing an org
destroys its key of sealed backups.
"""

import hashlib
import hmac
from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

from mnemic.engine.access import forget_answers
from mnemic.engine.cascade import cascade
from mnemic.engine.context_records import find_records, link_messages
from mnemic.engine.dependants import Hand
from mnemic.engine.engine import PAGE_ROWS, Engine, new_id
from mnemic.engine.fields import deletion, erase_memories
from mnemic.engine.indexing import forget, reached
from mnemic.engine.lasting_facts import forget_deleted, profile_job, take_back, told_in
from mnemic.engine.secrets import clean_reason
from mnemic.errors import NotFoundError, UnavailableError
from mnemic.model.graph import GRAPH_ITEM
from mnemic.model.listing import group_pairs
from mnemic.model.recall import MemoryQuery
from mnemic.model.records import ApiKey, HistoryEntry, Receipt
from mnemic.model.scope import Level, Partition, Scope, Visibility
from mnemic.ports.store import UnitOfWork

COPIES_LEFT = (
    "Redis is unavailable, so its copies were not deleted; this process deletes them when Redis is available again, "
    "or they expire"
)
CORRECTIONS_LEFT = f"corrections of the graph keep the names in them; to erase them, delete the item {GRAPH_ITEM!r}"
_EVER = timedelta(days=3650)  # longer than any record of a context is kept
_LONG_AGO = datetime.min.replace(tzinfo=UTC)  # nothing had expired by then, so expired memories are cleared too


def delete(engine: Engine, scope: Scope, item_id: str, *, actor: str, reason: str = "") -> Receipt:
    """Erase the text, vectors and history of an item, and memories made of it alone. Memories with other sources are
    flagged, and a job remakes them. `GRAPH_ITEM` stands for the corrections of the graph. Raises `NotFoundError` if the
    item does not exist.
    """
    now, reason = engine.clock.now(), clean_reason(engine, reason)
    with engine.store.write(is_erasing=True) as work:
        memories = work.memories.get(scope.visibility, [item_id])
        messages = work.messages.get(scope.visibility, [item_id])
        places = [each.partition for each in (*memories, *messages)]
        if item_id == GRAPH_ITEM and work.history.of(scope.visibility, item_id):
            places.append(scope.partition(scope.default_level))
        if not places:
            raise NotFoundError(f"there is no memory or message {item_id!r} in this scope")
        engine.accesses.drain(work)  # so that no record of its text is written afterwards
        partition = places[0]
        counts = {
            "memories": work.memories.erase(partition, [item_id], now) if memories else 0,
            "messages": work.messages.erase(partition, [item_id]) if messages else 0,
            "history": work.history.scrub(partition, [item_id]),
        }
        entry = deletion(partition, item_id, actor, reason, now)
        work.history.add([entry])
        hand = Hand(engine, work, actor, now)
        taken = take_back(hand, messages) if messages else forget_deleted(hand, memories)
        followed = cascade(hand, [entry])
        counts["memories"] += followed.erased
        if taken:
            counts["profiles"] = taken
        link_messages(work, messages, within=_EVER)
        work.contexts.erase(partition, [each for _, each in find_records(work, [partition], message_id=item_id)])
        forget_answers(work, [partition])
    is_gone = not messages or engine.window is None or engine.window.clear(partition, messages[0].session)
    left = (*engine.store.scrub(), *reached(engine, [partition]), *(() if is_gone else (COPIES_LEFT,)))
    return Receipt(now, counts, notes=(*followed.notes, *left))


def clear(engine: Engine, scope: Scope, levels: Sequence[Level], *, actor: str, reason: str = "") -> Receipt:
    """Erase every memory of the levels in one transaction, except other agents' private ones. Derivatives are treated
    as in `delete`. Messages, documents and the profile stay.
    """
    now, reason = engine.clock.now(), clean_reason(engine, reason)
    counts = {"memories": 0, "history": 0}
    entries: list[HistoryEntry] = []
    with engine.store.write(is_erasing=True) as work:
        for partition in scope.visibility.at(*levels).partitions:
            visible = Visibility((partition,), scope.agent)
            ids = sorted(work.memories.ids(visible, MemoryQuery(now=_LONG_AGO, states=())))
            removed, deleted = erase_memories(work, partition, ids, actor=actor, reason=reason, now=now)
            entries += deleted
            for table, count in removed.items():
                counts[table] += count
        followed = cascade(Hand(engine, work, actor, now), entries)
        counts["memories"] += followed.erased
    left = reached(engine, scope.visibility.at(*levels).partitions)
    return Receipt(now, counts, notes=(*followed.notes, *engine.store.scrub(), *left))


SEPARATOR = "\x1f"  # between the parts of an owner, and of hashed texts; it cannot occur in an id
Place = tuple[Partition, str]


@dataclass(slots=True)
class Plan:
    """What to erase: whole partitions, and single items elsewhere."""

    partitions: list[Partition] = field(default_factory=list[Partition])
    messages: list[Place] = field(default_factory=list[Place])
    memories: list[Place] = field(default_factory=list[Place])
    documents: list[Place] = field(default_factory=list[Place])
    contexts: list[Place] = field(default_factory=list[Place])
    """Records of contexts: no copy of the store holds them, so receipts need no hashes of them."""

    @property
    def items(self) -> list[Place]:
        """The single items in order of erasure."""
        return [*self.messages, *self.memories, *self.documents]

    def hashes(self, key: bytes) -> set[str]:
        """Keyed hashes of all of it, as a receipt keeps them."""
        return {
            *(keyed_hash(key, each) for each in self.partitions),
            *(keyed_hash(key, *place) for place in self.items),
        }


def derived(work: UnitOfWork, org: str, plan: Plan) -> list[Place]:
    """Memories derived from the plan's items, transitively. Never another user's, since imports reuse ids."""
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
    """Rows by table that the plan would erase."""
    counts: dict[str, int] = {}
    for partition in plan.partitions:
        _add(counts, work.erasure.count(partition).items())
    _add(counts, (("messages", len(plan.messages)), ("memories", len(plan.memories))))
    _add(counts, (("documents", len(plan.documents)), ("profiles", len(_derived_facts(work, plan)))))
    _add(counts, (("context_records", len(plan.contexts)),))
    return counts


def carried_out(work: UnitOfWork, plan: Plan, now: datetime) -> dict[str, int]:
    """Execute a plan: single items first, whole partitions last. Returns rows by table."""
    counts: dict[str, int] = {}
    for partition, keys in group_pairs(_derived_facts(work, plan)).items():
        _add(counts, (("profiles", work.profiles.remove(partition, keys)),))
        work.jobs.add([profile_job(now, partition, key) for key in keys])
    for partition, ids in group_pairs(plan.messages).items():
        _add(counts, (("messages", work.messages.erase(partition, ids)),))
    for partition, ids in group_pairs(plan.memories).items():
        _add(counts, (("memories", work.memories.erase(partition, ids, now)),))
    for partition, ids in group_pairs(plan.documents).items():
        _add(counts, (("documents", work.documents.erase(partition, ids, now)),))
    for partition, ids in group_pairs(plan.items).items():
        work.history.scrub(partition, ids)
    for partition, ids in group_pairs(plan.contexts).items():
        _add(counts, (("context_records", work.contexts.erase(partition, ids)),))
    for partition in plan.partitions:
        _add(counts, work.erasure.wipe(partition).items())
    forget_answers(work, {*plan.partitions, *(partition for partition, _ in plan.items)})
    return counts


def keyed_hash(key: bytes, partition: Partition, *parts: str) -> str:
    """HMAC-SHA-256 (RFC 2104) of a partition, or of an item in it, hexadecimal."""
    named = SEPARATOR.join((partition.org, partition.level.value, partition.owner, *parts))
    return hmac.new(key, named.encode("utf-8", "surrogatepass"), hashlib.sha256).hexdigest()


def _derived_facts(work: UnitOfWork, plan: Plan) -> list[Place]:
    """Derived profile entries that items of the plan support, as partition and key."""
    messages, memories = group_pairs(plan.messages), group_pairs(plan.memories)
    visible = {partition: Visibility((partition,), None) for partition in (*messages, *memories)}
    return [
        (partition, key)
        for partition, seen in visible.items()
        for key in told_in(
            work,
            work.messages.get(seen, messages.get(partition, [])),
            work.memories.get(seen, memories.get(partition, [])),
        )
    ]


def _add(counts: dict[str, int], more: Iterable[tuple[str, int]]) -> None:
    for table, count in more:
        if count:
            counts[table] = counts.get(table, 0) + count


def erase(engine: Engine, scope: Scope, level: Level, *, is_dry_run: bool = False) -> Receipt:
    """Erase everything of the owner of `level`, with derivatives, in one transaction. A dry run returns the plan.
    Session: its messages and memories. User: all sessions. Agent: its level and private items. Org: all but its audit
    log and data keys of sealed backups; nothing if the keyring fails. API keys of a user, agent or org are revoked, and
    the names in them removed. Raises `InvalidInputError` if the scope lacks that part.
    """
    owner = scope.partition(level)
    now = engine.clock.now()
    engine.accesses.flush(engine.store)  # so that nothing is recorded of it afterwards
    keyring = engine.keyring if level is Level.ORG else None
    if is_dry_run:
        keys = () if keyring is None else keyring.of([scope.org])[scope.org]
        with engine.store.read() as work:
            plan = _plan_erasure(work, scope, level)
            counts = _with_keys(counted(work, plan), sum(bool(key.secret) for key in keys))
            _add(counts, (("api_keys", sum(key.revoked_at is None for key in _held_keys(work, scope, level))),))
            return Receipt(now, counts, org=scope.org, is_plan=True)
    # The keys go last before the commit, and no new ones are issued until after it. A backup that seals older rows with
    # a new key finds the receipt when it checks again.
    destroying = nullcontext(_no_keys) if keyring is None else keyring.destroying()
    with destroying as destroy, engine.store.write(is_erasing=True) as work:
        plan = _plan_erasure(work, scope, level)
        key = work.erasure.key()
        counts = carried_out(work, plan, now)
        _add(counts, (("api_keys", _revoke_keys(work, scope, level, now)),))
        receipt = Receipt(
            at=now,
            counts=_with_keys(counts, destroy(scope.org, now, None)),
            id=new_id(now),
            org=scope.org,
            scope_hash=keyed_hash(key, owner),
            hashes=tuple(sorted(plan.hashes(key))),
        )
        work.erasure.add(receipt)
        near = {partition for partition, _ in plan.items}.difference(plan.partitions)
        is_corrected = any(work.history.of(Visibility((each,), None), GRAPH_ITEM) for each in near)
    notes = _clean_caches(engine, plan)
    return replace(receipt, notes=(*notes, CORRECTIONS_LEFT) if is_corrected else notes)


def _revoke_keys(work: UnitOfWork, scope: Scope, level: Level, now: datetime) -> int:
    """Revoke and blank the API keys that act for the user, agent or org. Returns the number of those that were open."""
    held = _held_keys(work, scope, level)
    for key in held:
        work.keys.blank(scope.org, key.id, now)
    return sum(key.revoked_at is None for key in held)


def _held_keys(work: UnitOfWork, scope: Scope, level: Level) -> list[ApiKey]:
    if level is Level.SESSION:
        return []
    return [key for key in work.keys.list(scope.org) if getattr(key, level.value) == getattr(scope, level.value)]


def revoke_again(work: UnitOfWork, org: str, key: bytes, gone: Mapping[str, datetime], now: datetime) -> int:
    """Revoke and blank the API keys of owners that were erased after the keys were made. `gone`: the last erasure by
    keyed hash of the owner's partition. Returns the number of those that were open.
    """
    ended = 0
    for each in work.keys.list(org):
        scope = Scope(org=org, user=each.user, agent=each.agent)
        levels = [Level.ORG, *([Level.USER] if each.user else []), *([Level.AGENT] if each.agent else [])]
        ends = [gone.get(keyed_hash(key, scope.partition(level))) for level in levels]
        if any(end is not None and each.created_at <= end for end in ends):
            ended += each.revoked_at is None
            work.keys.blank(org, each.id, now)
    return ended


def receipts(engine: Engine, scope: Scope) -> Sequence[Receipt]:
    """The receipts of all erasures in the scope's org, oldest first."""
    with engine.store.read() as work:
        return work.erasure.receipts(scope.org)


def _plan_erasure(work: UnitOfWork, scope: Scope, level: Level) -> Plan:
    owner = scope.partition(level)
    work.partitions.versions([owner])  # refuses an org that has moved, since `all` has only served partitions
    if work.upkeep.unserved([scope.org]):
        raise UnavailableError(f"org {scope.org} is moving between stores; try again in a few seconds")
    plan, everywhere = Plan(), [each for each in work.partitions.all() if each.org == scope.org]
    if level is Level.ORG:
        plan.partitions = everywhere
        return plan
    sessions = f"{owner.owner}{SEPARATOR}"
    plan.partitions = [
        each
        for each in everywhere
        if each == owner or (level is Level.USER and each.level is Level.SESSION and each.owner.startswith(sessions))
    ]
    if level is Level.SESSION and scope.session is not None and scope.message_partition != owner:
        said = _session_messages(work, scope.message_partition, scope.session)
        plan.messages = [(scope.message_partition, message_id) for message_id in said]
        plan.contexts = find_records(work, [scope.message_partition], session=scope.session)
    if level is Level.AGENT:
        others = [each for each in everywhere if each not in plan.partitions]
        plan.contexts = find_records(work, others, agent=owner.owner)
        _plan_private(work, plan, scope.org, owner.owner)
    plan.memories += derived(work, scope.org, plan)
    return plan


def _no_keys(_org: str, _at: datetime, _until: datetime | None) -> int:
    return 0


def _with_keys(counts: dict[str, int], keys: int) -> dict[str, int]:
    return {**counts, "data_keys": keys} if keys else counts


def _plan_private(work: UnitOfWork, plan: Plan, org: str, agent: str) -> None:
    """Add the agent's private items outside the plan's partitions."""
    for partition, item_id in work.erasure.private(org, agent):
        if partition in plan.partitions:
            continue
        visible = Visibility((partition,), agent)
        if work.documents.get(visible, [item_id]):
            plan.documents.append((partition, item_id))
        else:
            rows = plan.messages if work.messages.get(visible, [item_id]) else plan.memories
            rows.append((partition, item_id))


def _session_messages(work: UnitOfWork, partition: Partition, session: str) -> list[str]:
    ids: list[str] = []
    after = 0
    while page := work.conversations.messages(partition, session, after, PAGE_ROWS):
        ids += [message.id for message in page]
        after = page[-1].position
    return ids


def _clean_caches(engine: Engine, plan: Plan) -> tuple[str, ...]:
    """Remove the erased rows from index, window and files. Returns notes on what the files still hold."""
    for partition in plan.partitions:
        forget(engine, partition)
    copied = {*plan.partitions, *(partition for partition, _ in plan.messages)}
    is_gone = not copied or engine.window is None or engine.window.forget(copied)
    left = reached(engine, {*plan.partitions, *(partition for partition, _ in plan.items)})
    return (*engine.store.scrub(), *left, *(() if is_gone else (COPIES_LEFT,)))
