"""What HTTP adds to the verbs: events, overload, probes, request ids, limits."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from starlette.testclient import TestClient
from starlette.types import Receive, Send
from starlette.types import Scope as AsgiScope

from mnemic import Scope
from mnemic.errors import BackendError, InvalidInputError, TimedOutError, UnavailableError
from mnemic.model.item import Chunk
from mnemic.remote import connect
from mnemic.web.limits import Bound, Buckets
from mnemic.web.monitoring import JsonLines
from mnemic.web.problems import ProblemError, problem_of
from tests.doors.http_doors import LOCAL, Listening, Served

ANA = Scope(user="ana")
NAMED = {"user": "ana"}


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    opened = Served(str(tmp_path / "memory.db"))
    yield opened
    opened.close()


@pytest.fixture
def client(served: Served) -> Iterator[TestClient]:
    with TestClient(served.app, base_url=LOCAL) as opened:
        yield opened


def test_an_import_tells_how_far_it_has_come(client: TestClient):
    lines = [json.dumps({"role": "user", "content": f"note {n}", "session": "s"}) for n in range(3)]
    headers = {"Content-Type": "text/plain", "Accept": "application/x-ndjson"}
    answer = client.post("/v1/import", params=NAMED, content="\n".join(lines).encode(), headers=headers)
    events = [json.loads(line) for line in answer.text.splitlines()]
    assert answer.headers["content-type"].startswith("application/x-ndjson")
    assert {event["event"] for event in events[:-1]} == {"progress"}
    assert (events[-1]["event"], events[-1]["report"]["added"]) == ("done", {"message": 3})
    failed = client.post("/v1/import", params=NAMED, content=b"hello", headers=headers)
    assert json.loads(failed.text)["problem"]["status"] == 422


@pytest.mark.requirement("J-58", "P-33", "P-35")
def test_a_document_is_sent_listed_read_and_deleted_with_progress(served: Served, tmp_path: Path):
    listening = Listening(served.app)
    notes = tmp_path / "notes.md"
    notes.write_text("# Tea\n\nSmoked tea comes from Fujian.\n", encoding="utf-8")
    told: list[tuple[int, int]] = []

    def tell(done: int, total: int, source: str) -> None:
        assert source in {"", str(notes)}
        told.append((done, total))

    with connect(listening.url) as remote:
        report = remote.ingest(ANA, notes, progress=tell)
        assert (report.counts, told[-1]) == ({"added": 1}, (1, 1))
        (document,) = remote.documents.list(ANA).documents
        assert (document.source, document.status.value) == (str(notes), "ready")
        assert remote.documents.get(ANA, str(notes)) == document
        assert "Fujian" in remote.documents.text(ANA, document.id)
        assert remote.documents.passages(ANA, str(notes))[0].document_id == document.id
        item = remote.recall(ANA, "where does smoked tea come from?").hits[0].item
        assert isinstance(item, Chunk)
        assert item.document_id == document.id
        assert remote.ingest(ANA, notes).counts == {"unchanged": 1}
        assert remote.documents.delete(ANA, document.id).counts["documents"] == 1
        with pytest.raises(InvalidInputError):
            remote.ingest(ANA, tmp_path / "nothing.md")
    listening.close()


@pytest.mark.requirement("J-05")
def test_more_than_a_door_takes_at_once_is_refused_before_work_begins():
    inside, leave, calls = threading.Event(), threading.Event(), list[int]()

    async def app(_scope: AsgiScope, _receive: Receive, send: Send) -> None:
        calls.append(1)
        inside.set()
        await anyio.to_thread.run_sync(leave.wait)
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    async def ask_two() -> None:
        bound = Bound(app, 1)
        sent: list[Any] = []

        async def send(message: Any) -> None:
            sent.append(message)

        async def receive() -> Any:
            return {"type": "http.request"}

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(bound, {"type": "http"}, receive, send)
            await anyio.to_thread.run_sync(inside.wait)
            with pytest.raises(ProblemError) as refused:
                await bound({"type": "http"}, receive, send)
            assert (refused.value.problem.status, refused.value.problem.headers) == (503, {"Retry-After": "1"})
            leave.set()
        assert bound.in_flight == 0

    anyio.run(ask_two)
    assert len(calls) == 1


@pytest.mark.requirement("P-20")
def test_a_store_that_fails_is_told_by_ready_and_by_every_verb_with_a_reason(served: Served, client: TestClient):
    served.mnemic.close()
    ready = client.get("/health/ready")
    assert (ready.status_code, ready.json()["condition"]) == (503, "broken")
    assert "closed" in ready.json()["findings"][0]["message"]
    assert client.get("/health/live").status_code == 200
    answer = client.get("/v1/memories", params=NAMED)
    assert (answer.status_code, answer.json()["type"]) == (503, "urn:mnemic:problem:unavailable")
    assert answer.headers["retry-after"] == "1"


@pytest.mark.parametrize("method, path, status", [("GET", "/v1/nothing", 404), ("PUT", "/v1/recall", 405)])
def test_what_the_framework_refuses_is_told_in_words(client: TestClient, method: str, path: str, status: int):
    answer = client.request(method, path)
    assert answer.status_code == status
    assert answer.json()["detail"]
    assert answer.json()["hint"]


def test_what_nobody_foresaw_is_told_without_details_and_logged_without_texts(
    served: Served, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("the secret recipe")

    monkeypatch.setattr(served.mnemic, "list", broken)
    client = TestClient(served.app, base_url=LOCAL, raise_server_exceptions=False)
    with caplog.at_level(logging.INFO, logger="mnemic.web"):
        answer = client.get("/v1/memories", params=NAMED, headers={"X-Request-ID": "r-1"})
    assert (answer.status_code, answer.json()["detail"], answer.headers["x-request-id"]) == (500, "", "r-1")
    lines = [json.loads(JsonLines().format(record)) for record in caplog.records]
    assert [line["request_id"] for line in lines] == ["r-1", "r-1"]
    assert lines[0]["message"] == "unexpected RuntimeError"
    assert "recipe" not in json.dumps(lines)


def test_a_request_id_that_could_forge_a_log_is_replaced(client: TestClient):
    assert client.get("/health/live", headers={"X-Request-ID": 'x" y'}).headers["x-request-id"].isalnum()


def test_a_bucket_fills_with_time_and_names_do_not_share_it():
    now = [0.0]
    buckets = Buckets(2.0, 2, clock=lambda: now[0])
    buckets.check("a")
    buckets.check("a")
    with pytest.raises(ProblemError) as refused:
        buckets.check("a")
    assert refused.value.problem.headers["Retry-After"] == "1"
    buckets.check("b")
    now[0] = 0.5
    buckets.check("a")
    Buckets(0.0, 1).check("never limited")


def test_a_server_that_is_not_there_is_told_as_the_library_would():
    with connect("http://127.0.0.1:9", timeout_s=2) as remote, pytest.raises(UnavailableError, match="mnemic serve"):
        remote.list(ANA)


def test_problems_of_other_parts_are_told_with_a_hint_and_without_blame():
    told = problem_of(TimedOutError("the model took 15 s"))
    assert (told.status, told.detail, told.headers) == (503, "the model took 15 s", {"Retry-After": "1"})
    assert problem_of(BackendError("x")).status == 503
    assert problem_of(ValueError("a text of somebody")).detail == ""


def test_an_error_says_which_methods_a_path_has_and_what_to_do_instead(client: TestClient):
    read = {"GET", "HEAD"}
    for path, methods in (
        ("/v1/memories/a", {"GET", "PATCH", "DELETE"}),
        ("/v1/keys", {"GET", "POST"}),
        ("/health/live", read),
        ("/health/ready", read),
        ("/metrics", read),
    ):
        refused = client.put(path, params=NAMED)
        assert (refused.status_code, set(refused.headers["allow"].split(", "))) == (405, methods)
        assert refused.json()["detail"]
    refused = client.post("/v1/backup", params={"is_sealed": "true"})
    assert (refused.status_code, "set backup.keyring" in refused.json()["detail"]) == (422, True)
    assert client.get("/v1/nothing").json()["detail"]


@pytest.mark.parametrize("body", [b'{"text": "a", "text": "b"}', b'{"text": "a", "metadata": {"x": 1, "x": 2}}'])
def test_a_body_that_repeats_a_key_is_refused_before_anything_is_done(client: TestClient, body: bytes):
    answer = client.post("/v1/memories", params=NAMED, content=body, headers={"Content-Type": "application/json"})
    assert (answer.status_code, "appears more than once" in answer.json()["detail"]) == (400, True)
    assert client.get("/v1/memories", params=NAMED).json()["memories"] == []
