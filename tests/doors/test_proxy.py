"""The proxy with the official OpenAI client: memory in front of any upstream, whatever breaks."""

from __future__ import annotations

import importlib
import json
import socket
import threading
import time
from collections.abc import Generator
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import httpx2
import openai
import pytest
import uvicorn

from mnemic import Config, Mnemic, Scope
from mnemic.adapters.observers.counters import CounterObserver
from mnemic.build import build
from mnemic.errors import UnavailableError
from mnemic.model.records import Right
from mnemic.model.settings import ProxySettings, Settings
from mnemic.ports.store import Store
from mnemic.proxy.app import door
from mnemic.testing.chat_server import EVENTS, ChatReply, ChatServer, Ending, event, whole
from mnemic.web.doors import application
from mnemic.web.gate import Gate
from mnemic.web.limits import Limits
from mnemic.web.monitoring import Health, Metrics

ANA = Scope(user="ana")


class AwayStore:
    """A store that can be away: whatever is asked of it then is `UnavailableError`."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.is_away = False

    def __getattr__(self, name: str) -> object:
        if self.is_away and name in ("read", "write"):
            raise UnavailableError("the disk is gone")
        return getattr(self._store, name)


class Proxied:
    """A memory with the proxy before it, on a port of this machine, in front of an upstream."""

    def __init__(self, upstream: str | None, store: Path, *, port: int = 0, **settings: Any) -> None:
        proxy = ProxySettings(upstream=upstream, api_key="the upstream's key", **settings)
        parts = build(Config(store=str(store), embedder="none", settings=Settings(proxy=proxy)))
        self.store = AwayStore(parts.store)
        self.observer = cast("CounterObserver", parts.observer)
        self.mnemic = Mnemic(replace(parts, store=cast("Store", self.store)))
        self.gate = Gate(self.mnemic, limits=Limits(rate_per_s=0))
        app = application([door(self.mnemic, self.gate)], self.gate, Health(self.mnemic), Metrics())
        self._listening = socket.create_server(("127.0.0.1", port))
        self._server = uvicorn.Server(uvicorn.Config(app, log_config=None, lifespan="on"))
        self._thread = threading.Thread(target=self._server.run, kwargs={"sockets": [self._listening]})
        self._thread.start()
        self._clients: list[openai.OpenAI] = []
        self.url = f"http://127.0.0.1:{self._listening.getsockname()[1]}/v1"
        self.anthropic_url = self.url.removesuffix("/v1") + "/anthropic"

    def client(self, api_key: str = "sk-anything", **headers: str) -> openai.OpenAI:
        client = openai.OpenAI(base_url=self.url, api_key=api_key, default_headers=headers, max_retries=0)
        self._clients.append(client)
        return client

    def stop(self) -> None:
        """End the server; what was being captured is captured."""
        for client in self._clients:
            client.close()
        self._server.should_exit = True
        self._thread.join()
        self._listening.close()

    def close(self) -> None:
        self.stop()
        self.gate.close()
        self.mnemic.close()

    def until_captured(self, scope: Scope, session: str) -> None:
        """Wait for what is captured beside the answer."""
        for _ in range(1000):
            if self.mnemic.window(replace(scope, session=session)):
                return
            time.sleep(0.01)
        raise AssertionError("nothing was captured")

    def said(self, scope: Scope, session: str) -> list[tuple[str, str]]:
        self.stop()
        return [(m.role.value, m.text) for m in self.mnemic.window(replace(scope, session=session))]


@pytest.fixture
def upstream() -> Generator[ChatServer]:
    with ChatServer(lambda _request: "As you told me.") as server:
        yield server


@pytest.fixture
def proxied(upstream: ChatServer, home: Path) -> Generator[Proxied]:
    running = Proxied(upstream.url, home / "memory.db")
    yield running
    running.close()


def ask(client: openai.OpenAI, *messages: str, **fields: Any) -> Any:
    """A plain chat; the messages are those of user and assistant in turn. With the raw answer's headers."""
    roles = ("user", "assistant")
    chat: Any = [{"role": roles[n % 2], "content": text} for n, text in enumerate(messages)]
    create: Any = client.chat.completions.with_raw_response.create
    return create(model="m", messages=chat, **fields)


def system_of(request: dict[str, Any]) -> str:
    return "\n".join(m["content"] for m in request["messages"] if m["role"] == "system")


