"""Long work that tells how far it has come: one JSON object a line, the last with the report or the problem."""

import logging
import queue
import threading
from collections.abc import Callable, Iterator
from contextvars import copy_context

from starlette.requests import Request
from starlette.responses import StreamingResponse

from mnemic.errors import MnemicError, places
from mnemic.rest.asking import line
from mnemic.web.limits import BUSY
from mnemic.web.problems import ProblemError, problem_of
from mnemic.wire import PROBLEM_PREFIX

NDJSON = "application/x-ndjson"
SSE = "text/event-stream"
ZIP = "application/zip"
Tell = Callable[[object], None]
MOST_AT_ONCE = 16  # each holds a thread until its work ends, even when its caller is gone
_places = threading.BoundedSemaphore(MOST_AT_ONCE)
_log = logging.getLogger("mnemic.web")


def wants_events(request: Request) -> bool:
    """True when the caller asked for lines of events."""
    return NDJSON in request.headers.get("accept", "")


def events(work: Callable[[Tell], object]) -> StreamingResponse:
    """An answer whose lines are what `work` tells while it runs in a thread of its own, then
    `{"event": "done", "report": …}` or `{"event": "failed", "problem": …}`. The status is 200 either way: it was sent
    before. When the caller goes away the work goes on to its end; so only `MOST_AT_ONCE` are begun.

    Raises `ProblemError` (503) when as many are under way.
    """
    if not _places.acquire(blocking=False):
        raise ProblemError(BUSY)
    told: queue.SimpleQueue[object] = queue.SimpleQueue()
    inside = copy_context()  # the work is the caller's

    def run() -> None:
        try:
            told.put({"event": "done", "report": work(told.put)})
        except Exception as error:  # noqa: BLE001 -- nobody is above this thread; see tests/architecture/test_sizes.py
            if not isinstance(error, MnemicError):
                _log.error("unexpected %s", type(error).__name__, extra={"where": places(error)})
            told.put(failed(error))
        finally:
            _places.release()
            told.put(None)

    threading.Thread(target=inside.run, args=(run,), name="mnemic-events", daemon=True).start()

    def lines() -> Iterator[bytes]:
        while (event := told.get()) is not None:
            yield line(event) + b"\n"

    return StreamingResponse(lines(), media_type=NDJSON)


def failed(error: Exception) -> dict[str, object]:
    """The event of a failure after the status was sent."""
    problem = problem_of(error)
    about = {"type": PROBLEM_PREFIX + problem.kind, "title": problem.title, "detail": problem.detail}
    return {"event": "failed", "problem": {**about, "status": problem.status, "hint": problem.hint}}
