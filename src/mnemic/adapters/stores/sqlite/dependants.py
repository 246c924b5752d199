"""What was made of what."""

from __future__ import annotations

from mnemic.adapters.stores.dependants import SqlDependants
from mnemic.adapters.stores.sqlite.rows import to_memory
from mnemic.adapters.stores.sqlite.session import Session
from mnemic.adapters.stores.sqlite.statements import statements


class SqliteDependants(SqlDependants):
    """The `Dependants` port."""

    def __init__(self, session: Session) -> None:
        super().__init__(session, statements("dependants"), statements("memories")["select"], to_memory)
