"""Steps of research of the reference store."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime

from mnemic.adapters.stores.memory.transaction import Transaction
from mnemic.model.document import Document, DocumentStatus, Step
from mnemic.model.scope import Partition


class MemoryResearchSteps:
    """The `ResearchSteps` port."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction

    def put(self, partition: Partition, document: Document, steps: Sequence[Step]) -> int:
        tables = self._transaction.writable
        known = tables.documents.get((document.partition, document.id))
        if known is None or known.status is DocumentStatus.ERASED or known.updated_at != document.updated_at:
            return 0
        tables.versions.setdefault(partition, 0)
        for step in steps:
            tables.research_steps[partition, document.partition, document.id, step.key] = step
        return len(steps)

    def get(self, partition: Partition, document: Document, keys: Collection[str]) -> dict[str, Step]:
        steps = self._transaction.tables.research_steps
        places = {key: (partition, document.partition, document.id, key) for key in keys}
        return {key: steps[place] for key, place in places.items() if place in steps}

    def forget(self, before: datetime) -> int:
        steps = self._transaction.writable.research_steps
        old = [place for place, step in steps.items() if step.at < before]
        for place in old:
            del steps[place]
        return len(old)

    def cut(self, partition: Partition, document_id: str) -> None:
        """Remove every step about a document."""
        steps = self._transaction.writable.research_steps
        for place in [place for place in steps if place[1:3] == (partition, document_id)]:
            del steps[place]
