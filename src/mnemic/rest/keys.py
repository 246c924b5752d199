"""Keys of the caller's org, and its audit log; for keys with the right admin."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from starlette.responses import Response

from mnemic.api import Mnemic
from mnemic.rest import bodies
from mnemic.rest.answers import answer
from mnemic.rest.asking import PREFIX, Administers
from mnemic.rest.lanes import Lanes
from mnemic.rest.memories import Id


def routes(mnemic: Mnemic, lanes: Lanes) -> APIRouter:
    """The routes of keys."""
    router = lanes.router(PREFIX, "keys")

    @router.post("/keys", operation_id="keys.create", status_code=201)
    def create(asked: Administers, body: bodies.NewKey) -> Response:
        """Make a key of this org, bound to the user and agent of the scope where it names them. The answer is the only
        place where its `token` is ever told.
        """
        return answer(mnemic.keys.create(asked.scope, **body.given()), 201)

    @router.get("/keys", operation_id="keys.list")
    def list_keys(asked: Administers) -> Response:
        """Every key of the org in the order of making, those that ended too; no secrets."""
        return answer(mnemic.keys.list(asked.scope))

    @router.delete("/keys/{id}", operation_id="keys.revoke")
    def revoke(asked: Administers, id: Id) -> Response:
        """End a key at once."""
        return answer(mnemic.keys.revoke(asked.scope, id))

    @router.post("/keys/{id}/rotate", operation_id="keys.rotate", status_code=201)
    def rotate(asked: Administers, id: Id, body: bodies.Rotation) -> Response:
        """Make a key like this one, which is accepted for `overlap_s` seconds more."""
        return answer(mnemic.keys.rotate(asked.scope, id, **body.given()), 201)

    @router.get("/audit", operation_id="keys.audit")
    def audit(
        asked: Administers,
        before: Annotated[int | None, Query(ge=0, le=2**63 - 1, description="`next` of the page before")] = None,
        limit: Annotated[int, Query(ge=1, le=1000)] = 100,
    ) -> Response:
        """What was done in the org, newest first."""
        return answer(mnemic.keys.audit(asked.scope, before=before, limit=limit))

    return router
