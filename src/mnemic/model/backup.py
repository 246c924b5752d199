"""Reports of backups and restores."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class Contents(StrEnum):
    """What a backup contains: every row of a store, or only the receipts of erasures with their key."""

    WHOLE = "whole"
    RECEIPTS = "receipts"


@dataclass(frozen=True, slots=True)
class SealedPart:
    """One org's encrypted rows: the key's id, and the size in bytes and SHA-256 before encryption."""

    key: str
    size: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Sealing:
    """How a backup is sealed: its id, the ids of keyring and key for rows without an org, and a part per org."""

    id: str
    keyring: str
    shared: str
    parts: tuple[SealedPart, ...]


@dataclass(frozen=True, slots=True)
class LostOrg:
    """An org of a sealed backup that cannot be opened: its key's id, and when that key was destroyed (None: the
    keyring never had it). `org`: its name, if the store knows it from a receipt.
    """

    key: str
    destroyed_at: datetime | None
    org: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """The description inside a backup. `made_by`: Mnemic's version; `schema`: the rows' version; `store`: the kind of
    store. `counts`: unerased rows by table. `spaces`: vectors by embedding space; `models`: the model of each space in
    use. `receipts`: number of known erasures. `size` (bytes) and `sha256` describe the unpacked rows. In a `sealed`
    backup, `size` is the size of the rows as text, and `sha256` is "" because each part has its own checksum.
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
    """A backup that was written or checked completely. `size`: the file size in bytes. `lost`: orgs that cannot be
    opened. `notes`: the parts that were not checked.
    """

    path: str
    size: int
    manifest: Manifest
    seconds: float
    lost: tuple[LostOrg, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RescueReport:
    """The rows saved from a damaged store to the new one at `path`, by table, and a description of the losses."""

    path: str
    rows: Mapping[str, int]
    lost: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RestoreReport:
    """The result of a restore, or its plan (`is_dry_run`). `counts`: the store's rows by table after the restore.
    `replaced`: the rows before. `replayed`: erasures made after the backup and applied again. `erased`: the rows that
    these removed, by table. `kept`: tables that stay because they are not part of a backup. `lost`: orgs of a sealed
    backup that cannot be opened. `notes`: hints.
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
