"""The assistant over REST and the remote client: streams and their ends, rights, and a server without a model."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Generator, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx2
import pytest

from mnemic.config import load_config
from mnemic.errors import BackendError, ConfigError, ForbiddenError, UnsupportedError
from mnemic.model.chat import Replied, Said
from mnemic.model.item import Message, Role
from mnemic.model.records import Right
from mnemic.model.scope import Level, Scope
from mnemic.remote import RemoteMnemic, connect, connect_async
from mnemic.testing.chat_server import EVENTS, ChatReply, ChatServer, Ending, event
from tests.doors.http_doors import Listening, Served
from tests.doors.test_cli_chat import tool_call

ANA = Scope(user="ana", session="s1")
WAIT_S = 10.0


def speak(request: dict[str, Any]) -> str | ChatReply:
    asked = request["messages"][-1]
    if asked["role"] == "tool":
        return f"The tool said: {asked['content']}"
    if "forget" in asked["content"] and any(each["function"]["name"] == "forget" for each in request.get("tools", [])):
        return tool_call("forget", json.dumps({"id": asked["content"].split()[-1]}), is_streamed=False)
    if "forever" in asked["content"]:
        return ChatReply(body=event("Once upon a time"), type=EVENTS, ending=Ending.TALK)
    if "broken" in asked["content"]:
        return ChatReply(body=event("Once upon"), type=EVENTS, ending=Ending.BREAK)
    return "As you said."


@pytest.fixture
def model() -> Iterator[ChatServer]:
    with ChatServer(speak) as server:
        yield server


@pytest.fixture
def served(model: ChatServer, tmp_path: Path) -> Iterator[Served]:
    options = {"base_url": model.url, "model": "m", "attempts": 1}
    opened = Served(replace(load_config(str(tmp_path / "memory.db")), llm="openai", llm_options=options))
    yield opened
    opened.close()


@pytest.fixture
def listening(served: Served) -> Iterator[Listening]:
    running = Listening(served.app)
    yield running
    running.close()


@pytest.fixture
def remote(served: Served, listening: Listening) -> Iterator[RemoteMnemic]:
    with connect(listening.url, served.token("default")) as opened:
        yield opened


def answer_kept(served: Served) -> Message:
    """The assistant's side of the conversation, as soon as it is there."""
    end = time.monotonic() + WAIT_S
    while time.monotonic() < end:
        for message in served.mnemic.window(ANA):
            if message.role is Role.ASSISTANT:
                return message
        time.sleep(0.02)
    raise AssertionError("the answer was not kept")


@pytest.mark.requirement("P-63")
def test_what_a_model_is_shown_is_recorded_with_the_door(served: Served, remote: RemoteMnemic):
    kept = remote.remember(ANA, "User drinks green tea")
    remote.context(ANA, "What do I drink?")
    remote.chat(ANA, "What do I drink in the morning?")
    remote.context(ANA, "unrecorded", is_dry_run=True)
    page = remote.contexts(ANA)
    assert page == served.mnemic.contexts(ANA)
    assert [(each.door, each.query, [item.id for item in each.items]) for each in page.contexts] == [
        ("chat", "What do I drink in the morning?", [kept.id]),
        ("rest", "What do I drink?", [kept.id]),
    ]
    assert page.contexts[0].message_id in [each.id for each in served.mnemic.window(ANA)]


@pytest.mark.requirement("D-35")
class TestStreams:
    def test_whoever_leaves_a_stream_ends_it_and_what_was_said_is_kept(self, served: Served, remote: RemoteMnemic):
        events = remote.chat_stream(ANA, "Tell it forever")
        assert next(each for each in events if isinstance(each, Said)).text == "Once upon a time"
        events.close()
        kept = answer_kept(served)
        assert kept.text.startswith("Once upon a time")
        assert kept.bookkeeping == {"is_partial": True}

    def test_the_same_for_asyncio(self, served: Served, listening: Listening):
        async def leave() -> None:
            async with connect_async(listening.url, served.token("default")) as remote:
                events = await remote.chat_stream(ANA, "Tell it forever")
                async for each in events:
                    if isinstance(each, Said):
                        break
                await events.aclose()

        asyncio.run(leave())
        assert answer_kept(served).bookkeeping == {"is_partial": True}

    def test_a_client_that_drops_the_line_ends_it_too_with_an_idempotency_key(
        self, served: Served, listening: Listening
    ):
        headers = {"Authorization": f"Bearer {served.token('default')}", "Idempotency-Key": "k"}
        body = {"message": "Tell it forever"}
        where = {"user": "ana", "session": "s1"}
        url = f"{listening.url}/v1/chat/stream"
        with httpx2.stream("POST", url, params=where, json=body, headers=headers, timeout=WAIT_S) as answer:
            assert answer.headers["content-type"].startswith("application/x-ndjson")
            told = (json.loads(line) for line in answer.iter_lines())
            assert [next(told)["event"], next(told)["text"]] == ["recalled", "Once upon a time"]
        assert answer_kept(served).bookkeeping == {"is_partial": True}

    def test_a_model_that_breaks_off_is_told_and_what_was_said_is_kept(self, served: Served, remote: RemoteMnemic):
        with pytest.raises(BackendError):
            list(remote.chat_stream(ANA, "Be broken"))
        kept = answer_kept(served)
        assert (kept.text, kept.bookkeeping) == ("Once upon", {"is_partial": True})

    def test_events_come_as_server_sent_events_where_asked_for(self, served: Served, listening: Listening):
        headers = {"Authorization": f"Bearer {served.token('default')}", "Accept": EVENTS}
        answer = httpx2.post(f"{listening.url}/v1/chat/stream", json={"message": "Hello\nyou"}, headers=headers)
        assert answer.headers["content-type"].startswith(EVENTS)
        assert answer.headers["cache-control"] == "no-cache"
        blocks = [block.split("\n") for block in answer.text.strip().split("\n\n")]
        assert [name for name, _ in blocks] == ["event: recalled", "event: said", "event: replied"]
        assert json.loads(blocks[-1][1].removeprefix("data: "))["reply"]["text"] == "As you said."


