"""Backups as zip files: `manifest.json` to read, `rows.db` with the rows as a file of the embedded store."""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
import tempfile
import zipfile
import zlib
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import IO

from mnemic.adapters.archives import manifest as manifests
from mnemic.adapters.archives.scratch import scratch_folder
from mnemic.adapters.stores.sqlite import SqliteStore
from mnemic.adapters.stores.sqlite.copying import check_copy
from mnemic.adapters.stores.sqlite.statements import migrations
from mnemic.errors import BackendError, ConfigError, ConflictError, InvalidInputError, UnavailableError
from mnemic.model.backup import Manifest
from mnemic.model.health import Condition
from mnemic.ports.archive import Archive, Told

ROWS, MANIFEST = "rows.db", "manifest.json"
_MANIFEST_BYTES = 10_000_000
_PIECE = 1 << 20
_QUICK = 1  # deflate's quickest level: vectors hardly shrink at any, and texts do at each
_UNREADABLE = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, ValueError)


class ZipArchive:
    """The `Archive` port."""

    @contextmanager
    def draft(self, path: str | Path, *, is_replacing: bool) -> Generator[_Draft]:
        target = Path(path)
        if target.is_dir() or not target.name:
            raise InvalidInputError(f"{target} is a folder; name the file to write")
        if not target.parent.is_dir():
            raise InvalidInputError(f"there is no folder {target.parent}")
        if os.path.lexists(target):
            _check_replaceable(target, is_replacing=is_replacing)
        with _room_for(f"{target} cannot be written"), scratch_folder(target.parent, "mnemic-backup") as folder:
            yield _Draft(target, folder, is_replacing=is_replacing)

    @contextmanager
    def opened(self, path: str | Path, room: Path | None, told: Told) -> Generator[_Opened]:
        source = Path(path)
        if not source.is_file():
            raise InvalidInputError(f"there is no file {source}")
        parent = Path(tempfile.gettempdir()) if room is None else room
        with _room_for(f"{source} cannot be unpacked in {parent}"), scratch_folder(parent, "mnemic-restore") as folder:
            yield _unpacked(source, folder, told)

    def size(self, path: str | Path) -> int:
        return Path(path).stat().st_size


class _Rows:
    """Rows in a private folder."""

    def __init__(self, folder: Path) -> None:
        self.rows = folder / ROWS

    def open_rows(self) -> SqliteStore:
        return SqliteStore(self.rows)


class _Draft(_Rows):
    """The `Draft` port."""

    def __init__(self, target: Path, folder: Path, *, is_replacing: bool) -> None:
        super().__init__(folder)
        self._target, self._packed, self._is_replacing = target, folder / "packed.zip", is_replacing

    def seal(self, manifest: Manifest, told: Told) -> Manifest:
        told_of = replace(
            manifest, made_by=version("mnemic"), schema=migrations()[-1][0], size=self.rows.stat().st_size, sha256=""
        )
        with _created(self._packed) as file:
            with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=_QUICK) as packed:
                entry = zipfile.ZipInfo(ROWS)
                entry.compress_type = zipfile.ZIP_DEFLATED
                with self.rows.open("rb") as rows, packed.open(entry, "w", force_zip64=True) as member:
                    digest = _copied(rows, member, told_of.size, "packing", told)
                told_of = replace(told_of, sha256=digest)
                packed.writestr(MANIFEST, manifests.to_text(told_of))
            file.flush()
            os.fsync(file.fileno())
        _check_packed(self._packed, told_of, told)
        _publish(self._packed, self._target, is_replacing=self._is_replacing)
        return told_of

    def receive(self, pieces: Iterable[bytes], told: Told) -> Manifest:
        done = 0
        with _created(self._packed) as file:
            for piece in pieces:
                file.write(piece)
                done += len(piece)
                told("receiving", done, done)
            file.flush()
            os.fsync(file.fileno())
        try:
            with zipfile.ZipFile(self._packed) as packed:
                manifest = _manifest(packed)
            _check_packed(self._packed, manifest, told)
        except (InvalidInputError, KeyError, *_UNREADABLE) as error:
            raise InvalidInputError("what came is damaged or no backup; ask for it again") from error
        _publish(self._packed, self._target, is_replacing=self._is_replacing)
        return manifest


class _Opened(_Rows):
    """The `Opened` port."""

    def __init__(self, folder: Path, manifest: Manifest) -> None:
        super().__init__(folder)
        self.manifest = manifest


