"""`mnemic serve --processes`: several processes behind one port are one server to whoever asks."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import httpx2
import pytest

from mnemic import Config, Mnemic, Scope
from mnemic.cli import supervisor
from mnemic.cli.answering import Plan
from mnemic.cli.failures import EXIT_CODES
from mnemic.cli.serve import tell
from mnemic.cli.supervisor import Supervisor
from mnemic.config import load_config
from mnemic.model.records import Right
from mnemic.web.limits import Limits
from tests.doors.doors import run

SERVE = [str(Path(sys.executable).with_name("mnemic")), "serve", "--port", "0", "--log-level", "info"]
pytestmark = pytest.mark.timeout(300)  # each server is three processes to start, on a machine that may be busy

PROCESSES = 2
PATIENCE_S = 60.0
TICK = threading.Event()  # never set


class Server:
    """The supervisor, what it and its processes told, and the address."""

    def __init__(self, store: Path, *options: str) -> None:
        command = [*SERVE, "--store", str(store), "--processes", str(PROCESSES), *options]
        self.told: list[str] = []
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        self._reader = threading.Thread(target=lambda: self.told.extend(self.process.stderr or ()), daemon=True)
        self._reader.start()
        self.url = until(self._address)
        until(lambda: self.ready() == "ok")

    def _address(self) -> str | None:
        assert self.process.poll() is None, self.told
        found = [line for line in self.told if line.startswith("Mnemic is listening on ")]
        return found[0].split(" on ")[1].split(";")[0] if found else None

    def ready(self) -> str:
        """What the probe tells over a connection of its own."""
        return httpx2.get(f"{self.url}/health/ready", timeout=PATIENCE_S).json()["condition"]

    def children(self) -> list[int]:
        """The processes that answer."""
        listed = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text(encoding="utf-8")
        return [int(pid) for pid in listed.split()]

    def logged(self) -> list[dict[str, Any]]:
        """The lines of the log."""
        return [json.loads(line) for line in list(self.told) if line.startswith("{")]

    def answered_by(self, request_id: str) -> int:
        """Which process answered a request."""
        lines = until(lambda: [line for line in self.logged() if line.get("request_id") == request_id])
        return lines[0]["process"]

    def close(self) -> None:
        """End it as a service manager does, and then for sure."""
        self.process.terminate()
        try:
            self.process.wait(PATIENCE_S)
        finally:
            self.process.kill()
            self.process.wait()
            self._reader.join()
            if self.process.stderr is not None:
                self.process.stderr.close()


def until(look: Callable[[], Any]) -> Any:
    """What a look finds, as soon as it finds something; the time-out is for a test that fails."""
    end = time.monotonic() + PATIENCE_S
    while not (found := look()):
        assert time.monotonic() < end, "it did not come about"
        TICK.wait(0.02)
    return found


def is_gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


@contextmanager
def one_each(server: Server, **headers: str) -> Generator[list[httpx2.Client]]:
    """A client to each process, in their order, each with one connection that it keeps."""
    with ExitStack() as stack:
        clients: dict[int, httpx2.Client] = {}
        for attempt in range(200):
            limits = httpx2.Limits(max_connections=1)
            client = stack.enter_context(
                httpx2.Client(base_url=server.url, limits=limits, headers=headers, timeout=PATIENCE_S)
            )
            name = f"which-{id(stack)}-{attempt}"
            client.get("/health/live", headers={"X-Request-ID": name})
            clients.setdefault(server.answered_by(name), client)
            if len(clients) == PROCESSES:
                break
        yield [clients[number] for number in range(PROCESSES)]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    started = Server(tmp_path_factory.mktemp("served") / "memory.db", "--rate", "0")
    yield started
    started.close()


def test_what_one_process_is_told_another_knows(server: Server):
    with one_each(server) as (one, other):
        kept = one.post("/v1/memories?user=ana", json={"text": "Ana likes smoked tea"}).json()
        found = other.post("/v1/recall?user=ana", json={"query": "which drink?"}).json()["hits"]
        assert [hit["item"]["id"] for hit in found] == [kept["id"]]
        assert other.delete(f"/v1/memories/{kept['id']}?user=ana").is_success
        assert one.get(f"/v1/memories/{kept['id']}?user=ana").status_code == 404


def test_a_write_that_is_sent_again_to_another_process_is_not_done_again(server: Server):
    asked: Any = {"json": {"text": "Boris rows on Sundays"}, "headers": {"Idempotency-Key": "once"}}
    with one_each(server) as (one, other):
        first = one.post("/v1/memories?user=boris", **asked)
        again = other.post("/v1/memories?user=boris", **asked)
    assert again.json() == first.json()
    assert again.headers["idempotency-replayed"] == "true"


def test_mcp_over_http_may_go_on_in_another_process(server: Server):
    headers = {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2025-06-18"}
    about = {"name": "a test", "version": "1"}
    begin = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": about}

    def asked(method: str, number: int, params: dict[str, Any]) -> dict[str, Any]:
        return {"jsonrpc": "2.0", "id": number, "method": method, "params": params}

    with one_each(server, **headers) as (one, other):
        begun = one.post("/mcp?user=mila", json=asked("initialize", 1, begin))
        assert "mcp-session-id" not in begun.headers
        call = {"name": "remember", "arguments": {"text": "Mila plays the cello"}}
        done = other.post("/mcp?user=mila", json=asked("tools/call", 2, call))
        assert not done.json()["result"].get("isError")
        listed = one.get("/v1/memories?user=mila").json()
    assert [each["text"] for each in listed["memories"]] == ["Mila plays the cello"]


def test_long_work_of_one_process_is_seen_in_another_while_it_goes_on(server: Server):
    said = [{"role": "user", "content": f"The locker of Nora has number {number}"} for number in range(40)]
    lines = "\n".join(map(json.dumps, said))
    events = {"Accept": "application/x-ndjson", "Content-Type": "text/plain"}
    with one_each(server) as (one, other):
        sent: Any = {"content": lines.encode(), "headers": events, "params": {"user": "nora"}}
        with one.stream("POST", "/v1/import", **sent) as answer:
            assert other.get("/v1/memories?user=nora").status_code == 200
            told = [json.loads(line) for line in answer.iter_lines()]
        assert told[-1]["event"] == "done", told[-1]
        found = other.post("/v1/recall?user=nora", json={"query": "number 39 of the locker"}).json()["hits"]
    assert "The locker of Nora has number 39" in [hit["item"]["text"] for hit in found]


def test_metrics_are_those_of_all_processes_whoever_is_asked(server: Server):
    route = 'mnemic_http_requests_total{method="GET",route="/v1/profile",status="200"}'

    def counted(client: httpx2.Client) -> float:
        lines = client.get("/metrics").text.splitlines()
        return next((float(line.split()[-1]) for line in lines if line.startswith(route)), 0.0)

    with one_each(server) as (one, other):
        before = counted(one)
        for client in (one, other, other):
            assert client.get("/v1/profile?user=ana").status_code == 200
        until(lambda: counted(one) - before == 3.0)
        assert counted(other) - before == 3.0
        shown = one.get("/metrics").text
    assert "mnemic_processes_wanted 2.0" in shown
    assert "mnemic_processes_answering 2.0" in shown
    assert shown.count("\nmnemic_http_in_flight ") == 1


def test_one_process_alone_runs_jobs(server: Server):
    def runs() -> set[int]:
        told = [line for line in server.logged() if line["logger"] == "mnemic.jobs" and "succeeded" in line["message"]]
        return {line["process"] for line in told}

    with one_each(server) as clients:
        for client in clients:
            said = client.post("/v1/messages?user=emma&session=s1", json={"user": "My brother Emil moved to Lisbon."})
            assert said.is_success
    assert until(runs) == {0}


def test_many_connections_at_once_are_shared_among_the_processes(server: Server):
    """Mostly: a process that another program keeps off the processor for a moment gets fewer."""
    rounds = [_shares_of(server, 40) for _ in range(5)]
    assert median(max(shares) - min(shares) for shares in rounds) <= 6, rounds


def _shares_of(server: Server, number: int) -> list[int]:
    """How many connections each process accepted, of so many that were opened at once. Afterwards they are closed."""
    port = httpx2.URL(server.url).port
    assert port is not None

    def held() -> list[int]:
        return [_accepted(pid, port) for pid in server.children()]

    until(lambda: sum(held()) == 0)
    with ExitStack() as stack:
        for _ in range(number):
            stack.enter_context(socket.create_connection(("127.0.0.1", port)))
        until(lambda: sum(held()) == number)
        return held()


def _accepted(pid: int, port: int) -> int:
    """How many connections on the port a process holds."""
    rows = [row.split() for row in Path(f"/proc/{pid}/net/tcp").read_text(encoding="utf-8").splitlines()[1:]]
    ours = {f"socket:[{row[9]}]" for row in rows if row[1].endswith(f":{port:04X}") and row[3] == "01"}
    return sum(_target(descriptor) in ours for descriptor in Path(f"/proc/{pid}/fd").iterdir())


def _target(descriptor: Path) -> str:
    try:
        return descriptor.readlink().name
    except OSError:  # closed meanwhile
        return ""


@pytest.fixture
def keyed(tmp_path: Path) -> Iterator[tuple[Server, str, str]]:
    """A server whose key may ask once, the token of that key, and another's."""
    store = tmp_path / "memory.db"
    with Mnemic.open(str(store)) as memory:
        token, other = (memory.keys.create(Scope(), rights=list(Right)).token for _ in range(2))
    started = Server(store, "--rate", "0.001")
    yield started, token, other
    started.close()


