"""Research: one question about one huge document, answered over minutes."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import Response

from mnemic.api import Mnemic
from mnemic.errors import UnavailableError
from mnemic.model.document import ResearchReport
from mnemic.rest import bodies
from mnemic.rest.answers import answer
from mnemic.rest.asking import PREFIX, Reads
from mnemic.rest.events import Tell, events, wants_events
from mnemic.rest.lanes import Lanes

AT_A_TIME = 4
"""Each may ask the model for half an hour, several times at once."""


def routes(mnemic: Mnemic, lanes: Lanes) -> APIRouter:
    """The route of research."""
    router = lanes.router(PREFIX, "documents")
    places = threading.BoundedSemaphore(AT_A_TIME)

    @router.post("/research", operation_id="research")
    def research(asked: Reads, request: Request, body: bodies.Researched) -> Response:
        """Answer a question from the whole of one document, however long: read in pieces within limits, notes combined,
        quotes cited by page and offsets; what was not read is told. What was read is kept, so that the same question
        goes on where it stopped. Without a model the best passages are given. With `Accept: application/x-ndjson`
        progress is told line by line, and the report ends it; it goes on within its limits when the caller goes away.
        """
        given, scope = body.given(), asked.scope

        def work(**more: Any) -> ResearchReport:
            with _place(places):
                return mnemic.research(scope, **given, **more)

        if wants_events(request):
            return events(lambda tell: work(progress=_telling(tell)))
        return answer(work())

    return router


@contextmanager
def _place(places: threading.BoundedSemaphore) -> Generator[None]:
    """One of the places, while the block runs. Raises `UnavailableError` where all are taken."""
    if not places.acquire(blocking=False):
        raise UnavailableError(f"the server researches {AT_A_TIME} documents already; try again later")
    try:
        yield
    finally:
        places.release()


def _telling(tell: Tell) -> Callable[[int, int, str], None]:
    return lambda done, total, what: tell({"event": "progress", "done": done, "total": total, "what": what})
