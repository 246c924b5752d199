"""What upkeep does by itself, to be looked at first (`is_dry_run`) and done by hand."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.responses import Response

from mnemic.api import Mnemic
from mnemic.errors import ForbiddenError
from mnemic.model.records import Right
from mnemic.model.scope import Level
from mnemic.rest import bodies
from mnemic.rest.answers import answer
from mnemic.rest.asking import PREFIX, Reads, Writes
from mnemic.rest.lanes import Lanes


def routes(mnemic: Mnemic, lanes: Lanes) -> APIRouter:
    """The routes of a memory's life."""
    router = lanes.router(PREFIX, "life")
    _sessions(router, mnemic)
    _upkeep(router, mnemic)
    return router


def _sessions(router: APIRouter, mnemic: Mnemic) -> None:
    @router.post("/summarise", operation_id="summarise")
    def summarise(asked: Writes, body: bodies.Summarising) -> Response:
        """Make summaries of what has fallen out of the window of the scope's session."""
        return answer(mnemic.summarise(asked.scope, **body.given()))

    @router.post("/end", operation_id="end")
    def end(asked: Writes) -> Response:
        """End the scope's session: its session-level memories expire, and a job summarises what was said in it."""
        return answer(mnemic.end(asked.scope))

    @router.post("/reflect", operation_id="reflect")
    def reflect(asked: Writes, body: bodies.DryRun) -> Response:
        """Make a reflection of the newest summaries of the scope's session."""
        return answer(mnemic.reflect(asked.scope, **body.given()))

    @router.post("/extract", operation_id="extract")
    def extract(asked: Writes, body: bodies.DryRun) -> Response:
        """Find facts in what the user said in the scope's session since the last time."""
        return answer(mnemic.extract(asked.scope, **body.given()))

    @router.post("/curate", operation_id="curate")
    def curate(asked: Writes, body: bodies.Curation) -> Response:
        """Keep what will be worth knowing in six months of the days that were not read yet."""
        return answer(mnemic.curate(asked.scope, **body.given()))

    @router.post("/consolidate", operation_id="consolidate")
    def consolidate(asked: Writes, body: bodies.DryRun) -> Response:
        """Make one general preference of each thing that was chosen again and again over months."""
        return answer(mnemic.consolidate(asked.scope, **body.given()))


def _upkeep(router: APIRouter, mnemic: Mnemic) -> None:
    @router.post("/decay", operation_id="decay")
    def decay(asked: Writes, body: bodies.Upkeep) -> Response:
        """Note what the importance of memories has faded to since their last access."""
        asked.caller.require_level(*body.levels)
        return answer(mnemic.decay(asked.scope, **body.given()))

    @router.post("/evict", operation_id="evict")
    def evict(asked: Writes, body: bodies.Upkeep) -> Response:
        """Archive what has faded and is old, or has expired; delete what has been archived for long."""
        asked.caller.require_level(*body.levels)
        return answer(mnemic.evict(asked.scope, **body.given()))

    @router.post("/erase", operation_id="erase")
    def erase(asked: Writes, body: bodies.Erasure) -> Response:
        """Erase for good all that belongs to the scope's session, user, agent or org, and what was derived from it. Of
        a dry run the answer is the plan, else the receipt. The org's level needs the right admin.
        """
        level = body.level or asked.scope.default_level
        asked.caller.require_level(level)
        if level is Level.ORG:
            asked.caller.require(Right.ADMIN)
        return answer(mnemic.erase(asked.scope, **body.given()))

    @router.get("/receipts", operation_id="receipts")
    def receipts(asked: Reads) -> Response:
        """The receipts of all erasures in the org, oldest first; they hold no names and no text."""
        if asked.caller.is_bound:
            raise ForbiddenError("the receipts are of the whole org; they need a key that is not bound")
        return answer(mnemic.receipts(asked.scope))
