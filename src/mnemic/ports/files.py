"""The ports of files: folders, readers, the keys of sealed backups, and backup files. Erasing cannot reach a backup
that is stored elsewhere. Destroying an org's key makes its part of the backup unreadable.
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
    """A file or folder that the user named. `path` is its current location, for the adapter. `source` is its name in
    the store, whatever the working directory. Files inside a folder are named `source/relative/path`.
    """

    path: str
    source: str
    is_folder: bool


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A file to read. Only the adapter uses `path`, which may hold invalid Unicode. `source` and `name` (its last part)
    are valid text. `size`: bytes, when the file was found.
    """

    path: str
    source: str
    name: str
    size: int


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A file or folder that is not read (a folder with everything in it), with a reason for people to read."""

    source: str
    reason: str
    is_folder: bool = False


class Files(Protocol):
    """Walks folders and reads files. Never writes."""

    def find(self, path: str) -> Place:
        """The file or folder at a path. Follows links. Raises `InvalidInputError` if it is neither."""
        ...

    def walk(self, place: Place, max_bytes: int, include: Collection[str] = ()) -> Iterator[FoundFile | LeftOut]:
        """Yields every file in a place in a stable order, or the place itself if it is a file. A skipped file or folder
        is one entry of the same stream. Yields no file twice and none outside the folder. Skips files whose name
        suggests secrets, even if named directly. Unreadable files do not raise. `include`: names of folders that are
        read although their name would exclude them.
        """
        ...

    def read(self, file: FoundFile, max_bytes: int) -> bytes:
        """The whole content, as it was at one moment. Raises `UnavailableError` if the file is gone, unreadable, no
        longer a regular file, larger than `max_bytes` or constantly changing.
        """
        ...


class Unreadable(StrEnum):
    """Why a file yields no text."""

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
    """A file yields no text. `reason` is for counting, the message for the person who chose the file."""

    def __init__(self, message: str, *, reason: Unreadable) -> None:
        super().__init__(message)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class ReaderCapabilities:
    """Accepted files. `extensions`: lower case, with their dot. `signatures`: leading bytes that prove a format."""

    media_types: tuple[str, ...]
    extensions: tuple[str, ...]
    signatures: tuple[bytes, ...] = ()


class Reader(Protocol):
    """Reads files of certain formats.

    `read` promises:
    - The text is not blank and holds no NUL and no lone surrogates. Lines end with a line feed.
    - The same bytes give the same document.
    - It opens nothing but the bytes: no file and no address that the document names.
    - It leaves out what the format hides from readers, such as scripts and deleted passages.
    - It keeps none of its arguments and is thread-safe.
    """

    @property
    def name(self) -> str:
        """The name used in messages."""
        ...

    @property
    def capabilities(self) -> ReaderCapabilities:
        """Declared facts. They never change."""
        ...

    def read(self, data: bytes, name: str, limits: ReadLimits) -> ReadDocument:
        """The document in `data`, the bytes of a file called `name` (without a path). Raises `UnreadableError` if it
        yields no text or exceeds a limit, `ConfigError` if the package of an extra is missing.
        """
        ...


class ClosableReader(Reader, Protocol):
    """A reader that holds a resource, such as a process."""

    def close(self) -> None:
        """Release the resource at once. A running `read` fails. Idempotent."""
        ...


Destroy = Callable[[str, datetime, datetime | None], int]
"""Destroys an org's keys: `(org, at, made_until)`, None for all. Returns the number once the destruction is durable."""


@dataclass(frozen=True, slots=True)
class DataKey:
    """A key of 32 bytes. `id` is random. A destroyed key has the `secret` b""."""

    id: str
    made_at: datetime
    secret: bytes = field(repr=False)
    destroyed_at: datetime | None = None


