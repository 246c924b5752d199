"""Backups of the whole store while it is in use, or of its receipts; checks and restores them.

A receipt holds keyed hashes, no names; hashing what exists with the same key finds what was erased. It covers what
existed when it was made. An owner's later data stays.

A restore is prepared in a copy: updated, with later erasures repeated. One transaction puts it in place, so a crash
leaves the old rows or the new ones.
"""

import time
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from mnemic import errors
from mnemic.engine.access import forget_answers
from mnemic.engine.engine import PAGE_ROWS, Engine, new_id
from mnemic.engine.erase import COPIES_LEFT, Place, Plan, carried_out, derived, keyed_hash, revoke_again
from mnemic.engine.indexing import INDEX_LEFT, adopt_spaces, forget, sides
from mnemic.model.backup import BackupReport, Contents, LostOrg, Manifest, RestoreReport
from mnemic.model.columns import partition_of
from mnemic.model.document import DocumentQuery
from mnemic.model.health import Condition
from mnemic.model.item import Memory, Message
from mnemic.model.records import Receipt
from mnemic.model.scope import Level, Partition, Scope, Visibility
from mnemic.ports.files import Archive, Draft, Keyring, Opened, Told
from mnemic.ports.store import AUDIT, KEYS, CopyingStore, Rows, Store, UnitOfWork


def erased_orgs(work: UnitOfWork) -> dict[str, datetime]:
    """The orgs that were erased as a whole, each with the time of the last erasure."""
    key, found = work.erasure.key(), dict[str, datetime]()
    for org in work.erasure.orgs():
        whole = keyed_hash(key, Scope(org=org).partition(Level.ORG))
        moments = [receipt.at for receipt in work.erasure.receipts(org) if receipt.scope_hash == whole]
        if moments:
            found[org] = max(moments)
    return found


def catch_up(engine: Engine, keyring: Keyring) -> None:
    """Destroy keys older than an erasure of their org. The process that erased it may have had no keyring."""
    with engine.store.read() as work:
        erased = erased_orgs(work)
    kept = keyring.of(erased)
    late = [org for org, keys in kept.items() if any(key.secret and key.made_at <= erased[org] for key in keys)]
    if late:
        with keyring.destroying() as destroy:
            for org in late:
                destroy(org, engine.clock.now(), erased[org])


def named(lost: Sequence[LostOrg], keyring: Keyring | None, orgs: Iterable[str]) -> tuple[LostOrg, ...]:
    """The lost orgs, with names for those that are among `orgs`."""
    if keyring is None or not lost:
        return tuple(lost)
    names = {key.id: org for org, keys in keyring.of([*orgs]).items() for key in keys}
    return tuple(replace(each, org=names.get(each.key)) for each in lost)


_EVER = datetime.max.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Owed:
    """The receipts of one store, and the key that they were made with (b"" without receipts)."""

    key: bytes
    receipts: tuple[Receipt, ...]


@dataclass(frozen=True, slots=True)
class Replay:
    """A replay's result. `receipts`: number followed. `erased`: rows removed, by table. `is_foreign`: some had another
    key; these are not kept, but replaced by a receipt of what they removed.
    """

    receipts: int
    erased: Mapping[str, int]
    is_foreign: bool


def owed_by(work: UnitOfWork) -> Owed:
    """The receipts of all orgs of a store."""
    return Owed(work.erasure.key(), tuple(each for org in work.erasure.orgs() for each in work.erasure.receipts(org)))


