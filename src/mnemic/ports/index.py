"""The port of the search index: derived from the store's rows, disposable at any time."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Protocol

from mnemic.model.candidates import Candidates, IndexQuery
from mnemic.model.change import Change
from mnemic.model.health import Finding
from mnemic.model.scope import Partition


@dataclass(frozen=True, slots=True)
class IndexCapabilities:
    """`has_vectors`: it finds by vector. `is_exact`: every row that shares a term is a candidate, and the nearest
    vectors are truly the nearest. `is_durable`: its base survives the process. `budget_bytes`: the memory that it may
    hold, None where it takes none worth counting.
    """

    has_vectors: bool
    is_exact: bool
    is_durable: bool
    budget_bytes: int | None = None


class Index(Protocol):
    """Finds candidates inside the partitions of a query, and nowhere else.

    The caller brings each partition up to date before it searches: it reads `version`, applies what the store says has
    changed since, and only then asks. A partition that was never applied is empty. Safe to use from several threads.
    """

    @property
    def capabilities(self) -> IndexCapabilities:
        """Declared facts, constant for the life of the object."""
        ...

    def version(self, partition: Partition) -> int:
        """The partition version this index has caught up with; 0 when it knows nothing of the partition."""
        ...

    def apply(self, partition: Partition, changes: Sequence[Change], version: int) -> None:
        """Take in `changes` and be at `version`. Repeating or reordering calls is harmless: a call whose version is not
        beyond the index's own changes nothing. A changed item replaces its older form. An index may forget a partition
        at any time (its version is then 0, and `Candidates.versions` tells), so a search that needs it starts over.
        """
        ...

    def search(self, query: IndexQuery) -> Candidates:
        """Candidates for `query`. Only active rows (unless `include_inactive`) that have not expired at `query.now` and
        are private to nobody or to `query.agent` are seen, also by the statistics. `kinds` and `allowed` narrow the
        candidates, not the statistics.
        """
        ...

    def drop(self, partition: Partition) -> None:
        """Forget the partition; its version is 0 again."""
        ...

    def settle(self) -> None:
        """Wait until everything that is made in the background is in use; for measurements and tests."""
        ...

    def close(self) -> None:
        """Let go of memory and files; closing twice is harmless."""
        ...


class ServedIndex(Protocol):
    """An `Index` whose rows lie with a service outside this process, which may be away. Its `search` and `apply` do not
    fail then: it answers by what it has here and says so in `Candidates.missing`, and it is brought up to date later.
    """

    def is_behind(self, partitions: Collection[Partition]) -> bool:
        """True when the service may still hold something of these partitions that was dropped or deleted."""
        ...

    def diagnose(self, known: Collection[Partition]) -> list[Finding]:
        """What the doctor should say. Partitions of this store that are not `known` (to the index: passages have some
        of their own) are removed: they are of owners that were erased while the service was away.
        """
        ...
