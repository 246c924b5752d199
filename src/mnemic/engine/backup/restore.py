"""Puts a backup in the place of what a store holds, or a store's rows into another store.

All is prepared in a copy beside the store: brought up to date, and erased again what was erased since the backup was
made. Then it is put in place in one transaction, so that a process that dies leaves the old rows or the new ones.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path

from mnemic.engine.backup.backup import copying
from mnemic.engine.backup.data_keys import catch_up, named
from mnemic.engine.backup.replay import Owed, owed_by, replay
from mnemic.engine.erasure.delete import COPIES_LEFT
from mnemic.engine.indexing.freshness import INDEX_LEFT, forget, sides
from mnemic.engine.indexing.vectors import adopt_spaces
from mnemic.engine.parts import Parts
from mnemic.errors import BackendError, ConfigError, ConflictError, InvalidInputError, UnavailableError
from mnemic.model.backup import Contents, LostOrg, RestoreReport
from mnemic.model.scope import Partition, Scope
from mnemic.ports.archive import Archive, Opened, Told
from mnemic.ports.copying import AUDIT, KEYS, CopyingStore
from mnemic.ports.store import UnitOfWork

_ATTEMPTS = 5
_FOREIGN = "some receipts are of another store than the backup; a receipt of what they removed is kept in their place"
_OTHER_SPACES = "no configured embedder fills the space of the backup's vectors; a worker makes new ones, or reembed"


@dataclass(frozen=True, slots=True)
class Wish:
    """How a backup is to be restored. `receipts`: a further backup, of which only the receipts count."""

    receipts: str | Path | None = None
    is_replacing: bool = False
    is_dry_run: bool = False


@dataclass(frozen=True, slots=True)
class _Held:
    """What a store holds at a moment."""

    counts: Mapping[str, int]
    partitions: Sequence[Partition]
    owed: Owed
    orgs: Collection[str]
    kept: tuple[str, ...]


class _MoreWasErasedError(Exception):
    """There are receipts that were not followed in the copy yet."""


def restore(parts: Parts, archive: Archive, path: str | Path, wish: Wish, told: Told) -> RestoreReport:
    """Put the backup at `path` in the place of all rows of the store; keys and the audit log stay where there are any.

    Erasures that the store knows of, or the backup of `wish.receipts`, and the backup does not, are made again. Raises
    `ConflictError` when the store holds something that is not to be replaced, `InvalidInputError` and `ConfigError` for
    a backup, or a keyring, that cannot be used, `BackendError` when the store or the disk fails; then all is as it was.
    """
    start = time.perf_counter()
    store = copying(parts.store)
    with parts.store.read() as work:
        held = _held(work)
    _check_free(held, wish)
    if parts.keyring is not None and not wish.is_dry_run:
        catch_up(parts, parts.keyring)
    with ExitStack() as stack:
        opened = stack.enter_context(archive.opened(path, store.room, told))
        if opened.manifest.contents is not Contents.WHOLE:
            raise InvalidInputError(f"{path} holds receipts alone; restore a whole backup, and name this one beside it")
        lost = named(opened.lost, parts.keyring, held.orgs)
        _check_lost(lost, held, wish)
        copy = _Copy(parts, opened)
        copy.follow(held.owed)
        if wish.receipts is not None:
            copy.follow(_receipts_of(archive, store, wish.receipts, told))
        notes = copy.notes
        if not wish.is_dry_run:
            held = _put_in_place(parts, copy, wish, told)
            notes = (*copy.notes, *_settled(parts, held.partitions))
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
    """The rows of a backup, and what was erased again in them."""

    def __init__(self, parts: Parts, opened: Opened) -> None:
        self._parts, self._opened = parts, opened
        self._is_foreign = False
        self.replayed = 0
        self.erased: Counter[str] = Counter()
        with closing(opened.open_rows()) as rows, rows.read() as work:
            self._followed = _names(owed_by(work))

    @property
    def rows(self) -> Path:
        """Where they are."""
        return self._opened.rows

    def knows(self, owed: Owed) -> bool:
        """True when all these receipts were followed, or are of before the backup."""
        return _names(owed) <= self._followed

    def follow(self, owed: Owed) -> None:
        """Erase what these receipts tell of, those that were followed already left out."""
        fresh = tuple(receipt for receipt in owed.receipts if (receipt.org, receipt.id) not in self._followed)
        with closing(self._opened.open_rows()) as rows:
            made_at = self._opened.manifest.made_at
            done = replay(rows, Owed(owed.key, fresh), self._parts.clock.now(), made_at=made_at)
        self._followed |= _names(owed)
        self._is_foreign |= done.is_foreign
        self.replayed += done.receipts
        self.erased.update(done.erased)

    def counts(self) -> Mapping[str, int]:
        """Rows by table."""
        with closing(self._opened.open_rows()) as rows, rows.read() as work:
            return work.partitions.count(work.partitions.all())

    @property
    def notes(self) -> tuple[str, ...]:
        """What to know of them."""
        spaces = self._opened.manifest.spaces
        filled = {embedder.space.id for embedder in self._parts.embedders}
        is_lacking = bool(spaces) and bool(filled) and not filled & spaces.keys()
        return (*((_FOREIGN,) if self._is_foreign else ()), *((_OTHER_SPACES,) if is_lacking else ()))


def _put_in_place(parts: Parts, copy: _Copy, wish: Wish, told: Told) -> _Held:
    """Take the copy; what it took the place of. What was erased in the store meanwhile is erased in the copy first."""
    found: list[_Held] = []

    def ready(work: UnitOfWork) -> Collection[str]:
        held = _held(work)
        found.append(held)
        _check_free(held, wish)
        if not copy.knows(held.owed):
            raise _MoreWasErasedError
        return held.kept

    for _ in range(_ATTEMPTS):
        try:
            copying(parts.store).take_copy(copy.rows, ready, lambda done, total: told("restoring", done, total))
        except _MoreWasErasedError:
            copy.follow(found[-1].owed)
        else:
            return found[-1]
    raise UnavailableError("erasures go on in the store all the time; try again when they are done")


def _settled(parts: Parts, former: Sequence[Partition]) -> tuple[str, ...]:
    """Let indexes and windows go of what was, and have vectors made where they are missing; what is left, in words."""
    with parts.store.read() as work:
        everywhere = {*former, *work.partitions.all()}
    for partition in everywhere:
        forget(parts, partition)
    is_gone = not everywhere or parts.window is None or parts.window.forget(everywhere)
    served = parts.served_index
    left = (INDEX_LEFT,) if served is not None and served.is_behind(sides(everywhere)) else ()
    notes = (*parts.store.scrub(), *left, *(() if is_gone else (COPIES_LEFT,)))
    try:
        adopt_spaces(parts)
    except BackendError as error:  # what was restored stays so; the next worker looks again
        return (*notes, f"restored, but it is not known whether vectors are missing: {error}")
    return notes


def _receipts_of(archive: Archive, store: CopyingStore, path: str | Path, told: Told) -> Owed:
    with archive.opened(path, store.room, told) as opened, closing(opened.open_rows()) as rows, rows.read() as work:
        return owed_by(work)


def _held(work: UnitOfWork) -> _Held:
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
        raise ConflictError(
            f"the store holds {counted or 'something'} already; say that it is to be replaced, or restore elsewhere"
        )


def _check_lost(lost: Sequence[LostOrg], held: _Held, wish: Wish) -> None:
    """A keyring that never had a key is the wrong copy of it: what it cannot open need not be erased."""
    missing = [each.key for each in lost if each.destroyed_at is None]
    if missing and held.partitions and not wish.is_dry_run:
        raise ConfigError(
            f"the keyring never had the keys of {len(missing)} orgs ({', '.join(missing[:3])}): use the latest copy of "
            "it; what it opens can be restored into a store that holds nothing"
        )


def _names(owed: Owed) -> set[tuple[str, str]]:
    return {(receipt.org, receipt.id) for receipt in owed.receipts}
