"""The port of stores whose rows can be written to a file as a whole, and taken from one.

The file is one of the embedded store, whichever store the rows are of: so a backup of one kind restores into another,
and one of an older version is brought up to date as that store is.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol, runtime_checkable

from mnemic.ports.store import UnitOfWork

VERSIONS_OF_AN_AGE = 1 << 32
"""Taking a copy begins a new age of a store: every partition goes on from a multiple of this number that is above all
versions that were, so that whoever knows versions of an age before knows that none of their rows need be there any
more.
"""

Told = Callable[[int, int], object]
"""Called with how much is done and how much there is, in units of the store's own; what it raises ends the work."""


class Rows(Protocol):
    """Every row of a store as all of them were at one moment, in the form of the embedded store, org by org."""

    @property
    def work(self) -> UnitOfWork:
        """The same moment as use cases see it."""
        ...

    @property
    def tables(self) -> Mapping[str, Sequence[str]]:
        """The columns of every table that copies hold."""
        ...

    def orgs(self) -> Sequence[str]:
        """The orgs that have rows of any kind."""
        ...

    def count(self) -> int:
        """How many rows there are."""
        ...

    def of(self, table: str, org: str | None) -> Iterator[Sequence[object]]:
        """The rows of a table, fetched as they are used: those of one org, or (None) all of a table of
        `SHARED_TABLES`. Raises `UnsupportedError` for a table of which it is not known whose its rows are.
        """
        ...


@runtime_checkable
class CopyingStore(Protocol):
    """A `Store` that can be copied as a whole, keys, audit log and receipts included."""

    @property
    def kind(self) -> str:
        """Its technology in one word, for people."""
        ...

    @property
    def room(self) -> Path | None:
        """The folder where a copy has room, beside the store; None when the store is not on this machine."""
        ...

    def write_copy(self, path: Path, told: Told) -> None:
        """Write every row, as all of them were at one moment, to a new file at `path`; readers and writers go on
        meanwhile. Raises `UnavailableError` when the disk is full; what is at `path` then is of no use.
        """
        ...

    def rows(self) -> AbstractContextManager[Rows]:
        """Read every row, as all of them are at one moment; readers and writers go on meanwhile."""
        ...

    def take_copy(self, path: Path, ready: Callable[[UnitOfWork], Collection[str]], told: Told) -> None:
        """Put the rows of the copy at `path`, of the present version, in the place of all that there are, in one
        transaction: a process that dies leaves the old ones, and others that have the store open go on with the new.

        `ready` is called in that transaction, when nobody else can write any more: it raises to leave all as it was, or
        answers the tables to keep as they are, of `KEPT_TABLES`.
        """
        ...


KEYS, AUDIT = "api_keys", "audit"
KEPT_TABLES = (KEYS, AUDIT)
"""Tables that belong to who runs the store rather than to what is remembered."""

PASSING_TABLES = ("requests",)
"""Tables that no copy holds, and that are empty when one was taken: answers that were given of the rows before."""

SHARED_TABLES = ("erasing", "schedules", "spaces")
"""Tables that belong to no org, and hold no text of any; every other one says by `org` or `pid` whose its rows are."""
