"""Backups as zip files: `manifest.json`, and `rows.db` with the rows as a file of the embedded store. A sealed backup
has an encrypted part per org instead.
"""

from __future__ import annotations

import errno
import hashlib
import os
import shutil
import stat
import struct
import tempfile
import zipfile
import zlib
from collections.abc import Generator, Iterable, Mapping
from contextlib import contextmanager
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import IO

from mnemic.adapters.archives import parts as manifests
from mnemic.adapters.archives.parts import check_sums, scratch_folder
from mnemic.adapters.stores.sqlite import SqliteStore
from mnemic.adapters.stores.sqlite.copying import check_copy
from mnemic.adapters.stores.sqlite.session import migrations
from mnemic.errors import BackendError, ConfigError, ConflictError, InvalidInputError, UnavailableError
from mnemic.model.backup import LostOrg, Manifest, Sealing
from mnemic.model.health import Condition
from mnemic.ports.files import Archive, Checked, DataKey, Keyring, Told
from mnemic.ports.store import Rows

ROWS, MANIFEST = "rows.db", "manifest.json"
_MANIFEST_BYTES = 50_000_000  # bounds the memory that a forged manifest takes
_PIECE_BYTES = 1 << 20  # copied at once: bounds memory
_COMPRESSION_LEVEL = 1  # deflate's fastest: vectors hardly shrink at any level, texts do at each
_UNREADABLE = (zipfile.BadZipFile, zlib.error, struct.error, EOFError, NotImplementedError, RuntimeError, ValueError)


class ZipArchive:
    """The `Archive` port. `keyring` has the keys of sealed backups."""

    def __init__(self, keyring: Keyring | None = None) -> None:
        self._keyring = keyring

    @contextmanager
    def draft(self, path: str | Path, *, is_replacing: bool) -> Generator[_Draft]:
        target = Path(path)
        if target.is_dir() or not target.name:
            raise InvalidInputError(f"{target} is a folder; give the path of a file to write")
        if not target.parent.is_dir():
            raise InvalidInputError(f"the folder {target.parent} does not exist; create it first")
        if os.path.lexists(target):
            _check_replaceable(target, is_replacing=is_replacing)
        with _room_for(f"{target} cannot be written"), scratch_folder(target.parent, "mnemic-backup") as folder:
            yield _Draft(target, folder, self._keyring, is_replacing=is_replacing)

    @contextmanager
    def opened(self, path: str | Path, room: Path | None, told: Told) -> Generator[_Opened]:
        source = _check_file(path)
        parent = Path(tempfile.gettempdir()) if room is None else room
        with _room_for(f"{source} cannot be unpacked in {parent}"), scratch_folder(parent, "mnemic-restore") as folder:
            yield _unpack(source, folder, self._keyring, told)

    def check(self, path: str | Path, room: Path | None, told: Told) -> Checked:
        source = _check_file(path)
        with _room_for(f"{source} cannot be read"), _refusing(source), zipfile.ZipFile(source) as packed:
            manifest = _manifest(packed)
            if manifest.sealed is not None:
                return _check_sealed(packed, manifest, manifest.sealed, self._keyring, told)
        with self.opened(path, room, told) as opened:
            return Checked(opened.manifest)

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

    def __init__(self, target: Path, folder: Path, keyring: Keyring | None, *, is_replacing: bool) -> None:
        super().__init__(folder)
        self._keyring = keyring
        self._target, self._packed, self._is_replacing = target, folder / "packed.zip", is_replacing

    def seal(self, manifest: Manifest, told: Told) -> Manifest:
        told_of = replace(
            manifest, made_by=version("mnemic"), schema=migrations()[-1][0], size=self.rows.stat().st_size, sha256=""
        )
        with _create_file(self._packed) as file:
            with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=_COMPRESSION_LEVEL) as packed:
                entry = zipfile.ZipInfo(ROWS)
                entry.compress_type = zipfile.ZIP_DEFLATED
                with self.rows.open("rb") as rows, packed.open(entry, "w", force_zip64=True) as member:
                    digest = _copy_file(rows, member, told_of.size, "packing", told)
                told_of = replace(told_of, sha256=digest)
                packed.writestr(MANIFEST, manifests.to_text(told_of))
            file.flush()
            os.fsync(file.fileno())
        _check_packed(self._packed, told_of, self._keyring, told)
        _publish(self._packed, self._target, is_replacing=self._is_replacing)
        return told_of

    def seal_by_org(self, rows: Rows, keys: Mapping[str | None, DataKey], manifest: Manifest, told: Told) -> Manifest:
        from mnemic.adapters.archives.sealed import write_parts

        if self._keyring is None:
            raise ConfigError("no keyring is configured; set backup.keyring")
        told_of = replace(manifest, made_by=version("mnemic"), schema=migrations()[-1][0])
        with _create_file(self._packed) as file:
            with zipfile.ZipFile(file, "w") as packed:
                told_of = write_parts(packed, rows, self._keyring.id, keys, told_of, told)
                packed.writestr(MANIFEST, manifests.to_text(told_of), zipfile.ZIP_DEFLATED)
            file.flush()
            os.fsync(file.fileno())
        _check_packed(self._packed, told_of, self._keyring, told)
        _publish(self._packed, self._target, is_replacing=self._is_replacing)
        return told_of

    def receive(self, pieces: Iterable[bytes], told: Told) -> Manifest:
        done = 0
        with _create_file(self._packed) as file:
            for piece in pieces:
                file.write(piece)
                done += len(piece)
                told("receiving", done, done)
            file.flush()
            os.fsync(file.fileno())
        try:
            with zipfile.ZipFile(self._packed) as packed:
                manifest = _manifest(packed)
            _check_packed(self._packed, manifest, None, told)
        except (InvalidInputError, KeyError, *_UNREADABLE) as error:
            raise InvalidInputError("the received data is damaged or not a backup; try again") from error
        _publish(self._packed, self._target, is_replacing=self._is_replacing)
        return manifest