def _unpacked(source: Path, folder: Path, told: Told) -> _Opened:
    try:
        with zipfile.ZipFile(source) as packed:
            manifest = _manifest(packed)
            free = shutil.disk_usage(folder).free
            if manifest.size > free:
                raise UnavailableError(
                    f"{source} needs {manifest.size:,} bytes in {folder.parent}, and there are {free:,} free"
                )
            opened = _Opened(folder, manifest)
            with packed.open(ROWS) as member, _created(opened.rows) as rows:
                digest = _copied(member, rows, manifest.size, "checking", told)
        _check_rows(opened, digest)
    except ConfigError as error:
        raise ConfigError(f"{source} cannot be read here: {error}") from error
    except (InvalidInputError, KeyError, *_UNREADABLE) as error:
        reason = str(error) if isinstance(error, InvalidInputError) else "it is no whole zip file"
        raise InvalidInputError(f"{source} is damaged or no backup: {reason}; use another one") from error
    return opened


def _check_rows(opened: _Opened, digest: str) -> None:
    """The rows are those that were packed, open as a store, which brings them up to date, are sound and hold what the
    manifest says.
    """
    if digest != opened.manifest.sha256:
        raise InvalidInputError("its rows are not those that it says they are")
    try:
        check_copy(opened.rows)
        store = opened.open_rows()
        try:
            if any(finding.condition is Condition.BROKEN for finding in store.diagnose()):
                raise InvalidInputError("its rows are damaged")
            with store.read() as work:
                counts = work.partitions.count(work.partitions.all())
        finally:
            store.close()
    except UnavailableError:
        raise
    except BackendError as error:
        raise InvalidInputError(f"its rows are damaged ({error})") from error
    if {**counts} != {**opened.manifest.counts}:
        raise InvalidInputError("its rows are not as many as it says")


def _manifest(packed: zipfile.ZipFile) -> Manifest:
    with packed.open(MANIFEST) as file:
        return manifests.from_text(file.read(_MANIFEST_BYTES), migrations()[-1][0])


def _check_packed(path: Path, manifest: Manifest, told: Told) -> None:
    """Read again what was written. Raises `UnavailableError` when it is not the same."""
    digest = hashlib.sha256()
    done = 0
    with zipfile.ZipFile(path) as packed:
        with packed.open(ROWS) as member:
            while piece := member.read(_PIECE):
                digest.update(piece)
                done += len(piece)
                told("checking", done, manifest.size)
        is_same = digest.hexdigest() == manifest.sha256 and _manifest(packed) == manifest
    if not is_same:
        raise UnavailableError(f"what was written to {path.parent.parent} reads otherwise; the disk may be failing")


def _copied(source: IO[bytes], target: IO[bytes], size: int, doing: str, told: Told) -> str:
    """Copy a file of a size that is known; the SHA-256 of what came. More than that is damage, or an attack."""
    digest, done = hashlib.sha256(), 0
    while piece := source.read(_PIECE):
        done += len(piece)
        if done > size:
            raise InvalidInputError("its rows are larger than it says")
        digest.update(piece)
        target.write(piece)
        told(doing, done, size)
    return digest.hexdigest()


def _check_replaceable(target: Path, *, is_replacing: bool) -> None:
    if not is_replacing:
        raise ConflictError(f"{target} exists already; say that it is to be replaced, or choose another name")
    try:
        with zipfile.ZipFile(target) as packed:
            _manifest(packed)
    except ConfigError:  # a backup of a newer Mnemic is one
        return
    except (InvalidInputError, OSError, KeyError, *_UNREADABLE) as error:
        raise ConflictError(f"{target} is no backup and is not replaced; remove it yourself") from error


def _publish(packed: Path, target: Path, *, is_replacing: bool) -> None:
    """Put the whole file in its place at once, and make that durable."""
    if is_replacing:
        packed.replace(target)
    else:
        try:
            os.link(packed, target)
        except FileExistsError as error:
            raise ConflictError(f"{target} exists already; somebody else made it meanwhile") from error
        except OSError:  # a file system without links
            if os.path.lexists(target):
                raise ConflictError(f"{target} exists already; somebody else made it meanwhile") from None
            packed.replace(target)
    if hasattr(os, "O_DIRECTORY"):
        folder = os.open(target.parent, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def _created(path: Path) -> IO[bytes]:
    """A new file that only its owner may read."""
    mode = stat.S_IRUSR | stat.S_IWUSR
    return os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), mode), "w+b")


@contextmanager
def _room_for(what: str) -> Generator[None]:
    """Errors of files as Mnemic's."""
    try:
        yield
    except OSError as error:
        raise UnavailableError(f"{what}: {error.strerror or error}; nothing was changed") from error


_: type[Archive] = ZipArchive