@pytest.mark.requirement("P-17")
def test_rates_and_revoked_keys_count_in_all_processes(keyed: tuple[Server, str, str], tmp_path: Path):
    server, token, other = keyed
    with one_each(server) as clients:
        mine = {"Authorization": f"Bearer {token}"}
        codes = Counter(client.get("/v1/memories?user=ana", headers=mine).status_code for client in clients * 3)
        assert codes == {200: 1, 429: 5}
        with Mnemic.open(str(tmp_path / "memory.db")) as memory:
            memory.keys.revoke(Scope(), other.split("_")[1])
        revoked = {"Authorization": f"Bearer {other}"}
        codes = Counter(client.get("/v1/memories?user=ana", headers=revoked).status_code for client in clients)
        assert codes == {401: 1, 429: 1}


@pytest.mark.requirement("P-21")
def test_a_process_that_dies_is_started_anew_while_the_others_answer_and_all_end_when_told_to(tmp_path: Path):
    server = Server(tmp_path / "memory.db")
    try:
        first, second = children = server.children()
        os.kill(first, signal.SIGKILL)
        until(lambda: server.ready() == "degraded")
        kept = httpx2.post(
            f"{server.url}/v1/memories?user=ana", json={"text": "Ana likes smoked tea"}, timeout=PATIENCE_S
        )
        assert kept.status_code == 201
        until(lambda: server.ready() == "ok")
        assert second in server.children()
        assert first not in server.children()
        assert [line["message"] for line in server.logged() if "ended" in line["message"]] == [
            "process 0 ended: signal 9 (SIGKILL); restarting in 0.5 s"
        ]
        children = server.children()
        server.process.send_signal(signal.SIGINT)
        assert server.process.wait(PATIENCE_S) == 0
        assert all(is_gone(pid) for pid in children)
    finally:
        server.close()
    with Mnemic.open(str(tmp_path / "memory.db")) as memory:
        assert memory.get(Scope(user="ana"), kept.json()["id"]).text == "Ana likes smoked tea"


