"""The port of what was answered while a document was researched, one of those that a unit of work exposes (see
`ports.store`).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Protocol

from mnemic.model.document import Document
from mnemic.model.research import Step
from mnemic.model.scope import Partition


class ResearchSteps(Protocol):
    """Replies of a language model about documents, so that work which was interrupted pays for none twice.

    A step belongs to the partition of who asked, and is about a document, which may lie in another partition of the
    same org. It is gone as soon as either is: when the document is erased or filled anew, and when either partition is
    wiped. Steps are no items, and move no version.
    """

    def put(self, partition: Partition, document: Document, steps: Sequence[Step]) -> int:
        """Insert each, or replace the one with its key; returns how many. None, when the document is not stored any
        more as it is given (by partition, id and `updated_at`), so that no reply about a text outlives it.
        """
        ...

    def get(self, partition: Partition, document: Document, keys: Collection[str]) -> dict[str, Step]:
        """Those that exist, by key."""
        ...

    def forget(self, before: datetime) -> int:
        """Remove the steps of every org that were answered earlier; returns how many."""
        ...
