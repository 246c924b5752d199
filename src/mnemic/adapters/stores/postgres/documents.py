"""Files that were read, and their passages."""

from __future__ import annotations

from mnemic.adapters.stores.documents import SqlDocuments
from mnemic.adapters.stores.postgres.graph import graph_links
from mnemic.adapters.stores.postgres.research import step_links
from mnemic.adapters.stores.postgres.session import Session
from mnemic.adapters.stores.postgres.statements import statements


class PostgresDocuments(SqlDocuments):
    """The `Documents` port."""

    def __init__(self, session: Session) -> None:
        links = graph_links(session), step_links(session)
        super().__init__(session, statements("documents"), statements("vectors")["erase"], *links)
