"""The server without keys answers its own account: whose a connection is, what others are told, and what goes on."""

from __future__ import annotations

import json
import os
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import httpx2
import pytest

import mnemic
from mnemic import Scope
from mnemic.web import connections
from mnemic.web.connections import Connection, account_of, tells_accounts
from tests.doors import test_serve
from tests.doors.http_doors import Listening, Served
from tests.doors.test_serve import Server as Process

OTHER = 65_534
ROOT = 0
ANA = Scope(user="ana")
pytestmark = pytest.mark.requirement("P-17", "P-47")


@contextmanager
def another_account() -> Generator[None]:
    """Sockets that are made here belong to another account."""
    os.seteuid(OTHER)
    try:
        yield
    finally:
        os.seteuid(ROOT)


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> Generator[str]:
    """A server whose account is not the one that runs the tests, and not root either."""
    owner = os.geteuid() + 1
    assert tells_accounts()
    monkeypatch.setattr(connections, "_ROOT", owner)
    monkeypatch.setattr(connections.os, "geteuid", lambda: owner)
    memory = Served("memory://")
    listening = Listening(memory.app, http=Connection)
    yield listening.url
    listening.close()
    memory.close()


def pair(host: str = "127.0.0.1", family: int = socket.AF_INET) -> tuple[socket.socket, socket.socket]:
    """Both ends of a connection of this machine: who connects, and who is connected to."""
    with socket.socket(family) as listening:
        listening.bind((host, 0))
        listening.listen()
        caller = socket.create_connection(listening.getsockname()[:2], timeout=20)
        return caller, listening.accept()[0]


def ask(connection: socket.socket, method: str, path: str, body: object = None) -> tuple[int, dict[str, object]]:
    content = b"" if body is None else json.dumps(body).encode()
    head = f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    connection.sendall(f"{head}Content-Length: {len(content)}\r\n\r\n".encode() + content)
    answer = b""
    while b"\r\n\r\n" not in answer or len(answer.partition(b"\r\n\r\n")[2]) < length_of(answer):
        piece = connection.recv(65536)
        assert piece, answer
        answer += piece
    return int(answer.split()[1]), json.loads(answer.partition(b"\r\n\r\n")[2])


def length_of(answer: bytes) -> int:
    lines = answer.lower().partition(b"\r\n\r\n")[0].split(b"\r\n")
    return int(next(line for line in lines if line.startswith(b"content-length:")).split(b":")[1])


