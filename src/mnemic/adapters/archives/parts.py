"""The manifest of a backup as JSON and back, and private folders for files. Nothing read from a file is trusted."""

import glob
import hashlib
import json
import re
import shutil
import tempfile
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import Any, cast
from zipfile import ZipFile

from mnemic.adapters.indexes.hnsw import lease_at_once
from mnemic.errors import ConfigError, InvalidInputError
from mnemic.model.backup import Contents, Manifest, SealedPart, Sealing
from mnemic.ports.files import Told

FORMAT = "mnemic-backup"
PLAIN, SEALED = 1, 2
"""Versions of the format. A Mnemic without sealed backups refuses version 2 as newer."""

_MOST_COUNTS = 100_000  # entries in a manifest; bounds the memory that a forged one takes
_KEY_ID = re.compile(r"[0-9a-f]{16}")


def to_text(manifest: Manifest) -> str:
    """The manifest as readable JSON."""
    told = {"format": FORMAT, "version": PLAIN if manifest.sealed is None else SEALED, **asdict(manifest)}
    told["made_at"] = manifest.made_at.isoformat()
    return json.dumps(told, indent=2, ensure_ascii=False) + "\n"


def from_text(text: bytes, newest_schema: int) -> Manifest:
    """Parse a manifest. Raises `InvalidInputError` if it is none, `ConfigError` if a newer Mnemic wrote it."""
    try:
        told: object = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidInputError("the manifest cannot be read") from error
    return from_json(told, newest_schema)


def from_json(told: object, newest_schema: int) -> Manifest:
    """Parse a manifest's JSON value, like `from_text`."""
    try:
        return _checked_manifest(cast("Mapping[str, Any]", told), newest_schema)
    except InvalidInputError:
        raise
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise InvalidInputError("the manifest cannot be read") from error


def _checked_manifest(fields: Mapping[str, Any], newest_schema: int) -> Manifest:
    if fields["format"] != FORMAT:
        raise InvalidInputError("the file is not a Mnemic backup")
    version, schema, made_by = int(fields["version"]), int(fields["schema"]), str(fields["made_by"])[:40]
    if version > SEALED or schema > newest_schema:
        raise ConfigError(
            f"the backup was made by a newer version of Mnemic, {made_by} (schema {schema}; this version supports up "
            f"to {newest_schema}): run `pip install --upgrade mnemic`"
        )
    return Manifest(
        contents=Contents(fields["contents"]),
        made_at=_parse_time(fields["made_at"]),
        made_by=made_by,
        schema=schema,
        store=str(fields["store"]),
        counts=_counts(fields["counts"]),
        spaces=_counts(fields["spaces"]),
        models={str(space): str(model) for space, model in dict(fields["models"]).items()},
        receipts=int(fields["receipts"]),
        size=int(fields["size"]),
        sha256=str(fields["sha256"]),
        sealed=_sealing(fields["sealed"]) if version == SEALED else None,
    )


def _sealing(told: Mapping[str, Any]) -> Sealing:
    parts = tuple(SealedPart(_key_id(part["key"]), int(part["size"]), str(part["sha256"])) for part in told["parts"])
    return Sealing(str(told["id"])[:64], str(told["keyring"])[:64], _key_id(told["shared"]), parts)


def _key_id(text: object) -> str:
    """A valid key id, which also names a part of the file."""
    if not _KEY_ID.fullmatch(str(text)):
        raise ValueError(text)
    return str(text)


def _parse_time(text: object) -> datetime:
    at = datetime.fromisoformat(str(text))
    if at.tzinfo is None:
        raise ValueError(text)
    return at


def _counts(told: Mapping[str, Any]) -> dict[str, int]:
    if len(told) > _MOST_COUNTS:
        raise ValueError(len(told))
    return {str(name): int(count) for name, count in told.items()}


_PIECE_BYTES = 1 << 20  # read at once to hash a file: bounds memory


def member(key: str) -> str:
    """The file name of the part for this key."""
    return f"parts/{key}.sealed"


def check_sums(packed: ZipFile, sealed: Sealing, told: Told) -> None:
    """Check every part's checksum. Raises `InvalidInputError`."""
    for number, part in enumerate(sealed.parts):
        check_part(packed, part)
        told("checking", number + 1, len(sealed.parts))
    _sum(packed, sealed.shared)  # checksummed only by the zip file


def check_part(packed: ZipFile, part: SealedPart) -> None:
    """Check one part's checksum."""
    if _sum(packed, part.key) != (part.sha256, part.size):
        raise InvalidInputError(f"part {part.key} has changed since the backup was made")


def _sum(packed: ZipFile, key: str) -> tuple[str, int]:
    digest, size = hashlib.sha256(), 0
    with packed.open(member(key)) as file:
        while piece := file.read(_PIECE_BYTES):
            digest.update(piece)
            size += len(piece)
    return digest.hexdigest(), size


_LOCK = "in-use"
_BEGINNING_S = 60.0  # a younger folder may belong to a process that has not locked it yet


@contextmanager
def scratch_folder(parent: Path, name: str) -> Generator[Path]:
    """A new folder in `parent` that only its owner may enter, removed at the end with its content. First removes such
    folders of dead processes. Raises `OSError`.
    """
    prefix, suffix = f".{name[:50]}.", ".unfinished"
    for old in parent.glob(f"{glob.escape(prefix)}*{suffix}"):
        _remove_if_left(old)
    folder = Path(tempfile.mkdtemp(prefix=prefix, suffix=suffix, dir=parent))
    try:
        with lease_at_once(folder / _LOCK):
            yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _remove_if_left(folder: Path) -> None:
    try:
        if not (folder / _LOCK).exists() and time.time() - folder.stat().st_mtime < _BEGINNING_S:
            return
        with lease_at_once(folder / _LOCK) as is_left:
            if is_left:
                shutil.rmtree(folder, ignore_errors=True)
    except OSError:  # it is gone already, or another user's
        return