class _Opened(_Rows):
    """The `Opened` port."""

    def __init__(self, folder: Path, manifest: Manifest) -> None:
        super().__init__(folder)
        self.manifest = manifest
        self.lost: tuple[LostOrg, ...] = ()


def _check_file(path: str | Path) -> Path:
    source = Path(path)
    if not source.is_file():
        raise InvalidInputError(f"the file {source} does not exist")
    return source


def _unpack(source: Path, folder: Path, keyring: Keyring | None, told: Told) -> _Opened:
    with _refusing(source):
        with zipfile.ZipFile(source) as packed:
            manifest = _manifest(packed)
            free = shutil.disk_usage(folder).free
            if manifest.size > free:
                raise UnavailableError(
                    f"{source} needs {manifest.size:,} bytes in {folder.parent}, but only {free:,} are free"
                )
            opened = _Opened(folder, manifest)
            with _create_file(opened.rows) as rows:
                if manifest.sealed is None:
                    with packed.open(ROWS) as member:
                        digest = _copy_file(member, rows, manifest.size, "checking", told)
                    if digest != manifest.sha256:
                        raise InvalidInputError("the checksum does not match")
            if manifest.sealed is not None:
                opened.lost = _open_sealed(packed, manifest, keyring, opened.rows, told)
        _check_rows(opened)
    return opened


@contextmanager
def _refusing(source: Path) -> Generator[None]:
    """Add the backup's name to errors."""
    try:
        yield
    except ConfigError as error:
        raise ConfigError(f"{source} cannot be read on this machine: {error}") from error
    except OSError as error:
        if error.errno != errno.EINVAL:  # a position before the beginning of the file
            raise
        raise InvalidInputError(
            f"{source} is damaged or not a backup: it is not a complete zip file; use another file"
        ) from error
    except (InvalidInputError, KeyError, *_UNREADABLE) as error:
        reason = str(error) if isinstance(error, InvalidInputError) else "it is not a complete zip file"
        raise InvalidInputError(f"{source} is damaged or not a backup: {reason}; use another file") from error


def _open_sealed(
    packed: zipfile.ZipFile, manifest: Manifest, keyring: Keyring | None, path: Path, told: Told
) -> tuple[LostOrg, ...]:
    if keyring is None:
        raise ConfigError("the backup is sealed; set backup.keyring to its keyring")
    from mnemic.adapters.archives.sealed import open_parts

    return open_parts(packed, manifest, keyring, path, told)