@pytest.mark.skipif(not supervisor.FORKS, reason="this system starts an interpreter for each process")
def test_processes_are_forked_by_a_single_thread_and_read_no_input(server: Server):
    def describe(pid: int, name: str) -> str:
        return Path(f"/proc/{pid}/{name}").read_text(encoding="utf-8")

    assert len(list(Path(f"/proc/{server.process.pid}/task").iterdir())) == 1
    for pid in server.children():
        assert describe(pid, "cmdline") == describe(server.process.pid, "cmdline")
        assert os.getpgid(pid) == pid
        assert Path(f"/proc/{pid}/fd/0").readlink() == Path(os.devnull)


@pytest.mark.requirement("P-21")
def test_no_process_outlives_a_supervisor_that_is_killed(tmp_path: Path):
    server = Server(tmp_path / "memory.db")
    try:
        children = server.children()
        server.process.kill()
        server.process.wait()
        until(lambda: all(is_gone(pid) for pid in children))
        with socket.socket() as again:
            again.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            again.bind(("127.0.0.1", int(server.url.rpartition(":")[2])))
    finally:
        server.close()


def test_processes_that_could_share_no_store_are_refused():
    code, _, err = run(["--store", "memory://", "--port", "0", "--processes", "2"], ["serve"])
    assert code == 6
    assert "cannot share an in-memory store" in err


