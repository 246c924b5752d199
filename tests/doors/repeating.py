"""Requests with an `Idempotency-Key`, to servers on one store and to an application that does as it is told."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

import anyio
import anyio.to_thread
from starlette.testclient import TestClient
from starlette.types import Receive, Send
from starlette.types import Scope as AsgiScope

from mnemic import Mnemic, Scope
from mnemic.build import build
from mnemic.config import Config
from mnemic.model.records import ApiKey
from mnemic.rest.replies import Replies
from mnemic.testing.samples import NOW
from mnemic.web.gate import Caller
from mnemic.web.problems import ProblemError
from tests.doors.http_doors import LOCAL, Served

ANA = Scope(user="ana")


class Servers:
    """Servers on one store, each a process of its own as far as the store is concerned."""

    def __init__(self, store: str) -> None:
        self.config = Config(store=store, embedder="none")
        self._opened: list[tuple[Served, AbstractContextManager[TestClient]]] = []

    def start(self) -> tuple[Served, TestClient]:
        """One more of them."""
        served = Served(self.config)
        client = TestClient(served.app, base_url=LOCAL, raise_server_exceptions=False)
        client.__enter__()
        self._opened.append((served, client))
        return served, client

    def stop(self, served: Served) -> None:
        """End one of them."""
        (found,) = [each for each in self._opened if each[0] is served]
        self._opened.remove(found)
        found[1].__exit__(None, None, None)
        served.close()

    def close(self) -> None:
        """End all."""
        for served, _ in [*self._opened]:
            self.stop(served)


def keyed(key: str, token: str | None = None, **params: str) -> dict[str, Any]:
    """What a request with this key is sent with; about Ana unless told."""
    shown = {"Authorization": f"Bearer {token}"} if token else {}
    return {"params": {"user": "ana", **params}, "headers": {"Idempotency-Key": key, **shown}}


def kind(answer: Any) -> tuple[int, str]:
    """Status and kind of a problem."""
    return answer.status_code, answer.json()["type"].removeprefix("urn:mnemic:problem:")


class SetClock:
    """A clock that goes when it is told to."""

    def __init__(self) -> None:
        self._now = NOW

    def now(self) -> datetime:
        return self._now

    def go(self, time: timedelta) -> None:
        self._now += time


@dataclass
class Told:
    """An application behind `Replies` that does `work` on a thread and answers with `status` and `pieces`."""

    status: int = 200
    pieces: Iterable[bytes] = (b"done",)
    path: str = "/v1/memories"
    work: Callable[[], object] = lambda: None
    times: int = 0
    clock: SetClock = field(default_factory=SetClock)

    def __post_init__(self) -> None:
        parts = replace(build(Config(store="memory://", embedder="none")), clock=self.clock)
        self.mnemic = Mnemic(parts)
        self.store = parts.store
        self.replies = Replies(self._app, self.mnemic.repeats, 1000)

    def writing(self) -> None:
        """A piece of work that writes."""
        self.mnemic.remember(ANA, f"note {self.times}")

    def ask(self, key: str = "k", body: bytes = b"{}", api_key: ApiKey | None = None) -> tuple[int, bytes]:
        """One request: status and body of its answer; of a refusal its status and kind."""
        seen: list[Any] = []
        scope = {
            "type": "http",
            "method": "POST",
            "path": self.path,
            "query_string": b"user=ana",
            "headers": [(b"idempotency-key", key.encode())],
            "mnemic.caller": Caller(api_key),
        }

        async def receive() -> Any:
            return {"type": "http.request", "body": body}

        async def send(message: Any) -> None:
            seen.append(message)

        try:
            anyio.run(self.replies, scope, receive, send)
        except ProblemError as refused:
            return refused.problem.status, refused.problem.kind.encode()
        return seen[0]["status"], b"".join(message.get("body", b"") for message in seen[1:])

    async def _app(self, _scope: AsgiScope, _receive: Receive, send: Send) -> None:
        self.times += 1
        await anyio.to_thread.run_sync(self.work)
        await send({"type": "http.response.start", "status": self.status, "headers": []})
        for piece in self.pieces:
            await send({"type": "http.response.body", "body": piece, "more_body": True})
        await send({"type": "http.response.body", "body": b""})


class Dropping:
    """Between a client and a server: the first request is passed on, and its line to the client closed once `arrived`
    is set; later ones are passed on and back. `told` is set when something came back.
    """

    def __init__(self, url: str, arrived: threading.Event) -> None:
        host, port = url.removeprefix("http://").split(":")
        self._upstream = (host, int(port))
        self.told, self._arrived = threading.Event(), arrived
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listening.getsockname()[1]}"
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Take nobody any more."""
        self._arrived.set()
        with suppress(OSError):
            self._listening.shutdown(socket.SHUT_RDWR)  # closing alone does not wake who accepts
        self._listening.close()
        self._thread.join(20)

    def _serve(self) -> None:
        with suppress(OSError), socket.create_connection(self._upstream) as upstream:
            client, _ = self._listening.accept()
            with client:
                asked = b""
                while not asked.endswith(b"}"):  # a JSON object is its whole body
                    asked += client.recv(65_536)
                upstream.sendall(asked)
                self._arrived.wait()  # else the second, sent at once, may overtake it
            while True:
                client, _ = self._listening.accept()
                other = socket.create_connection(self._upstream)
                for source, sink, told in ((client, other, None), (other, client, self.told)):
                    threading.Thread(target=self._pass, args=(source, sink, told), daemon=True).start()

    def _pass(self, source: socket.socket, sink: socket.socket, told: threading.Event | None) -> None:
        with suppress(OSError):
            while piece := source.recv(65_536):
                sink.sendall(piece)
                if told is not None:
                    told.set()
        for each in (source, sink):
            each.close()