def _check_sealed(
    packed: zipfile.ZipFile, manifest: Manifest, sealed: Sealing, keyring: Keyring | None, told: Told
) -> Checked:
    """Open every part if there are keys, else compare checksums."""
    if keyring is None:
        check_sums(packed, sealed, told)
        return Checked(manifest, is_opened=False)
    from mnemic.adapters.archives.sealed import check_parts

    return Checked(manifest, check_parts(packed, manifest, keyring, told))


def _check_rows(opened: _Opened) -> None:
    """Open the rows as a store, which migrates them, and compare them with the manifest."""
    try:
        check_copy(opened.rows)
        store = opened.open_rows()
        try:
            if any(finding.condition is Condition.BROKEN for finding in store.diagnose()):
                raise InvalidInputError("the rows are damaged")
            with store.read() as work:
                counts = work.partitions.count(work.partitions.all())
        finally:
            store.close()
    except UnavailableError:
        raise
    except BackendError as error:
        raise InvalidInputError(f"the rows are damaged ({error})") from error
    if not opened.lost and {**counts} != {**opened.manifest.counts}:
        raise InvalidInputError("the backup contains the wrong number of rows")


def _manifest(packed: zipfile.ZipFile) -> Manifest:
    if any(entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED) for entry in packed.infolist()):
        raise InvalidInputError("the file's compression method is not supported")
    with packed.open(MANIFEST) as file:
        return manifests.from_text(file.read(_MANIFEST_BYTES), migrations()[-1][0])


def _check_packed(path: Path, manifest: Manifest, keyring: Keyring | None, told: Told) -> None:
    """Read the written file again. Raises `UnavailableError` if it differs."""
    with zipfile.ZipFile(path) as packed:
        if manifest.sealed is None:
            is_same = _digest(packed, manifest.size, told) == manifest.sha256
        else:
            lost = _check_sealed(packed, manifest, manifest.sealed, keyring, told).lost
            is_same = all(each.destroyed_at for each in lost)  # erased while this was written
        is_same = is_same and _manifest(packed) == manifest
    if not is_same:
        raise UnavailableError(f"data read from {path.parent.parent} differs from the data written; check the disk")


def _digest(packed: zipfile.ZipFile, size: int, told: Told) -> str:
    digest = hashlib.sha256()
    done = 0
    with packed.open(ROWS) as member:
        while piece := member.read(_PIECE_BYTES):
            digest.update(piece)
            done += len(piece)
            told("checking", done, size)
    return digest.hexdigest()


def _copy_file(source: IO[bytes], target: IO[bytes], size: int, doing: str, told: Told) -> str:
    """Copy a file of known size and return its SHA-256. More data means damage or an attack."""
    digest, done = hashlib.sha256(), 0
    while piece := source.read(_PIECE_BYTES):
        done += len(piece)
        if done > size:
            raise InvalidInputError("the size does not match")
        digest.update(piece)
        target.write(piece)
        told(doing, done, size)
    return digest.hexdigest()


def _check_replaceable(target: Path, *, is_replacing: bool) -> None:
    if not is_replacing:
        raise ConflictError(f"{target} already exists; pass is_replacing=True, or choose another name")
    try:
        with zipfile.ZipFile(target) as packed:
            _manifest(packed)
    except ConfigError:  # a newer Mnemic's backup is one too
        return
    except (InvalidInputError, OSError, KeyError, *_UNREADABLE) as error:
        raise ConflictError(f"{target} is not a backup; remove it yourself or choose another name") from error


def _publish(packed: Path, target: Path, *, is_replacing: bool) -> None:
    """Move the finished file into place atomically and durably."""
    if is_replacing:
        packed.replace(target)
    else:
        try:
            os.link(packed, target)
        except FileExistsError as error:
            raise ConflictError(f"{target} was just created by another process; choose another name") from error
        except OSError:  # a file system without links
            if os.path.lexists(target):
                raise ConflictError(f"{target} was just created by another process; choose another name") from None
            packed.replace(target)
    if hasattr(os, "O_DIRECTORY"):
        folder = os.open(target.parent, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def _create_file(path: Path) -> IO[bytes]:
    """A new file that only its owner may read."""
    mode = stat.S_IRUSR | stat.S_IWUSR
    return os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), mode), "w+b")


@contextmanager
def _room_for(what: str) -> Generator[None]:
    """Translate file errors."""
    try:
        yield
    except OSError as error:
        raise UnavailableError(f"{what}: {error.strerror or error}; nothing was changed") from error


_: type[Archive] = ZipArchive
