"""Claude Code, the released program, remembers from one session to the next: by hooks, by MCP tools, and by the proxy.

It runs offline: a stand-in on the loopback interface answers in place of Anthropic's server and keeps what it was sent.
The program is installed with npm unless `--program` names it. Exit code 1 when anything does not hold.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, cast

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from drills.kit.outcome import Outcome, options  # noqa: E402 -- the root of the repository is put on the path first
from drills.kit.serving import serving  # noqa: E402 -- as below
from mnemic import Mnemic, Scope  # noqa: E402 -- as above

PACKAGE = "@anthropic-ai/claude-code@2.1.197"
FACT, QUESTION, NAME = "My boat is called Miso and lies in Porto.", "What is my boat called?", "Miso"
FENCES = ("---BEGIN ", "---END ")
CONNECTING, AGAIN_S = "still connecting", 2.0
"""What the program says of a tool whose server has not started yet, and how long the model waits to call it again."""

MOST_TIMES = 1.3
"""A tool's result as the model gets it, in times of its text."""

MANY = 12  # memories that one call finds: enough for their ids to matter
LIMIT_S = 120
SAID = "Noted, thank you."


class StandIn(ThreadingHTTPServer):
    """Answers as Anthropic's server would. `call`: the tool that the model uses first, with its arguments."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.call: tuple[str, Mapping[str, object]] | None = None
        self.prompts: list[dict[str, Any]] = []

    @property
    def url(self) -> str:
        """The base URL for clients."""
        return f"http://127.0.0.1:{self.server_address[1]}"


class _Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        """Answer with a call of the tool, again while its server starts, and then with a text."""
        server = cast("StandIn", self.server)
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        messages = body.get("messages", [])
        server.prompts.append({"system": body.get("system"), "messages": messages})
        block: dict[str, object] = {"type": "text", "text": ""}
        delta: dict[str, object] = {"type": "text_delta", "text": SAID}
        made, is_early = len(_results(messages)), CONNECTING in json.dumps(messages[-1:])
        is_called = server.call is not None and bool(body.get("tools")) and (not made or is_early)
        if server.call is not None and is_called:
            time.sleep(AGAIN_S if is_early else 0)
            block = {"type": "tool_use", "id": f"toolu_{made}", "name": server.call[0], "input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(server.call[1])}
        usage = {"input_tokens": 5, "output_tokens": 1}
        start: dict[str, object] = {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": body.get("model"),
            "content": [],
        }
        stop = {"stop_reason": "tool_use" if is_called else "end_turn", "stop_sequence": None}
        events: tuple[tuple[str, dict[str, object]], ...] = (
            ("message_start", {"message": {**start, "stop_reason": None, "stop_sequence": None, "usage": usage}}),
            ("content_block_start", {"index": 0, "content_block": block}),
            ("content_block_delta", {"index": 0, "delta": delta}),
            ("content_block_stop", {"index": 0}),
            ("message_delta", {"delta": stop, "usage": usage}),
            ("message_stop", {}),
        )
        if body.get("stream"):
            sent = "".join(f"event: {name}\ndata: {json.dumps({'type': name, **each})}\n\n" for name, each in events)
        else:
            sent = json.dumps({**start, **stop, "content": [{"type": "text", "text": SAID}], "usage": usage})
        self._send(sent, "text/event-stream" if body.get("stream") else "application/json")

    def do_GET(self) -> None:
        """Answer anything else with an empty object."""
        self._send("{}", "application/json")

    def do_HEAD(self) -> None:
        """As `do_GET`, without the object."""
        self.do_GET()

    def _send(self, text: str, kind: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(text.encode())))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(text.encode())

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@contextmanager
def standing_in() -> Generator[StandIn]:
    """A stand-in that answers while the block runs."""
    with StandIn() as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


class Session:
    """Runs Claude Code and Mnemic's command for one user with a home of their own."""

    def __init__(self, folder: Path, program: Path, server: StandIn, url: str = "") -> None:
        self.server, self.store = server, folder / "memory.db"
        self._program, self._project = program, folder / "project"
        self._project.mkdir(parents=True)
        paths = [str(Path(sys.executable).parent), os.environ["PATH"]]
        self._environment = {
            "HOME": str(folder),
            "PATH": os.pathsep.join(paths),
            "PYTHONPATH": str(ROOT / "src"),
            "MNEMIC_STORE": str(self.store),
            "ANTHROPIC_BASE_URL": url or server.url,
            "ANTHROPIC_CUSTOM_HEADERS": "Mnemic-User: ana",
            "ANTHROPIC_API_KEY": "sk-none",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        }

    def mnemic(self, *arguments: str) -> str:
        """The output of Mnemic's command."""
        return self._run(str(Path(sys.executable).with_name("mnemic")), *arguments)

    def ask(self, prompt: str, *arguments: str, call: tuple[str, Mapping[str, object]] | None = None) -> str:
        """The system prompt and messages of the last request of a new session, as JSON."""
        self.server.call, before = call, len(self.server.prompts)
        self._run(str(self._program), "-p", prompt, *arguments)
        asked = [each for each in self.server.prompts[before:] if prompt in json.dumps(each)]
        return json.dumps(asked[-1], ensure_ascii=False) if asked else ""

    def _run(self, *command: str) -> str:
        done = subprocess.run(
            command,
            cwd=self._project,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
            check=False,
        )
        return done.stdout + done.stderr


