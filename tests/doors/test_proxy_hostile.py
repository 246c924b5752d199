"""The proxy between callers and an upstream that wish each other ill: keys, cookies, headers, statuses, going away."""

from __future__ import annotations

import gzip
import json
import logging
import socket
import threading
from collections.abc import Generator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from mnemic import Scope
from mnemic.model.records import Right
from mnemic.proxy.app import NOT_TAKEN
from mnemic.testing.chat_server import ChatReply, ChatServer, whole
from mnemic.verbs import VERBS
from tests.doors.test_proxy import Proxied

QUESTION = {"model": "m", "messages": [{"role": "user", "content": "Where do I sail?"}]}


@pytest.fixture
def upstream() -> Generator[ChatServer]:
    with ChatServer(lambda _request: "As you told me.") as server:
        yield server


@pytest.fixture
def proxied(upstream: ChatServer, home: Path) -> Generator[Proxied]:
    running = Proxied(upstream.url, home / "memory.db")
    yield running
    running.close()


def post(proxied: Proxied, headers: dict[str, str] | list[tuple[bytes, bytes]] | None = None, **params: str) -> Any:
    """A chat by the bare protocol."""
    return httpx2.post(
        f"{proxied.url}/chat/completions", json=QUESTION, headers=headers, params={"user": "ana"} | params
    )


class Bare:
    """An upstream that sends bytes as they are, once a connection."""

    def __init__(self, answer: bytes) -> None:
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listening.getsockname()[1]}/v1"
        self._answer = answer
        self.is_left = threading.Event()
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        connection, _ = self._listening.accept()
        with connection:
            connection.recv(65536)
            connection.sendall(self._answer)
            while connection.recv(65536):
                pass
            self.is_left.set()

    def close(self) -> None:
        self._listening.close()
        self._thread.join()


class TestSecrets:
    @pytest.mark.requirement("P-17", "P-22")
    def test_cookies_of_the_upstream_reach_no_other_caller(self, upstream: ChatServer, proxied: Proxied):
        upstream.scripted.append(ChatReply(body=whole("Hi").body, headers={"Set-Cookie": "whose=first; Path=/"}))
        assert "set-cookie" not in post(proxied).headers
        post(proxied)
        assert [name for seen in upstream.headers for name in seen if name.lower() == "cookie"] == []

    @pytest.mark.requirement("P-17", "P-22")
    @pytest.mark.parametrize(
        "name, value",
        [
            ("api-key", "{}"),
            ("X-Other", "a {} b"),
            ("Authorization", "Basic {}"),
            ("Authorization", "Bearer\t{}"),
            ("Authorization", "{}"),
            ("Cookie", "key={}"),
        ],
    )
    def test_a_key_of_mnemic_reaches_the_upstream_in_no_header(
        self, upstream: ChatServer, proxied: Proxied, name: str, value: str
    ):
        token = proxied.mnemic.keys.create(Scope(user="ana"), rights=[Right.READ]).token
        assert post(proxied, {"X-API-Key": token, name: value.format(token)}).status_code == 200
        assert token not in json.dumps(upstream.headers)


class TestPaths:
    """A path leads to the route of the upstream that it names here, and to no other."""

    @pytest.mark.requirement("P-17", "P-22")
    @pytest.mark.parametrize("rest", ["%2e%2e/files/f1", "..%2Ffiles", "a/%2E%2e/%2e%2e/x", "%2e", "..%5Cfiles"])
    @pytest.mark.parametrize("method", ["GET", "POST", "DELETE"])
    def test_dots_lead_nowhere(self, upstream: ChatServer, proxied: Proxied, method: str, rest: str):
        for route in ("responses", "models")[: 2 if method == "GET" else 1]:
            answer = httpx2.request(method, f"{proxied.url}/{route}/{rest}")
            assert (answer.status_code, answer.json()["error"]["type"]) == (422, "invalid_input")
        assert upstream.paths == []

    @pytest.mark.parametrize("name", ["a%3Fb=1", "a%23b", "a%252e%252e", "org/m:8b", "Caf%C3%A9"])
    def test_a_name_reaches_the_upstream_as_it_was_sent(self, upstream: ChatServer, proxied: Proxied, name: str):
        httpx2.post(f"{proxied.url}/responses/{name}?limit=2", json={})
        assert upstream.paths == [f"/v1/responses/{name}?limit=2"]

    @pytest.mark.requirement("P-17")
    def test_a_key_that_only_reads_changes_nothing_at_the_upstream(self, upstream: ChatServer, proxied: Proxied):
        reader = {"X-API-Key": proxied.mnemic.keys.create(Scope(user="ana"), rights=[Right.READ]).token}
        for method, route in (("DELETE", "r1"), ("POST", "r1/cancel")):
            assert httpx2.request(method, f"{proxied.url}/responses/{route}", headers=reader).status_code == 403
        assert upstream.paths == []
        writer = {"X-API-Key": proxied.mnemic.keys.create(Scope(user="ana"), rights=[Right.READ, Right.WRITE]).token}
        httpx2.post(f"{proxied.url}/responses/r1/cancel", json={}, headers=writer)
        httpx2.post(f"{proxied.url}/embeddings", json={}, headers=reader)
        assert upstream.paths == ["/v1/responses/r1/cancel", "/v1/embeddings"]


