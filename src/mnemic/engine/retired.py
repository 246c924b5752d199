"""The space that was filled before the embedder was changed, and where a question must still be asked in it.

Until every item of a partition that has a vector there has one in a space of now, both are searched, each by itself;
from then on the partition is answered from the spaces of now alone. Nothing is written down of this: it follows from
which vectors there are, so that it is right after a crash, and in every process.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from mnemic.model.scope import Partition
from mnemic.ports.embedder import Embedder
from mnemic.ports.store import MAIN_VIEW, UnitOfWork

PLACES = 65_536
"""Partitions of which is remembered what was seen."""


class RetiredSpace:
    """The embedder of before. Nothing fills its space; what is written meanwhile gets a vector in it too, when it is
    local, so that going back to it costs nothing.
    """

    def __init__(self, embedder: Embedder) -> None:
        self.embedder = embedder
        self.is_removed = False
        self._last: dict[Partition, str | None] = {}

    def is_needed(self, work: UnitOfWork, partitions: Sequence[Partition], present: Collection[str]) -> bool:
        """True when an item of these partitions has a vector here and in none of the `present` spaces.

        A partition that needs it no more is not looked at again: who still writes with the embedder of before, in
        another process, is found by keyword until the next fill.
        """
        return not self.is_removed and any(self._is_needed(work, each, present) for each in partitions)

    def is_kept(self, work: UnitOfWork) -> bool:
        """False once its vectors were removed, by whichever process."""
        self.is_removed = self.is_removed or self.embedder.space.id not in work.vectors.known()
        return not self.is_removed

    def _is_needed(self, work: UnitOfWork, partition: Partition, present: Collection[str]) -> bool:
        """Spaces are filled in the order of ids: while the item that comes last lacks its vector, one look is enough.

        This is asked before every question, and `alone` reads all vectors of a partition in the worst case.
        """
        last = self._last.get(partition, "")
        if last is None:
            return False
        own = self.embedder.space.id
        if last and self._has_any(work, partition, last, [own]) and not self._has_any(work, partition, last, present):
            return True
        found = work.vectors.alone(partition, own, present)
        if len(self._last) >= PLACES:
            self._last.clear()
        self._last[partition] = found
        return found is not None

    def _has_any(self, work: UnitOfWork, partition: Partition, item_id: str, spaces: Collection[str]) -> bool:
        return any(work.vectors.get(partition, [item_id], MAIN_VIEW, space) for space in spaces)