def install(folder: Path) -> Path:
    """Claude Code, installed into a folder."""
    command = ["npm", "install", "--prefix", str(folder), "--no-fund", "--no-audit", PACKAGE]
    subprocess.run(command, check=True, capture_output=True, timeout=10 * LIMIT_S)
    return folder / "node_modules" / ".bin" / "claude"


def check_hooks(session: Session) -> list[str]:
    """A fact of one session is in the next one's prompt, between markers."""
    session.mnemic("hooks", "install", "claude-code", "--user", "ana")
    session.ask(FACT)
    shown = session.ask(QUESTION)
    return [*_check_shown("hooks", shown, session)]


def check_mcp(session: Session) -> tuple[list[str], float]:
    """A memory that a tool kept is in the next session's tool result, which is not much longer than its text."""
    session.mnemic("mcp", "install", "--client", "claude-code", "--user", "ana")
    allowed = ("--allowedTools", "mcp__mnemic__remember,mcp__mnemic__recall")
    session.ask("Keep it.", *allowed, call=("mcp__mnemic__remember", {"text": FACT}))
    with Mnemic.open(session.store, has_worker=False) as mnemic:
        for number in range(MANY):
            mnemic.remember(Scope(user="ana"), f"Ana's boat number {number} is called after cat number {number}")
        limit = MANY + 1
        query = {"query": QUESTION, "limit": limit}
        text = mnemic.tools.call(Scope(user="ana"), "recall", query).text
    shown = session.ask("Look it up.", *allowed, call=("mcp__mnemic__recall", query))
    results = _results(json.loads(shown)["messages"] if shown else [])
    result = _text(results[-1].get("content")) if results else ""
    times = len(result) / len(text)
    problems = [*_check_shown("MCP", result, session)]
    problems += [f"MCP: the result has {times:.2f} times the text"] if times > MOST_TIMES else []
    return problems, times


def check_proxy(folder: Path, program: Path, server: StandIn) -> list[str]:
    """A fact that was said through the proxy is in the next session's system prompt, and no reminder was stored."""
    store = folder / "memory.db"
    folder.mkdir()
    with serving(store, config=f'[proxy]\nanthropic-upstream = "{server.url}/v1"\n') as served:
        session = Session(folder, program, server, f"http://127.0.0.1:{served.port}/anthropic")
        session.ask(FACT)
        shown = session.ask(QUESTION)
    with Mnemic.open(store, has_worker=False) as mnemic:
        stored = [message.text for message in mnemic.messages(Scope(user="ana"))]
    problems = [] if {FACT, SAID} <= set(stored) else [f"proxy: stored {[text[:200] for text in stored]}"]
    problems += ["proxy: a reminder was stored"] if any("<system-reminder>" in text for text in stored) else []
    return [*problems, *_check_shown("proxy", shown, session)]


def _check_shown(name: str, shown: str, session: Session) -> Iterator[str]:
    if NAME not in shown:
        yield f"{name}: the second session was not shown the fact: {shown[-300:]!r}"
    elif not all(fence in shown for fence in FENCES):
        yield f"{name}: the fact stands outside the markers: {shown[-300:]!r}"
    with Mnemic.open(session.store, has_worker=False) as mnemic:
        said = mnemic.messages(Scope(user="ana"))
        agents = {None, *(each.agent for each in said)}  # hooks keep a project's talk in the project
        if not any(mnemic.recall(Scope(user="ana", agent=agent), QUESTION).hits for agent in agents):
            yield f"{name}: nothing was kept"


def _results(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    contents = [each["content"] for each in messages if isinstance(each.get("content"), list)]
    return [part for content in contents for part in content if part.get("type") == "tool_result"]


def _text(content: object) -> str:
    if isinstance(content, list):
        return "".join(str(part.get("text", "")) for part in cast("list[dict[str, object]]", content))
    return str(content)


def main() -> int:
    """Run the drill."""
    told = options(__doc__, words={"program": "the program, such as node_modules/.bin/claude"})
    with TemporaryDirectory() as folder, standing_in() as server:
        program = Path(told.program).absolute() if told.program else install(Path(folder) / "npm")
        hooks = check_hooks(Session(Path(folder) / "hooks", program, server))
        tools, times = check_mcp(Session(Path(folder) / "mcp", program, server))
        proxy = check_proxy(Path(folder) / "proxy", program, server)
    facts = {"program": PACKAGE, "requests": len(server.prompts), "tool result, times its text": f"{times:.2f}"}
    return Outcome(name="claude_code", about=__doc__ or "", facts=facts, problems=[*hooks, *tools, *proxy]).told()


if __name__ == "__main__":
    sys.exit(main())
