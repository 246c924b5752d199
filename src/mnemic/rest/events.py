"""Long work as a stream: one JSON object per line, the last with the report or the problem."""

import logging
import queue
import threading
from collections.abc import Callable, Iterator
from contextvars import copy_context

from starlette.requests import Request
from starlette.responses import StreamingResponse

from mnemic.errors import attempt
from mnemic.rest.asking import line
from mnemic.web.limits import BUSY
from mnemic.web.problems import ProblemError, problem_of
from mnemic.wire import PROBLEM_PREFIX

NDJSON = "application/x-ndjson"
SSE = "text/event-stream"
ZIP = "application/zip"
Tell = Callable[[object], None]
MOST_AT_ONCE = 16  # each holds a thread until its work ends, even after the client disconnects
_places = threading.BoundedSemaphore(MOST_AT_ONCE)
_log = logging.getLogger("mnemic.web")


def wants_events(request: Request) -> bool:
    """True if the client asked for a stream of events."""
    return NDJSON in request.headers.get("accept", "")


def events(work: Callable[[Tell], object]) -> StreamingResponse:
    """Run `work` in a thread and stream its progress, then `{"event": "done", "report": …}` or `{"event": "failed",
    "problem": …}`. The status is always 200, since it is sent first. The work continues if the client disconnects.
    Raises `ProblemError` (503) if `MOST_AT_ONCE` are running.
    """
    if not _places.acquire(blocking=False):
        raise ProblemError(BUSY)
    told: queue.SimpleQueue[object] = queue.SimpleQueue()
    inside = copy_context()  # the work belongs to the caller

    def run() -> None:
        try:
            done = attempt(lambda: work(told.put), _log.error, "in a stream")
            told.put(failed(done) if isinstance(done, Exception) else {"event": "done", "report": done})
        finally:
            _places.release()
            told.put(None)

    threading.Thread(target=inside.run, args=(run,), name="mnemic-events", daemon=True).start()

    def lines() -> Iterator[bytes]:
        while (event := told.get()) is not None:
            yield line(event) + b"\n"

    return StreamingResponse(lines(), media_type=NDJSON)


def failed(error: Exception) -> dict[str, object]:
    """The event for a failure after the status was sent."""
    problem = problem_of(error)
    about = {"type": PROBLEM_PREFIX + problem.kind, "title": problem.title, "detail": problem.detail}
    return {"event": "failed", "problem": {**about, "status": problem.status, "hint": problem.hint}}
