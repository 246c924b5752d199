"""Jobs, the health of what is remembered, and how the whole store is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request
from starlette.responses import Response

from mnemic.api import Mnemic
from mnemic.api.health import LISTED
from mnemic.api.jobs import UNFINISHED
from mnemic.engine.export import OWN_LEVELS
from mnemic.engine.health import MAX_LISTED
from mnemic.model.health import Ailment, Diagnosis
from mnemic.model.records import JobState, Right
from mnemic.model.scope import Level
from mnemic.rest import bodies
from mnemic.rest.answers import answer
from mnemic.rest.asking import PREFIX, Asked, Operates, Reads, Writes
from mnemic.rest.events import events, wants_events
from mnemic.rest.lanes import Lanes


@dataclass(frozen=True, slots=True)
class Looking:
    """What of the memories is looked at, and ended."""

    only: Annotated[list[Ailment] | None, Query(description="may be repeated; every kind unless told")] = None
    fix: Annotated[list[Ailment] | None, Query(description="end what is safe to end of this kind; repeated")] = None
    levels: Annotated[list[Level] | None, Query(description="may be repeated; all but org unless told")] = None
    limit: Annotated[int, Query(ge=1, le=MAX_LISTED, description="most findings listed of a kind")] = LISTED
    is_dry_run: Annotated[bool, Query(description="say what would happen, and change nothing")] = False


@dataclass(frozen=True, slots=True)
class Reembedding:
    """How the store is embedded anew."""

    is_dry_run: Annotated[bool, Query(description="say what would happen, and change nothing")] = False
    is_pruning: Annotated[bool, Query(description="remove the vectors of other embedders when all is done")] = False


def routes(mnemic: Mnemic, lanes: Lanes) -> APIRouter:
    """The routes of upkeep."""
    router = lanes.router(PREFIX, "upkeep")

    @router.get("/jobs", operation_id="jobs.list")
    def list_jobs(
        asked: Reads,
        states: Annotated[list[JobState] | None, Query(description="may be repeated; not done unless told")] = None,
        limit: Annotated[int, Query(ge=1, le=1000)] = 100,
    ) -> Response:
        """Work of the scope that must still be done, and work that gave up, oldest first."""
        return answer(mnemic.jobs.list(asked.scope, states=states or UNFINISHED, limit=limit))

    @router.post("/jobs/retry", operation_id="jobs.retry")
    def retry_jobs(asked: Writes, body: bodies.Retry) -> Response:
        """Let jobs that gave up be tried again from now; the answer is how many."""
        return answer(mnemic.jobs.retry(asked.scope, body.ids))

    @router.post("/work", operation_id="work")
    def work(asked: Operates, body: bodies.Work) -> Response:
        """Run the jobs of the whole store that are due; the server's own worker does it by itself."""
        del asked
        return answer(mnemic.work(**body.given()))

    @router.post("/reembed", operation_id="reembed")
    def reembed(
        asked: Operates,
        request: Request,
        wanted: Annotated[Reembedding, Depends()],
    ) -> Response:
        """Give every item of the whole store its vectors of the configured embedders, beside live traffic. With
        `Accept: application/x-ndjson` progress is told line by line, and the report ends it.
        """
        del asked
        options: Any = asdict(wanted)
        if wants_events(request):
            return events(lambda tell: mnemic.reembed(**options, progress=_telling(tell)))
        return answer(mnemic.reembed(**options))

    @router.post("/health", operation_id="health")
    def health(asked: Reads, request: Request, wanted: Annotated[Looking, Depends()]) -> Response:
        """How well what the scope remembers is: a score, what is wrong and what ends it; `fix` ends what can be taken
        back. A dry run needs no more than the right to read. With `Accept: application/x-ndjson` progress is told line
        by line, and the report ends it.
        """
        _require(asked, request, wanted)
        options: Any = {name: value for name, value in asdict(wanted).items() if value is not None}
        if wants_events(request):
            return events(lambda tell: mnemic.health(asked.scope, **options, progress=_telling(tell)))
        return answer(mnemic.health(asked.scope, **options))

    @router.get("/doctor", operation_id="doctor")
    def doctor(
        asked: Operates, *, is_quick: Annotated[bool, Query(description="only whether the store answers")] = False
    ) -> Response:
        """How the whole installation is: what works, what is degraded, and what to do."""
        del asked
        return answer(_told(mnemic.doctor(is_quick=is_quick)))

    return router


def _require(asked: Asked, request: Request, wanted: Looking) -> None:
    """Whoever has more than a look must be allowed to write, and what is ended must not belong to others."""
    if not wanted.is_dry_run:
        request.state.is_audited = True
        asked.caller.require(Right.WRITE)
        if wanted.fix:
            asked.caller.require_level(*(wanted.levels or OWN_LEVELS))


def _telling(tell: Callable[[object], None]) -> Callable[[int, int], None]:
    return lambda done, total: tell({"event": "progress", "done": done, "total": total})


def _told(diagnosis: Diagnosis) -> dict[str, object]:
    return {"condition": diagnosis.condition, "findings": diagnosis.findings}
