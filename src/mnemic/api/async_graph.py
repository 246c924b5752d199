"""The verbs of the graph for asyncio."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from datetime import datetime
from typing import TYPE_CHECKING, Any

from mnemic.api.graph import LISTED, GraphVerbs
from mnemic.engine.export import OWN_LEVELS
from mnemic.model.graph import EntityType, GraphPath, GraphReport, Neighbourhood, NodePage
from mnemic.model.scope import Level, Scope

if TYPE_CHECKING:
    from mnemic.api.verbs import Mnemic


class AsyncGraphVerbs:
    """As `GraphVerbs`."""

    def __init__(self, verbs: GraphVerbs, run: Callable[..., Awaitable[Any]]) -> None:
        self._verbs, self._run = verbs, run

    async def entities(
        self,
        scope: Scope,
        query: str = "",
        *,
        types: Iterable[EntityType | str] = (),
        limit: int = LISTED,
        after: str | None = None,
    ) -> NodePage:
        """As `GraphVerbs.entities`."""
        return await self._run(self._verbs.entities, scope, query, types=types, limit=limit, after=after)

    async def neighbours(
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
        fields: dict[str, Any] = {"depth": depth, "types": types, "as_of": as_of, "limit": limit}
        return await self._run(self._verbs.neighbours, scope, name, **fields)

    async def path(
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
        fields: dict[str, Any] = {"max_hops": max_hops, "types": types, "as_of": as_of}
        return await self._run(self._verbs.path, scope, source, target, **fields)

    async def extract(
        self,
        scope: Scope,
        *,
        levels: Iterable[Level | str] = OWN_LEVELS,
        limit: int | None = None,
        is_dry_run: bool = False,
    ) -> GraphReport:
        """As `GraphVerbs.extract`."""
        return await self._run(self._verbs.extract, scope, levels=levels, limit=limit, is_dry_run=is_dry_run)


class AsyncGraphPart:
    """As `GraphPart`."""

    _mnemic: Mnemic
    _run: Callable[..., Awaitable[Any]]

    @property
    def graph(self) -> AsyncGraphVerbs:
        """As `Mnemic.graph`."""
        return AsyncGraphVerbs(self._mnemic.graph, self._run)