def replay(store: Store, owed: Owed, now: datetime, *, made_at: datetime) -> Replay:
    """Repeat the erasures of these receipts in one transaction, and keep the receipts. None may be in the store yet.
    Receipts from `made_at` on cover all rows, whatever the clock showed.
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
        for org, gone in _last_erasures(owed, made_at).items():
            if count := revoke_again(work, org, owed.key, gone, now):
                erased["api_keys"] = erased.get("api_keys", 0) + count
    return Replay(len(owed.receipts), erased, is_foreign)


def _plans(work: UnitOfWork, owed: Owed, made_at: datetime) -> dict[str, Plan]:
    """By org, what these receipts cover and still exists."""
    gone = _last_erasures(owed, made_at)
    plans: dict[str, Plan] = {}
    for partition in work.partitions.all():
        latest = gone.get(partition.org)
        if latest:
            _plan_partition(work, partition, owed.key, latest, plans.setdefault(partition.org, Plan()))
    for org, plan in plans.items():
        plan.memories += derived(work, org, plan)
    return {org: plan for org, plan in plans.items() if plan.partitions or plan.items}


def _last_erasures(owed: Owed, made_at: datetime) -> dict[str, dict[str, datetime]]:
    """By org and keyed hash, when it was last erased."""
    gone: dict[str, dict[str, datetime]] = {}
    for receipt in owed.receipts:
        latest = gone.setdefault(receipt.org, {})
        until = receipt.at if receipt.at < made_at else _EVER
        for digest in (receipt.scope_hash, *receipt.hashes):
            latest[digest] = max(until, latest.get(digest, until))
    return gone


def _plan_partition(
    work: UnitOfWork, partition: Partition, key: bytes, gone: Mapping[str, datetime], plan: Plan
) -> None:
    """Add a partition's erased items to a plan: the whole partition if nothing in it is newer, else item by item."""
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
    while page := work.messages.page(Visibility((partition,), None), after, PAGE_ROWS):
        yield from (_place_of_item(message) for message in page)
        after = page[-1].id


def _memories(work: UnitOfWork, partition: Partition) -> Iterator[tuple[Place, datetime]]:
    after = ""
    while page := work.upkeep.memories(partition, after, PAGE_ROWS):
        yield from (_place_of_item(memory) for memory in page)
        after = page[-1].id


def _documents(work: UnitOfWork, partition: Partition) -> Iterator[tuple[Place, datetime]]:
    found = {
        each.id: each.created_at
        for agent in (None, *work.upkeep.private_agents(partition))
        for each in work.documents.list(Visibility((partition,), agent), DocumentQuery())
    }
    yield from (((partition, name), at) for name, at in found.items())


def _place_of_item(item: Message | Memory) -> tuple[Place, datetime]:
    return (item.partition, item.id), item.created_at


def _receipt(org: str, plan: Plan, key: bytes, now: datetime) -> Receipt:
    """The receipt of a replay with a foreign key. The next restore of the same backup needs it."""
    counts = {"partitions": len(plan.partitions), "items": len(plan.items)}
    return Receipt(now, counts, id=new_id(now), org=org, hashes=tuple(sorted(plan.hashes(key))))


_ATTEMPTS = 5  # attempts when an org is erased meanwhile, which is rare
_UNOPENED = "the sealed backup was checked without its keys: its parts are unchanged, but their rows were not read"


@dataclass(frozen=True, slots=True)
class Order:
    """The backup to make. `is_sealed` None: seal a whole backup if there is a keyring."""

    contents: Contents = Contents.WHOLE
    is_replacing: bool = False
    is_sealed: bool | None = None


def backup(engine: Engine, archive: Archive, path: str | Path, order: Order, told: Told) -> BackupReport:
    """Write a backup to `path`: all rows of all orgs at one moment, or (`contents`) the receipts alone. Raises
    `InvalidInputError` if it is to be sealed without a keyring, `ConfigError` if the keyring cannot be used.
    """
    start = time.perf_counter()
    store, keyring = copying(engine.store), _keyring(engine, order)
    engine.accesses.flush(engine.store)
    with archive.draft(path, is_replacing=order.is_replacing) as draft:
        if keyring is not None:
            manifest = _seal_store(engine, store, draft, keyring, told)
        else:
            manifest = draft.seal(_copy_store(engine, store, draft, order.contents, told), told)
    return BackupReport(str(path), archive.size(path), manifest, time.perf_counter() - start)


def check(archive: Archive, path: str | Path, *, room: Path | None, told: Told) -> BackupReport:
    """Read a whole backup and open its rows beside the store; of a sealed one, as far as its keys exist. Raises
    `InvalidInputError` if it is damaged or no backup, `ConfigError` if a newer Mnemic made it.
    """
    start = time.perf_counter()
    checked = archive.check(path, room, told)
    notes = () if checked.is_opened else (_UNOPENED,)
    seconds = time.perf_counter() - start
    return BackupReport(str(path), archive.size(path), checked.manifest, seconds, checked.lost, notes)


