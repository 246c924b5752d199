"""SIGHUP to `mnemic serve --processes`: its processes are started anew one by one, and nobody who asks notices."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import count
from pathlib import Path

import httpx2
import pytest

from tests.doors.test_processes import PATIENCE_S, SERVE, Server, until

pytestmark = pytest.mark.timeout(300)  # a server is three processes to start, and six in all, on a machine that is busy

KEPT = "Ana likes smoked tea", "Ana rows on Sundays"


@pytest.fixture
def settings(tmp_path: Path) -> Path:
    path = tmp_path / "mnemic.toml"
    path.write_text("[recall]\nlimit = 10\n", encoding="utf-8")
    return path


@pytest.fixture
def server(tmp_path: Path, settings: Path) -> Iterator[Server]:
    started = Server(tmp_path / "memory.db", "--rate", "0", "--no-worker", "--config", str(settings))
    yield started
    started.close()


def messages(server: Server) -> list[str]:
    return [line["message"] for line in server.logged() if line["logger"] == "mnemic.web"]


def has_told(server: Server, words: str) -> bool:
    return any(words in message for message in messages(server))


def hits(server: Server) -> int:
    """How many a recall finds, where more than one would do."""
    asked = httpx2.post(f"{server.url}/v1/recall?user=ana", json={"query": "what does Ana do?"}, timeout=PATIENCE_S)
    assert asked.status_code == 200, asked.text
    return len(asked.json()["hits"])


def keep_both(server: Server) -> None:
    for text in KEPT:
        kept = httpx2.post(f"{server.url}/v1/memories?user=ana", json={"text": text}, timeout=PATIENCE_S)
        assert kept.status_code == 201


def asking(server: Server, user: str, over: threading.Event, *, keeps: bool) -> tuple[list[int], int]:
    """Writes without a pause, each on a connection of its own or all on kept ones: the answers, and the place of the
    newest message.
    """
    codes: list[int] = []
    with httpx2.Client(base_url=server.url, timeout=PATIENCE_S) as kept:
        for number in count():
            ask = kept.post if keeps else partial(httpx2.post, timeout=PATIENCE_S)
            url = f"{'' if keeps else server.url}/v1/messages?user={user}&session=s1"
            codes.append(ask(url, json={"user": f"This is number {number}."}).status_code)
            if over.is_set():
                break
    listed = httpx2.get(f"{server.url}/v1/messages?user={user}&session=s1&limit=1", timeout=PATIENCE_S).json()
    return codes, listed["messages"][0]["position"]


def test_processes_are_started_anew_while_requests_go_on_and_none_of_them_fails(server: Server, settings: Path):
    keep_both(server)
    assert hits(server) == 2
    before = server.children()
    settings.write_text("[recall]\nlimit = 1\n", encoding="utf-8")
    over = threading.Event()
    with ThreadPoolExecutor() as pool:
        asked = [
            pool.submit(asking, server, user, over, keeps=keeps)
            for user, keeps in (("mila", False), ("nora", True), ("emma", True))
        ]
        try:
            server.process.send_signal(signal.SIGHUP)
            until(lambda: has_told(server, "all processes have been restarted"))
        finally:
            over.set()
        for codes, newest in (future.result() for future in asked):
            assert set(codes) == {201}
            assert newest == len(codes) > 1
    assert not set(before) & set(server.children())
    assert len(server.children()) == len(before)
    assert server.ready() == "ok"
    assert hits(server) == 1


def test_settings_that_cannot_be_change_nothing_and_a_signal_ends_a_server_that_renews(
    server: Server, settings: Path, tmp_path: Path
):
    before = server.children()
    for text, words in (
        ("[recall]\nlimit = 0\n", "the processes were not restarted: recall.limit"),
        ("[server]\nprocesses = 3\n", "restarted: the store or the number of processes has changed"),
        ("[memory.index]\nbackend = 'qdrant'\nqdrant.url = ':memory:'\n", "restarted: 2 processes require a Qdrant"),
    ):
        settings.write_text(text, encoding="utf-8")
        server.process.send_signal(signal.SIGHUP)
        until(partial(has_told, server, words))
    assert server.children() == before
    settings.write_text(f"[embedder]\nname = 'onnx:{tmp_path}/nothing'\n", encoding="utf-8")
    server.process.send_signal(signal.SIGHUP)
    until(lambda: has_told(server, "failed to restart"))
    until(lambda: server.ready() == "ok")
    assert before[1] in server.children()
    keep_both(server)
    assert hits(server) == 2
    settings.write_text("[recall]\nlimit = 1\n", encoding="utf-8")
    begun = len(messages(server))
    server.process.send_signal(signal.SIGHUP)
    until(lambda: any("one by one" in message for message in messages(server)[begun:]))
    server.process.terminate()
    assert server.process.wait(PATIENCE_S) == 0


def test_a_server_in_a_terminal_ends_with_it(tmp_path: Path):
    ours, theirs = os.openpty()
    command = [*SERVE, "--store", str(tmp_path / "memory.db"), "--processes", "2"]
    with subprocess.Popen(command, stdin=theirs, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        try:
            told: list[str] = []
            assert any(told.append(line) or line.startswith("Mnemic is listening on ") for line in process.stderr), told
            process.send_signal(signal.SIGHUP)
            assert process.wait(PATIENCE_S) == -signal.SIGHUP
        finally:
            process.kill()
            os.close(ours)
            os.close(theirs)
