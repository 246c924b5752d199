"""The doors over HTTP: REST as a client without this project's code would use it, and the remote client."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import uvicorn
from starlette.testclient import TestClient
from starlette.types import ASGIApp

from mnemic import AsyncMnemic, Mnemic, errors
from mnemic.config import Config
from mnemic.model.records import Right
from mnemic.model.scope import Scope
from mnemic.remote import RemoteMnemic, connect, connect_async
from mnemic.rest.app import door as rest_door
from mnemic.rest.description import LINES
from mnemic.verbs import ROUTES
from mnemic.web.doors import application
from mnemic.web.gate import Gate
from mnemic.web.limits import Limits
from mnemic.web.monitoring import Health, Metrics
from mnemic.wire import to_wire
from tests.doors.doors import awaited, called, on_wire

LOCAL = "http://127.0.0.1"
KINDS = {
    "invalid_input": errors.InvalidInputError,
    "not_found": errors.NotFoundError,
    "conflict": errors.ConflictError,
    "forbidden": errors.ForbiddenError,
    "config": errors.ConfigError,
    "unavailable": errors.UnavailableError,
}


class Served:
    """A memory and the server before it, in this process; a key for each org, made when it is asked for."""

    def __init__(self, store: str | Config, *, limits: Limits | None = None) -> None:
        self.mnemic = Mnemic.open(store)
        self.gate = Gate(self.mnemic, limits=limits or Limits(rate_per_s=0))
        self.app: ASGIApp = application([rest_door(self.mnemic, self.gate)], self.gate, Health(self.mnemic), Metrics())
        self._tokens: dict[str, str] = {}

    def token(self, org: str) -> str:
        """The token of a key with every right in an org."""
        if org not in self._tokens:
            self._tokens[org] = self.mnemic.keys.create(Scope(org=org), rights=list(Right)).token
        return self._tokens[org]

    def app_description(self) -> dict[str, Any]:
        """The OpenAPI description."""
        return TestClient(self.app, base_url=LOCAL).get("/openapi.json").json()

    def close(self) -> None:
        self.gate.close()
        self.mnemic.close()


class RestDoor:
    """Requests and their answers, without a socket."""

    def __init__(self, store: str) -> None:
        self._served = Served(store)
        self.client = TestClient(self._served.app, base_url=LOCAL)
        self.client.__enter__()

    def call(self, verb: str, scope: Scope, arguments: Mapping[str, Any]) -> Any:
        route = ROUTES[verb]
        path, query, body = route.divided(to_wire(arguments))
        parts = {"user": scope.user, "agent": scope.agent, "session": scope.session}
        named = {name: value for name, value in parts.items() if value is not None}
        given = {name: json.dumps(value) if isinstance(value, dict) else value for name, value in query.items()}
        content: Any = {"json": body} if route.has_body else {}
        if verb == "import_":
            content = {"content": body["text"].encode(), "headers": {"Content-Type": "text/plain"}}
        headers = {"Authorization": f"Bearer {self._served.token(scope.org)}", **content.pop("headers", {})}
        answer = self.client.request(route.method, path, params=named | given, headers=headers, **content)
        if answer.is_error:
            assert answer.headers["content-type"] == "application/problem+json"
            told = answer.json()
            assert told["status"] == answer.status_code
            raise KINDS[told["type"].removeprefix("urn:mnemic:problem:")](told["detail"])
        if verb in LINES:
            lines = answer.text.removesuffix("\n").split("\n")
            return lines if verb == "export" else [json.loads(line) for line in lines]
        return answer.json()

    def close(self) -> None:
        self.client.__exit__(None, None, None)
        self._served.close()


class Listening:
    """A server on a free port of this machine, in a thread."""

    def __init__(self, app: ASGIApp, **settings: Any) -> None:
        wanted: dict[str, Any] = {"port": 0, "log_config": None, "lifespan": "on", **settings}
        self._server = uvicorn.Server(uvicorn.Config(app, **wanted))
        self._server.capture_signals = suppress  # type: ignore[method-assign] -- the tests keep their signals
        self._thread = threading.Thread(target=self._server.run, daemon=True)
        self._thread.start()
        while not self._server.started:
            self._thread.join(0.005)
            assert self._thread.is_alive(), "the server did not start"
        self.url = f"{LOCAL}:{self._server.servers[0].sockets[0].getsockname()[1]}"

    def close(self) -> None:
        self._server.should_exit = True
        self._thread.join()


class RemoteDoor:
    """`mnemic.connect` to a server on this machine."""

    def __init__(self, store: str) -> None:
        self._served = Served(store)
        self._listening = Listening(self._served.app)
        self._remotes: dict[str, RemoteMnemic] = {}

    def call(self, verb: str, scope: Scope, arguments: Mapping[str, Any]) -> Any:
        remote = self._remotes.get(scope.org)
        if remote is None:
            remote = self._remotes[scope.org] = connect(self._listening.url, self._served.token(scope.org))
        return on_wire(verb, called(remote, verb, scope, arguments))

    def close(self) -> None:
        for remote in self._remotes.values():
            remote.close()
        self._listening.close()
        self._served.close()


class AsyncRemoteDoor:
    """`mnemic.remote.connect_async` to a server on this machine."""

    def __init__(self, store: str) -> None:
        self._served = Served(store)
        self._listening = Listening(self._served.app)
        self._runner = asyncio.Runner()
        self._remotes: dict[str, AsyncMnemic] = {}

    def call(self, verb: str, scope: Scope, arguments: Mapping[str, Any]) -> Any:
        remote = self._remotes.get(scope.org)
        if remote is None:
            remote = self._remotes[scope.org] = connect_async(self._listening.url, self._served.token(scope.org))
        return self._runner.run(awaited(remote, verb, scope, arguments))

    def close(self) -> None:
        for remote in self._remotes.values():
            self._runner.run(remote.close())
        self._runner.close()
        self._listening.close()
        self._served.close()
