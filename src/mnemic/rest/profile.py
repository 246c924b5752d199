"""Hard facts of a user, by key; always in the prompt."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Query
from starlette.responses import Response

from mnemic.api import Mnemic
from mnemic.rest import bodies
from mnemic.rest.answers import answer
from mnemic.rest.asking import PREFIX, Reads, Writes
from mnemic.rest.lanes import Lanes


def routes(mnemic: Mnemic, lanes: Lanes) -> APIRouter:
    """The routes of the profile."""
    router = lanes.router(f"{PREFIX}/profile", "profile")

    @router.get("", operation_id="profile.all")
    def get_all(asked: Reads) -> Response:
        """The static facts, and beside them the most important and the newest memories of the user."""
        return answer(mnemic.profile.all(asked.scope))

    @router.patch("", operation_id="profile.set")
    def set_facts(asked: Writes, body: bodies.Facts) -> Response:
        """Write facts by key; null removes one. The answer is the whole static profile."""
        return answer(mnemic.profile.set(asked.scope, body.facts))

    @router.get("/facts", operation_id="profile.get")
    def get_facts(asked: Reads) -> Response:
        """The facts by key; empty when there are none."""
        return answer(mnemic.profile.get(asked.scope))

    @router.get("/block", operation_id="profile.format")
    def get_block(asked: Reads, language: Annotated[Literal["en", "zh"], Query()] = "en") -> Response:
        """The block for a system prompt, a JSON string; "" when there is nothing."""
        return answer(mnemic.profile.format(asked.scope, language=language))

    return router
