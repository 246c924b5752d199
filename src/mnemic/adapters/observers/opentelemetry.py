"""OpenTelemetry traces of recalls, contexts, captures, ingests and model calls. Spans hold names, sizes, counts and
error types, never texts, paths or ids, and go to the configured address only. They nest in the caller's own spans.
"""

import time
from collections.abc import Mapping
from contextlib import AbstractContextManager
from types import TracebackType
from urllib.parse import urlsplit

from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import Status, StatusCode

from mnemic.errors import ConfigError
from mnemic.ports.observer import Attribute, Observer, Span

TRACES_PATH = "/v1/traces"
SEND_TIMEOUT_S = 5.0  # sent by a separate thread; if the collector is down, batches must not pile up
CLOSE_TIMEOUT_MS = 3000  # how long closing may wait for the last spans
_NS_PER_MS = 1_000_000  # spans count nanoseconds


class OpenTelemetryObserver(Observer):
    """The `Observer` port over its own tracer. Ignores counts and timings."""

    def __init__(self, processor: SpanProcessor) -> None:
        """`processor` receives every finished span."""
        self._provider = TracerProvider(resource=Resource.create({"service.name": "mnemic"}), shutdown_on_exit=False)
        self._provider.add_span_processor(processor)
        self._tracer = self._provider.get_tracer("mnemic")

    def count(self, name: str, value: int = 1, **tags: str) -> None:
        pass

    def timing(self, name: str, ms: float, **tags: str) -> None:
        pass

    def span(self, name: str, **attributes: Attribute) -> AbstractContextManager[Span]:
        opened = self._tracer.start_as_current_span(
            name, attributes=_name_attributes(attributes), record_exception=False, set_status_on_exception=False
        )
        return _Opened(self._tracer, opened, name)

    def close(self) -> None:
        self._provider.force_flush(CLOSE_TIMEOUT_MS)
        self._provider.shutdown()


def sending_to(address: str) -> OpenTelemetryObserver:
    """Sends batches of spans by OTLP over HTTP from a separate thread. `address`: the collector's URL, with or without
    the path. Raises `ConfigError` if it is invalid.
    """
    parts = urlsplit(address)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ConfigError(
            f"observability.traces must be off or an address such as http://127.0.0.1:4318, not {address!r}"
        )
    endpoint = address if parts.path.strip("/") else address.rstrip("/") + TRACES_PATH
    return OpenTelemetryObserver(BatchSpanProcessor(OTLPSpanExporter(endpoint=endpoint, timeout=SEND_TIMEOUT_S)))


class _Opened(AbstractContextManager[Span]):
    """A span that records the type of an error that leaves the block."""

    def __init__(self, tracer: trace.Tracer, opened: AbstractContextManager[trace.Span], name: str) -> None:
        self._tracer, self._opened, self._name = tracer, opened, name
        self._span: trace.Span = trace.INVALID_SPAN

    def __enter__(self) -> Span:
        self._span = self._opened.__enter__()
        return _TracedSpan(self._tracer, self._span, self._name)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace_back: TracebackType | None
    ) -> None:
        if kind is not None:
            self._span.set_attribute("error.type", kind.__name__)
            self._span.set_status(Status(StatusCode.ERROR))  # without a description: it might quote stored text
        self._opened.__exit__(kind, error, trace_back)


class _TracedSpan(Span):
    def __init__(self, tracer: trace.Tracer, span: trace.Span, name: str) -> None:
        self._tracer, self._span, self._name = tracer, span, name
        self._begun = time.time_ns()

    def note(self, **attributes: Attribute) -> None:
        self._span.set_attributes(_name_attributes(attributes))

    def steps(self, timings_ms: Mapping[str, float]) -> None:
        at, inside = self._begun, trace.set_span_in_context(self._span)
        for step, ms in timings_ms.items():
            made = self._tracer.start_span(f"{self._name}.{step}", context=inside, start_time=at)
            at += int(ms * _NS_PER_MS)
            made.end(end_time=at)


def _name_attributes(attributes: Mapping[str, Attribute]) -> dict[str, Attribute]:
    return {f"mnemic.{name}": value for name, value in attributes.items()}


_: type[Observer] = OpenTelemetryObserver
