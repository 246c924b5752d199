"""A small OpenAI-compatible chat server on the loopback interface, which can be told to misbehave.

It speaks real HTTP, so that what is tested is the client's whole way: connection, headers, statuses, framing, time.
"""

from __future__ import annotations

import json
import threading
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self, cast

PROMPT_TOKENS = 7
JSON = "application/json"
EVENTS = "text/event-stream"


class Ending(Enum):
    """What the server does when all is sent: end the reply, break it off, be silent, drip for ever, or say more."""

    END = "end"
    BREAK = "break"
    HANG = "hang"
    DRIP = "drip"
    TALK = "talk"


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatReply:
    """One answer as it goes over the wire. `status` 0: the connection is closed without any."""

    status: int = 200
    body: str = ""
    type: str = JSON
    headers: dict[str, str] = field(default_factory=dict[str, str])
    ending: Ending = Ending.END


class ChatServer:
    """Serves what `speak` makes of each request at `url` while the `with` block runs, whole or streamed as asked.
    `requests` holds the parsed bodies of all calls in order, `headers` their headers, `paths` the paths of all
    requests; `scripted` replies are given first, one a call.
    """

    def __init__(self, speak: Callable[[dict[str, Any]], str | ChatReply]) -> None:
        self.requests: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.paths: list[str] = []
        self.scripted: deque[ChatReply] = deque()
        self._speak = speak
        self._ended = threading.Event()
        self._server = _Server(("127.0.0.1", 0), self.answer, self._ended, self.paths)
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})

    @property
    def url(self) -> str:
        """The base URL for clients."""
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

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

    def answer(self, request: dict[str, Any], headers: dict[str, str]) -> ChatReply:
        """What to say to a call."""
        self.requests.append(request)
        self.headers.append(headers)
        if self.scripted:
            return self.scripted.popleft()
        said = self._speak(request)
        if isinstance(said, ChatReply):
            return said
        return streamed(said) if request.get("stream") else whole(said)


def whole(text: str | None, *, finish: str = "stop", tools: Sequence[dict[str, Any]] = ()) -> ChatReply:
    """A right answer in one piece."""
    message = {"role": "assistant", "content": text, **({"tool_calls": list(tools)} if tools else {})}
    choice = {"index": 0, "message": message, "finish_reason": finish}
    usage = {"prompt_tokens": PROMPT_TOKENS, "completion_tokens": len((text or "").split())}
    return ChatReply(body=json.dumps({"object": "chat.completion", "choices": [choice], "usage": usage}))


def event(text: str, finish: str | None = None) -> str:
    """One event of a stream."""
    choice = {"index": 0, "delta": {"content": text}, "finish_reason": finish}
    return f"data: {json.dumps({'object': 'chat.completion.chunk', 'choices': [choice]})}\n\n"


def streamed(text: str, *, finish: str = "stop", ending: Ending = Ending.END) -> ChatReply:
    """A right answer as events of up to a hundred characters, with the usage in the last one."""
    events = [event(text[start : start + 100]) for start in range(0, len(text), 100)]
    usage: dict[str, object] = {
        "choices": [],
        "usage": {"prompt_tokens": PROMPT_TOKENS, "completion_tokens": len(text.split())},
    }
    events += [event("", finish), f"data: {json.dumps(usage)}\n\n", "data: [DONE]\n\n"]
    return ChatReply(body="".join(events), type=EVENTS, ending=ending)


class _Server(ThreadingHTTPServer):
    daemon_threads = False

    def __init__(
        self,
        address: tuple[str, int],
        answer: Callable[[dict[str, Any], dict[str, str]], ChatReply],
        ended: threading.Event,
        paths: list[str],
    ) -> None:
        self.answer = answer
        self.paths = paths
        self.ended = ended
        super().__init__(address, _Handler)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = 0.5

    def parse_request(self) -> bool:
        """Note the path, also of a method that is not taken."""
        is_read = super().parse_request()
        if is_read:
            cast("_Server", self.server).paths.append(self.path)
        return is_read

    def do_POST(self) -> None:
        """Answer a call as told."""
        server = cast("_Server", self.server)
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        reply = server.answer(request, dict(self.headers))
        if reply.status == 0:
            self.close_connection = True
            return
        self.send_response_only(reply.status)
        body = reply.body.encode("utf-8", "surrogatepass")
        framing = {"Content-Length": str(len(body))} if reply.ending is Ending.END else {"Transfer-Encoding": "chunked"}
        for name, value in {"Content-Type": reply.type, **framing, **reply.headers}.items():
            self.send_header(name, value)
        self.end_headers()
        if reply.ending is Ending.END:
            self.wfile.write(body)
            return
        self.close_connection = True
        self._chunk(body)
        if reply.ending is Ending.HANG:
            server.ended.wait()
        more = {Ending.DRIP: b": still here\n", Ending.TALK: event(" and on").encode()}.get(reply.ending)
        while more is not None and not server.ended.wait(0.02):
            try:
                self._chunk(more)
            except OSError:
                return  # the client has left, as it should

    def _chunk(self, data: bytes) -> None:
        if data:
            self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""
