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


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """What a backup says of itself. `made_by`: the version of Mnemic; `schema`: that of the rows; `store`: the kind of
    store they are of. `counts`: rows by table, erased ones left out. `spaces`: vectors by embedding space, `models`:
    the model of each space that was in use. `receipts`: how many erasures it knows of. `size` in bytes and `sha256` are
    those of the rows, unpacked.
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


@dataclass(frozen=True, slots=True)
class BackupReport:
    """A backup that was written, or one that was checked: every byte was read again. `size` in bytes, of the file."""

    path: str
    size: int
    manifest: Manifest
    seconds: float


@dataclass(frozen=True, slots=True)
class RestoreReport:
    """What a restore did, or (`is_dry_run`) would do. `counts`: rows by table that the store then holds; `replaced`:
    those it held. `replayed`: erasures made after the backup that were made again in it, and `erased`: the rows they
    removed, by table. `kept`: tables that stay as they were, since they are not the backup's to say. `notes`: what to
    know, in words for a person.
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