def test_processes_that_could_share_no_index_are_refused(tmp_path: Path):
    settings = tmp_path / "mnemic.toml"
    settings.write_text('[memory.index]\nbackend = "qdrant"\nqdrant.url = ":memory:"\n', encoding="utf-8")
    options = ["--store", str(tmp_path / "memory.db"), "--config", str(settings), "--port", "0", "--processes", "2"]
    code, _, err = run(options, ["serve"])
    assert code == 6
    assert "a Qdrant server" in err


def test_a_server_whose_first_process_cannot_begin_ends_with_its_exit_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(supervisor, "FORKS", False)  # this process has threads; and as on macOS
    plan = Plan(
        config=Config(store=str(tmp_path)),  # a folder
        limits=Limits(),
        connections=10,
        connections_of_address=0,
        is_near=True,
        processes=2,
    )
    with socket.create_server(("127.0.0.1", 0)) as listening:
        assert Supervisor(plan, listening, str(tmp_path), lambda _: None).run() in EXIT_CODES.values()


def test_a_process_that_stands_still_is_killed_and_one_that_dies_again_and_again_ends_the_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    for name, value in (("FORKS", False), ("MOST_DEATHS", 2), ("STILL_S", 1.5), ("MOST_STILL_LOOKS", 1)):
        monkeypatch.setattr(supervisor, name, value)
    plan = Plan(
        config=Config(store=str(tmp_path / "memory.db")),
        limits=Limits(),
        connections=10,
        connections_of_address=0,
        is_near=True,
        works=False,
    )
    with socket.create_server(("127.0.0.1", 0)) as listening, caplog.at_level("WARNING", "mnemic.web"):
        url = f"http://127.0.0.1:{listening.getsockname()[1]}/health/ready"

        def hurt() -> None:
            for deaths, how in ((1, signal.SIGSTOP), (2, signal.SIGKILL)):
                httpx2.get(url, timeout=PATIENCE_S)
                children = Path(f"/proc/self/task/{threading.main_thread().native_id}/children")
                os.kill(int(children.read_text(encoding="utf-8").split()[-1]), how)
                until(partial(has_died, deaths))

        def has_died(times: int) -> bool:
            return sum("0 ended" in text for text in caplog.messages) == times

        hurting = threading.Thread(target=hurt)
        code = Supervisor(plan, listening, str(tmp_path), lambda _: hurting.start()).run()
        hurting.join()
    assert code == 1
    assert caplog.messages == [
        "process 0 was stuck and was killed",
        "process 0 ended: signal 9 (SIGKILL); restarting in 0.5 s",
        "process 0 is responding again",
        "process 0 ended: signal 9 (SIGKILL); every process died 2 times within 600 s; the server is stopping",
    ]


def test_a_service_manager_is_told_when_the_server_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    manager = tmp_path / "manager"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as told, socket.create_server(("127.0.0.1", 0)) as listening:
        told.bind(str(manager))
        monkeypatch.setenv("NOTIFY_SOCKET", str(manager))
        tell(listening, [])
        assert told.recv(100) == b"READY=1"
        manager.unlink()
        tell(listening, [])
    assert "cannot notify the service manager at NOTIFY_SOCKET" in capsys.readouterr().err


def test_the_number_of_processes_may_stand_in_the_configuration(tmp_path: Path):
    (tmp_path / "mnemic.toml").write_text("[server]\nprocesses = 3\n", encoding="utf-8")
    assert load_config(file=tmp_path / "mnemic.toml").processes == 3
    assert load_config(environment={"MNEMIC_SERVER_PROCESSES": "2"}).processes == 2
    assert Config().processes == 1