class TestHeaders:
    def test_headers_in_other_letters_go_through_both_ways(self, upstream: ChatServer, proxied: Proxied):
        upstream.scripted.append(
            ChatReply(body=whole("Hi").body, headers={"X-Place": "Orléans".encode().decode("latin-1")})
        )
        given = [(b"x-title", "Café 日本".encode()), (b"content-type", b"application/json")]
        answer = post(proxied, given)
        assert answer.status_code == 200
        assert dict(answer.headers.raw)[b"x-place"] == "Orléans".encode()
        sent = {name.lower(): value for name, value in upstream.headers[0].items()}
        assert sent["x-title"].encode("latin-1").decode() == "Café 日本"

    def test_a_session_in_other_letters_comes_back_as_it_can_be_sent(self, proxied: Proxied):
        answer = post(proxied, session="東京")
        assert answer.status_code == 200
        told = dict(answer.headers.raw)[b"mnemic-session"]
        assert told.decode() == "東京"
        again = post(proxied, [(b"mnemic-session", told), (b"content-type", b"application/json")])
        assert dict(again.headers.raw)[b"mnemic-session"] == told

    @pytest.mark.requirement("P-17")
    def test_an_upstream_says_nothing_about_this_site_or_in_its_name(self, upstream: ChatServer, proxied: Proxied):
        theirs = {
            "Access-Control-Allow-Origin": "*",
            "Strict-Transport-Security": "max-age=1",
            "Alt-Svc": "clear",
            "Clear-Site-Data": '"*"',
            "Mnemic-Session": "forged",
            "X-RateLimit-Remaining": "7",
        }
        upstream.scripted.append(ChatReply(body=whole("Hi").body, headers=theirs))
        told = post(proxied, session="s1").headers
        assert [name for name in theirs if name.lower() in told] == ["Mnemic-Session", "X-RateLimit-Remaining"]
        assert told["mnemic-session"] == "s1"


class TestAnswers:
    def test_an_answer_that_is_packed_against_what_was_asked_is_told_so(self, home: Path):
        body = gzip.compress(whole("Packed").body.encode())
        head = f"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: {len(body)}\r\n\r\n"
        bare = Bare(head.encode() + body)
        proxied = Proxied(bare.url, home / "memory.db")
        assert post(proxied).json()["choices"][0]["message"]["content"] == "Packed"
        proxied.close()
        bare.close()

    @pytest.mark.parametrize("status", [301, 302, 307, 308])
    def test_an_upstream_that_sends_elsewhere_gets_no_client_to_follow(
        self, upstream: ChatServer, proxied: Proxied, status: int
    ):
        upstream.scripted.append(ChatReply(status=status, headers={"Location": "http://169.254.169.254/latest"}))
        answer = post(proxied)
        assert (answer.status_code, "location" in answer.headers) == (502, False)
        assert "proxy.upstream" in answer.json()["error"]["message"]

    def test_a_status_that_is_none_is_told_as_a_failure(self, upstream: ChatServer, proxied: Proxied):
        upstream.scripted.append(ChatReply(status=799, body="odd"))
        answer = post(proxied)
        assert (answer.status_code, answer.json()["error"]["type"]) == (502, "upstream_unusable")

    def test_a_caller_who_goes_away_before_the_answer_ends_the_question(self, home: Path):
        bare = Bare(b"")
        proxied = Proxied(bare.url, home / "memory.db")
        with pytest.raises(httpx2.ReadTimeout):
            httpx2.post(f"{proxied.url}/chat/completions", json=QUESTION, params={"user": "ana"}, timeout=0.3)
        assert bare.is_left.wait(10)
        proxied.close()
        bare.close()


def test_what_nobody_foresaw_around_a_chat_is_logged_by_place_and_without_texts(
    proxied: Proxied, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
):
    def broken(*_args: object, **_kwargs: object) -> None:
        raise ValueError("Ana sails from Lisbon")

    monkeypatch.setattr(proxied.mnemic, "context", broken)
    with caplog.at_level(logging.ERROR, logger="mnemic.proxy"):
        answer = post(proxied)
    assert answer.headers["mnemic-memory"] == "absent; reason=ValueError"
    (record,) = [each for each in caplog.records if each.levelno == logging.ERROR]
    assert record.getMessage() == "unexpected ValueError while handling a chat"
    assert "test_proxy_hostile.py" in record.__dict__["where"][-1]
    assert "Lisbon" not in json.dumps(record.__dict__, default=str)


@pytest.mark.requirement("P-63")
def test_what_the_upstream_was_shown_is_recorded_with_the_message(home: Path):
    ana = Scope(user="ana")
    with ChatServer(lambda _request: "Miso.") as upstream:
        running = Proxied(upstream.url, home / "memory.db")
        kept = running.mnemic.remember(ana, "My cat is called Miso")
        running.client().chat.completions.create(
            model="m", user="ana", messages=[{"role": "user", "content": "What is my cat called?"}]
        )
        running.stop()
        (shown,) = running.mnemic.contexts(ana).contexts
        assert (shown.door, [each.id for each in shown.items]) == ("proxy", [kept.id])
        assert shown.message_id in [each.id for each in running.mnemic.messages(ana).messages]
        running.close()


def test_no_refused_route_of_the_proxy_hides_a_verb_of_rest():
    paths = [f"/v1{verb.path}" for verb in VERBS if verb.path]
    assert "/v1/files" in paths
    assert not [path for path in paths if path.startswith(NOT_TAKEN)]