@pytest.mark.requirement("P-22")
def test_what_was_said_in_one_chat_is_known_in_the_next_and_only_to_that_user(upstream: ChatServer, proxied: Proxied):
    client = proxied.client()
    first = ask(client, "My cat is called Miso", user="ana")
    assert first.parse().choices[0].message.content == "As you told me."
    assert upstream.requests[0]["messages"] == [{"role": "user", "content": "My cat is called Miso"}]
    assert first.headers["mnemic-memory"] == "nothing-found"
    session = first.headers["mnemic-session"]
    proxied.until_captured(ANA, session)
    second = ask(client, "What is my cat called?", user="ana")
    assert second.headers["mnemic-memory"].startswith("used; items=")
    assert "My cat is called Miso" in system_of(upstream.requests[1])
    ask(client, "What is the cat called?", user="bob")
    assert "Miso" not in str(upstream.requests[2])
    assert proxied.said(ANA, session) == [("user", "My cat is called Miso"), ("assistant", "As you told me.")]


@pytest.mark.requirement("P-22")
def test_a_stream_is_passed_on_and_both_sides_are_captured(upstream: ChatServer, proxied: Proxied):
    proxied.mnemic.profile.set(ANA, {"home": "Lyon"})
    answer = ask(proxied.client(), "Where do I live?", user="ana", stream=True)
    pieces = [each.choices[0].delta.content or "" for each in answer.parse() if each.choices]
    assert "".join(pieces) == "As you told me."
    assert "home: Lyon" in system_of(upstream.requests[0])
    session = answer.headers["mnemic-session"]
    assert proxied.said(ANA, session) == [("user", "Where do I live?"), ("assistant", "As you told me.")]


@pytest.mark.requirement("P-22")
@pytest.mark.parametrize("who_breaks", ["upstream", "client"])
def test_a_stream_that_breaks_keeps_both_sides(upstream: ChatServer, proxied: Proxied, who_breaks: str):
    ending = Ending.BREAK if who_breaks == "upstream" else Ending.DRIP
    upstream.scripted.append(ChatReply(body=event("Once upon a time"), type=EVENTS, ending=ending))
    answer = ask(proxied.client(), "Tell me a story", user="ana", stream=True)
    stream = answer.parse()
    assert next(iter(stream)).choices[0].delta.content == "Once upon a time"
    if who_breaks == "client":
        stream.close()
    else:
        with pytest.raises((openai.APIError, httpx2.HTTPError, *_transport_errors())):
            list(stream)
    said = proxied.said(ANA, answer.headers["mnemic-session"])
    assert said == [("user", "Tell me a story"), ("assistant", "Once upon a time")]
    message = proxied.mnemic.window(replace(ANA, session=answer.headers["mnemic-session"]))[-1]
    assert message.bookkeeping == {"is_partial": True}


def _transport_errors() -> tuple[type[Exception], ...]:
    """Those of the HTTP client that the official client uses."""
    httpx: Any = importlib.import_module("httpx")
    return (cast("type[Exception]", httpx.TransportError),)


@pytest.mark.requirement("P-22")
def test_a_conversation_that_is_sent_whole_every_time_is_captured_once(proxied: Proxied):
    client = proxied.client()
    one = ask(client, "Hello there", user="ana")
    again = ask(client, "Hello there", user="ana")
    two = ask(client, "Hello there", "As you told me.", "And now?", user="ana")
    sessions = {each.headers["mnemic-session"] for each in (one, again, two)}
    assert len(sessions) == 1
    assert proxied.said(ANA, sessions.pop()) == [
        ("user", "Hello there"),
        ("assistant", "As you told me."),
        ("user", "And now?"),
        ("assistant", "As you told me."),
    ]


@pytest.mark.requirement("P-22")
def test_a_chat_that_says_so_is_not_kept_or_not_told_what_is_remembered(upstream: ChatServer, proxied: Proxied):
    proxied.mnemic.profile.set(ANA, {"home": "Lyon"})
    secret = ask(proxied.client(**{"Mnemic-Capture": "off"}), "I plan a surprise for Bob", user="ana")
    assert secret.headers["mnemic-memory"].startswith("used")
    plain = ask(proxied.client(**{"Mnemic-Recall": "OFF"}), "Where do I live?", user="ana")
    assert plain.headers["mnemic-memory"] == "absent; reason=switched_off"
    assert "Lyon" not in str(upstream.requests[1])
    ask(proxied.client(), "I plan a surprise for Bob", "As you told me.", "And now?", user="ana")
    assert proxied.said(ANA, plain.headers["mnemic-session"])[0] == ("user", "Where do I live?")
    assert [text for _, text in proxied.said(ANA, secret.headers["mnemic-session"])] == ["And now?", "As you told me."]


