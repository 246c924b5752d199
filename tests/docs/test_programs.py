"""Every program of examples/ runs against local stand-ins, is short, and imports nothing internal."""

from __future__ import annotations

import ast
import json
import os
import re
import runpy
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = sorted((ROOT / "examples").glob("*.py"))
PRINTED = {
    "asyncio_users": "Ana likes green tea\nBen likes espresso\n",
    "batch_import": "event: User adopted a cat, Miso\nmessage: I adopted a cat, Miso.\n",
    "changing_facts": "now: Ana lives in Lisbon\nthen: Ana lives in Berlin\ncreated\n",
    "documents": "[1] lease.md\n# Lease\n\nEither party may end the lease with three months' notice.\n",
    "fastapi_users": "",
    "from_mem0": "2 imported\nRows on Sundays\n",
    "langgraph_store": "I will remember that.\nMy boat is called Heron.\nI will remember that.\n",
    "openai_chat": "It is called Heron.\n",
    "remote_server": "Ana prefers dark mode\n",
    "undo_and_erase": "Ana likes black tea\nAna likes green tea\n1 memory\nTrue 0 memories\n",
}
MOST_LINES = 25


class OpenAI(BaseHTTPRequestHandler):
    """A stand-in for OpenAI: it knows the boat's name if the messages have it."""

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        knows = any("Heron" in message["content"] for message in body["messages"][:-1])
        answer = {"role": "assistant", "content": "It is called Heron." if knows else "What a nice boat."}
        choice = {"index": 0, "finish_reason": "stop", "message": answer}
        reply = json.dumps({"id": "1", "object": "chat.completion", "created": 0, "model": "m", "choices": [choice]})
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(reply.encode())

    def log_message(self, format: str, *args: object) -> None:
        """Nothing: the test's output stays clean."""


@pytest.fixture
def environment(tmp_path: Path) -> Iterator[dict[str, str]]:
    """An empty home, and the address of the stand-in."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), OpenAI)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    folders = dict.fromkeys(("HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME"), str(tmp_path))
    address = f"http://127.0.0.1:{server.server_port}/v1"
    yield os.environ | folders | {"OPENAI_BASE_URL": address, "OPENAI_API_KEY": "none"}
    server.shutdown()
    server.server_close()


def test_every_program_is_listed_here():
    assert [path.stem for path in PROGRAMS] == sorted(PRINTED)
    assert len(PROGRAMS) <= 10


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: path.stem)
def test_a_program_is_short_and_imports_nothing_internal(program: Path):
    text = program.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= MOST_LINES
    modules = {node.module or "" for node in ast.walk(ast.parse(text)) if isinstance(node, ast.ImportFrom)}
    ours = {module for module in modules if module.startswith("mnemic")}
    assert all(module == "mnemic" or module.startswith("mnemic.integrations.") for module in ours)


@pytest.mark.parametrize("program", [path for path in PROGRAMS if path.stem != "remote_server"], ids=lambda p: p.stem)
def test_a_program_prints_what_it_promises(program: Path, environment: dict[str, str], tmp_path: Path):
    run = subprocess.run(
        [sys.executable, program], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    assert run.stdout.startswith(PRINTED[program.stem])


def test_the_client_of_a_server_prints_what_it_promises(environment: dict[str, str], tmp_path: Path):
    program = str(Path(sys.executable).with_name("mnemic"))
    command = [program, "serve", "--port", "0", "--store", str(tmp_path / "memory.db")]
    server = subprocess.Popen(
        command, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    try:
        assert server.stdout is not None
        url = next(found.group() for line in server.stdout if (found := re.search(r"http://127\.0\.0\.1:\d+", line)))
        run = subprocess.run(
            [sys.executable, ROOT / "examples" / "remote_server.py"],
            env=environment | {"MNEMIC_URL": url},
            capture_output=True,
            text=True,
            check=False,
        )
    finally:
        server.send_signal(signal.SIGTERM)
        server.communicate(timeout=30)
    assert run.stdout == PRINTED["remote_server"], run.stderr


def test_the_web_service_keeps_users_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    app = runpy.run_path(str(ROOT / "examples" / "fastapi_users.py"))["app"]
    with TestClient(app) as client:
        for user, text in (("ana", "I like tea"), ("ben", "I like coffee")):
            answer = client.post(f"/users/{user}/notes", params={"text": text})
            assert answer.json() == [text]
