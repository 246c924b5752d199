"""Writes a backup of the whole store while it is used, or of its receipts alone, and checks one."""

from __future__ import annotations

import time
from collections.abc import Iterable
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from mnemic.engine.backup.data_keys import catch_up, erased_orgs
from mnemic.engine.backup.replay import owed_by
from mnemic.engine.parts import Parts
from mnemic.errors import BackendError, ConfigError, InvalidInputError, UnavailableError, UnsupportedError
from mnemic.model.backup import BackupReport, Contents, Manifest
from mnemic.model.health import Condition
from mnemic.ports.archive import Archive, Draft, Told
from mnemic.ports.copying import CopyingStore
from mnemic.ports.keyring import Keyring
from mnemic.ports.store import Store, UnitOfWork

_ATTEMPTS = 5
_UNOPENED = (
    "it is sealed, and was checked without its keys: its parts are as they were written, their rows were not read"
)


@dataclass(frozen=True, slots=True)
class Order:
    """What backup is wanted. `is_sealed` None: a whole one is, where there is a keyring."""

    contents: Contents = Contents.WHOLE
    is_replacing: bool = False
    is_sealed: bool | None = None


def backup(parts: Parts, archive: Archive, path: str | Path, order: Order, told: Told) -> BackupReport:
    """Write a backup to `path`: every row of every org as it was at one moment, or (`contents`) the receipts alone.
    Raises `ConfigError` when it is to be sealed and there is no keyring, or none that can be used.
    """
    start = time.perf_counter()
    store, keyring = copying(parts.store), _keyring(parts, order)
    parts.accesses.flush(parts.store)
    with archive.draft(path, is_replacing=order.is_replacing) as draft:
        if keyring is not None:
            manifest = _sealed(parts, store, draft, keyring, told)
        else:
            manifest = draft.seal(_copied(parts, store, draft, order.contents, told), told)
    return BackupReport(str(path), archive.size(path), manifest, time.perf_counter() - start)


def check(archive: Archive, path: str | Path, *, room: Path | None, told: Told) -> BackupReport:
    """Read a backup from end to end, and open its rows beside the store; of a sealed one as far as its keys are there.
    Raises `InvalidInputError` when it is damaged or no backup, `ConfigError` when it is of a newer Mnemic.
    """
    start = time.perf_counter()
    checked = archive.check(path, room, told)
    notes = () if checked.is_opened else (_UNOPENED,)
    seconds = time.perf_counter() - start
    return BackupReport(str(path), archive.size(path), checked.manifest, seconds, checked.lost, notes)


def receive(
    archive: Archive, path: str | Path, pieces: Iterable[bytes], *, is_replacing: bool, told: Told
) -> BackupReport:
    """Keep a backup that comes from elsewhere, when it is whole. Raises `InvalidInputError` when it is not."""
    start = time.perf_counter()
    with archive.draft(path, is_replacing=is_replacing) as draft:
        manifest = draft.receive(pieces, told)
    return BackupReport(str(path), archive.size(path), manifest, time.perf_counter() - start)


def copying(store: Store) -> CopyingStore:
    """The store as one that can be copied. Raises `UnsupportedError` when it cannot."""
    if not isinstance(store, CopyingStore):
        raise UnsupportedError("this store cannot be copied as a whole; export its scopes", capability="backup")
    return store


def _keyring(parts: Parts, order: Order) -> Keyring | None:
    """That which a backup is sealed with, None for one in plain. Receipts alone hold no text, and are needed most where
    the keyring is lost.
    """
    if order.contents is Contents.RECEIPTS:
        if order.is_sealed:
            raise InvalidInputError("receipts alone are not sealed: they hold no text")
        return None
    if order.is_sealed and parts.keyring is None:
        raise ConfigError("a sealed backup needs a keyring: set backup.keyring to the file that shall hold its keys")
    return None if order.is_sealed is False else parts.keyring


def _sealed(parts: Parts, store: CopyingStore, draft: Draft, keyring: Keyring, told: Told) -> Manifest:
    """Seal what a moment holds, unless an org was erased between that moment and the issue of its key: then a key that
    nobody destroys would open what was erased.
    """
    _check_sound(parts.store)
    catch_up(parts, keyring)
    for _ in range(_ATTEMPTS):
        with store.rows() as rows:
            at = parts.clock.now()
            erased = erased_orgs(rows.work)
            keys = keyring.issue([None, *rows.orgs()], at)
            with parts.store.read() as work:
                is_late = erased_orgs(work) != erased
            if not is_late:
                manifest = _manifest(parts, rows.work, store.kind, Contents.WHOLE, at)
                return draft.seal_by_org(rows, keys, manifest, told)
        catch_up(parts, keyring)
    raise UnavailableError("orgs are erased in the store all the time; try again when that is done")


def _copied(parts: Parts, store: CopyingStore, draft: Draft, contents: Contents, told: Told) -> Manifest:
    at = parts.clock.now()
    if contents is Contents.WHOLE:
        store.write_copy(draft.rows, lambda done, total: told("copying", done, total))
    else:
        _copy_receipts(parts.store, draft)
    with closing(draft.open_rows()) as rows:
        _check_sound(rows)
        with rows.read() as work:
            return _manifest(parts, work, store.kind, contents, at)


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
        raise BackendError("the store is damaged, and a backup of it would be: `mnemic doctor` tells more")


def _manifest(parts: Parts, work: UnitOfWork, kind: str, contents: Contents, at: datetime) -> Manifest:
    models = {embedder.space.id: embedder.space.model for embedder in parts.known_embedders}
    spaces = work.vectors.spaces()
    return Manifest(
        contents=contents,
        made_at=at,
        made_by="",
        schema=0,
        store=kind,
        counts=work.partitions.count(work.partitions.all()),
        spaces=spaces,
        models={space: model for space, model in models.items() if space in spaces},
        receipts=len(owed_by(work).receipts),
        size=0,
        sha256="",
    )