class TestRights:
    def bound(self, served: Served, listening: Listening, *rights: Right) -> RemoteMnemic:
        token = served.mnemic.keys.create(Scope(user="ana"), rights=list(rights)).token
        return connect(listening.url, token)

    def test_who_may_read_asks_and_calls_what_reads(self, served: Served, listening: Listening):
        with self.bound(served, listening, Right.READ) as reader:
            assert reader.ask(ANA, "Who am I?").text == "As you said."
            assert not reader.tools.call(ANA, "calculator", {"expression": "1+1"}).is_error
            for refused in (
                lambda: reader.chat(ANA, "Hello"),
                lambda: reader.chat_stream(ANA, "Hello"),
                lambda: reader.tools.call(ANA, "remember", {"text": "Ana sails"}),
            ):
                with pytest.raises(ForbiddenError):
                    refused()
        assert served.mnemic.list(ANA).memories == ()
        assert served.mnemic.window(ANA) == []

    def test_a_bound_key_deletes_nothing_that_others_share_not_even_by_a_model(
        self, served: Served, listening: Listening
    ):
        shared = served.mnemic.remember(ANA, "The office closes at six", level=Level.ORG)
        own = served.mnemic.remember(ANA, "Ana sails")
        with self.bound(served, listening, Right.READ, Right.WRITE) as writer:
            with pytest.raises(ForbiddenError):
                writer.tools.call(ANA, "forget", {"id": shared.id})
            with pytest.raises(ForbiddenError):
                writer.chat(ANA, "Hello", tools=["forget"])
            assert writer.chat(ANA, f"Please forget {shared.id}").steps == ()
            assert not writer.tools.call(ANA, "forget", {"id": own.id}).is_error
        assert [each.text for each in served.mnemic.list(ANA).memories] == ["The office closes at six"]

    @pytest.mark.requirement("P-18")
    def test_what_is_written_is_in_the_audit_log(self, served: Served, remote: RemoteMnemic):
        remote.chat(ANA, "Hello")
        remote.tools.call(ANA, "remember", {"text": "Ana sails"})
        remote.tools.call(ANA, "calculator", {"expression": "1+1"})
        served.gate.audit.flush()
        entries = served.mnemic.keys.audit(Scope()).entries
        assert [entry.verb for entry in reversed(entries)] == ["keys.create", "chat", "tools.call"]


@pytest.fixture
def silent(tmp_path: Path) -> Generator[RemoteMnemic]:
    """A server without a language model."""
    served = Served(str(tmp_path / "memory.db"))
    listening = Listening(served.app)
    with connect(listening.url, served.token("default")) as opened:
        yield opened
    listening.close()
    served.close()


def test_without_a_model_it_is_said_how_to_set_one(silent: RemoteMnemic):
    for asked in (
        lambda: silent.chat(ANA, "Hello"),
        lambda: silent.chat_stream(ANA, "Hello"),
        lambda: silent.ask(ANA, "Who am I?"),
    ):
        with pytest.raises(ConfigError, match="MNEMIC_LLM"):
            asked()
    assert silent.window(ANA) == []
    with pytest.raises(UnsupportedError, match=r"tools\.modules"):
        silent.tools.add()


def test_a_reply_is_the_noun_of_the_library(served: Served, remote: RemoteMnemic):
    *_, last = remote.chat_stream(ANA, "Hello")
    assert isinstance(last, Replied)
    assert last.reply.turn is not None
    assert [each.text for each in last.reply.turn.messages] == ["Hello", "As you said."]
    assert [each.id for each in last.reply.turn.messages] == [each.id for each in served.mnemic.window(ANA)]