def receive(
    archive: Archive, path: str | Path, pieces: Iterable[bytes], *, is_replacing: bool, told: Told
) -> BackupReport:
    """Store an uploaded backup if it is whole. Raises `InvalidInputError` otherwise."""
    start = time.perf_counter()
    with archive.draft(path, is_replacing=is_replacing) as draft:
        manifest = draft.receive(pieces, told)
    return BackupReport(str(path), archive.size(path), manifest, time.perf_counter() - start)


def copying(store: Store) -> CopyingStore:
    """The store as a `CopyingStore`. Raises `UnsupportedError` if it cannot be copied."""
    if not isinstance(store, CopyingStore):
        raise errors.UnsupportedError("this store cannot be backed up; export its scopes instead", capability="backup")
    return store


def _keyring(engine: Engine, order: Order) -> Keyring | None:
    """The keyring for sealing; None for plain backups. Receipts hold no text and outlive a lost keyring."""
    if order.contents is Contents.RECEIPTS:
        if order.is_sealed:
            raise errors.InvalidInputError("receipts alone cannot be sealed: they contain no text")
        return None
    if order.is_sealed and engine.keyring is None:
        raise errors.InvalidInputError("a sealed backup requires a keyring; set backup.keyring, or do not seal it")
    return None if order.is_sealed is False else engine.keyring


def _seal_store(engine: Engine, store: CopyingStore, draft: Draft, keyring: Keyring, told: Told) -> Manifest:
    """Seal the rows of one moment. Retries if an org was erased before its key was issued: it would open its rows."""
    engine.store.check()
    _check_sound(engine.store)
    catch_up(engine, keyring)
    for _ in range(_ATTEMPTS):
        with store.rows() as rows:
            at = engine.clock.now()
            erased = erased_orgs(rows.work)
            orgs = rows.orgs()
            keys = keyring.issue([None, *orgs], at)
            with engine.store.read() as work:
                is_late = erased_orgs(work) != erased
            if not is_late:
                counts = rows.work.partitions.count(_list_partitions(rows, orgs))
                manifest = _manifest(engine, rows.work, counts, store.kind, at)
                return draft.seal_by_org(rows, keys, manifest, told)
        catch_up(engine, keyring)
    raise errors.UnavailableError("orgs were erased during the backup; try again when no erasure is running")


def _copy_store(engine: Engine, store: CopyingStore, draft: Draft, contents: Contents, told: Told) -> Manifest:
    at = engine.clock.now()
    if contents is Contents.WHOLE:
        store.write_copy(draft.rows, lambda done, total: told("copying", done, total))
    else:
        _copy_receipts(engine.store, draft)
    with closing(draft.open_rows()) as rows:
        _check_sound(rows)
        with rows.read() as work:
            counts = work.partitions.count(work.partitions.all())
            return replace(_manifest(engine, work, counts, store.kind, at), contents=contents)


def _list_partitions(rows: Rows, orgs: Iterable[str]) -> list[Partition]:
    """The partitions of these orgs, including stopped ones."""
    columns = rows.tables["partitions"]
    org, level, owner = (columns.index(name) for name in ("org", "level", "owner"))
    return [partition_of(row[org], row[level], row[owner]) for each in orgs for row in rows.of("partitions", each)]


def _copy_receipts(store: Store, draft: Draft) -> None:
    with store.read() as work:
        owed = owed_by(work)
    with closing(draft.open_rows()) as rows, rows.write() as work:
        if owed.key:
            work.erasure.key(owed.key)
        for receipt in owed.receipts:
            work.erasure.add(receipt)


def _check_sound(store: Store) -> None:
    if any(each.condition is Condition.BROKEN for each in store.diagnose()):
        raise errors.DamagedError("the store is damaged, and so would be a backup; recover it with `mnemic rescue`")


