"""What is told of backups and restores."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class Contents(StrEnum):
    """What a backup holds: every row of a store, or the receipts of its erasures and their key alone."""

    WHOLE = "whole"
    RECEIPTS = "receipts"


@dataclass(frozen=True, slots=True)
class SealedPart:
    """The rows of one org, encrypted: the id of the key, and size in bytes and SHA-256 of what was encrypted."""

    key: str
    size: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Sealing:
    """How a backup is sealed: an id of its own, the id of the keyring, that of the key of what belongs to no org, and
    a part for each org, in the order of their keys' ids.
    """

    id: str
    keyring: str
    shared: str
    parts: tuple[SealedPart, ...]


@dataclass(frozen=True, slots=True)
class LostOrg:
    """An org of a sealed backup that cannot be opened: the id of its key, and when that was destroyed, None where the
    keyring never had it. `org`: its name, where the store still knows it from a receipt.
    """

    key: str
    destroyed_at: datetime | None
    org: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """What a backup says of itself. `made_by`: the version of Mnemic; `schema`: that of the rows; `store`: the kind of
    store they are of. `counts`: rows by table, erased ones left out. `spaces`: vectors by embedding space, `models`:
    the model of each space that was in use. `receipts`: how many erasures it knows of. `size` in bytes and `sha256` are
    those of the rows, unpacked. Of a backup that is `sealed`, `size` is that of the rows as text, and its parts have
    checksums of their own, so that `sha256` is "".
    """

    contents: Contents
    made_at: datetime
    made_by: str
    schema: int
    store: str
    counts: Mapping[str, int]
    spaces: Mapping[str, int]
    models: Mapping[str, str]
    receipts: int
    size: int
    sha256: str
    sealed: Sealing | None = None


@dataclass(frozen=True, slots=True)
class BackupReport:
    """A backup that was written, or one that was checked: every byte was read again. `size` in bytes, of the file.
    `lost`: orgs of it that cannot be opened. `notes`: what was not checked, in words for a person.
    """

    path: str
    size: int
    manifest: Manifest
    seconds: float
    lost: tuple[LostOrg, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RescueReport:
    """What was saved of a damaged store into the new one at `path`: rows by table, and what is lost, in words."""

    path: str
    rows: Mapping[str, int]
    lost: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RestoreReport:
    """What a restore did, or (`is_dry_run`) would do. `counts`: rows by table that the store then holds; `replaced`:
    those it held. `replayed`: erasures made after the backup that were made again in it, and `erased`: the rows they
    removed, by table. `kept`: tables that stay as they were, since they are not the backup's to say. `lost`: orgs of a
    sealed backup that could not be opened. `notes`: what to know, in words for a person.
    """

    manifest: Manifest
    counts: Mapping[str, int]
    replaced: Mapping[str, int]
    replayed: int
    erased: Mapping[str, int]
    kept: tuple[str, ...]
    notes: tuple[str, ...]
    is_dry_run: bool
    seconds: float
    lost: tuple[LostOrg, ...] = ()
