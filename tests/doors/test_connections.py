"""Connections that ask slowly, at length, or take no answer: each ends by itself, and leaves its place to others."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
from collections.abc import Generator
from contextlib import suppress

import pytest
from starlette.types import Receive, Scope, Send

from mnemic.web import connections
from tests.doors.http_doors import Listening

ENDLESS = b"x" * 65536
PAUSE = threading.Event()  # never set


class Application:
    """Answers with the length of the body, or for ever; `held` counts the requests it is still answering."""

    def __init__(self) -> None:
        self.held = 0
        self.ended = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        self.held += 1
        try:
            await self._answer(scope, receive, send)
        finally:
            self.held -= 1
            self.ended += 1

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        length = 0
        if scope["path"] == "/early":
            await send({"type": "http.response.start", "status": 401, "headers": []})
            await send({"type": "http.response.body", "body": b""})
            return
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                return
            length += len(message["body"])
            if not message["more_body"]:
                break
        await send({"type": "http.response.start", "status": 200, "headers": []})
        gone = asyncio.ensure_future(receive())
        while scope["path"] == "/endless" and not gone.done():
            await send({"type": "http.response.body", "body": ENDLESS, "more_body": True})
            await asyncio.sleep(0)
        gone.cancel()
        names = b" ".join(name for name, _ in scope["headers"]) if scope["path"] == "/headers" else b""
        values = b"|".join([b"", *(value for _, value in scope["headers"])]) if scope["path"] == "/values" else b""
        await send({"type": "http.response.body", "body": str(length).encode() + names + values})


class Server(Listening):
    """The application behind connections that are bounded."""

    def __init__(self) -> None:
        self.app = Application()
        super().__init__(self.app, http=connections.Connection, lifespan="off")
        self.port = int(self.url.rpartition(":")[2])

    def opened(self, sent: bytes = b"") -> socket.socket:
        """A connection over which something was sent."""
        connection = socket.create_connection(("127.0.0.1", self.port), timeout=20)
        connection.sendall(sent)
        return connection

    def settle(self, ended: int) -> None:
        """Wait until so many requests have been let go of, and none is held."""
        while (self.app.held, self.app.ended) != (0, ended):
            PAUSE.wait(0.02)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Generator[Server]:
    monkeypatch.setattr(connections, "HEAD_WITHIN_S", 0.3)
    monkeypatch.setattr(connections, "LOOK_S", 0.3)
    monkeypatch.setattr(connections, "TAKEN_WITHIN_S", 0.3)
    running = Server()
    yield running
    running.close()


def rest(connection: socket.socket) -> bytes:
    """What comes until the server ends the connection."""
    told = bytearray()
    try:
        while piece := connection.recv(1 << 20):
            told += piece
    except ConnectionResetError:
        pass
    return bytes(told)


GET = b"GET / HTTP/1.1\r\nHost: localhost\r\n"
POST = b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 40000\r\n\r\n"


@pytest.mark.requirement("P-17")
class TestWhoDoesNotAsk:
    @pytest.mark.parametrize("sent", [b"", b"GET / HT", GET + b"X-A: b", b"\r\n\r\n"])
    def test_a_connection_without_a_whole_head_ends(self, server: Server, sent: bytes):
        with server.opened(sent) as connection:
            assert rest(connection) == b""
        assert server.app.ended == 0

    def test_one_that_asked_before_and_sends_no_next_request_ends(self, server: Server):
        with server.opened(GET + b"\r\n") as connection:
            assert connection.recv(1000).startswith(b"HTTP/1.1 200")
            connection.sendall(b"\r\nGE")
            rest(connection)
        server.settle(1)

    @pytest.mark.parametrize("sent", [b"GET /", GET + b"X-Long: "])
    def test_a_head_without_an_end_is_refused_at_its_bound(self, server: Server, sent: bytes):
        with server.opened(sent) as connection:
            try:
                for _ in range(1000):
                    connection.sendall(b"a" * 65536)
            except ConnectionError:
                pass
            else:
                pytest.fail("65 MB of head were taken")
        assert server.app.ended == 0

    def test_a_head_with_many_short_headers_is_refused_too(self, server: Server):
        with server.opened(GET) as connection:
            try:
                for number in range(1000):
                    connection.sendall(b"X-%d: a\r\n" % number * 5000)
            except ConnectionError:
                pass
            else:
                pytest.fail("50 MB of head were taken")


@pytest.mark.requirement("P-17")
class TestWhoDoesNotGoOn:
    def test_a_body_that_does_not_come_lets_go_of_its_place(self, server: Server):
        with server.opened(POST + b"x") as connection:
            assert rest(connection) == b""
        server.settle(1)

    def test_a_body_that_keeps_coming_is_taken(self, server: Server, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setattr(connections, "BODY_BYTES", 1)
        monkeypatch.setattr(connections, "LOOK_S", 1)  # far more than the pauses: a busy machine makes them longer
        with server.opened(POST) as connection:
            for _ in range(25):
                PAUSE.wait(0.1)
                connection.sendall(b"x" * 1600)
            assert b"40000" in connection.recv(1000)

    def test_an_answer_that_nobody_takes_ends(self, server: Server):
        with server.opened(b"GET /endless HTTP/1.1\r\nHost: localhost\r\n\r\n"):
            server.settle(1)

    def test_a_body_after_its_answer_is_not_taken_for_ever(self, server: Server, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setattr(connections, "BODY_BYTES", 1)
        with server.opened(b"POST /early" + POST[6:]) as connection:
            assert connection.recv(1000).startswith(b"HTTP/1.1 401")
            with pytest.raises(ConnectionError):  # noqa: PT012 -- which of the pieces is refused is up to the system
                while True:
                    connection.sendall(b"x")
                    PAUSE.wait(0.02)

    def test_requests_sent_ahead_are_answered_in_turn(self, server: Server):
        with server.opened((GET + b"\r\n") * 50 + GET + b"Connection: close\r\n\r\n") as connection:
            assert rest(connection).count(b"HTTP/1.1 200") == 51


@pytest.mark.requirement("P-17")
def test_what_comes_behind_a_body_is_no_header(server: Server):
    head = b"POST /headers HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\nX-Before: 1\r\n\r\n"
    with server.opened(head + b"1\r\nx\r\n0\r\nMnemic-User: boris\r\n\r\n") as connection:
        told = connection.recv(1000)
    assert b"x-before" in told
    assert b"mnemic-user" not in told


def test_a_first_request_that_is_on_the_way_when_the_server_ends_is_answered(
    server: Server, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(connections, "LAST_WORD_S", 20.0)
    with server.opened() as connection, server.opened(GET + b"\r\n") as before:
        assert before.recv(1000).startswith(b"HTTP/1.1 200")
        ending = threading.Thread(target=server.close)
        ending.start()
        assert before.recv(1000) == b""  # it ends
        connection.sendall(GET + b"\r\n")
        told = rest(connection)
        assert told.startswith(b"HTTP/1.1 200")
        assert b"connection: close" in told
        ending.join()


def test_a_server_that_ends_does_not_wait_for_who_never_asks(server: Server, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(connections, "LAST_WORD_S", 0.1)
    with server.opened() as connection, server.opened(GET + b"\r\n") as before:
        before.recv(1000)
        server.close()
        assert rest(connection) == b""


@pytest.mark.parametrize(
    "sent, status",
    [
        (b"nonsense\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nHost: a\x01\r\n\r\n", 400),
        (b"GET /" + b"a" * 70_000 + b" HTTP/1.1\r\nHost: a\r\n\r\n", 414),
        (b"GET /" + b"a" * 400_000, 431),
    ],
)
def test_what_cannot_be_read_is_answered_as_every_other_error(server: Server, sent: bytes, status: int):
    with suppress(ConnectionError), server.opened() as connection:
        for start in range(0, len(sent), 60_000):
            connection.sendall(sent[start : start + 60_000])
            PAUSE.wait(0.01)  # so that the head comes in pieces
        head, _, body = connection.recv(4000).partition(b"\r\n\r\n")
        assert head.startswith(f"HTTP/1.1 {status} ".encode())
        assert b"content-type: application/problem+json" in head
        assert all(json.loads(body)[name] for name in ("type", "title", "status", "detail"))


def test_blanks_around_the_value_of_a_header_are_no_part_of_it(server: Server):
    with server.opened(b"GET /values HTTP/1.1\r\nHost: \t a \t \r\nX-One:  b c \r\n\r\n") as connection:
        assert b"|a|b c\r\n" in connection.recv(4000)
