"""Messages: what was said, kept verbatim, and the window of a session."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query
from starlette.responses import Response

from mnemic.api import Mnemic
from mnemic.rest import bodies
from mnemic.rest.answers import answer
from mnemic.rest.asking import PREFIX, Reads, Writes
from mnemic.rest.lanes import Lanes
from mnemic.rest.memories import Id


@dataclass(frozen=True, slots=True)
class Listing:
    """The parameters of a page."""

    since: Annotated[str | None, Query(description="said at this time or later, ISO 8601")] = None
    before: Annotated[str | None, Query(description="said before this time, ISO 8601")] = None
    in_session: Annotated[bool, Query(description="only what was said in the scope's session")] = False
    limit: Annotated[int | None, Query(ge=1, le=1000)] = None
    after: Annotated[str | None, Query(description="`next` of the page before")] = None

    def given(self) -> dict[str, Any]:
        """What was said."""
        said = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: value for name, value in said.items() if value is not None}


def routes(mnemic: Mnemic, lanes: Lanes) -> APIRouter:
    """The routes of messages."""
    router = lanes.router(PREFIX, "messages")

    @router.post("/messages", operation_id="capture", status_code=201)
    def capture(asked: Writes, body: bodies.Exchange) -> Response:
        """Keep one exchange, verbatim; a scope without a session starts a new conversation, named by `session`."""
        return answer(mnemic.capture(asked.scope, **body.given()), 201)

    @router.post("/messages/batch", operation_id="capture_many", status_code=201)
    def capture_many(asked: Writes, body: bodies.Exchanges) -> Response:
        """Keep many exchanges of one conversation in one durable transaction."""
        return answer(mnemic.capture_many(asked.scope, **body.given()), 201)

    @router.post("/turns/{id}/complete", operation_id="complete")
    def complete(asked: Writes, id: Id, body: bodies.Completion) -> Response:
        """Add the assistant's answer to a turn that was captured without it."""
        return answer(mnemic.complete(asked.scope, id, **body.given()))

    @router.get("/messages", operation_id="messages")
    def messages(asked: Reads, page: Annotated[Listing, Depends()]) -> Response:
        """A page of what was said, the newest first: 50 messages unless told otherwise; `next` continues."""
        return answer(mnemic.messages(asked.scope, **page.given()))

    @router.get("/window", operation_id="window")
    def window(
        asked: Reads, limit: Annotated[int | None, Query(ge=1, le=1000)] = None, *, include_closed: bool = False
    ) -> Response:
        """The last messages of the scope's session, oldest first."""
        return answer(mnemic.window(asked.scope, limit=limit, include_closed=include_closed))

    return router
