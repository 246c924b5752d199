"""The port of erasure, one of those that a unit of work exposes (see `ports.store`): what is removed for good."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Protocol

from mnemic.model.history import Receipt
from mnemic.model.scope import Partition


class Erasure(Protocol):
    """Removes rows without a tombstone, and keeps the proof. For the verb `erase` alone."""

    def count(self, partition: Partition) -> Mapping[str, int]:
        """What `wipe` would remove: rows by table, those of tables without any left out."""
        ...

    def wipe(self, partition: Partition) -> Mapping[str, int]:
        """Remove every row of a partition, tombstones and the partition itself too; rows by table, as `count`.

        Who writes there later begins at a version above the one it had, so that no index takes the new rows for the old
        ones. It must be the last call on this partition in its unit of work.
        """
        ...

    def derived(
        self, org: str, partitions: Sequence[Partition], ids: Collection[str]
    ) -> Sequence[tuple[Partition, str]]:
        """Memories of the org that lie outside `partitions` and have among their sources (`Memory.provenance`) an item
        of one of these, or of `ids`: (partition, id), erased ones left out. Whatever their private agent.
        """
        ...

    def private(self, org: str, agent: str) -> Sequence[tuple[Partition, str]]:
        """Memories and documents of the org that are private to the agent, wherever they lie: (partition, id)."""
        ...

    def key(self, inherited: bytes = b"") -> bytes:
        """The secret of this store for keyed hashes, 32 bytes, made when it is first asked for in a unit of work that
        writes; empty in one that reads before that. `inherited`: the secret of another store whose receipts come here,
        taken over instead of making one.
        """
        ...

    def add(self, receipt: Receipt) -> None:
        """Keep a receipt. One whose id is taken in its org raises `ConflictError`."""
        ...

    def receipts(self, org: str) -> Sequence[Receipt]:
        """The receipts of an org, oldest first."""
        ...

    def orgs(self) -> Sequence[str]:
        """The orgs that have receipts, in order. For maintenance; no verb of a scope may use it."""
        ...