def _manifest(engine: Engine, work: UnitOfWork, counts: Mapping[str, int], kind: str, at: datetime) -> Manifest:
    models = {embedder.space.id: embedder.space.model for embedder in engine.known_embedders}
    spaces = work.vectors.spaces()
    return Manifest(
        contents=Contents.WHOLE,
        made_at=at,
        made_by="",
        schema=0,
        store=kind,
        counts=counts,
        spaces=spaces,
        models={space: model for space, model in models.items() if space in spaces},
        receipts=len(owed_by(work).receipts),
        size=0,
        sha256="",
    )


_FOREIGN = "some receipts belong to a different store than the backup; a new receipt of what they removed replaces them"
_OTHER_SPACES = "no configured embedder matches the backup's vectors; a worker or `mnemic reembed` creates new ones"


@dataclass(frozen=True, slots=True)
class Wish:
    """Options of a restore. `receipts`: another backup, of which only the receipts are used."""

    receipts: str | Path | None = None
    is_replacing: bool = False
    is_dry_run: bool = False


@dataclass(frozen=True, slots=True)
class _Held:
    """A store's contents at one moment."""

    counts: Mapping[str, int]
    partitions: Sequence[Partition]
    owed: Owed
    orgs: Collection[str]
    kept: tuple[str, ...]


class _UnseenErasureError(Exception):
    """Some receipts were not replayed in the copy yet."""


def restore(engine: Engine, archive: Archive, path: str | Path, wish: Wish, told: Told) -> RestoreReport:
    """Replace all rows by the backup at `path`; existing keys and audit log stay. Repeats later erasures that the store
    or `wish.receipts` know. Raises `ConflictError` if existing content would be replaced without consent,
    `InvalidInputError` or `ConfigError` for an unusable backup or keyring, `BackendError` if the store or disk fails.
    After an error nothing has changed.
    """
    start = time.perf_counter()
    store = copying(engine.store)
    with engine.store.read() as work:
        held = _count_held(work)
    _check_free(held, wish)
    if engine.keyring is not None and not wish.is_dry_run:
        catch_up(engine, engine.keyring)
    with ExitStack() as stack:
        opened = stack.enter_context(archive.opened(path, store.room, told))
        if opened.manifest.contents is not Contents.WHOLE:
            raise errors.InvalidInputError(
                f"{path} contains only receipts; restore a full backup and pass this file as `receipts`"
            )
        lost = named(opened.lost, engine.keyring, held.orgs)
        _check_lost(lost, held, wish)
        copy = _Copy(engine, opened)
        copy.follow(held.owed)
        if wish.receipts is not None:
            copy.follow(_receipts_of(archive, store, wish.receipts, told))
        notes = copy.notes
        if not wish.is_dry_run:
            held = _put_in_place(engine, copy, wish, told)
            notes = (*copy.notes, *_settle_store(engine, held.partitions))
        return RestoreReport(
            manifest=opened.manifest,
            counts=copy.counts(),
            replaced=held.counts,
            replayed=copy.replayed,
            erased={**copy.erased},
            kept=held.kept,
            notes=notes,
            is_dry_run=wish.is_dry_run,
            seconds=time.perf_counter() - start,
            lost=lost,
        )


class _Copy:
    """The rows of a backup, and the erasures repeated in them."""

    def __init__(self, engine: Engine, opened: Opened) -> None:
        self._engine, self._opened, self.rows = engine, opened, opened.rows
        self._is_foreign = False
        self.replayed = 0
        self.erased: Counter[str] = Counter()
        with closing(opened.open_rows()) as rows, rows.read() as work:
            self._followed = _names(owed_by(work))

    def knows(self, owed: Owed) -> bool:
        """True if all these receipts were replayed or are older than the backup."""
        return _names(owed) <= self._followed

    def follow(self, owed: Owed) -> None:
        """Repeat these receipts' erasures, except those already repeated."""
        fresh = tuple(receipt for receipt in owed.receipts if (receipt.org, receipt.id) not in self._followed)
        with closing(self._opened.open_rows()) as rows:
            made_at = self._opened.manifest.made_at
            done = replay(rows, Owed(owed.key, fresh), self._engine.clock.now(), made_at=made_at)
        self._followed |= _names(owed)
        self._is_foreign |= done.is_foreign
        self.replayed += done.receipts
        self.erased.update(done.erased)

    def counts(self) -> Mapping[str, int]:
        with closing(self._opened.open_rows()) as rows, rows.read() as work:
            return work.partitions.count(work.partitions.all())

    @property
    def notes(self) -> tuple[str, ...]:
        spaces = self._opened.manifest.spaces
        filled = {embedder.space.id for embedder in self._engine.embedders}
        is_lacking = bool(spaces) and bool(filled) and not filled & spaces.keys()
        return (*((_FOREIGN,) if self._is_foreign else ()), *((_OTHER_SPACES,) if is_lacking else ()))


