"""Entities and relations."""

from __future__ import annotations

from mnemic.adapters.stores.graph import GraphLinks, SqlGraph
from mnemic.adapters.stores.postgres.session import Session
from mnemic.adapters.stores.postgres.statements import statements


class PostgresGraph(SqlGraph):
    """The `Graph` port."""

    def __init__(self, session: Session) -> None:
        super().__init__(session, statements("graph"))


def graph_links(session: Session) -> GraphLinks:
    """What keeps the graph true in the unit of work of a session."""
    return GraphLinks(session, statements("graph"))
