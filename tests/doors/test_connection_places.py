"""How many connections may be open: newcomers take the places of those that are idle, never of those at work."""

from __future__ import annotations

import select
import socket
import threading
from collections.abc import Callable, Generator
from contextlib import ExitStack
from functools import partial

import pytest
from starlette.types import Receive, Scope, Send

from mnemic.web.connections import Connection, Entered, Places, holder_of
from tests.doors.http_doors import Listening

GET = b"GET /quick HTTP/1.1\r\nHost: localhost\r\n\r\n"
SLOW = b"GET /slow HTTP/1.1\r\nHost: localhost\r\n\r\n"
PLACES = 3
PAUSE = threading.Event()  # never set


class Client:
    """A connection as the places see it."""

    def __init__(self) -> None:
        self.made_room = 0

    def make_room(self) -> None:
        self.made_room += 1


class TestPlaces:
    def test_who_has_been_idle_longest_makes_room(self):
        places, clients = Places(2), [Client() for _ in range(4)]
        assert [places.enter(client, "10.0.0.1") for client in clients[:2]] == [Entered.YES] * 2
        places.busy(clients[0])
        places.idle(clients[0])
        assert places.enter(clients[2], "10.0.0.2") is Entered.YES
        assert places.enter(clients[3], "10.0.0.2") is Entered.YES
        assert [client.made_room for client in clients] == [1, 1, 0, 0]
        assert len(places) == 2

    def test_nobody_at_work_makes_room(self):
        places, clients = Places(2), [Client() for _ in range(3)]
        for client in clients[:2]:
            places.enter(client, "10.0.0.1")
            places.busy(client)
        assert places.enter(clients[2], "10.0.0.2") is Entered.ALL_FULL
        places.leave(clients[0])
        places.leave(clients[0])
        assert places.enter(clients[2], "10.0.0.2") is Entered.YES
        assert not any(client.made_room for client in clients)

    def test_an_address_that_has_its_share_loses_its_own_connections_and_no_others(self):
        places = Places(10, 2)
        other, *mine = [Client() for _ in range(4)]
        assert places.enter(other, "10.0.0.9") is Entered.YES
        assert [places.enter(client, "10.0.0.1") for client in mine] == [Entered.YES] * 3
        assert [client.made_room for client in (other, *mine)] == [0, 1, 0, 0]
        for client in mine[1:]:
            places.busy(client)
        assert places.enter(Client(), "10.0.0.1") is Entered.ADDRESS_FULL
        assert places.enter(Client(), "10.0.0.2") is Entered.YES

    def test_this_machine_has_no_share_of_its_own(self):
        places = Places(10, 1)
        for _ in range(5):
            client = Client()
            assert places.enter(client, "127.0.0.1") is Entered.YES
            places.busy(client)

    def test_what_left_is_neither_idle_nor_held(self):
        places, client = Places(1), Client()
        places.enter(client, "10.0.0.1")
        places.busy(client)
        places.leave(client)
        places.idle(client)
        assert places.enter(Client(), "10.0.0.1") is Entered.YES
        assert client.made_room == 0

    @pytest.mark.parametrize(
        "address,holder",
        [
            ("10.0.0.1", "10.0.0.1"),
            ("::ffff:10.0.0.1", "10.0.0.1"),
            ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::"),
            ("2001:db8:1:2::9", "2001:db8:1:2::"),
            ("fe80::1%eth0", "fe80::"),
            ("127.0.0.1", ""),
            ("::1", ""),
            ("::ffff:127.0.0.1", ""),
            ("", ""),
            ("a socket", ""),
        ],
    )
    def test_a_network_of_ipv6_is_one_holder_and_this_machine_none(self, address: str, holder: str):
        assert holder_of(address) == holder


class Application:
    """Answers at once, or works until its caller goes away."""

    def __init__(self) -> None:
        self.begun = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        if scope["path"] == "/slow":
            self.begun += 1
            while (await receive())["type"] != "http.disconnect":
                pass
            return
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b""})


class Server(Listening):
    """An application with few places."""

    def __init__(self, keep_alive_s: float = 0.3) -> None:
        self.app = Application()
        self.places = Places(PLACES)
        made = partial(Connection, places=self.places)
        super().__init__(self.app, http=made, lifespan="off", timeout_keep_alive=keep_alive_s)
        self.port = int(self.url.rpartition(":")[2])

    def opened(self, sent: bytes = b"") -> socket.socket:
        connection = socket.create_connection(("127.0.0.1", self.port), timeout=20)
        connection.sendall(sent)
        return connection


@pytest.fixture
def server() -> Generator[Server]:
    running = Server()
    yield running
    running.close()


@pytest.mark.requirement("P-17")
class TestConnections:
    def test_connections_that_ask_nothing_keep_nobody_out(self, server: Server):
        with ExitStack() as stack:
            silent = [stack.enter_context(server.opened()) for _ in range(20 * PLACES)]
            with server.opened(GET) as asking:
                assert asking.recv(1000).startswith(b"HTTP/1.1 200")
                assert len(server.places) == PLACES
            assert sum(_is_open(each) for each in silent) < PLACES

    def test_those_between_two_requests_make_room_and_the_one_that_asked_last_stays(self):
        server = Server(keep_alive_s=20)
        with ExitStack() as stack:
            asked = [stack.enter_context(server.opened(GET)) for _ in range(PLACES)]
            for each in asked:
                assert each.recv(1000).startswith(b"HTTP/1.1 200")
            asked[0].sendall(GET)
            assert asked[0].recv(1000).startswith(b"HTTP/1.1 200")
            with server.opened(GET) as new:
                assert new.recv(1000).startswith(b"HTTP/1.1 200")
                assert asked[1].recv(1000) == b""
                assert [_is_open(each) for each in asked] == [True, False, True]
        server.close()

    def test_where_all_are_at_work_a_newcomer_is_told_to_come_again(self, server: Server):
        with ExitStack() as stack:
            for _ in range(PLACES):
                stack.enter_context(server.opened(SLOW))
            until(lambda: server.app.begun == PLACES)
            with server.opened() as new:
                told = new.recv(1000)
                assert new.recv(1000) == b""
            assert told.startswith(b"HTTP/1.1 503 ")
            assert b"retry-after: 1\r\n" in told
        until(lambda: len(server.places) == 0)
        with server.opened(GET) as later:
            assert later.recv(1000).startswith(b"HTTP/1.1 200")

    def test_a_connection_that_asks_no_further_ends(self, server: Server):
        with server.opened(GET) as asked:
            assert asked.recv(1000).startswith(b"HTTP/1.1 200")
            assert asked.recv(1000) == b""
        until(lambda: len(server.places) == 0)

    def test_what_a_refused_caller_sends_all_the_same_is_not_answered(self, server: Server):
        with ExitStack() as stack:
            for _ in range(PLACES):
                stack.enter_context(server.opened(SLOW))
            until(lambda: server.app.begun == PLACES)
            new = stack.enter_context(server.opened(GET * 3))
            told = bytearray()
            try:
                while piece := new.recv(1000):
                    told += piece
            except ConnectionError:
                told += b""
            assert told.count(b"HTTP/1.1") <= 1
            assert b" 200 " not in told


def until(is_so: Callable[[], bool]) -> None:
    """Wait for what must come about."""
    while not is_so():
        PAUSE.wait(0.01)


def _is_open(connection: socket.socket) -> bool:
    """False when the other side has ended it."""
    readable, _, _ = select.select([connection], [], [], 0)
    try:
        return not readable or connection.recv(1000) != b""
    except ConnectionError:
        return False
