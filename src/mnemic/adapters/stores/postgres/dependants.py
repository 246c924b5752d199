"""What was made of what."""

from __future__ import annotations

from mnemic.adapters.stores.dependants import SqlDependants
from mnemic.adapters.stores.postgres.rows import to_memory
from mnemic.adapters.stores.postgres.session import Session
from mnemic.adapters.stores.postgres.statements import statements
from mnemic.model.item import Memory


class PostgresDependants(SqlDependants):
    """The `Dependants` port."""

    def __init__(self, session: Session) -> None:
        super().__init__(session, statements("dependants"), statements("memories")["select"], to_memory)
        self._see = session.see

    def flagged(self, org: str, source_id: str) -> list[Memory]:
        self._see(org)
        return super().flagged(org, source_id)
