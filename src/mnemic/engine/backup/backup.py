"""Writes a backup of the whole store while it is used, or of its receipts alone, and checks one."""

from __future__ import annotations

import time
from collections.abc import Iterable
from contextlib import closing
from datetime import datetime
from pathlib import Path

from mnemic.engine.backup.replay import owed_by
from mnemic.engine.parts import Parts
from mnemic.errors import BackendError, UnsupportedError
from mnemic.model.backup import BackupReport, Contents, Manifest
from mnemic.model.health import Condition
from mnemic.ports.archive import Archive, Draft, Told
from mnemic.ports.copying import CopyingStore
from mnemic.ports.store import Store


def backup(
    parts: Parts,
    archive: Archive,
    path: str | Path,
    *,
    contents: Contents,
    is_replacing: bool,
    told: Told,
) -> BackupReport:
    """Write a backup to `path`: every row of every org as it was at one moment, or (`contents`) the receipts alone."""
    start = time.perf_counter()
    store = copying(parts.store)
    parts.accesses.flush(parts.store)
    with archive.draft(path, is_replacing=is_replacing) as draft:
        at = parts.clock.now()
        if contents is Contents.WHOLE:
            store.write_copy(draft.rows, lambda done, total: told("copying", done, total))
        else:
            _copy_receipts(parts.store, draft)
        manifest = draft.seal(_manifest(parts, draft, store.kind, contents, at), told)
    return BackupReport(str(path), archive.size(path), manifest, time.perf_counter() - start)


def check(archive: Archive, path: str | Path, *, room: Path | None, told: Told) -> BackupReport:
    """Read a backup from end to end, and open its rows beside the store. Raises `InvalidInputError` when it is damaged
    or no backup, `ConfigError` when it is of a newer Mnemic.
    """
    start = time.perf_counter()
    with archive.opened(path, room, told) as opened:
        return BackupReport(str(path), archive.size(path), opened.manifest, time.perf_counter() - start)


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


def _copy_receipts(store: Store, draft: Draft) -> None:
    with store.read() as work:
        owed = owed_by(work)
    with closing(draft.open_rows()) as rows, rows.write() as work:
        if owed.key:
            work.erasure.key(owed.key)
        for receipt in owed.receipts:
            work.erasure.add(receipt)


def _manifest(parts: Parts, draft: Draft, kind: str, contents: Contents, at: datetime) -> Manifest:
    models = {embedder.space.id: embedder.space.model for embedder in parts.known_embedders}
    with closing(draft.open_rows()) as rows, rows.read() as work:
        broken = next((each for each in rows.diagnose() if each.condition is Condition.BROKEN), None)
        if broken is not None:
            raise BackendError("the store is damaged, and a backup of it would be: `mnemic doctor` tells more")
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