class Keyring(Protocol):
    """Data keys by org; None is the key of rows that belong to no org. Shared by processes. Stores no org's name. Every
    method raises `ConfigError` if the keyring is damaged or its master key is missing or wrong, and `UnavailableError`
    if it cannot be read or written, or stays locked.
    """

    @property
    def id(self) -> str:
        """The id of the keyring, "" while there is none."""
        ...

    def issue(self, orgs: Collection[str | None], at: datetime) -> Mapping[str | None, DataKey]:
        """The current key of each org. Missing or destroyed keys are replaced, durably before they are returned."""
        ...

    def find(self, ids: Collection[str]) -> Mapping[str, DataKey]:
        """The keys with these ids, destroyed ones included."""
        ...

    def of(self, orgs: Collection[str]) -> Mapping[str, Sequence[DataKey]]:
        """All keys that each org has or had."""
        ...

    def destroying(self) -> AbstractContextManager[Destroy]:
        """Destroy keys. The keyring issues no keys until the block ends."""
        ...


Told = Callable[[str, int, int], object]
"""Progress callback: `(step, done, total)`."""


class Draft(Protocol):
    """A backup being written."""

    @property
    def rows(self) -> Path:
        """The path for the rows: a new file that only its owner can read."""
        ...

    def open_rows(self) -> Store:
        """The rows as a store, created if missing. Close it before `seal`."""
        ...

    def seal(self, manifest: Manifest, told: Told) -> Manifest:
        """Pack and verify the rows, then move the file into place, durable and readable by its owner alone. Returns the
        manifest with version, schema, size and checksum. Raises `ConflictError` if another file appeared there and must
        not be replaced.
        """
        ...

    def seal_by_org(self, rows: Rows, keys: Mapping[str | None, DataKey], manifest: Manifest, told: Told) -> Manifest:
        """Like `seal`, for rows stored elsewhere. Each org's rows are encrypted with its key, rows of no org with the
        key of None. Unencrypted data never reaches a disk.
        """
        ...

    def receive(self, pieces: Iterable[bytes], told: Told) -> Manifest:
        """Receive a whole backup that was made elsewhere, verify it, and move it into place as `seal` does. Raises
        `InvalidInputError` if the bytes are no complete backup.
        """
        ...


class Opened(Protocol):
    """A backup that was read and verified completely."""

    @property
    def manifest(self) -> Manifest:
        """The backup's description of itself."""
        ...

    @property
    def lost(self) -> tuple[LostOrg, ...]:
        """Orgs of a sealed backup whose rows are unreadable because their keys are gone."""
        ...

    @property
    def rows(self) -> Path:
        """A copy of the rows. You may change it."""
        ...

    def open_rows(self) -> Store:
        """The rows as a store of the current version. Close it before you use `rows`."""
        ...


@dataclass(frozen=True, slots=True)
class Checked:
    """A backup without damage. `is_opened`: its rows were read too, except those of `lost` orgs."""

    manifest: Manifest
    lost: tuple[LostOrg, ...] = ()
    is_opened: bool = True


class Archive(Protocol):
    """Makes and opens backup files. An error or the end of the block leaves no temporary files. Those of a process that
    died are removed by the next process that writes this file or reads in its folder.
    """

    def draft(self, path: str | Path, *, is_replacing: bool) -> AbstractContextManager[Draft]:
        """Begin a backup at `path`. Raises `ConflictError` if the file exists and is no backup or must not be replaced,
        `InvalidInputError` if no file can be created there, `UnavailableError` if the disk is full.
        """
        ...

    def opened(self, path: str | Path, room: Path | None, told: Told) -> AbstractContextManager[Opened]:
        """Unpack and verify a backup in the folder `room` (default: the folder of temporary files). Raises
        `InvalidInputError` if the file is missing, damaged or no backup. Raises `ConfigError` if a newer Mnemic wrote
        it or its keys are missing, and `UnavailableError` if it cannot be read or the disk is full.
        """
        ...

    def check(self, path: str | Path, room: Path | None, told: Told) -> Checked:
        """Read a backup completely. A plain one is unpacked as by `opened`; nothing of a sealed one is written to disk.
        Without a keyring, only the checksums of its parts are compared. Raises what `opened` raises.
        """
        ...

    def size(self, path: str | Path) -> int:
        """The file size in bytes."""
        ...
