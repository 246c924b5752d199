"""The port of backup files: one file with a manifest, whole or not there at all, and checked before it is believed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from mnemic.model.backup import LostOrg, Manifest
from mnemic.ports.copying import Rows
from mnemic.ports.keyring import DataKey
from mnemic.ports.store import Store

Told = Callable[[str, int, int], object]
"""Called with what is being done, how much of it is done, and how much there is."""


class Draft(Protocol):
    """A backup that is being made."""

    @property
    def rows(self) -> Path:
        """Where the rows go: a file that is not there yet, and that nobody else can read."""
        ...

    def open_rows(self) -> Store:
        """The rows as a store, made if missing; to be closed before `seal`."""
        ...

    def seal(self, manifest: Manifest, told: Told) -> Manifest:
        """Pack the rows, read all of it again, and put the file in its place: durable, and readable by its owner alone.
        The manifest comes back with version, schema, size and checksum. Raises `ConflictError` when a file came there
        meanwhile and is not to be replaced.
        """
        ...

    def seal_by_org(self, rows: Rows, keys: Mapping[str | None, DataKey], manifest: Manifest, told: Told) -> Manifest:
        """As `seal`, of rows that lie elsewhere: those of each org are encrypted with its key, and those of no org with
        that of None. Nothing that was not encrypted is written to any disk.
        """
        ...

    def receive(self, pieces: Iterable[bytes], told: Told) -> Manifest:
        """Take the bytes of a whole backup that was made elsewhere, in place of rows, check that they are one, and put
        the file in its place as `seal` does. Raises `InvalidInputError` when they are none, or not whole.
        """
        ...


class Opened(Protocol):
    """A backup that was read and checked from end to end."""

    @property
    def manifest(self) -> Manifest:
        """What it says of itself."""
        ...

    @property
    def lost(self) -> tuple[LostOrg, ...]:
        """The orgs of a sealed backup whose rows are not there, since their keys are not."""
        ...

    @property
    def rows(self) -> Path:
        """A copy of the rows, to be changed at will."""
        ...

    def open_rows(self) -> Store:
        """The rows as a store of the present version; to be closed before `rows` are taken."""
        ...


@dataclass(frozen=True, slots=True)
class Checked:
    """A backup that is sound. `is_opened`: its rows were read too, but for those of the orgs that are `lost`."""

    manifest: Manifest
    lost: tuple[LostOrg, ...] = ()
    is_opened: bool = True


class Archive(Protocol):
    """Makes and opens backup files. What is given up, by an error or by the end of the block, leaves nothing behind;
    what a process that died left is removed by the next one that writes a file of this name, or reads there.
    """

    def draft(self, path: str | Path, *, is_replacing: bool) -> AbstractContextManager[Draft]:
        """Begin a backup at `path`. Raises `ConflictError` when there is a file and it is not to be replaced, or is no
        backup; `InvalidInputError` when no file can be there; `UnavailableError` when the disk is full.
        """
        ...

    def opened(self, path: str | Path, room: Path | None, told: Told) -> AbstractContextManager[Opened]:
        """Unpack and check a backup; `room` is the folder to do it in, None: that of temporary files. Raises
        `InvalidInputError` when the file is missing, damaged or no backup, `ConfigError` when it is of a newer Mnemic
        or sealed with keys that are not there, `UnavailableError` when it cannot be read or there is no room.
        """
        ...

    def check(self, path: str | Path, room: Path | None, told: Told) -> Checked:
        """Read a backup from end to end. A plain one is unpacked as `opened` does; of a sealed one nothing is written
        down, and without a keyring only the checksums of its parts are compared. Errors are those of `opened`.
        """
        ...

    def size(self, path: str | Path) -> int:
        """The size of the file in bytes."""
        ...
