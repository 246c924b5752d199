"""History names who asked, through every door over HTTP: the key, not the server."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from mnemic import AsyncMnemic, Scope
from mnemic.api.doors import acting, acting_as
from mnemic.config import load_config
from mnemic.mcp.app import door as mcp_door
from mnemic.model.recall import Page
from mnemic.model.records import IssuedKey, Right
from mnemic.rest.app import door as rest_door
from mnemic.testing.chat_server import ChatReply, ChatServer
from mnemic.web.doors import application
from mnemic.web.monitoring import Health, Metrics
from tests.doors.http_doors import LOCAL, Listening, Served
from tests.doors.test_cli_chat import tool_call
from tests.doors.test_proxy import Proxied, ask

ANA = Scope(user="ana")
NAMED = {"user": "ana"}
JSON_LINES = {"Accept": "application/x-ndjson"}


def speak(request: dict[str, Any]) -> str | ChatReply:
    asked = request["messages"][-1]
    if asked["role"] == "tool":
        return "I shall remember it."
    return tool_call("remember", json.dumps({"text": asked["content"]}), is_streamed=bool(request.get("stream")))


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    with ChatServer(speak) as model:
        options = {"base_url": model.url, "model": "m", "attempts": 1}
        config = replace(load_config(str(tmp_path / "memory.db")), embedder="none", llm="openai", llm_options=options)
        opened = Served(config)
        doors = [mcp_door(opened.mnemic, opened.gate), rest_door(opened.mnemic, opened.gate)]
        opened.app = application(doors, opened.gate, Health(opened.mnemic), Metrics())
        yield opened
        opened.close()


@pytest.fixture
def client(served: Served) -> Iterator[TestClient]:
    with TestClient(served.app, base_url=LOCAL) as opened:
        yield opened


def two_keys(served: Served) -> tuple[IssuedKey, IssuedKey]:
    first, second = (served.mnemic.keys.create(Scope(), rights=list(Right), name=name) for name in ("app", "admin"))
    return first, second


def by(key: IssuedKey, **more: str) -> dict[str, Any]:
    """What a request of this key about Ana is sent with."""
    return {"params": NAMED, "headers": {"Authorization": f"Bearer {key.token}", **more}}


def actors(served: Served, id: str) -> list[str]:
    return [entry.actor for entry in served.mnemic.history(ANA, id)]


def only(page: Page) -> str:
    (memory,) = page.memories
    return memory.id


def test_each_change_over_rest_names_the_key_that_asked_for_it(served: Served, client: TestClient):
    one, two = two_keys(served)
    kept = client.post("/v1/memories", json={"text": "Ana drinks tea"}, **by(one)).json()["id"]
    client.patch(f"/v1/memories/{kept}", json={"text": "Ana drinks coffee"}, **by(two))
    client.post(f"/v1/memories/{kept}/undo", **by(one))
    client.delete(f"/v1/memories/{kept}", **by(two))
    told = [f"key:{key.key.id}" for key in (one, two, one, two)]
    assert actors(served, kept) == told
    assert [entry["actor"] for entry in client.get(f"/v1/memories/{kept}/history", **by(one)).json()] == told
    served.gate.audit.flush()
    page = served.mnemic.keys.audit(Scope())
    assert [entry.actor for entry in page.entries[:4]] == told[::-1]


def test_a_profile_and_a_key_that_was_made_name_the_key_too(served: Served, client: TestClient):
    one, two = two_keys(served)
    entries = client.patch("/v1/profile", json={"facts": {"diet": "vegan"}}, **by(two)).json()
    assert [entry["source"] for entry in entries] == [f"key:{two.key.id}"]
    client.post("/v1/keys", json={"name": "third"}, **by(one))
    made = [entry for entry in served.mnemic.keys.audit(Scope()).entries if entry.verb == "keys.create"]
    assert [entry.actor for entry in made] == [f"key:{one.key.id}", "library", "library"]


def test_work_that_tells_its_progress_from_a_thread_of_its_own_names_the_key(served: Served, client: TestClient):
    one, _ = two_keys(served)
    files = {"file": ("notes.md", b"# Tea\n\nSmoked tea comes from Fujian.\n")}
    told = client.post("/v1/documents", files=files, **by(one, **JSON_LINES)).text.splitlines()
    assert json.loads(told[-1])["event"] == "done"
    (document,) = served.mnemic.documents.list(ANA).documents
    assert actors(served, document.id) == [f"key:{one.key.id}"]


@pytest.mark.parametrize("path", ["/v1/chat", "/v1/chat/stream"])
def test_what_a_model_keeps_by_a_tool_names_the_key_whose_chat_it_was(served: Served, client: TestClient, path: str):
    _, two = two_keys(served)
    answer = client.post(path, json={"message": "Ana keeps bees"}, **by(two))
    assert "I shall remember it." in answer.text
    assert actors(served, only(served.mnemic.list(ANA))) == [f"key:{two.key.id}"]


def test_a_tool_that_is_called_over_rest_names_the_key_and_from_the_library_the_tool(
    served: Served, client: TestClient
):
    one, _ = two_keys(served)
    client.post("/v1/tools/remember/call", json={"arguments": {"text": "Ana keeps bees"}}, **by(one))
    assert actors(served, only(served.mnemic.list(ANA))) == [f"key:{one.key.id}"]
    served.mnemic.tools.call(Scope(user="bo"), "remember", {"text": "Bo sails"})
    (entry,) = served.mnemic.history(Scope(user="bo"), only(served.mnemic.list(Scope(user="bo"))))
    assert entry.actor == "tool"


def test_over_mcp_each_tool_names_the_key_that_called_it(served: Served, client: TestClient):
    one, two = two_keys(served)

    def call(key: IssuedKey, name: str, **arguments: object) -> Any:
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name, "arguments": arguments}}
        answer = client.post("/mcp", json=body, **by(key, Accept="application/json, text/event-stream"))
        assert not answer.json()["result"].get("isError"), answer.text
        return answer

    call(one, "remember", text="Ana drinks tea")
    kept = only(served.mnemic.list(ANA))
    call(two, "update_memory", id=kept, text="Ana drinks coffee")
    assert actors(served, kept) == [f"key:{one.key.id}", f"key:{two.key.id}"]


def test_the_proxy_works_on_behalf_of_the_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    seen: list[str | None] = []
    with ChatServer(lambda _: "As you told me.") as upstream:
        proxied = Proxied(upstream.url, tmp_path / "memory.db")
        capture = proxied.mnemic.capture

        def noting(*given: Any, **named: Any) -> Any:
            seen.append(acting())
            return capture(*given, **named)

        monkeypatch.setattr(proxied.mnemic, "capture", noting)
        key = proxied.mnemic.keys.create(ANA)
        ask(proxied.client(key.token), "I keep bees")
        proxied.close()
    assert seen == [f"key:{key.key.id}"] * 2


def test_what_jobs_do_names_the_job_whoever_asked_for_the_work(tmp_path: Path):
    served = Served(str(tmp_path / "memory.db"))
    one, _ = two_keys(served)
    said = {"user": "I live in Lisbon and I am allergic to nuts.", "assistant": "Noted."}
    with TestClient(served.app, base_url=LOCAL) as client:
        client.post("/v1/messages", json=said, **by(one))
        client.post("/v1/work", json={}, **by(one))
    made = served.mnemic.list(ANA).memories
    assert made
    assert {actor for memory in made for actor in actors(served, memory.id)} == {"extract"}
    served.close()


def test_without_a_key_it_was_somebody_on_this_machine(served: Served, client: TestClient):
    kept = client.post("/v1/memories", params=NAMED, json={"text": "Ana drinks tea"}).json()["id"]
    assert actors(served, kept) == ["local"]


def test_callers_at_the_same_time_are_not_mistaken_for_each_other(served: Served):
    keys = two_keys(served)
    listening = Listening(served.app)

    async def write() -> None:
        import httpx2

        async with httpx2.AsyncClient(base_url=listening.url) as http:
            sent = [http.post("/v1/memories", json={"text": f"note {n}"}, **by(keys[n % 2])) for n in range(12)]
            for n, answer in enumerate(await asyncio.gather(*sent)):
                assert actors(served, answer.json()["id"]) == [f"key:{keys[n % 2].key.id}"]

    asyncio.run(write())
    listening.close()


def test_a_program_that_serves_several_people_can_name_them_with_asyncio_too(tmp_path: Path):
    async def write() -> tuple[str, str]:
        async with await AsyncMnemic.open(tmp_path / "memory.db", actor="bot") as memory:
            with acting_as("anna"):
                hers = await memory.remember(ANA, "Ana drinks tea")
            own = await memory.remember(ANA, "Ana drinks coffee")
            return (await memory.history(ANA, hers.id))[0].actor, (await memory.history(ANA, own.id))[0].actor

    assert asyncio.run(write()) == ("anna", "bot")
