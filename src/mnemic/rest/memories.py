"""Memories: keep, find, look at, change, judge and delete. Where it makes sense, an id may be that of a message."""

from __future__ import annotations

import json
from dataclasses import dataclass, fields
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Query
from starlette.responses import Response

from mnemic.api import Mnemic
from mnemic.errors import InvalidInputError
from mnemic.model.item import Kind, State
from mnemic.model.recall import Order
from mnemic.model.scope import Level
from mnemic.rest import bodies
from mnemic.rest.answers import answer
from mnemic.rest.asking import PREFIX, Reads, Writes
from mnemic.rest.lanes import Lanes

Id = Annotated[str, Path(min_length=1, max_length=255, examples=["019b0f6e-2b1c-7cc0-8c45-1d3f0a6f5b11"])]
WhyGiven = Annotated[str, Query(description="why; kept in the history")]


@dataclass(frozen=True, slots=True)
class Listing:
    """The parameters of a page."""

    levels: Annotated[list[Level] | None, Query(description="may be repeated")] = None
    kinds: Annotated[list[Kind] | None, Query(description="may be repeated")] = None
    states: Annotated[list[State] | None, Query(description="may be repeated; active ones unless told")] = None
    filter: Annotated[str | None, Query(description='conditions in JSON, as {"text": {"contains": "tea"}}')] = None
    order: Annotated[Order | None, Query()] = None
    limit: Annotated[int | None, Query(ge=1, le=1000)] = None
    after: Annotated[str | None, Query(description="`next` of the page before")] = None
    as_of: Annotated[str | None, Query(description="true in the world at this time, ISO 8601")] = None
    known_at: Annotated[str | None, Query(description="known at this time, ISO 8601")] = None

    def given(self) -> dict[str, Any]:
        """What was said."""
        said = {field.name: getattr(self, field.name) for field in fields(self)}
        given = {name: value for name, value in said.items() if value is not None}
        return given | ({"filter": _filter(self.filter)} if self.filter is not None else {})


def routes(mnemic: Mnemic, lanes: Lanes) -> APIRouter:
    """The routes of memories."""
    router = lanes.router(PREFIX, "memories")
    _finding(router, mnemic)
    _keeping(router, mnemic)
    _changing(router, mnemic)
    _judging(router, mnemic)
    return router


def _finding(router: APIRouter, mnemic: Mnemic) -> None:
    @router.post("/recall", operation_id="recall")
    def recall(asked: Reads, body: bodies.Question) -> Response:
        """Find what answers a question among the messages and memories of the scope, best first."""
        return answer(mnemic.recall(asked.scope, **body.given()))

    @router.post("/context", operation_id="context")
    def context(asked: Reads, body: bodies.ContextRequest) -> Response:
        """Everything to put in front of a model that is about to answer, as chat messages with citations."""
        return answer(mnemic.context(asked.scope, **body.given()))

    @router.get("/memories", operation_id="list")
    def list_memories(asked: Reads, page: Annotated[Listing, Depends()]) -> Response:
        """A page of memories: the newest 50 active ones unless told otherwise; `next` continues."""
        return answer(mnemic.list(asked.scope, **page.given()))

    @router.get("/counts", operation_id="count")
    def count(asked: Reads) -> Response:
        """How many memories the scope sees by state, and of the active ones by kind; and how many documents."""
        return answer(mnemic.count(asked.scope))

    @router.get("/memories/{id}", operation_id="get")
    def get(asked: Reads, id: Id) -> Response:
        """The memory or message with this id."""
        return answer(mnemic.get(asked.scope, id))

    @router.get("/memories/{id}/history", operation_id="history")
    def history(asked: Reads, id: Id) -> Response:
        """What happened to a memory, oldest first; its deletion too."""
        return answer(mnemic.history(asked.scope, id))

    @router.post("/memories/{id}/why-not", operation_id="why_not")
    def why_not(asked: Reads, id: Id, body: bodies.Question) -> Response:
        """Where a memory or message was lost on its way to the answer to a question, or at which rank it is."""
        return answer(mnemic.why_not(asked.scope, id, **body.given()))


