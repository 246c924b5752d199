"""The port of folders: which files there are, which are left out and why, and the bytes of each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol


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
        """The file or folder at a path, links followed. Raises `InvalidInputError` when there is none, or when it is
        neither.
        """
        ...

    def walk(self, place: Place, max_bytes: int) -> Iterator[FoundFile | LeftOut]:
        """Each file below a place, in the same order every time, or that file itself; what is left out comes in the
        same stream, a folder as one entry. No file comes twice, none from outside of a folder, and none that by its
        name holds secrets, even where it was named. Nothing that cannot be read raises.
        """
        ...

    def read(self, file: FoundFile, max_bytes: int) -> bytes:
        """The whole content, as it was at one moment. Raises `UnavailableError` when the file is gone, is not readable,
        is no plain file any more, has more than `max_bytes` or changes all the time.
        """
        ...