@pytest.mark.requirement("P-22")
def test_a_switch_that_cannot_be_read_is_refused_and_nothing_is_kept_or_asked(upstream: ChatServer, proxied: Proxied):
    with pytest.raises(openai.UnprocessableEntityError):
        ask(proxied.client(**{"Mnemic-Capture": "nope"}), "I plan a surprise", user="ana")
    assert upstream.requests == []


@pytest.mark.requirement("P-22")
def test_tools_and_unknown_fields_are_passed_on_unchanged_and_the_answer_joins_its_turn(
    upstream: ChatServer, proxied: Proxied
):
    proxied.mnemic.remember(ANA, "Ana prefers metric units")
    call = {"id": "c1", "type": "function", "function": {"name": "add", "arguments": '{"a": 1}'}}
    upstream.scripted.append(whole(None, finish="tool_calls", tools=[call]))
    tools: Any = [{"type": "function", "function": {"name": "add", "parameters": {"type": "object"}}}]
    client = proxied.client()
    extra = {"extra_body": {"odd": {"x": [1, 2.5, None]}}}
    first = ask(client, "Which units? Add one.", user="ana", tools=tools, **extra)
    assert first.parse().choices[0].message.tool_calls[0].function.arguments == '{"a": 1}'
    assert (upstream.requests[0]["tools"], upstream.requests[0]["odd"]) == (tools, {"x": [1, 2.5, None]})
    assert "metric units" in system_of(upstream.requests[0])
    messages: Any = [
        {"role": "user", "content": "Which units? Add one."},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "2"},
    ]
    client.chat.completions.create(model="m", messages=messages, user="ana", tools=tools)
    assert upstream.requests[1]["messages"][-2:] == messages[-2:]
    said = proxied.said(ANA, first.headers["mnemic-session"])
    assert said == [("user", "Which units? Add one."), ("assistant", "As you told me.")]
    turns = proxied.mnemic.window(replace(ANA, session=first.headers["mnemic-session"]))
    assert len({message.turn_id for message in turns}) == 1


def test_a_system_prompt_stays_in_front_and_parts_stay_parts(upstream: ChatServer, proxied: Proxied):
    proxied.mnemic.remember(ANA, "Ana prefers metric units")
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
    for system in ("You are Jarvis.", [{"type": "text", "text": "You are Jarvis."}]):
        messages: Any = [
            {"role": "system", "content": system},
            {"role": "user", "content": [{"type": "text", "text": "Which units?"}, picture]},
        ]
        proxied.client().chat.completions.create(model="m", messages=messages, user="ana")
        sent = upstream.requests[-1]["messages"]
        assert sent[1] == messages[1]
        text = sent[0]["content"] if isinstance(system, str) else "\n".join(part["text"] for part in sent[0]["content"])
        assert text.startswith("You are Jarvis.")
        assert "metric units" in text


def test_a_route_that_the_proxy_does_not_take_is_told_with_those_that_it_takes(proxied: Proxied):
    proxied.mnemic.keys.create(ANA)
    client = proxied.client()
    for ask in (lambda: client.files.retrieve("f1"), lambda: client.moderations.create(input="Hello")):
        with pytest.raises(openai.NotFoundError, match="use /v1/chat/completions, /v1/responses, /v1/embeddings"):
            ask()
    other = httpx2.get(proxied.anthropic_url + "/v1/files")
    assert (other.status_code, other.json()["error"]["type"]) == (404, "not_found_error")
    assert "use /anthropic/v1/messages" in other.json()["error"]["message"]