class TestWhoseItIs:
    @pytest.mark.parametrize("host, family", [("127.0.0.1", socket.AF_INET), ("::1", socket.AF_INET6)])
    def test_a_connection_of_this_machine_has_the_account_that_opened_it(self, host: str, family: int):
        caller, connected = pair(host, family)
        with caller, connected:
            assert account_of(connected) == os.geteuid()

    def test_one_that_came_by_a_socket_of_ipv6_has_it_too(self):
        with socket.socket() as listening, socket.socket(socket.AF_INET6) as caller:
            listening.bind(("127.0.0.1", 0))
            listening.listen()
            caller.connect(("::ffff:127.0.0.1", listening.getsockname()[1]))
            with listening.accept()[0] as connected:
                assert account_of(connected) == os.geteuid()

    def test_one_whose_caller_has_gone_is_of_nobody(self):
        caller, connected = pair()
        caller.close()  # the kernel shows it as root's from now on
        with connected:
            assert account_of(connected) is None

    def test_one_that_was_reset_is_of_nobody(self):
        caller, connected = pair()
        caller.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        caller.close()
        with connected:
            assert account_of(connected) is None

    @pytest.mark.parametrize(
        "state, inode, expected", [(1, 5, 7), (5, 5, 7), (2, 5, None), (10, 5, None), (6, 0, None)]
    )
    def test_only_an_open_socket_counts(
        self, state: int, inode: int, expected: int | None, monkeypatch: pytest.MonkeyPatch
    ):
        caller, connected = pair()
        monkeypatch.setattr(connections, "_ask_kernel", lambda _end, _other: (state, 7, inode))  # pyright: ignore[reportUnknownLambdaType, reportUnknownArgumentType]
        with caller, connected:
            assert account_of(connected) == expected

    def test_a_system_that_forbids_the_question_does_not_tell(self, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setattr(connections, "_SOCK_DIAG", 4096)  # no protocol of the kernel
        assert tells_accounts.__wrapped__() is False
        monkeypatch.setattr(connections.sys, "platform", "darwin")
        assert tells_accounts.__wrapped__() is False


class TestAnotherAccount:
    def test_it_reads_and_writes_nothing_and_is_told_what_to_do(self, served: str):
        port = int(served.rpartition(":")[2])
        with socket.create_connection(("127.0.0.1", port), timeout=20) as connection:
            for method, path, body in (
                ("POST", "/v1/memories?user=ana", {"text": "Ana likes smoked tea"}),
                ("POST", "/v1/recall?user=ana", {"query": "tea"}),
                ("POST", "/v1/keys", {"name": "mine"}),
                ("GET", "/metrics", None),
            ):
                status, problem = ask(connection, method, path, body)
                assert (status, problem["type"]) == (403, "urn:mnemic:problem:forbidden")
                assert "mnemic keys create" in str(problem["hint"])
            assert ask(connection, "GET", "/health/live")[0] == 200

    def test_a_request_whose_caller_leaves_at_once_does_nothing(self, served: str):
        port = int(served.rpartition(":")[2])
        body = b'{"name": "mine", "rights": ["admin"]}'
        head = (
            b"POST /v1/keys HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
        )
        for _ in range(20):
            with socket.create_connection(("127.0.0.1", port), timeout=20) as connection:
                connection.sendall(head % len(body) + body)
        assert httpx2.post(f"{served}/v1/keys", json={"name": "mine"}).status_code == 403  # not 401: there is no key

    def test_where_the_system_does_not_tell_all_are_answered(self, served: str, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setattr(connections, "tells_accounts", lambda: False)
        assert httpx2.get(f"{served}/v1/memories?user=ana").status_code == 200


def test_the_account_of_the_server_is_answered_and_another_of_this_machine_is_not(tmp_path: Path):
    """With a real second account where the tests may take one; else its place is taken by `TestAnotherAccount`."""
    server = Process(tmp_path / "memory.db")
    try:
        port = int(server.url.rpartition(":")[2])
        with mnemic.connect(server.url) as remote:
            remote.remember(ANA, "Ana likes smoked tea")
        if os.geteuid() == ROOT:
            with another_account():
                stranger = socket.create_connection(("127.0.0.1", port), timeout=20)
                with pytest.raises(PermissionError):
                    (tmp_path / "memory.db").read_bytes()
            with stranger:
                assert ask(stranger, "GET", "/v1/memories?user=ana")[0] == 403
                assert ask(stranger, "POST", "/v1/keys", {"name": "mine"})[0] == 403
        with mnemic.connect(server.url) as remote:
            assert [memory.text for memory in remote.list(ANA)] == ["Ana likes smoked tea"]
    finally:
        server.close()


class TestToken:
    """On a system that does not show whose a connection is, a token in a private file does."""

    @pytest.fixture
    def told(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Generator[Process]:
        """A server whose kernel does not answer the question."""
        monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
        blind = "from mnemic.web import connections; connections._SOCK_DIAG = 4096; from mnemic.cli import main; main()"
        monkeypatch.setattr(test_serve, "SERVE", [sys.executable, "-c", blind, "serve"])
        server = Process(tmp_path / "memory.db", "--processes", "2")
        yield server
        server.close()

    def test_our_clients_find_it_and_others_are_refused(self, told: Process, tmp_path: Path):
        port = told.url.rpartition(":")[2]
        file = tmp_path / "data" / "mnemic" / f"serve-{port}.token"
        assert file.stat().st_mode & 0o077 == 0
        with mnemic.connect(told.url) as remote:
            remote.remember(ANA, "Ana likes smoked tea")
        for headers in ({}, {"Authorization": "Bearer mn_no"}):
            refused = httpx2.get(f"{told.url}/v1/memories?user=ana", headers=headers)
            assert refused.status_code == 401
            assert "smoked" not in refused.text
        assert str(file) in httpx2.get(f"{told.url}/v1/memories?user=ana").json()["detail"]
        token = {"Authorization": f"Bearer {file.read_text()}"}
        assert httpx2.get(f"{told.url}/v1/memories?user=ana", headers=token).json()["memories"]
        foreign = httpx2.get(f"{told.url}/v1/memories?user=ana", headers={**token, "Origin": "https://a.example"})
        assert foreign.status_code == 403
        told.end()
        assert not file.exists()

    def test_the_link_to_the_console_works_once(self, told: Process):
        for _ in range(1200):
            if any("#enter=" in line for line in told.told):
                break
            time.sleep(0.05)
        assert any("#enter=" in line for line in told.told), told.told
        (console,) = [line.split()[-1] for line in told.told if "#enter=" in line]
        code = {"Authorization": f"Bearer {console.partition('#enter=')[2]}"}
        entered = httpx2.post(f"{told.url}/console/enter", headers=code)
        headers = {"Authorization": f"Bearer {entered.json()['token']}"}
        assert httpx2.get(f"{told.url}/console/caller", headers=headers).json()["rights"]
        assert httpx2.post(f"{told.url}/console/enter", headers=code).status_code == 401
        assert httpx2.post(f"{told.url}/console/enter", headers={"Authorization": "Bearer None"}).status_code == 401


def test_files_of_a_store_are_for_its_account_alone(tmp_path: Path):
    home = tmp_path / "home"
    program = (
        "from mnemic import Mnemic, Scope; from mnemic.adapters.indexes import base_files as b\n"
        "b.LEAST_ROWS, b.STALE_ROWS, b._STALE_SHARE = 1, 0, 0.0\n"
        "with Mnemic.open(has_worker=False) as m: m.remember(Scope(user='ana'), 'Tea.'); m.work()\n"
        "with Mnemic.open(has_worker=False) as m: m.recall(Scope(user='ana'), 'tea')"
    )
    own = {"HOME": str(home), "XDG_DATA_HOME": str(home / "data"), "PATH": os.environ["PATH"]}
    own["PYTHONPATH"] = os.environ.get("PYTHONPATH", "")
    subprocess.run(["/bin/sh", "-c", 'umask 000; exec "$@"', "sh", sys.executable, "-c", program], env=own, check=True)
    files = [path for path in home.rglob("*") if path.is_file()]
    assert {".db", ".base"} <= {path.suffix for path in files}
    assert [path for path in files if path.stat().st_mode & 0o077] == []
