"""The graph: what is named, what stands around it, how two things are related, and reading it."""

from __future__ import annotations

from dataclasses import dataclass, fields
from datetime import datetime
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query
from starlette.responses import Response

from mnemic.api import Mnemic
from mnemic.api.graph import MOST_DEPTH, MOST_HOPS, MOST_LISTED
from mnemic.model.graph import MAX_NAME_CHARS, EntityType
from mnemic.rest import bodies
from mnemic.rest.answers import answer
from mnemic.rest.asking import PREFIX, Reads, Writes
from mnemic.rest.lanes import Lanes

Thing = Annotated[str, Query(min_length=1, max_length=MAX_NAME_CHARS, description="its name, or the id of its node")]


@dataclass(frozen=True, slots=True)
class _Given:
    def given(self) -> dict[str, Any]:
        """What was said."""
        said = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: value for name, value in said.items() if value is not None}


@dataclass(frozen=True, slots=True)
class Listing(_Given):
    """The parameters of a page."""

    query: Annotated[str | None, Query(max_length=MAX_NAME_CHARS, description="what the name holds")] = None
    types: Annotated[list[EntityType] | None, Query(description="may be repeated")] = None
    limit: Annotated[int | None, Query(ge=1, le=MOST_LISTED)] = None
    after: Annotated[str | None, Query(max_length=MAX_NAME_CHARS, description="`next` of the page before")] = None


@dataclass(frozen=True, slots=True)
class Around(_Given):
    """How far to go, and along what."""

    depth: Annotated[int | None, Query(ge=1, le=MOST_DEPTH)] = None
    types: Annotated[list[str] | None, Query(description="of relations, such as DEPENDS_ON; may be repeated")] = None
    as_of: Annotated[datetime | None, Query(description="when relations must hold; now unless told")] = None
    limit: Annotated[int | None, Query(ge=1, le=MOST_LISTED, description="most nodes")] = None


@dataclass(frozen=True, slots=True)
class Way(_Given):
    """How long a path may be, and along what."""

    max_hops: Annotated[int | None, Query(ge=1, le=MOST_HOPS)] = None
    types: Annotated[list[str] | None, Query(description="of relations, such as DEPENDS_ON; may be repeated")] = None
    as_of: Annotated[datetime | None, Query(description="when relations must hold; now unless told")] = None


def routes(mnemic: Mnemic, lanes: Lanes) -> APIRouter:
    """The routes of the graph."""
    router = lanes.router(PREFIX, "graph")

    @router.get("/graph/entities", operation_id="graph.entities")
    def entities(asked: Reads, page: Annotated[Listing, Depends()]) -> Response:
        """What is named, by name; `next` continues."""
        return answer(mnemic.graph.entities(asked.scope, **page.given()))

    @router.get("/graph/neighbours", operation_id="graph.neighbours")
    def neighbours(asked: Reads, name: Thing, wanted: Annotated[Around, Depends()]) -> Response:
        """What stands around a thing, nearest first, with the words that say so."""
        return answer(mnemic.graph.neighbours(asked.scope, name, **wanted.given()))

    @router.get("/graph/path", operation_id="graph.path")
    def path(asked: Reads, source: Thing, target: Thing, wanted: Annotated[Way, Depends()]) -> Response:
        """How two things are related: a shortest way, each step with the words that say so."""
        return answer(mnemic.graph.path(asked.scope, source, target, **wanted.given()))

    @router.post("/graph/extract", operation_id="graph.extract")
    def extract(asked: Writes, body: bodies.GraphReading) -> Response:
        """Read what memories, messages and documents name and relate, as far as it is unread."""
        asked.caller.require_level(*body.levels)
        return answer(mnemic.graph.extract(asked.scope, **body.given()))

    return router
