"""Metrics of the doors and the engine, in the format of Prometheus at `/metrics`; see docs/reference/metrics.md."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from mnemic.web.gate import caller_of

BUCKETS_S = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)


class Metrics:
    """Counts what the doors answer, in a registry that may hold more."""

    def __init__(self, registry: CollectorRegistry | None = None) -> None:
        self.registry = registry or CollectorRegistry()
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
        self._in_flight = Gauge("mnemic_http_in_flight", "Requests being answered", registry=self.registry)

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
        return Response(generate_latest(self.registry), media_type=None, headers={"Content-Type": CONTENT_TYPE_LATEST})