class TestFailures:
    """The chat goes on, and the headers and the counts say why memory was absent."""

    @pytest.mark.requirement("P-22")
    def test_with_the_store_away_chats_are_answered(self, upstream: ChatServer, proxied: Proxied):
        client = proxied.client()
        ask(client, "My cat is called Miso", user="ana")
        proxied.store.is_away = True
        answer = ask(client, "What is my cat called?", user="ana")
        assert answer.parse().choices[0].message.content == "As you told me."
        assert answer.headers["mnemic-memory"] == "absent; reason=UnavailableError"
        assert upstream.requests[-1]["messages"] == [{"role": "user", "content": "What is my cat called?"}]
        proxied.stop()
        counts = proxied.observer.counts
        assert counts["mnemic.proxy.memory", (("outcome", "absent"), ("reason", "UnavailableError"))] == 1
        assert counts["mnemic.proxy.uncaptured", (("reason", "UnavailableError"),)] >= 2
        proxied.store.is_away = False

    def test_with_the_store_away_nobody_new_is_let_in(self, proxied: Proxied):
        proxied.store.is_away = True
        with pytest.raises(openai.InternalServerError):
            ask(proxied.client(), "Hello", user="ana")
        proxied.store.is_away = False

    def test_memory_that_is_too_slow_is_left_out(
        self, upstream: ChatServer, home: Path, monkeypatch: pytest.MonkeyPatch
    ):
        proxied = Proxied(upstream.url, home / "memory.db", memory_timeout_s=0.01)
        is_answered, context = threading.Event(), proxied.mnemic.context

        def slow(*given: Any, **named: Any) -> Any:
            is_answered.wait(20)
            return context(*given, **named)

        monkeypatch.setattr(proxied.mnemic, "context", slow)
        answer = ask(proxied.client(), "What is my cat called?", user="ana")
        is_answered.set()
        assert answer.headers["mnemic-memory"] == "absent; reason=timeout"
        proxied.close()

    def test_a_prompt_that_memory_made_too_long_is_sent_again_without_it(self, upstream: ChatServer, proxied: Proxied):
        proxied.mnemic.remember(ANA, "Ana prefers metric units")
        upstream.scripted.append(ChatReply(status=400, body='{"error": {"message": "too long"}}'))
        answer = ask(proxied.client(), "Which units?", user="ana")
        assert answer.parse().choices[0].message.content == "As you told me."
        assert answer.headers["mnemic-memory"] == "absent; reason=refused_by_upstream"
        assert [bool(system_of(request)) for request in upstream.requests] == [True, False]

    def test_switched_off_nothing_is_injected_and_chats_are_captured(self, upstream: ChatServer, home: Path):
        proxied = Proxied(upstream.url, home / "memory.db", injects_context=False)
        proxied.mnemic.remember(ANA, "Ana prefers metric units")
        answer = ask(proxied.client(), "Which units?", user="ana")
        assert answer.headers["mnemic-memory"] == "absent; reason=switched_off"
        assert system_of(upstream.requests[0]) == ""
        assert proxied.said(ANA, answer.headers["mnemic-session"])[0] == ("user", "Which units?")
        proxied.close()

    def test_errors_of_the_upstream_are_passed_on_and_a_missing_one_is_told(
        self, upstream: ChatServer, proxied: Proxied, home: Path
    ):
        upstream.scripted.append(ChatReply(status=429, body='{"error": {"message": "slow down"}}'))
        with pytest.raises(openai.RateLimitError, match="slow down"):
            ask(proxied.client(), "Hello", user="ana")
        for url, told in ((None, "proxy.upstream"), ("http://127.0.0.1:9/v1", "cannot be reached")):
            other = Proxied(url, home / "other.db")
            with pytest.raises(openai.InternalServerError, match=told):
                ask(other.client(), "Hello", user="ana")
            other.close()

    def test_a_proxy_that_is_pointed_at_itself_says_so(self, home: Path):
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
        proxied = Proxied(f"http://127.0.0.1:{port}/v1", home / "memory.db", port=port)
        with pytest.raises(openai.InternalServerError, match="leads back to this proxy"):
            ask(proxied.client(), "Hello", user="ana")
        proxied.close()

    def test_what_is_no_chat_is_for_the_upstream_to_judge(self, upstream: ChatServer, proxied: Proxied):
        for body in (b'{"messages": "none"}', b"{}", b"[]"):
            answer = httpx2.post(f"{proxied.url}/chat/completions", content=body)
            assert answer.status_code == 200 or answer.is_error
        assert upstream.requests == [{"messages": "none"}, {}, []]


