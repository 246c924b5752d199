"""A server with OAuth on this machine, and the requests of its clients."""

from __future__ import annotations

import base64
import hashlib
import secrets
import socket
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import httpx2

from mnemic import Mnemic, Scope
from mnemic.build import build
from mnemic.config import load_config
from mnemic.mcp.app import PATH, door
from mnemic.mcp.oauth import AUTHORIZE, REGISTER, TOKEN
from mnemic.model.records import Right
from mnemic.rest.app import door as rest_door
from mnemic.web.doors import application
from mnemic.web.gate import Gate
from mnemic.web.limits import Limits
from mnemic.web.monitoring import Health, Metrics
from tests.doors.http_doors import Listening
from tests.doors.repeating import SetClock

ANA = Scope(user="ana")
CALLBACK = "http://127.0.0.1:33418/callback"
VERIFIER = secrets.token_urlsafe(48)
CHALLENGE = base64.urlsafe_b64encode(hashlib.sha256(VERIFIER.encode()).digest()).decode().rstrip("=")


class Site:
    """A server with OAuth at its own address on this machine. The store's clock can be set."""

    def __init__(self, store: Path | str, *, has_key: bool = True, **settings: str) -> None:
        self.clock = SetClock()
        variables = {"MNEMIC_EMBEDDER": "none", "MNEMIC_MCP_OAUTH_URL": "http://127.0.0.1:1"}
        variables |= {f"MNEMIC_MCP_OAUTH_{name.upper()}": value for name, value in settings.items()}
        config = load_config(store, environment=variables)
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listening.getsockname()[1]}"
        oauth = replace(config.settings.oauth, url=self.url)
        config = replace(config, settings=replace(config.settings, oauth=oauth))
        self.mnemic = Mnemic(replace(build(config), clock=self.clock))
        self.gate = Gate(self.mnemic, limits=Limits(rate_per_s=0, attempts_per_s=1e-6, attempts=12))
        doors = [door(self.mnemic, self.gate), rest_door(self.mnemic, self.gate)]
        app = application(doors, self.gate, Health(self.mnemic), Metrics())
        self._server = Listening(app, fd=self._listening.fileno())
        self.http = httpx2.Client(base_url=self.url, timeout=60)
        if has_key:
            self.key = self.mnemic.keys.create(ANA, rights=[Right.READ, Right.WRITE])

    def register(self, *uris: str, **more: Any) -> Any:
        """The response to a registration."""
        return self.http.post(REGISTER, json={"redirect_uris": uris or [CALLBACK], "client_name": "Trial", **more})

    def request(self, **changes: str) -> dict[str, str]:
        """A client's authorization request, with changes. An empty text removes a parameter."""
        asked = {
            "client_id": self.register().json()["client_id"],
            "redirect_uri": CALLBACK,
            "response_type": "code",
            "code_challenge": CHALLENGE,
            "code_challenge_method": "S256",
            "state": "s 1",
            **changes,
        }
        return {name: value for name, value in asked.items() if value}

    def consent(self, asked: Mapping[str, str], key: str | None = None, **headers: str) -> Any:
        """The response to the page's form, filled in with a key."""
        shown = self.key.token if key is None else key
        return self.http.post(AUTHORIZE, data={**asked, "key": shown, "allow": "1"}, headers=headers)

    def exchange(self, **changes: str) -> Any:
        """The response to a token request."""
        asked = {"grant_type": "authorization_code", "redirect_uri": CALLBACK, "code_verifier": VERIFIER, **changes}
        return self.http.post(TOKEN, data=asked)

    def connect(self) -> tuple[str, dict[str, Any]]:
        """The id of a client and its tokens."""
        asked = self.request()
        code = answered(self.consent(asked))["code"]
        return asked["client_id"], self.exchange(client_id=asked["client_id"], code=code).json()

    def refresh(self, client: str, token: str) -> Any:
        return self.http.post(TOKEN, data={"grant_type": "refresh_token", "client_id": client, "refresh_token": token})

    def call(self, token: str, path: str = PATH) -> int:
        """The status of a request with a token."""
        ask: dict[str, Any] = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
        headers = {"Authorization": f"Bearer {token}", "Accept": "application/json, text/event-stream"}
        return self.http.post(path, json=ask, headers=headers).status_code

    def close(self) -> None:
        self.http.close()
        self._server.close()
        self._listening.close()
        self.gate.close()
        self.mnemic.close()


def answered(response: Any) -> dict[str, str]:
    """The parameters of the redirect to the application."""
    assert response.status_code == 303, response.text
    place = urlsplit(str(response.headers["location"]))
    assert f"{place.scheme}://{place.netloc}{place.path}" == CALLBACK
    return dict(parse_qsl(place.query))
