"""MCP with the official client: over stdio against the real process, and over HTTP against the real server."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import sys
import threading
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

import httpx2
import pytest
import uvicorn
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

from mnemic import Mnemic, Scope, tool
from mnemic.mcp.app import door
from mnemic.model.records import Right
from mnemic.model.scope import find_login_name
from mnemic.verbs import DEFAULT_TOOLS
from mnemic.web.doors import application
from mnemic.web.gate import Gate
from mnemic.web.limits import Limits
from mnemic.web.monitoring import Health, Metrics
from tests.doors.doors import run as command

ANA = Scope(user="ana")
BOB = Scope(user="bob")
Connect = Callable[..., Any]


def said(result: Any) -> str:
    return "\n".join(part.text for part in result.content)


def stdio(store: Path, *arguments: str) -> Client:
    program = str(Path(sys.executable).with_name("mnemic"))
    environment = {**os.environ, "MNEMIC_STORE": str(store), "MNEMIC_EMBEDDER": "none"}
    return Client(StdioServerParameters(command=program, args=["mcp", *arguments], env=environment))


def run(test: Callable[[], Awaitable[None]]) -> None:
    asyncio.run(cast("Any", test()))


@pytest.mark.requirement("P-24")
def test_over_stdio_a_client_remembers_recalls_corrects_and_forgets(home: Path):
    async def test() -> None:
        async with stdio(home / "memory.db", "--user", "ana", "--no-worker", "--tools", "all") as client:
            tools: dict[str, Any] = {each.name: each for each in (await client.list_tools()).tools}
            assert {"remember", "recall", "forget", "context", "capture", "update_memory", "calculator"} <= set(tools)
            assert all(each.title and each.annotations for each in tools.values())
            assert tools["recall"].input_schema["required"] == ["query"]
            assert tools["recall"].annotations.read_only_hint
            assert not tools["forget"].annotations.read_only_hint
            told = said(await client.call_tool("remember", {"text": "Ana has a cat named Miso"}))
            memory_id = told.removeprefix("kept as ")
            assert "a cat named Miso" in said(await client.call_tool("recall", {"query": "cat"}))
            fixed = {"id": memory_id, "text": "Ana has a cat named Nori", "reason": "a slip"}
            assert "Nori" in said(await client.call_tool("update_memory", fixed))
            assert "a slip" in said(await client.call_tool("get_memory", {"id": memory_id}))
            assert "Nori" in said(await client.call_tool("list_memories", {"limit": 3}))
            assert "stored as turn 1" in said(
                await client.call_tool("capture", {"user": "I moved to Lisbon", "assistant": "How is it?"})
            )
            context = said(await client.call_tool("context", {"query": "Where did I move? And my cat?"}))
            assert "Nori" in context
            assert 'user: "I moved to Lisbon"' in context
            assert "deleted" in said(await client.call_tool("forget", {"id": memory_id}))
            assert said(await client.call_tool("calculator", {"expression": "2847*391"})).endswith("1,113,177")
            wrong = await client.call_tool("recall", {"limit": 5})
            assert (wrong.is_error, "'query' is missing" in said(wrong)) == (True, True)

    run(test)
    with Mnemic.open(home / "memory.db") as mnemic:
        assert "Lisbon" in mnemic.recall(ANA, "Lisbon").hits[0].text


@pytest.mark.requirement("P-24")
def test_a_client_gets_six_tools_unless_others_are_chosen(home: Path):
    async def names(*arguments: str) -> set[str]:
        async with stdio(home / "memory.db", "--user", "ana", "--no-worker", *arguments) as client:
            with pytest.raises(MCPError, match="no tool 'capture'"):
                await client.call_tool("capture", {"user": "I moved to Lisbon"})
            return {each.name for each in (await client.list_tools()).tools}

    async def test() -> None:
        assert await names() == set(DEFAULT_TOOLS.split(","))
        assert await names("--tools", "recall, clock") == {"recall", "clock"}

    run(test)


def test_a_tool_that_is_unknown_is_refused_at_the_start():
    code, _, err = command(["--user", "ana", "--store", "memory://", "--no-worker", "--tools", "nothing"], ["mcp"])
    assert (code, "unknown tool 'nothing'" in err) == (2, True)


def test_over_stdio_there_are_resources_and_prompts(home: Path):
    with Mnemic.open(home / "memory.db") as mnemic:
        mnemic.profile.set(ANA, {"home": "Lyon"})

    async def test() -> None:
        async with stdio(home / "memory.db", "--user", "ana", "--no-worker") as client:
            assert [each.uri for each in (await client.list_resources()).resources] == [
                "mnemic://profile",
                "mnemic://documents",
            ]
            profile = await client.read_resource("mnemic://profile")
            assert "home: Lyon" in cast("Any", profile.contents[0]).text
            documents = await client.read_resource("mnemic://documents")
            assert json.loads(cast("Any", documents.contents[0]).text) == []
            with pytest.raises(MCPError, match="document"):
                await client.read_resource("mnemic://documents/nothing")
            assert [each.name for each in (await client.list_prompts()).prompts] == ["with-memory", "keep-what-matters"]
            asked = await client.get_prompt("with-memory", {"question": "Where do I live?"})
            assert "home: Lyon" in cast("Any", asked.messages[0].content).text
            with pytest.raises(MCPError, match="question"):
                await client.get_prompt("with-memory", {})

    run(test)


class Server:
    """A memory and the door of MCP before it, on a port of this machine."""

    def __init__(self, store: Path) -> None:
        self.mnemic = Mnemic.open(store)
        self.mnemic.tools.add(shout)
        self.gate = Gate(self.mnemic, limits=Limits(rate_per_s=0))
        app = application([door(self.mnemic, self.gate)], self.gate, Health(self.mnemic), Metrics())
        self._listening = socket.create_server(("127.0.0.1", 0))
        self._server = uvicorn.Server(uvicorn.Config(app, log_config=None, lifespan="on"))
        self._thread = threading.Thread(target=self._server.run, kwargs={"sockets": [self._listening]})
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._listening.getsockname()[1]}/mcp"

    @asynccontextmanager
    async def client(self, token: str | None = None, at: str = "?tools=all", **headers: str) -> AsyncGenerator[Client]:
        shown = {"Authorization": f"Bearer {token}"} if token else {}
        async with (
            httpx2.AsyncClient(headers={**shown, **headers}) as http,
            Client(streamable_http_client(self.url + at, http_client=http)) as client,
        ):
            yield client

    def close(self) -> None:
        self._server.should_exit = True
        self._thread.join()
        self._listening.close()
        self.gate.close()
        self.mnemic.close()


@tool
def shout(text: str) -> str:
    """Says it loudly.

    Args:
        text: What to say.
    """
    return text.upper()


@pytest.fixture
def server(home: Path) -> Generator[Server]:
    running = Server(home / "memory.db")
    yield running
    running.close()


@pytest.mark.requirement("P-24")
def test_over_http_the_scope_is_that_of_headers_or_query_and_the_registry_is_served(server: Server):
    async def test() -> None:
        async with server.client(**{"Mnemic-User": "ana"}) as client:
            await client.call_tool("remember", {"text": "Ana has a cat named Miso"})
            assert said(await client.call_tool("shout", {"text": "meow"})) == "MEOW"
        async with server.client(**{"Mnemic-User": "bob"}) as client:
            assert "Miso" not in said(await client.call_tool("recall", {"query": "cat named Miso"}))

    run(test)
    assert [memory.text for memory in server.mnemic.list(ANA).memories] == ["Ana has a cat named Miso"]


@pytest.mark.requirement("P-17")
def test_over_http_a_key_bounds_the_scope_and_the_rights(server: Server):
    own = Scope(org="acme", user="ana")
    reader = server.mnemic.keys.create(own, rights=[Right.READ]).token
    writer = server.mnemic.keys.create(own, rights=[Right.READ, Right.WRITE]).token
    server.mnemic.remember(ANA, "Another org knows Miso")

    async def test() -> None:
        async with server.client(writer) as client:
            assert not (await client.call_tool("remember", {"text": "Ana lives in Lyon"})).is_error
            assert "Miso" not in said(await client.call_tool("recall", {"query": "Miso"}))
        async with server.client(reader) as client:
            assert "Lyon" in said(await client.call_tool("recall", {"query": "Where does Ana live?"}))
            with pytest.raises(MCPError, match="'write' right"):
                await client.call_tool("remember", {"text": "Ana lives in Bonn"})
        async with server.client(reader, **{"Mnemic-User": "bob"}) as client:
            with pytest.raises(MCPError, match="restricted to another user"):
                await client.call_tool("recall", {"query": "Where does Ana live?"})

    run(test)
    answer = httpx2.post(server.url, json={}, headers={"Accept": "application/json, text/event-stream"})
    assert answer.status_code == 401
    assert [memory.text for memory in server.mnemic.list(own).memories] == ["Ana lives in Lyon"]


def test_over_http_without_a_user_a_local_request_is_the_login_names_and_a_key_needs_one(server: Server):
    async def test() -> None:
        async with server.client(at="/") as client:
            assert {each.name for each in (await client.list_tools()).tools} == set(DEFAULT_TOOLS.split(","))
            assert not (await client.call_tool("remember", {"text": "The boat is blue"})).is_error
            for ask in (client.list_tools, client.list_resources, client.list_resource_templates, client.list_prompts):
                with pytest.raises(MCPError, match="unknown cursor"):
                    await ask(cursor="further")
        token = server.mnemic.keys.create(Scope()).token
        async with server.client(token) as client:
            with pytest.raises(MCPError, match="add the header Mnemic-User"):
                await client.call_tool("recall", {"query": "boat"})

    run(test)
    mine = server.mnemic.list(Scope(user=find_login_name())).memories
    assert [memory.text for memory in mine] == ["The boat is blue"]


def test_a_page_of_another_site_reaches_nothing(server: Server):
    headers = {"Origin": "https://evil.example", "Accept": "application/json, text/event-stream"}
    assert httpx2.post(server.url, json={}, headers=headers).status_code == 403