def _put_in_place(engine: Engine, copy: _Copy, wish: Wish, told: Told) -> _Held:
    """Replace the store by the copy after repeating recent erasures there. Returns the former contents."""
    found: list[_Held] = []

    def ready(work: UnitOfWork) -> Collection[str]:
        held = _count_held(work)
        found.append(held)
        _check_free(held, wish)
        if not copy.knows(held.owed):
            raise _UnseenErasureError
        return held.kept

    for _ in range(_ATTEMPTS):
        try:
            copying(engine.store).take_copy(copy.rows, ready, lambda done, total: told("restoring", done, total))
        except _UnseenErasureError:
            copy.follow(found[-1].owed)
        else:
            return found[-1]
    raise errors.UnavailableError("data was erased during the restore; try again when no erasure is running")


def _settle_store(engine: Engine, former: Sequence[Partition]) -> tuple[str, ...]:
    """Reset indexes and windows, and queue missing vectors. Returns notes on what is left to do."""
    with engine.store.read() as work:
        everywhere = {*former, *work.partitions.all()}
    for partition in everywhere:
        forget(engine, partition)
    is_gone = not everywhere or engine.window is None or engine.window.forget(everywhere)
    served = engine.served_index
    left = (INDEX_LEFT,) if served is not None and served.is_behind(sides(everywhere)) else ()
    notes = (*engine.store.scrub(), *left, *(() if is_gone else (COPIES_LEFT,)))
    try:
        adopt_spaces(engine)
    except errors.BackendError as error:  # the restored rows stay; the next worker tries again
        return (*notes, f"restored, but it is unknown whether vectors are missing: {error}")
    return notes


def _receipts_of(archive: Archive, store: CopyingStore, path: str | Path, told: Told) -> Owed:
    with archive.opened(path, store.room, told) as opened, closing(opened.open_rows()) as rows, rows.read() as work:
        return owed_by(work)


def _count_held(work: UnitOfWork) -> _Held:
    partitions = work.partitions.all()
    owed = owed_by(work)
    orgs = {Scope().org, *(partition.org for partition in partitions), *work.erasure.orgs()}
    has_keys = work.keys.has_any()
    has_audit = has_keys or any(work.audit.list(org, None, 1) for org in orgs)
    kept = (*((KEYS,) if has_keys else ()), *((AUDIT,) if has_audit else ()))
    return _Held(work.partitions.count(partitions), partitions, owed, orgs, kept)


def _check_free(held: _Held, wish: Wish) -> None:
    if held.partitions and not (wish.is_replacing or wish.is_dry_run):
        counted = ", ".join(f"{count:,} {table}" for table, count in held.counts.items() if count)
        raise errors.ConflictError(
            f"the store already contains {counted or 'rows'}; pass is_replacing=True to replace it"
        )


def _check_lost(lost: Sequence[LostOrg], held: _Held, wish: Wish) -> None:
    """Refuse a keyring that never had a key: it is the wrong copy. Orgs that it cannot open need not be erased."""
    missing = [each.key for each in lost if each.destroyed_at is None]
    if missing and held.partitions and not wish.is_dry_run:
        raise errors.ConfigError(
            f"the keyring has no keys for {len(missing)} orgs ({', '.join(missing[:3])}); use its latest copy. "
            "The other orgs can be restored into an empty store"
        )


def _names(owed: Owed) -> set[tuple[str, str]]:
    return {(receipt.org, receipt.id) for receipt in owed.receipts}
