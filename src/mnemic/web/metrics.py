"""Metrics of the doors and the engine, in the format of Prometheus at `/metrics`; see docs/reference/metrics.md."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from anyio import CapacityLimiter
from anyio.to_thread import run_sync
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from mnemic.web.board import Board, Doing
from mnemic.web.gate import caller_of

BUCKETS_S = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)


@dataclass(frozen=True, slots=True)
class Shared:
    """Where several processes count together: in files of `folder`, which the client of Prometheus was told of
    (`FOLDER_VARIABLE`) before it was imported; what a process counted stays there when it has ended.
    """

    folder: str
    board: Board


FOLDER_VARIABLE = "PROMETHEUS_MULTIPROC_DIR"


class Metrics:
    """Counts what the doors answer, in a registry that may hold more. `shared`: what is shown is the sum over all
    processes.
    """

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
        """Counts a request while it is being answered."""
        with self._in_flight.track_inprogress():
            yield

    def answered(self, method: str, route: str, status: int, seconds: float) -> None:
        """One request was answered; status 0: the caller went away before."""
        self._requests.labels(method, route, str(status)).inc()
        self._seconds.labels(method, route).observe(seconds)

    def routes(self) -> list[Route]:
        """The route of the metrics."""
        return [Route("/metrics", self.show)]

    async def show(self, request: Request) -> Response:
        """Everything that is counted, of all orgs together."""
        caller_of(request).require_store()
        shown = await run_sync(lambda: generate_latest(self._whole()), limiter=self._one)
        return Response(shown, media_type=None, headers={"Content-Type": CONTENT_TYPE_LATEST})

    def _whole(self) -> CollectorRegistry:
        """What this process counts, or all of them together."""
        if self._shared is None:
            return self.registry
        whole = CollectorRegistry()
        MultiProcessCollector(whole, self._shared.folder)
        whole.register(_Processes(self._shared.board))
        return whole


class _Processes(Collector):
    """How many processes there are, and how they do."""

    def __init__(self, board: Board) -> None:
        self._board = board

    def collect(self) -> Iterator[Metric]:
        """The metrics of now."""
        slots = self._board.slots()
        answering = [slot for slot in slots if slot.doing is Doing.ANSWERING]
        for name, told, value in (
            ("mnemic_processes_wanted", "Processes that should answer", len(slots)),
            ("mnemic_processes_answering", "Processes that answer", len(answering)),
            ("mnemic_http_connections", "Connections that are open", sum(slot.connections for slot in answering)),
        ):
            yield GaugeMetricFamily(name, told, value=value)
        deaths = sum(slot.deaths for slot in slots)
        yield CounterMetricFamily("mnemic_processes_died", "Processes that ended unasked", value=deaths)
