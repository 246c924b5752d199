"""The port of files: how bytes become a text with pages and headings."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from mnemic.errors import InvalidInputError
from mnemic.model.document_text import ReadDocument, ReadLimits


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
