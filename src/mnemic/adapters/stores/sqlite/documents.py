"""Files that were read, and their passages."""

from __future__ import annotations

from mnemic.adapters.stores.documents import SqlDocuments
from mnemic.adapters.stores.sqlite.graph import graph_links
from mnemic.adapters.stores.sqlite.research import step_links
from mnemic.adapters.stores.sqlite.session import Session
from mnemic.adapters.stores.sqlite.statements import statements


class SqliteDocuments(SqlDocuments):
    """The `Documents` port."""

    def __init__(self, session: Session) -> None:
        links = graph_links(session), step_links(session)
        super().__init__(session, statements("documents"), statements("vectors")["erase"], *links)
