"""A small OpenAI-compatible embedding server on the loopback interface, which can be told to misbehave.

It speaks real HTTP, so that what is tested is the client's whole way: connection, headers, statuses, timeouts.
"""

from __future__ import annotations

import json
import threading
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self, cast

Embed = Callable[[list[str]], Sequence[Sequence[float]]]


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer that is given instead of the right one."""

    status: int = 200
    body: object = ""
    headers: dict[str, str] = field(default_factory=dict[str, str])


Judge = Callable[[list[str]], Reply | None]


class EmbeddingServer:
    """Serves `embed` at `url` while the `with` block runs. `requests` holds the parsed bodies of all calls in order,
    `headers` their headers.

    `scripted` replies are given first, one a call; `stalls`: while set, a call is not answered (until the end);
    `judge` may refuse texts: what it returns is the answer, None lets them pass.
    """

    def __init__(self, embed: Embed, *, port: int = 0, judge: Judge | None = None) -> None:
        """Port 0: any free one. Listens from here on; answers inside the `with` block."""
        self.judge = judge
        self.requests: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.scripted: deque[Reply] = deque()
        self.stalls = threading.Event()
        self._embed = embed
        self._ended = threading.Event()
        self._server = _Server(("127.0.0.1", port), self.answer, self._ended.wait)
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})

    @property
    def port(self) -> int:
        """Where it listens."""
        return self._server.server_address[1]

    @property
    def url(self) -> str:
        """The base URL for clients."""
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def inputs(self) -> list[list[str]]:
        """The texts of every call, in order."""
        return [request["input"] for request in self.requests]

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def answer(self, request: dict[str, Any], headers: dict[str, str]) -> Reply | None:
        """What to say to a call; None: nothing."""
        self.requests.append(request)
        self.headers.append(headers)
        verdict = self.judge(request["input"]) if self.judge else None
        if self.stalls.is_set():
            return None
        if self.scripted:
            return self.scripted.popleft()
        return verdict or Reply(body=embeddings(self._embed(request["input"])))


def embeddings(vectors: Sequence[Sequence[float]]) -> dict[str, object]:
    """The body of a right answer. The entries come backwards: their order is in `index` alone."""
    entries = [
        {"object": "embedding", "index": place, "embedding": [float(x) for x in vector]}
        for place, vector in enumerate(vectors)
    ]
    return {"object": "list", "data": entries[::-1], "model": "served"}


class _Server(ThreadingHTTPServer):
    daemon_threads = False

    def __init__(
        self,
        address: tuple[str, int],
        answer: Callable[[dict[str, Any], dict[str, str]], Reply | None],
        wait: Callable[[], object],
    ) -> None:
        self.answer = answer
        self.wait = wait
        super().__init__(address, _Handler)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = 0.5

    def do_POST(self) -> None:
        """Answer a call, or wait in silence until the server ends."""
        server = cast("_Server", self.server)
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        reply = server.answer(request, dict(self.headers))
        if reply is None:
            server.wait()
            self.close_connection = True
            return
        body = reply.body if isinstance(reply.body, str) else json.dumps(reply.body)
        self.send_response_only(reply.status)
        for name, value in {"Content-Type": "application/json", **reply.headers}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body.encode())))
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""