class TestWhose:
    """Whose memory it is, and whose key is shown to whom."""

    @pytest.mark.requirement("P-17", "P-22")
    def test_a_key_of_mnemic_bounds_the_memory_and_never_reaches_the_upstream(
        self, upstream: ChatServer, proxied: Proxied
    ):
        own = Scope(org="acme", user="ana")
        token = proxied.mnemic.keys.create(own, rights=[Right.READ, Right.WRITE]).token
        proxied.mnemic.remember(own, "Ana prefers metric units")
        ask(proxied.client(token), "Which units?")
        assert "metric units" in system_of(upstream.requests[0])
        assert upstream.headers[0]["authorization"] == "Bearer the upstream's key"
        with pytest.raises(openai.PermissionDeniedError):
            ask(proxied.client(token), "Which units?", user="bob")
        with pytest.raises(openai.AuthenticationError):
            ask(proxied.client(), "Which units?", user="ana")
        both = proxied.client("sk-upstream", **{"X-API-Key": token})
        ask(both, "Which units?")
        assert upstream.headers[-1]["authorization"] == "Bearer sk-upstream"
        assert token not in str(upstream.headers)

    def test_a_key_that_may_only_read_captures_nothing(self, proxied: Proxied):
        own = Scope(org="acme", user="ana")
        token = proxied.mnemic.keys.create(own, rights=[Right.READ]).token
        answer = ask(proxied.client(token), "Hello there")
        assert proxied.said(own, answer.headers["mnemic-session"]) == []

    def test_without_a_key_or_a_user_it_is_the_configured_users_memory(self, proxied: Proxied):
        answer = ask(proxied.client(), "Hello there")
        assert proxied.said(Scope(user="default"), answer.headers["mnemic-session"])[0] == ("user", "Hello there")

    def test_a_key_for_many_users_without_a_user_has_no_memory_rather_than_a_shared_one(self, proxied: Proxied):
        token = proxied.mnemic.keys.create(Scope(org="acme"), rights=[Right.READ, Right.WRITE]).token
        assert ask(proxied.client(token), "Hello").headers["mnemic-memory"] == "absent; reason=no_user"

    def test_headers_name_user_and_session_and_are_kept_from_the_upstream(self, upstream: ChatServer, proxied: Proxied):
        client = proxied.client(**{"Mnemic-User": "ana", "Mnemic-Session": "s1"})
        assert ask(client, "Hello there", user="an id of the app").headers["mnemic-session"] == "s1"
        assert [name for name in upstream.headers[0] if name.lower().startswith("mnemic")] == []
        assert proxied.said(ANA, "s1")[0] == ("user", "Hello there")

    def test_a_user_that_cannot_be_one_is_no_reason_to_fail(self, proxied: Proxied):
        answer = ask(proxied.client(), "Hello there", user=" ")
        assert answer.headers["mnemic-memory"] == "absent; reason=invalid_user"


def respond(text: str, id: str = "resp_1", *parts: dict[str, Any]) -> ChatReply:
    """An answer of the Responses API."""
    message = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed"}
    said: dict[str, Any] = {**message, "content": [{"type": "output_text", "text": text, "annotations": []}]}
    return ChatReply(body=json.dumps({"id": id, "object": "response", "status": "completed", "output": [said, *parts]}))


def stream(*events: dict[str, Any]) -> ChatReply:
    """An answer as events with names, as of the Responses API and of Anthropic's Messages."""
    return ChatReply(
        body="".join(f"event: {each['type']}\ndata: {json.dumps(each)}\n\n" for each in events), type=EVENTS
    )


