"""The ports of files: folders, readers, the keys of sealed backups, and backup files.

A backup out of reach cannot be erased from, but the key that opens an org's part of it can be destroyed.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Protocol

from mnemic.errors import InvalidInputError
from mnemic.model.backup import LostOrg, Manifest
from mnemic.model.document import ReadDocument, ReadLimits
from mnemic.ports.store import Rows, Store


@dataclass(frozen=True, slots=True)
class Place:
    """A file or folder that somebody named. `path` is where it is now, for the adapter; `source` what it is called in
    the store, whatever the working directory is; what a folder holds is called by `source`, a slash and the way to it.
    """

    path: str
    source: str
    is_folder: bool


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A file to read. `path` is for the adapter alone and may hold what is no Unicode, `source` and `name` (the last
    part of the source) are clean texts. `size` in bytes, as it was when it was found.
    """

    path: str
    source: str
    name: str
    size: int


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A file, or a folder with all it holds, that is not read, and why, in words for a person."""

    source: str
    reason: str
    is_folder: bool = False


class Files(Protocol):
    """Walks folders and reads files, and never writes."""

    def find(self, path: str) -> Place:
        """The file or folder at a path, links followed. Raises `InvalidInputError` when it is neither."""
        ...

    def walk(self, place: Place, max_bytes: int) -> Iterator[FoundFile | LeftOut]:
        """Each file below a place, in the same order every time, or that file itself; what is left out comes in the
        same stream, a folder as one entry. No file comes twice, none from outside of a folder, and none that by its
        name holds secrets, even where it was named. Nothing that cannot be read raises.
        """
        ...

    def read(self, file: FoundFile, max_bytes: int) -> bytes:
        """The whole content, as it was at one moment. Raises `UnavailableError` when the file is gone, is not readable,
        is not a regular file any more, has more than `max_bytes` or changes all the time.
        """
        ...


class Unreadable(StrEnum):
    """Why a file gives no text."""

    EMPTY = "empty"
    SCANNED = "scanned"
    ENCRYPTED = "encrypted"
    BROKEN = "broken"
    UNKNOWN = "unknown type"
    TOO_LARGE = "too large"
    TOO_MANY_PAGES = "too many pages"
    BOMB = "archive bomb"
    TIMEOUT = "timeout"
    MEMORY = "memory"
    CRASH = "crash"


class UnreadableError(InvalidInputError):
    """A file gives no text; `reason` says why, for counting, and the message says it to the person who chose it."""

    def __init__(self, message: str, *, reason: Unreadable) -> None:
        super().__init__(message)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class ReaderCapabilities:
    """What a reader takes.

    `extensions`: in lower case with their dot. `signatures`: bytes that files of its formats begin with, where these
    tell the format for sure.
    """

    media_types: tuple[str, ...]
    extensions: tuple[str, ...]
    signatures: tuple[bytes, ...] = ()


class Reader(Protocol):
    """Reads files of some formats.

    `read` promises: a text that is not blank, without NUL and without halves of surrogate pairs, its lines ended by a
    line feed alone; the same bytes give the same document; nothing outside the bytes is opened, neither a file nor an
    address that the document names; what the document hides from its reader by its format (scripts, deleted
    passages) is left out; the arguments are not kept; it may be called from several threads at once.
    """

    @property
    def name(self) -> str:
        """What it is called in messages."""
        ...

    @property
    def capabilities(self) -> ReaderCapabilities:
        """Declared facts, constant for the life of the object."""
        ...

    def read(self, data: bytes, name: str, limits: ReadLimits) -> ReadDocument:
        """The document in the bytes of a file called `name` (no path). Raises `UnreadableError` when it gives no text
        or exceeds a limit, `ConfigError` when the package of an extra is missing.
        """
        ...


class ClosableReader(Reader, Protocol):
    """A reader that holds something, such as a process."""

    def close(self) -> None:
        """Let go of it, at once: what is being read meanwhile fails. Closing twice is harmless."""
        ...


Destroy = Callable[[str, datetime, datetime | None], int]
"""Destroys the keys of an org, at a moment, of those that were made until another one (None: all of them). The answer
is how many there were; it is durable when it is given.
"""


@dataclass(frozen=True, slots=True)
class DataKey:
    """A key of 32 bytes. `id` is made by chance and tells nothing. One that was destroyed has the `secret` b""."""

    id: str
    made_at: datetime
    secret: bytes = field(repr=False)
    destroyed_at: datetime | None = None


class Keyring(Protocol):
    """Data keys by org; None stands for what belongs to no org. Shared by processes; no org's name is kept in it.

    All raise `ConfigError` when the keyring is damaged, or its master key is missing or another one, and
    `UnavailableError` when it cannot be read or written, or stays locked.
    """

    @property
    def id(self) -> str:
        """Which keyring it is, "" while there is none."""
        ...

    def issue(self, orgs: Collection[str | None], at: datetime) -> Mapping[str | None, DataKey]:
        """The key of each, made where there is none or none any more, and durable before it is given out."""
        ...

    def find(self, ids: Collection[str]) -> Mapping[str, DataKey]:
        """The keys of these ids that are or were in it."""
        ...

    def of(self, orgs: Collection[str]) -> Mapping[str, Sequence[DataKey]]:
        """All keys that each of these orgs has, or had."""
        ...

    def destroying(self) -> AbstractContextManager[Destroy]:
        """Destroy keys. Issues no keys until the work they were destroyed for is done."""
        ...


Told = Callable[[str, int, int], object]
"""Called with what is being done, how much of it is done, and how much there is."""


class Draft(Protocol):
    """A backup that is being made."""

    @property
    def rows(self) -> Path:
        """Where the rows go: a new file that only its owner can read."""
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
