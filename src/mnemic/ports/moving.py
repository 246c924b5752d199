"""The port for stores that can exchange orgs."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Protocol, runtime_checkable

from mnemic.model.records import Placement
from mnemic.ports.store import CopyingStore, UnitOfWork


class Transfer(Protocol):
    """One transaction that moves an org. It can access the org's rows regardless of its placement. `values` are rows as
    in the embedded store, with a `Partition` instead of its number.
    """

    @property
    def work(self) -> UnitOfWork:
        """The transaction as a unit of work."""
        ...

    def find(self) -> Placement | None:
        """The org's placement. Other transfers of the org cannot find it until the end of this transaction."""
        ...

    def put(self, placement: Placement | None) -> None:
        """Store the placement, or remove it if None, after every open write of the org has ended."""
        ...

    def write(self, table: str, key: Sequence[str], values: Sequence[Mapping[str, object]], *, is_new: bool) -> None:
        """Insert rows, or replace those with the same key. Raises `ConflictError` if a row conflicts with another."""
        ...

    def remove(self, table: str, key: Sequence[str], values: Sequence[Mapping[str, object]]) -> None:
        """Remove the rows with these keys."""
        ...

    def renew(self, version: int) -> None:
        """Start a new age for the org's partitions, above `version` and all versions in this store."""
        ...


@runtime_checkable
class MovingStore(CopyingStore, Protocol):
    """A `CopyingStore` that an org can leave and enter while it is in use."""

    @property
    def address(self) -> str:
        """The store's readable address without secrets. It identifies the store."""
        ...

    def placements(self) -> Sequence[Placement]:
        """The orgs that are moving, have moved away, or came from another store."""
        ...

    def transfer(self, org: str) -> AbstractContextManager[Transfer]:
        """Open a transaction that moves an org. It commits when its block succeeds."""
        ...