@pytest.mark.requirement("P-22", "P-58")
class TestResponses:
    """OpenAI's Responses API, with the official client."""

    def test_what_was_said_is_known_in_the_next_and_a_thread_is_one_session(
        self, upstream: ChatServer, proxied: Proxied
    ):
        client: Any = proxied.client(**{"Mnemic-User": "ana"})
        upstream.scripted.extend([respond("Noted."), respond("Fine.", "resp_2"), respond("Miso.", "resp_3")])
        first = client.responses.with_raw_response.create(
            model="m", input="My cat is called Miso", instructions="Be kind."
        )
        assert first.parse().output_text == "Noted."
        assert upstream.requests[0] == {"model": "m", "input": "My cat is called Miso", "instructions": "Be kind."}
        session = first.headers["mnemic-session"]
        proxied.until_captured(ANA, session)
        for text in ("Yes", "Yes"):
            again = client.responses.with_raw_response.create(model="m", input=text, previous_response_id="resp_1")
            assert again.headers["mnemic-session"] == session
        upstream.scripted.append(respond("Miso.", "resp_4"))
        other = client.responses.with_raw_response.create(
            model="m", input=[{"role": "user", "content": "What is my cat called?"}]
        )
        assert other.headers["mnemic-session"] != session
        assert "My cat is called Miso" in upstream.requests[-1]["instructions"]
        assert proxied.said(ANA, session)[:3] == [
            ("user", "My cat is called Miso"),
            ("assistant", "Noted."),
            ("user", "Yes"),
        ]

    def test_a_session_that_is_named_once_is_that_of_the_conversation_for_its_caller_alone(
        self, upstream: ChatServer, proxied: Proxied
    ):
        def session(user: str, **given: Any) -> str:
            upstream.scripted.append(respond("Fine.", f"resp_{len(upstream.requests)}"))
            headers = {"Mnemic-User": user, **given.pop("headers", {})}
            answer = httpx2.post(
                f"{proxied.url}/responses", json={"model": "m", "input": "Hi", **given}, headers=headers
            )
            return answer.headers["mnemic-session"]

        assert session("ana", conversation="conv_1", headers={"Mnemic-Session": "sailing"}) == "sailing"
        assert session("ana", conversation={"id": "conv_1"}) == "sailing"
        assert session("ana", previous_response_id="resp_0") == "sailing"
        assert session("bob", previous_response_id="resp_0").startswith("chat-")
        assert session("bob", conversation="conv_1").startswith("chat-")

    def test_a_stream_and_its_tools_are_passed_on_and_the_texts_are_captured(
        self, upstream: ChatServer, proxied: Proxied
    ):
        answer: dict[str, Any] = {"id": "resp_1", "object": "response", "status": "completed", "output": []}
        call = {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "look", "arguments": "{}"}
        upstream.scripted.append(
            stream(
                {"type": "response.created", "response": {**answer, "status": "in_progress"}},
                *(
                    event
                    for number, text in enumerate(("I look. ", "Found."))
                    for event in (
                        {
                            "type": "response.content_part.added",
                            "output_index": number,
                            "part": {"type": "output_text"},
                        },
                        {"type": "response.output_text.delta", "output_index": number, "delta": text},
                    )
                ),
                {"type": "response.output_item.done", "output_index": 2, "item": call},
                {"type": "response.completed", "response": answer},
            )
        )
        given: list[dict[str, Any]] = [
            {"role": "user", "content": [{"type": "input_text", "text": "Where is the boat?"}]},
            {**call, "id": "fc_0", "call_id": "c0"},
            {"type": "function_call_output", "call_id": "c0", "output": "nothing"},
        ]
        client: Any = proxied.client(**{"Mnemic-User": "ana", "Mnemic-Session": "s1"})
        tools: list[dict[str, Any]] = [
            {"type": "function", "name": "look", "parameters": {"type": "object", "properties": {}}}
        ]
        with client.responses.create(model="m", input=given, tools=tools, stream=True) as events:
            kinds = [each.type for each in events]
        assert kinds[-2:] == ["response.output_item.done", "response.completed"]
        assert upstream.requests[0]["input"] == given
        assert upstream.requests[0]["tools"] == tools
        said = [("user", "Where is the boat?"), ("assistant", "I look. \nFound.")]
        assert proxied.said(ANA, "s1") == said