def _keeping(router: APIRouter, mnemic: Mnemic) -> None:
    @router.post("/memories", operation_id="remember", status_code=201)
    def remember(asked: Writes, body: bodies.NewMemory) -> Response:
        """Keep one thing; what already says the same in the same place is given back instead."""
        asked.caller.require_level(body.level or asked.scope.default_level)
        return answer(mnemic.remember(asked.scope, **body.given()), 201)

    @router.post("/memories/batch", operation_id="remember_many", status_code=201)
    def remember_many(asked: Writes, body: bodies.NewMemories) -> Response:
        """Keep many things in one durable transaction."""
        asked.caller.require_level(*(one.level for one in body.memories if not isinstance(one, str) and one.level))
        return answer(mnemic.remember_many(asked.scope, body.given()["memories"]), 201)

    @router.post("/memories/clear", operation_id="clear")
    def clear(asked: Writes, body: bodies.Clearing) -> Response:
        """Delete every memory (not the messages) of some levels of the scope."""
        asked.caller.require_level(*body.levels)
        return answer(mnemic.clear(asked.scope, **body.given()))

    @router.delete("/memories/{id}", operation_id="delete")
    def delete(asked: Writes, id: Id, reason: WhyGiven = "") -> Response:
        """Remove the text, the vectors and the recorded history of one memory or message."""
        asked.require_own(mnemic, id)
        return answer(mnemic.delete(asked.scope, id, reason=reason))


def _changing(router: APIRouter, mnemic: Mnemic) -> None:
    @router.patch("/memories/{id}", operation_id="update")
    def update(asked: Writes, id: Id, body: bodies.MemoryChanges) -> Response:
        """Correct a memory; before and after are in its history, and undo takes it back."""
        asked.require_own(mnemic, id)
        return answer(mnemic.update(asked.scope, id, **body.given()))

    @router.post("/memories/{id}/undo", operation_id="undo")
    def undo(asked: Writes, id: Id) -> Response:
        """Take back the last change of a memory, a merge included; called again, the change before."""
        asked.require_own(mnemic, id)
        return answer(mnemic.undo(asked.scope, id))

    @router.post("/memories/merge", operation_id="merge")
    def merge(asked: Writes, body: bodies.Merge) -> Response:
        """Make one of several memories: the first stays; the others are superseded by it."""
        asked.require_own(mnemic, *body.ids)
        return answer(mnemic.merge(asked.scope, **body.given()))


def _judging(router: APIRouter, mnemic: Mnemic) -> None:
    @router.post("/memories/{id}/pin", operation_id="pin")
    def pin(asked: Writes, id: Id, body: bodies.Pin) -> Response:
        """Keep a memory from fading and eviction, or let it fade again."""
        asked.require_own(mnemic, id)
        return answer(mnemic.pin(asked.scope, id, **body.given()))

    @router.post("/memories/{id}/feedback", operation_id="feedback")
    def feedback(asked: Writes, id: Id, body: bodies.Verdict) -> Response:
        """Judge a memory: "relevant" refreshes it, "outdated" ends its validity now."""
        asked.require_own(mnemic, id)
        return answer(mnemic.feedback(asked.scope, id, **body.given()))

    @router.post("/memories/{id}/trust", operation_id="trust")
    def trust(asked: Writes, id: Id, body: bodies.Judgement) -> Response:
        """Let a memory that waits for judgement be recalled."""
        asked.require_own(mnemic, id)
        return answer(mnemic.trust(asked.scope, id, **body.given()))

    @router.post("/memories/{id}/reject", operation_id="reject")
    def reject(asked: Writes, id: Id, body: bodies.Judgement) -> Response:
        """Archive a memory that waits for judgement; undo takes it back."""
        asked.require_own(mnemic, id)
        return answer(mnemic.reject(asked.scope, id, **body.given()))

    @router.get("/review", operation_id="review")
    def review(asked: Reads, limit: Annotated[int, Query(ge=1, le=1000)] = 50, after: str | None = None) -> Response:
        """The memories in quarantine and in dispute, the newest first, each with the reason."""
        return answer(mnemic.review(asked.scope, limit=limit, after=after))


def _filter(text: str | None) -> object:
    try:
        return json.loads(text or "null")
    except (ValueError, RecursionError) as error:
        raise InvalidInputError("filter is not JSON") from error
