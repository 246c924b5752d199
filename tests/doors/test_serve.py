"""`mnemic serve` as a process: where it listens, what it shows, and how it ends."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
import types
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

import mnemic
from mnemic import Mnemic, Scope
from mnemic.cli.serve import is_loopback
from mnemic.errors import UnavailableError
from tests.doors.doors import run

SERVE = [str(Path(sys.executable).with_name("mnemic")), "serve"]
ANA = Scope(user="ana")


class Server:
    """The process, and the address that it told."""

    def __init__(self, store: Path, *options: str) -> None:
        command = [*SERVE, "--port", "0", "--store", str(store), "--log-level", "info", *options]
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        assert self.process.stderr is not None
        self.told = [self.process.stderr.readline()]
        while " on http" not in self.told[-1] and self.told[-1]:
            self.told.append(self.process.stderr.readline())
        self.url = self.told[-1].split(" on ")[1].split(";")[0]
        self._reader = threading.Thread(target=lambda: self.told.extend(self.process.stderr or ()), daemon=True)
        self._reader.start()
        with httpx2.Client(transport=httpx2.HTTPTransport(retries=20)) as client:
            assert client.get(f"{self.url}/health/live", timeout=60).status_code == 200

    def end(self) -> int:
        """End it as a service manager does; its exit code."""
        self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(60)
        self._reader.join()
        return code

    def close(self) -> None:
        """End it at once, if it has not ended."""
        self.process.kill()
        self.process.wait()
        self._reader.join()
        if self.process.stderr is not None:
            self.process.stderr.close()


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    started = Server(tmp_path / "memory.db")
    yield started
    started.close()


@pytest.mark.requirement("P-16", "P-18", "P-20", "P-35")
def test_a_server_tells_where_to_go_works_and_ends_when_told_to(server: Server, tmp_path: Path):
    with mnemic.connect(server.url) as remote:
        tea = remote.remember(ANA, "Ana likes smoked tea")
        assert remote.recall(ANA, "which drink?", deadline_ms=1000).hits[0].id == tea.id
        assert remote.doctor(is_quick=True).condition.value == "ok"
    ready = httpx2.get(f"{server.url}/health/ready")
    assert (ready.status_code, ready.json()["condition"]) == (200, "ok")
    metrics = httpx2.get(f"{server.url}/metrics").text
    assert 'mnemic_http_requests_total{method="POST",route="/v1/memories",status="201"} 1.0' in metrics
    assert "mnemic_remember_added_total 1.0" in metrics
    assert "mnemic_recall_seconds_count 1.0" in metrics
    assert httpx2.get(f"{server.url}/docs").status_code == 200
    assert httpx2.get(f"{server.url}/console", follow_redirects=True).status_code == 200
    assert server.end() == 0
    lines = [json.loads(line) for line in server.told if line.startswith("{")]
    asked = [line for line in lines if line.get("route") == "/v1/memories"]
    assert [(line["status"], bool(line["request_id"])) for line in asked] == [(201, True)]
    assert "smoked" not in "".join(server.told)
    assert "ana" not in "".join(server.told)
    with Mnemic.open(str(tmp_path / "memory.db")) as kept:
        assert kept.get(ANA, tea.id).text == "Ana likes smoked tea"
    with mnemic.connect(server.url) as remote, pytest.raises(UnavailableError):
        remote.list(ANA)


@pytest.mark.requirement("P-17")
def test_a_server_refuses_to_be_reached_from_elsewhere_without_a_key(tmp_path: Path):
    store = str(tmp_path / "memory.db")
    code, _, err = run(["--store", store, "--host", "0.0.0.0", "--port", "0"], ["serve"])  # noqa: S104 -- refused
    assert code == 6
    assert "mnemic keys create" in err


def test_a_port_that_is_taken_is_told(server: Server, tmp_path: Path):
    port = server.url.rpartition(":")[2]
    code, _, err = run(["--store", str(tmp_path / "other.db"), "--port", port], ["serve"])
    assert code == 8
    assert "--port" in err


def test_a_server_without_its_packages_tells_which_line_installs_them(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "uvicorn", types.ModuleType("uvicorn"))
    code, _, err = run([], ["serve"])
    assert code == 6
    assert "(uvicorn)" in err
    assert "pip install 'mnemic[server]'" in err


def test_importing_the_library_or_its_command_line_brings_no_server_along():
    program = "import sys, mnemic.cli.app, mnemic; mnemic.Mnemic; print({'fastapi', 'uvicorn'} & set(sys.modules))"
    shown = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "set()"


def test_an_address_of_this_machine_is_known():
    assert [is_loopback(host) for host in ("127.0.0.1", "127.9.9.9", "::1", "localhost")] == [True] * 4
    others = ("0.0.0.0", "::", "10.0.0.1", "example.org", "")  # noqa: S104 -- only looked at, never listened on
    assert [is_loopback(host) for host in others] == [False] * 5


@pytest.mark.requirement("P-17")
def test_keys_are_made_listed_rotated_and_revoked_on_the_command_line(tmp_path: Path):
    options = ["--store", str(tmp_path / "memory.db"), "--org", "acme"]
    code, token, err = run([*options, "--user", "ana", "--name", "laptop", "--right", "read"], ["keys", "create"])
    assert code == 0
    assert token.startswith("mn_")
    assert "not be shown again" in err
    with Mnemic.open(str(tmp_path / "memory.db")) as opened:
        (key,) = opened.keys.list(Scope(org="acme"))
        assert opened.admission.check(token.strip()) == key
    assert (key.name, key.user, sorted(key.rights)) == ("laptop", "ana", ["read"])
    code, new, _ = run([*options, "--overlap", "0", "--json"], ["keys", "rotate", key.id])
    assert json.loads(new)["key"]["user"] == "ana"
    code, listed, _ = run(options, ["keys", "list"])
    assert [line.split("\t")[0] for line in listed.splitlines()] == [key.id, json.loads(new)["key"]["id"]]
    assert "secret_hash" not in new + listed
    assert run([*options, "--json"], ["keys", "revoke", json.loads(new)["key"]["id"]])[0] == 0
    assert run(["--store", options[1], "--org", "other"], ["keys", "revoke", key.id])[0] == 3
    code, told, _ = run(options, ["keys", "audit"])
    assert [line.split("\t")[2] for line in told.splitlines()] == [
        "keys.revoke",
        "keys.create",
        "keys.rotate",
        "keys.create",
    ]
