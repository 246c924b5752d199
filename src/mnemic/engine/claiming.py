"""The store as the use cases see it: what they write for a request that may be sent again is written beside it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from mnemic.engine.requests import Claim, current
from mnemic.model.health import Finding
from mnemic.ports.copying import CopyingStore, Rows, Told
from mnemic.ports.store import Store, StoreCapabilities, UnitOfWork


def claiming(store: Store) -> Store:
    """The same store, each unit of work of which puts the request that is worked on beside what it writes."""
    return ClaimingCopyingStore(store, store) if isinstance(store, CopyingStore) else ClaimingStore(store)


class ClaimingStore:
    """The `Store` port around another."""

    def __init__(self, store: Store) -> None:
        self._store = store

    @property
    def capabilities(self) -> StoreCapabilities:
        """As of the store."""
        return self._store.capabilities

    def read(self) -> AbstractContextManager[UnitOfWork]:
        """As of the store."""
        return self._store.read()

    def write(self) -> AbstractContextManager[UnitOfWork]:
        """As of the store, and with the request that is worked on. Raises `ConflictError` where another process works
        on the same.
        """
        claim = current()
        return self._store.write() if claim is None else self._claimed(claim)

    def diagnose(self, *, is_quick: bool = False) -> list[Finding]:
        """As of the store."""
        return self._store.diagnose(is_quick=is_quick)

    def scrub(self) -> tuple[str, ...]:
        """As of the store."""
        return self._store.scrub()

    def close(self) -> None:
        """As of the store."""
        self._store.close()

    @contextmanager
    def _claimed(self, claim: Claim) -> Generator[UnitOfWork]:
        with self._store.write() as work:
            claim.put(work)
            yield work
            claim.is_begun = True  # before the commit, of which it may not be known whether it was
        claim.is_put = True


class ClaimingCopyingStore(ClaimingStore):
    """The same around a store that can be copied as a whole; copying is on behalf of nobody."""

    def __init__(self, store: Store, copying: CopyingStore) -> None:
        super().__init__(store)
        self._copying = copying

    @property
    def kind(self) -> str:
        """As of the store."""
        return self._copying.kind

    @property
    def room(self) -> Path | None:
        """As of the store."""
        return self._copying.room

    def write_copy(self, path: Path, told: Told) -> None:
        """As of the store."""
        self._copying.write_copy(path, told)

    def rows(self) -> AbstractContextManager[Rows]:
        """As of the store."""
        return self._copying.rows()

    def take_copy(self, path: Path, ready: Callable[[UnitOfWork], Collection[str]], told: Told) -> None:
        """As of the store."""
        self._copying.take_copy(path, ready, told)


_: type[Store] = ClaimingStore
__: type[CopyingStore] = ClaimingCopyingStore
