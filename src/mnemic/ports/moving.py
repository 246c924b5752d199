"""The port of stores between which orgs move."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Protocol, runtime_checkable

from mnemic.model.records import Placement
from mnemic.ports.store import CopyingStore, UnitOfWork


class Transfer(Protocol):
    """One transaction that moves an org. It reaches the org's rows whatever its placement. `values` are rows in the
    form of the embedded store, with a `Partition` in place of its number.
    """

    @property
    def work(self) -> UnitOfWork:
        """The transaction as a unit of work."""
        ...

    def find(self) -> Placement | None:
        """The org's placement. A writer of any org waits until the end of this transaction."""
        ...

    def put(self, placement: Placement | None) -> None:
        """Store or (None) remove the placement, after every open write of the org has ended."""
        ...

    def write(self, table: str, key: Sequence[str], values: Sequence[Mapping[str, object]], *, is_new: bool) -> None:
        """Insert rows, or replace those with the same key. Raises `ConflictError` if another row is in the way."""
        ...

    def remove(self, table: str, key: Sequence[str], values: Sequence[Mapping[str, object]]) -> None:
        """Remove the rows with these keys."""
        ...

    def renew(self, version: int) -> None:
        """Continue the org's partitions in a new age, above `version` and all of this store."""
        ...


@runtime_checkable
class MovingStore(CopyingStore, Protocol):
    """A `CopyingStore` that an org can leave and enter while it is in use."""

    @property
    def address(self) -> str:
        """Where the store is, without secrets: it tells stores apart, for people too."""
        ...

    def placements(self) -> Sequence[Placement]:
        """The orgs that move, have moved away, or came from another store."""
        ...

    def transfer(self, org: str) -> AbstractContextManager[Transfer]:
        """A transaction that moves an org. Commits when its block succeeds."""
        ...
