"""Traces: what each verb tells of itself, that no text is among it, and what goes over the wire, and when."""

from __future__ import annotations

import threading
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, HTTPServer
from itertools import pairwise
from typing import cast

import pytest
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from mnemic.adapters.llms.registry import ScriptedLlm
from mnemic.adapters.observers.counters import CounterObserver, SeveralObservers
from mnemic.adapters.observers.opentelemetry import OpenTelemetryObserver, sending_to
from mnemic.api import Mnemic
from mnemic.build import build
from mnemic.config import Config, load_config
from mnemic.engine.engine import Traced
from mnemic.errors import BackendError, ConfigError
from mnemic.evaluation.embedders import SyntheticEmbedder
from mnemic.model.chat import Prompt, PromptMessage
from mnemic.model.item import Role
from mnemic.model.scope import Scope
from mnemic.ports.models import Vectors

CANARY = "zinnoberkanarie"
SCOPE = Scope(user=f"{CANARY}-user", agent=f"{CANARY}-agent", session=f"{CANARY}-session")
PROMPT = Prompt(messages=(PromptMessage(Role.USER, f"tell me of the {CANARY}"),))


class Traces:
    """Spans that have ended, in memory, beside counts."""

    def __init__(self) -> None:
        self.exporter = InMemorySpanExporter()
        self.counter = CounterObserver()
        traced = OpenTelemetryObserver(SimpleSpanProcessor(self.exporter))
        self.observer = SeveralObservers([self.counter, traced])

    def named(self, name: str) -> ReadableSpan:
        return next(span for span in self.exporter.get_finished_spans() if span.name == name)

    def parts_of(self, name: str) -> list[str]:
        own = self.named(name).context
        assert own is not None
        spans = self.exporter.get_finished_spans()
        return [span.name for span in spans if span.parent is not None and span.parent.span_id == own.span_id]


@pytest.fixture
def traces() -> Traces:
    return Traces()


@pytest.fixture
def mnemic(traces: Traces) -> Generator[Mnemic]:
    parts = build(Config(store="memory://", embedder="none"))
    llm = Traced(ScriptedLlm(lambda _: f"a {CANARY} sings"), traces.observer)
    with Mnemic(replace(parts, embedder=SyntheticEmbedder(), observer=traces.observer, llm=llm)) as opened:
        yield opened


def used(mnemic: Mnemic) -> None:
    """A little of everything, with the canary in every text and every id."""
    mnemic.remember(SCOPE, f"User keeps a {CANARY}", categories=[CANARY], metadata={CANARY: CANARY})
    mnemic.capture(SCOPE, user=f"My {CANARY} sings in the morning", assistant=f"What a {CANARY}!")
    mnemic.ingest(SCOPE, f"# The {CANARY}\n\nEverything about the {CANARY}.".encode(), name=f"{CANARY}.md")
    mnemic.recall(SCOPE, f"where is my {CANARY}?")
    mnemic.context(SCOPE, f"what does the {CANARY} do?")
    mnemic.work()


@pytest.mark.requirement("P-18")
def test_a_recall_tells_its_size_and_its_steps(mnemic: Mnemic, traces: Traces):
    mnemic.remember(SCOPE, "User keeps bees")
    mnemic.recall(SCOPE, "what does the user keep?")
    told = dict(traces.named("mnemic.recall").attributes or {})
    assert told == {"mnemic.question_chars": 24, "mnemic.hits": 1, "mnemic.degraded": ()}
    assert traces.parts_of("mnemic.recall") == ["mnemic.recall.embed", "mnemic.recall.search", "mnemic.recall.read"]
    steps = [traces.named(name) for name in traces.parts_of("mnemic.recall")]
    assert all(after.start_time == step.end_time for step, after in pairwise(steps))


@pytest.mark.requirement("P-18")
def test_a_context_has_a_span_for_each_source(mnemic: Mnemic, traces: Traces):
    used(mnemic)
    sources = {
        "mnemic.context.embed",
        *(f"mnemic.context.{s}" for s in ("history", "profile", "recall", "documents", "due")),
    }
    assert set(traces.parts_of("mnemic.context")) == sources
    told = traces.named("mnemic.context").attributes or {}
    assert "documents" in cast("tuple[str, ...]", told["mnemic.blocks"])
    assert cast("int", told["mnemic.tokens"]) > 0


@pytest.mark.requirement("P-18")
def test_sources_that_run_side_by_side_are_parts_of_their_context(traces: Traces):
    class Remote(SyntheticEmbedder):
        capabilities = replace(SyntheticEmbedder.capabilities, is_blocking=True)

    parts = replace(build(Config(store="memory://", embedder="none")), embedder=Remote(), observer=traces.observer)
    with Mnemic(parts) as mnemic:
        mnemic.context(SCOPE, "what is there?")
    assert "mnemic.context.recall" in traces.parts_of("mnemic.context")


