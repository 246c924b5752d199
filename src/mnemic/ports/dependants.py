"""The port of dependants, one of those that a unit of work exposes (see `ports.store`): what was made of what."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Protocol

from mnemic.model.item import Memory
from mnemic.model.scope import Partition


@dataclass(frozen=True, slots=True)
class SourceText:
    """Something that a memory was made of, as it is stored now."""

    partition: Partition
    id: str
    text: str


class Dependants(Protocol):
    """What was made of what (`Memory.source_ids`), over all partitions of an org; never of another one.

    An id is one item's within a partition only. In a memory it means the item of its own partition, erased ones too;
    only where there is none it means one elsewhere in the org. Whatever agent a memory is private to.
    """

    def of(self, partition: Partition, ids: Collection[str]) -> Sequence[Memory]:
        """The memories, not erased, that were made of one of these items of a partition. In a unit of work that writes,
        nobody else writes there, or where they lie, until its end.
        """
        ...

    def flagged(self, org: str, source_id: str) -> Sequence[Memory]:
        """The memories of the org, not erased, with a flag that names the source."""
        ...

    def sources(self, memory: Memory) -> Sequence[SourceText]:
        """What the memory was made of, as far as it is not erased: messages, memories, passages and documents; for a
        document its text.
        """
        ...