@pytest.mark.requirement("P-22", "P-58")
class TestMessages:
    """Anthropic's Messages, below /anthropic."""

    KEY = "sk-ant-of-the-client"

    def post(self, proxied: Proxied, body: dict[str, Any], route: str = "", **headers: str) -> httpx2.Response:
        sent = {"x-api-key": self.KEY, "anthropic-version": "2023-06-01", "Mnemic-User": "ana", **headers}
        return httpx2.post(
            f"{proxied.anthropic_url}/v1/messages{route}?beta=true&session=s1", json=body, headers=sent, timeout=30
        )

    def test_memory_joins_the_system_prompt_and_tools_and_reminders_are_not_the_users_words(
        self, upstream: ChatServer, proxied: Proxied
    ):
        proxied.mnemic.remember(ANA, "Ana prefers metric units")
        parts = [{"type": "text", "text": "One thing."}, {"type": "text", "text": "Another."}]
        upstream.scripted.append(
            ChatReply(body=json.dumps({"type": "message", "content": parts, "stop_reason": "end_turn"}))
        )
        system = [{"type": "text", "text": "You are Jarvis.", "cache_control": {"type": "ephemeral"}}]
        messages: list[dict[str, Any]] = [
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": "<system-reminder>Today is Monday.</system-reminder>"},
                    {"type": "text", "text": "Which units?"},
                ],
            },
            {"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "look", "input": {}}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "nothing"}]},
        ]
        body: dict[str, Any] = {"model": "m", "max_tokens": 9, "system": system, "messages": messages}
        answer = self.post(proxied, body)
        assert answer.headers["mnemic-memory"].startswith("used")
        sent = upstream.requests[0]
        assert sent["messages"] == messages
        assert sent["system"][0] == system[0]
        assert "metric units" in sent["system"][1]["text"]
        assert upstream.headers[0]["x-api-key"] == self.KEY
        assert proxied.said(ANA, "s1") == [("user", "Which units?"), ("assistant", "One thing.\nAnother.")]

    def test_a_stream_is_captured_and_counts_are_passed_on(self, upstream: ChatServer, proxied: Proxied):
        upstream.scripted.append(
            stream(
                {"type": "message_start", "message": {"content": []}},
                *(
                    event
                    for text in ("As you", "told me.")
                    for event in (
                        {"type": "content_block_start", "content_block": {"type": "text", "text": ""}},
                        {"type": "content_block_delta", "delta": {"type": "text_delta", "text": text}},
                    )
                ),
                {"type": "message_stop"},
            )
        )
        body: dict[str, Any] = {
            "model": "m",
            "max_tokens": 9,
            "stream": True,
            "messages": [{"role": "user", "content": "My cat is Miso"}],
        }
        assert "message_stop" in self.post(proxied, body).text
        upstream.scripted.append(ChatReply(body='{"input_tokens": 7}'))
        assert self.post(proxied, body, "/count_tokens").json() == {"input_tokens": 7}
        assert proxied.said(ANA, "s1") == [("user", "My cat is Miso"), ("assistant", "As you\ntold me.")]

    def test_errors_are_told_in_the_clients_form_and_a_mnemic_key_stays_here(
        self, upstream: ChatServer, proxied: Proxied
    ):
        token = proxied.mnemic.keys.create(ANA).token
        body: dict[str, Any] = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "Hello"}]}
        refused = self.post(proxied, body)
        assert (refused.status_code, refused.json()["error"]["type"]) == (401, "authentication_error")
        assert self.post(proxied, body, **{"x-api-key": token}).status_code == 200
        assert upstream.headers[-1]["x-api-key"] == "the upstream's key"
        assert token not in str(upstream.headers)

    def test_a_photo_of_20_megabytes_passes(self, upstream: ChatServer, proxied: Proxied):
        photo = {"type": "base64", "media_type": "image/jpeg", "data": "A" * (20 * 1024 * 1024 * 4 // 3)}
        content: list[dict[str, Any]] = [{"type": "image", "source": photo}, {"type": "text", "text": "Who is this?"}]
        body: dict[str, Any] = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": content}]}
        assert self.post(proxied, body).status_code == 200
        assert upstream.requests[-1]["messages"] == body["messages"]


def test_embeddings_and_models_are_passed_on(upstream: ChatServer, proxied: Proxied):
    vectors = {"object": "list", "data": [{"index": 0, "object": "embedding", "embedding": [0.5, 1.0]}], "model": "m"}
    upstream.scripted.append(ChatReply(body=json.dumps({**vectors, "usage": {"prompt_tokens": 1, "total_tokens": 1}})))
    answer = proxied.client().embeddings.create(model="m", input="tea", encoding_format="float")
    assert answer.data[0].embedding == [0.5, 1.0]
    assert upstream.requests[0]["input"] == "tea"
    done: dict[str, Any] = {"id": "c1", "object": "text_completion", "created": 1, "model": "m", "choices": []}
    upstream.scripted.append(ChatReply(body=json.dumps(done)))
    assert proxied.client().completions.create(model="m", prompt="Once").id == "c1"
    for path in ("/models", "/models/org/m", "/responses/resp_1"):
        assert httpx2.get(proxied.url + path).status_code == 501  # the test's upstream only takes POST
