"""Health, metrics and log of a server. `/health/live` and `/health/ready` need no key and show no stored text.
`/metrics` is in the Prometheus format (docs/reference/metrics.md). The log is JSON lines on standard error.
"""

import json
import logging
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from http import HTTPStatus

import anyio
from anyio import CapacityLimiter
from anyio.to_thread import run_sync
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from mnemic.api import Mnemic
from mnemic.model.health import Condition, Diagnosis, Finding
from mnemic.web.gate import caller_of
from mnemic.web.limits import Board, Doing

_OWN = frozenset(vars(logging.makeLogRecord({})))


class JsonLines(logging.Formatter):
    """Formats a record as one line of JSON, with the fields of `always`. An exception appears only as its type, because
    its text may hold memories.
    """

    def __init__(self, always: Mapping[str, object] | None = None) -> None:
        super().__init__()
        self._always = dict(always or {})

    def format(self, record: logging.LogRecord) -> str:
        """The record as one line."""
        line: dict[str, object] = {
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **self._always,
        }
        line |= {name: value for name, value in vars(record).items() if name not in _OWN}
        if record.exc_info and record.exc_info[0] is not None:
            line["exception"] = record.exc_info[0].__name__
        return json.dumps(line, ensure_ascii=True, default=str)


def log_to_stderr(level: str, **always: object) -> None:
    """Log Mnemic and the server as JSON lines from `level` on, with the fields of `always`."""
    handler = logging.StreamHandler()
    handler.setFormatter(JsonLines(always))
    for name in ("mnemic", "uvicorn"):
        logger = logging.getLogger(name)
        logger.handlers = [handler]
        logger.setLevel(level.upper())
        logger.propagate = False


Look = Callable[[], Sequence[Finding]]
"""Checks a part of the server outside Mnemic, such as its worker."""

FEWER = "the other processes ended and are restarted after a pause; see the server's log for the reasons"
NOT_READY = HTTPStatus.SERVICE_UNAVAILABLE


def processes(board: Board) -> list[Finding]:
    """Findings about the server's processes, as seen from any of them."""
    slots = board.slots()
    answering = sum(slot.doing is Doing.ANSWERING for slot in slots)
    is_well = answering == len(slots)
    condition = Condition.OK if is_well else Condition.DEGRADED
    told = f"{answering} of {len(slots)} answer"
    return [Finding("processes", condition, told, "" if is_well else FEWER)]


class Health:
    """The two probes. Ready: the store answers, and no further check finds anything broken."""

    def __init__(self, mnemic: Mnemic, looks: Sequence[Look] = ()) -> None:
        self._mnemic, self._looks = mnemic, looks
        self._one = anyio.CapacityLimiter(1)  # a thread of its own, so that busy doors do not delay it

    def routes(self) -> list[Route]:
        """The routes of the probes."""
        return [Route("/health/live", self.live), Route("/health/ready", self.ready)]

    async def live(self, _request: Request) -> Response:
        """200 if the process answers."""
        return JSONResponse({"condition": Condition.OK.value})

    async def ready(self, _request: Request) -> Response:
        """200 if requests may be sent here, else 503 with the reasons."""
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


# seconds, from a cached answer (1 ms) to a slow model (30 s)
BUCKETS_S = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)


@dataclass(frozen=True, slots=True)
class Shared:
    """Storage for metrics of several processes: files in `folder`, which `mnemic serve` tells the Prometheus client.
    The counts of ended processes stay.
    """

    folder: str
    board: Board


class Metrics:
    """Counts responses in a registry that may hold more. `shared`: show the sum over processes."""

    def __init__(self, registry: CollectorRegistry | None = None, shared: Shared | None = None) -> None:
        self.registry = registry or CollectorRegistry()
        self._shared = shared
        self._one = CapacityLimiter(1)  # a thread of its own, so that busy doors do not delay it
        self._requests = Counter(
            "mnemic_http_requests", "Requests answered", ("method", "route", "status"), registry=self.registry
        )
        self._seconds = Histogram(
            "mnemic_http_request_seconds",
            "Time until the answer was sent",
            ("method", "route"),
            buckets=BUCKETS_S,
            registry=self.registry,
        )
        self._in_flight = Gauge(
            "mnemic_http_in_flight", "Requests being answered", registry=self.registry, multiprocess_mode="livesum"
        )

    @contextmanager
    def in_flight(self) -> Generator[None]:
        """Count a request as in flight during the block."""
        with self._in_flight.track_inprogress():
            yield

    def answered(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count a response. Status 0: the client disconnected before it."""
        self._requests.labels(method, route, str(status)).inc()
        self._seconds.labels(method, route).observe(seconds)

    def routes(self) -> list[Route]:
        """The route of the metrics."""
        return [Route("/metrics", self.show)]

    async def show(self, request: Request) -> Response:
        """All metrics, over all orgs."""
        caller_of(request).require_store()
        shown = await run_sync(lambda: generate_latest(self._collect_counts()), limiter=self._one)
        return Response(shown, media_type=None, headers={"Content-Type": CONTENT_TYPE_LATEST})

    def _collect_counts(self) -> CollectorRegistry:
        """The metrics of this process, or the sum over all."""
        if self._shared is None:
            return self.registry
        whole = CollectorRegistry()
        MultiProcessCollector(whole, self._shared.folder)
        whole.register(_Processes(self._shared.board))
        return whole


class _Processes(Collector):
    """The number of processes and their state."""

    def __init__(self, board: Board) -> None:
        self._board = board

    def collect(self) -> Iterator[Metric]:
        slots = self._board.slots()
        answering = [slot for slot in slots if slot.doing is Doing.ANSWERING]
        for name, told, value in (
            ("mnemic_processes_wanted", "Processes that should answer", len(slots)),
            ("mnemic_processes_answering", "Processes that answer", len(answering)),
            ("mnemic_http_connections", "Open connections", sum(slot.connections for slot in answering)),
        ):
            yield GaugeMetricFamily(name, told, value=value)
        deaths = sum(slot.deaths for slot in slots)
        yield CounterMetricFamily("mnemic_processes_died", "Processes that ended unexpectedly", value=deaths)
