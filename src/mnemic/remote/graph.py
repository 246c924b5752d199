"""The graph of a server."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from mnemic.api.graph import LISTED
from mnemic.engine.export import OWN_LEVELS
from mnemic.model.graph import EntityType, GraphPath, GraphReport, Neighbourhood, NodePage
from mnemic.model.scope import Level, Scope
from mnemic.remote.connection import Connection


class RemoteGraph:
    """As `GraphVerbs`."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def entities(
        self,
        scope: Scope,
        query: str = "",
        *,
        types: Iterable[EntityType | str] = (),
        limit: int = LISTED,
        after: str | None = None,
    ) -> NodePage:
        """As `GraphVerbs.entities`."""
        given = {"query": query, "types": [*types], "limit": limit, "after": after}
        return self._connection.ask("graph.entities", NodePage, scope, given)

    def neighbours(
        self,
        scope: Scope,
        name: str,
        *,
        depth: int = 1,
        types: Iterable[str] = (),
        as_of: datetime | str | None = None,
        limit: int = LISTED,
    ) -> Neighbourhood:
        """As `GraphVerbs.neighbours`."""
        given = {"name": name, "depth": depth, "types": [*types], "as_of": as_of, "limit": limit}
        return self._connection.ask("graph.neighbours", Neighbourhood, scope, given)

    def path(
        self,
        scope: Scope,
        source: str,
        target: str,
        *,
        max_hops: int = 4,
        types: Iterable[str] = (),
        as_of: datetime | str | None = None,
    ) -> GraphPath:
        """As `GraphVerbs.path`."""
        given = {"source": source, "target": target, "max_hops": max_hops, "types": [*types], "as_of": as_of}
        return self._connection.ask("graph.path", GraphPath, scope, given)

    def extract(
        self,
        scope: Scope,
        *,
        levels: Iterable[Level | str] = OWN_LEVELS,
        limit: int | None = None,
        is_dry_run: bool = False,
    ) -> GraphReport:
        """As `GraphVerbs.extract`."""
        given = {"levels": levels, "limit": limit, "is_dry_run": is_dry_run}
        return self._connection.ask("graph.extract", GraphReport, scope, given)


class RemoteGraphPart:
    """As `GraphPart`."""

    _connection: Connection

    @property
    def graph(self) -> RemoteGraph:
        """As `Mnemic.graph`."""
        return RemoteGraph(self._connection)
