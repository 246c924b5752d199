"""`/health/live` and `/health/ready`, for whoever watches over the process; they need no key and tell no texts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from http import HTTPStatus

import anyio
from anyio.to_thread import run_sync
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from mnemic.api import Mnemic
from mnemic.model.health import Condition, Diagnosis, Finding
from mnemic.web.board import Board, Doing

Look = Callable[[], Sequence[Finding]]
"""Looks at a part of the server that Mnemic does not know, such as its worker."""

FEWER = "the others ended, and are started again after a pause; the server's log says how they ended"
NOT_READY = HTTPStatus.SERVICE_UNAVAILABLE


def processes(board: Board) -> list[Finding]:
    """How the processes of a server do, seen from any of them."""
    slots = board.slots()
    answering = sum(slot.doing is Doing.ANSWERING for slot in slots)
    is_well = answering == len(slots)
    condition = Condition.OK if is_well else Condition.DEGRADED
    told = f"{answering} of {len(slots)} answer"
    return [Finding("processes", condition, told, "" if is_well else FEWER)]


class Health:
    """The two probes. Ready: the store answers, and no further look finds anything broken."""

    def __init__(self, mnemic: Mnemic, looks: Sequence[Look] = ()) -> None:
        self._mnemic, self._looks = mnemic, looks
        self._one = anyio.CapacityLimiter(1)  # a thread of its own, so that busy doors do not delay it

    def routes(self) -> list[Route]:
        """The routes of the probes."""
        return [Route("/health/live", self.live), Route("/health/ready", self.ready)]

    async def live(self, _request: Request) -> Response:
        """The process answers."""
        return JSONResponse({"condition": Condition.OK.value})

    async def ready(self, _request: Request) -> Response:
        """Whether requests may be sent here, and if not, why not."""
        diagnosis = await run_sync(self._look, limiter=self._one)
        is_ready = diagnosis.condition is not Condition.BROKEN
        findings = [
            {"part": f.part, "condition": f.condition.value, "message": f.message, "remedy": f.remedy}
            for f in diagnosis.findings
        ]
        body = {"condition": diagnosis.condition.value, "findings": findings}
        return JSONResponse(body, HTTPStatus.OK if is_ready else NOT_READY)

    def _look(self) -> Diagnosis:
        findings = [*self._mnemic.doctor(is_quick=True).findings]
        for look in self._looks:
            findings += look()
        return Diagnosis(tuple(findings))