@pytest.mark.requirement("P-18")
def test_capture_ingest_and_jobs_tell_how_much_they_did(mnemic: Mnemic, traces: Traces):
    used(mnemic)
    assert (traces.named("mnemic.capture").attributes or {})["mnemic.messages"] == 2
    assert (traces.named("mnemic.ingest").attributes or {})["mnemic.chunks"] == 1
    assert "mnemic.kind" in (traces.named("mnemic.job").attributes or {})
    assert traces.counter.counts["mnemic.capture.messages", ()] == 2  # the other observer is told as before


@pytest.mark.requirement("P-18")
def test_calls_of_a_model_are_spans_whole_and_streamed(traces: Traces):
    llm = Traced(ScriptedLlm(lambda _: f"the {CANARY} sings"), traces.observer)
    llm.complete(PROMPT)
    assert "".join(piece.text for piece in llm.stream(PROMPT)) == f"the {CANARY} sings"
    whole, streamed = traces.exporter.get_finished_spans()
    assert (whole.attributes or {})["mnemic.prompt_chars"] == len(PROMPT.messages[0].content)
    assert (streamed.attributes or {})["mnemic.is_streamed"] is True


@pytest.mark.requirement("P-18")
def test_a_stream_that_is_left_early_ends_its_span_without_an_error(traces: Traces):
    stream = Traced(ScriptedLlm(lambda _: "one two three"), traces.observer).stream(PROMPT)
    next(stream)
    with traces.observer.span("mnemic.recall"):
        pass
    stream.close()
    assert traces.named("mnemic.recall").parent is None
    assert "error.type" not in (traces.named("mnemic.llm").attributes or {})


@pytest.mark.requirement("P-18")
def test_no_span_holds_a_text_an_id_a_path_or_the_words_of_an_error(mnemic: Mnemic, traces: Traces):
    used(mnemic)
    llm = Traced(ScriptedLlm(lambda _: BackendError(f"the {CANARY} broke it")), traces.observer)
    with suppress(BackendError):
        llm.complete(PROMPT)
    spans = traces.exporter.get_finished_spans()
    assert {"mnemic.remember", "mnemic.capture", "mnemic.ingest", "mnemic.recall", "mnemic.context", "mnemic.llm"} <= {
        span.name for span in spans
    }
    assert [span.name for span in spans if CANARY in span.to_json()] == []


@pytest.mark.requirement("P-18")
def test_what_fails_is_told_by_its_type(traces: Traces):
    llm = Traced(ScriptedLlm(lambda _: BackendError("broken")), traces.observer)
    with pytest.raises(BackendError):
        llm.complete(PROMPT)
    span = traces.named("mnemic.llm")
    assert (span.attributes or {})["error.type"] == "BackendError"
    assert not span.status.is_ok
    assert not span.events


@pytest.mark.requirement("P-18")
def test_a_source_that_is_missing_is_named(traces: Traces):
    class Down(SyntheticEmbedder):
        def embed_queries(self, texts: object) -> Vectors:
            raise BackendError(f"no {texts}")

    parts = replace(build(Config(store="memory://", embedder="none")), embedder=Down(), observer=traces.observer)
    with Mnemic(parts) as mnemic:
        mnemic.recall(SCOPE, "what is there?")
    assert (traces.named("mnemic.recall").attributes or {})["mnemic.degraded"] == ("dense",)


@pytest.mark.requirement("P-18")
def test_traces_are_off_unless_an_address_is_said():
    assert load_config(environment={}).traces == "off"
    parts = build(Config(store="memory://", embedder="none"))
    assert isinstance(parts.observer, CounterObserver)
    with pytest.raises(ConfigError, match=r"observability\.traces"):
        load_config(environment={"MNEMIC_OBSERVABILITY_TRACES": "on"})


def test_an_address_without_a_host_is_refused():
    with pytest.raises(ConfigError, match=r"127\.0\.0\.1:4318"):
        sending_to("http:///v1/traces")


@pytest.mark.requirement("P-18")
def test_with_an_address_spans_are_sent_there_when_the_memory_is_closed():
    with collector() as (address, received):
        with Mnemic.open(Config(store="memory://", embedder="none", traces=address)) as mnemic:
            mnemic.recall(SCOPE, f"where is my {CANARY}?")
        paths = [path for path, _ in received]
    assert paths == ["/v1/traces"]
    assert b"mnemic.recall.search" in received[0][1]
    assert CANARY.encode() not in received[0][1]


@contextmanager
def collector() -> Generator[tuple[str, list[tuple[str, bytes]]]]:
    """A collector on this machine: its address, and the paths and bodies that it is sent."""
    received: list[tuple[str, bytes]] = []

    class Taking(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            received.append((self.path, self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(200)
            self.send_header("Content-Type", "application/x-protobuf")
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            """Nothing: the test looks at what was received."""

    with HTTPServer(("127.0.0.1", 0), Taking) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}", received
        finally:
            server.shutdown()
            thread.join()
