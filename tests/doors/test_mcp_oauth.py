"""OAuth for MCP: the whole flow with the official client over a real server, and what must be refused."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
import re
import threading
from collections.abc import Awaitable, Callable, Generator, Iterator
from datetime import timedelta
from html import unescape
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from time import time
from typing import Any, cast

import httpx2
import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from jwt.algorithms import RSAAlgorithm
from mcp import Client
from mcp.client.auth import OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import AuthorizationCodeResult, OAuthClientInformationFull, OAuthClientMetadata, OAuthToken

from mnemic import Mnemic, Scope
from mnemic.config import load_config
from mnemic.errors import ConfigError
from mnemic.mcp.app import PATH, door
from mnemic.mcp.oauth import AUTHORIZE, REGISTER, REVOKE, SERVER, TOKEN
from mnemic.model.records import Right
from mnemic.web.gate import Gate
from tests.doors.oauth_site import ANA, CALLBACK, Site, answered


def run(test: Callable[[], Awaitable[None]]) -> None:
    asyncio.run(cast("Any", test()))


@pytest.fixture
def site(home: Path) -> Iterator[Site]:
    opened = Site(home / "memory.db")
    yield opened
    opened.close()


class Storage:
    """The tokens and the registration of a client."""

    def __init__(self) -> None:
        self.tokens: OAuthToken | None = None
        self.client: OAuthClientInformationFull | None = None

    async def get_tokens(self) -> OAuthToken | None:
        return self.tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self.tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self.client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self.client = client_info


class Person:
    """Opens the page as a browser does, enters a key, and comes back to the application."""

    def __init__(self, site: Site, key: str) -> None:
        self._site, self._key = site, key
        self.pages: list[str] = []
        self._back: dict[str, str] = {}

    async def open(self, url: str) -> None:
        page = self._site.http.get(url)
        self.pages.append(page.text)
        fields = {n: unescape(v) for n, v in re.findall(r'type="hidden" name="(.*?)" value="(.*?)"', page.text)}
        self._back = answered(self._site.consent(fields, self._key, Origin=self._site.url))

    async def come_back(self) -> AuthorizationCodeResult:
        return AuthorizationCodeResult(code=self._back["code"], state=self._back["state"], iss=self._back["iss"])


@pytest.mark.requirement("P-59")
def test_the_official_client_connects_by_itself_and_renews_its_token(site: Site):
    site.mnemic.remember(ANA, "Ana keeps a zebrafinch")
    site.mnemic.remember(Scope(user="bob"), "Bob keeps a zebrafinch too")
    person, storage = Person(site, site.key.token), Storage()

    about = OAuthClientMetadata.model_validate({"redirect_uris": [CALLBACK], "client_name": "Trial <b>"})
    auth = OAuthClientProvider(site.url + PATH, about, storage, person.open, person.come_back)

    async def ask() -> str:
        async with (
            httpx2.AsyncClient(auth=auth) as http,
            Client(streamable_http_client(site.url + PATH, http_client=http)) as client,
        ):
            found = await client.call_tool("recall", {"query": "Who keeps a zebrafinch?"})
            return "".join(getattr(part, "text", "") for part in found.content)

    async def test() -> None:
        told = await ask()
        assert "Ana keeps" in told
        assert "Bob" not in told
        first = storage.tokens
        assert first is not None
        site.clock.go(timedelta(hours=2))
        assert site.call(first.access_token) == 401
        auth.context.token_expiry_time = 1.0  # the client's own clock goes too
        assert "Ana keeps" in await ask()
        assert storage.tokens != first
        assert len(person.pages) == 1, "the refresh token was enough"

    run(test)
    assert "Trial &lt;b&gt;" in person.pages[0]
    assert "127.0.0.1" in person.pages[0]


def test_metadata_and_a_refusal_lead_a_client_to_the_page(site: Site):
    refused = site.http.post(PATH, json={})
    assert refused.status_code == 401
    place = site.url + "/.well-known/oauth-protected-resource/mcp"
    assert refused.headers["www-authenticate"] == f'Bearer realm="mnemic", resource_metadata="{place}"'
    wrong = site.http.post(PATH, json={}, headers={"Authorization": "Bearer mna_x_y"})
    assert 'error="invalid_token"' in wrong.headers["www-authenticate"]
    assert "resource_metadata" not in site.http.get("/v1/memories").headers["www-authenticate"]
    about = site.http.get(place).json()
    assert about["resource"] == site.url + PATH
    assert about["authorization_servers"] == [site.url]
    server = site.http.get(SERVER).json()
    assert server["issuer"] == site.url
    assert server["code_challenge_methods_supported"] == ["S256"]
    assert server["token_endpoint_auth_methods_supported"] == ["none"]
    assert server["registration_endpoint"] == site.url + REGISTER


def test_the_page_is_held_to_itself_and_to_the_application(site: Site):
    page = site.http.get(AUTHORIZE, params=site.request(state='"><script>x</script>'))
    assert page.status_code == 200
    assert "<script>" not in page.text
    policy = page.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "form-action 'self' http://127.0.0.1:33418" in policy
    assert page.headers["x-frame-options"] == "DENY"
    assert site.key.token not in site.consent(site.request(), "mn_wrong_key").text


@pytest.mark.parametrize(
    "uri,is_taken",
    [
        ("https://claude.ai/api/mcp/auth_callback", True),
        ("http://localhost:9/callback", True),
        ("http://[::1]:9/callback", True),
        ("http://claude.ai/callback", False),
        ("https://claude.ai.evil.example/callback", False),
        ("https://claude.ai@evil.example/callback", False),
        ("https://evil.example/#claude.ai", False),
        ("https://localhost.evil.example/", False),
        ("cursor://callback", False),
        ("javascript:alert(1)", False),
    ],
)
def test_codes_go_only_to_this_machine_and_to_the_named_hosts(site: Site, uri: str, is_taken: bool):  # noqa: FBT001 -- a parameter of the test
    told = site.register(uri)
    assert told.status_code == (201 if is_taken else 400)
    if is_taken:
        assert told.json()["token_endpoint_auth_method"] == "none"  # noqa: S105 -- a method
        assert "client_secret" not in {name for name, value in told.json().items() if value}
    else:
        assert told.json()["error"] == "invalid_redirect_uri"
        assert "mcp.oauth.redirect-hosts" in told.json()["error_description"]
        forged = base64.urlsafe_b64encode(json.dumps(["Claude", uri]).encode()).decode().rstrip("=")
        assert site.http.get(AUTHORIZE, params=site.request(client_id=forged, redirect_uri=uri)).status_code == 400


def test_a_registration_asks_for_no_other_grants_and_no_more_than_an_address_holds(site: Site):
    assert site.register(grant_types=["client_credentials"]).status_code == 400
    assert site.register(*(f"{CALLBACK}/{'x' * 200}{n}" for n in range(20))).status_code == 400
    given = site.register(token_endpoint_auth_method="client_secret_post", scope="admin").json()
    assert not given.get("client_secret")
    assert not given.get("scope")


@pytest.mark.parametrize(
    "changes,error",
    [
        ({"code_challenge": ""}, "invalid_request"),
        ({"code_challenge": "short"}, "invalid_request"),
        ({"code_challenge_method": "plain"}, "invalid_request"),
        ({"response_type": "token"}, "unsupported_response_type"),
        ({"resource": "https://other.example/mcp"}, "invalid_target"),
        ({"scope": "admin"}, "invalid_scope"),
    ],
)
def test_a_faulty_request_goes_back_to_the_application(site: Site, changes: dict[str, str], error: str):
    told = answered(site.http.get(AUTHORIZE, params=site.request(**changes)))
    assert told["error"] == error
    assert told["state"] == "s 1"
    assert told["iss"] == site.url


@pytest.mark.parametrize(
    "changes",
    [{"redirect_uri": f"{CALLBACK}/more"}, {"redirect_uri": "http://localhost:33418/callback"}, {"client_id": "x"}],
)
def test_nobody_is_sent_to_an_address_that_was_not_registered(site: Site, changes: dict[str, str]):
    asked = site.request(**changes)
    for response in (site.http.get(AUTHORIZE, params=asked), site.consent(asked)):
        assert response.status_code == 400
        assert "location" not in response.headers


def test_a_form_of_another_site_is_refused(site: Site):
    asked = site.request()
    for headers in ({"Origin": "https://evil.example"}, {"Origin": "null"}, {"Sec-Fetch-Site": "cross-site"}):
        assert site.consent(asked, **headers).status_code == 403
    declined = site.http.post(AUTHORIZE, data={**asked, "key": site.key.token, "deny": "1"})
    assert answered(declined)["error"] == "access_denied"


def test_only_a_valid_key_of_one_user_connects(site: Site):
    asked, keys = site.request(), site.mnemic.keys
    shared = keys.create(Scope(), rights=[Right.READ]).token
    blind = keys.create(ANA, rights=[Right.WRITE]).token
    revoked = keys.create(ANA)
    keys.revoke(Scope(), revoked.key.id)
    for key, why in ((shared, "no user"), (blind, "no read right"), (revoked.token, "revoked"), ("", "invalid")):
        page = site.consent(asked, key)
        assert page.status_code == 401
        assert why in page.text


def test_guesses_of_keys_are_limited(site: Site):
    asked = site.request()
    statuses = [site.consent(asked, f"mn_{n}_guess").status_code for n in range(20)]
    assert statuses[0] == 401
    assert statuses[-1] == 429
    assert site.http.post(TOKEN, data={}).status_code == 429


def test_a_code_needs_its_verifier_client_and_address_and_works_once(site: Site):
    asked = site.request()
    client, code = asked["client_id"], answered(site.consent(asked))["code"]
    other = site.register(CALLBACK, client_name="Other").json()["client_id"]
    for changes in (
        {"client_id": other},
        {"client_id": client, "code_verifier": "x" * 43},
        {"client_id": client, "redirect_uri": f"{CALLBACK}/more"},
    ):
        assert site.exchange(**{"code": code, **changes}).status_code == 400
    tokens = site.exchange(client_id=client, code=code).json()
    assert site.call(tokens["access_token"]) == 200
    assert site.exchange(client_id=client, code=code).json()["error"] == "invalid_grant"
    assert site.call(tokens["access_token"]) == 401, "a code that comes twice was stolen"


def test_a_code_expires(site: Site):
    asked = site.request()
    code = answered(site.consent(asked))["code"]
    site.clock.go(timedelta(minutes=3))
    assert site.exchange(client_id=asked["client_id"], code=code).json()["error"] == "invalid_grant"


def test_a_refresh_token_works_once_and_for_its_client(site: Site):
    client, tokens = site.connect()
    other = site.register(CALLBACK, client_name="Other").json()["client_id"]
    assert site.refresh(other, tokens["refresh_token"]).status_code == 400
    renewed = site.refresh(client, tokens["refresh_token"]).json()
    assert site.call(renewed["access_token"]) == 200
    assert site.call(tokens["access_token"]) == 200, "requests under way are finished"
    assert site.refresh(client, tokens["refresh_token"]).json()["error"] == "invalid_grant"
    assert site.call(renewed["access_token"]) == 401, "a refresh token that comes twice was stolen"


def test_tokens_are_for_mcp_alone_and_no_other_token_is_an_access_token(site: Site):
    _, tokens = site.connect()
    assert site.call(tokens["refresh_token"]) == 401
    headers = {"Authorization": f"Bearer {tokens['access_token']}"}
    assert site.http.get("/v1/memories", params={"user": "ana"}, headers=headers).status_code == 401
    assert site.http.get("/v1/memories", headers={"Authorization": f"Bearer {site.key.token}"}).status_code == 200
    assert site.call(site.key.token) == 200


def test_a_client_ends_its_connection(site: Site):
    client, tokens = site.connect()
    assert site.http.post(REVOKE, data={"client_id": "x", "token": tokens["access_token"]}).status_code == 200
    assert site.call(tokens["access_token"]) == 200
    site.http.post(REVOKE, data={"client_id": client, "token": tokens["access_token"]})
    assert site.call(tokens["access_token"]) == 401
    assert site.refresh(client, tokens["refresh_token"]).status_code == 400


@pytest.mark.parametrize("how", ["revoked", "erased"])
def test_tokens_end_with_their_key(site: Site, how: str):
    client, tokens = site.connect()
    if how == "revoked":
        site.mnemic.keys.revoke(Scope(), site.key.key.id)
    else:
        site.mnemic.erase(ANA, level="user")
    assert site.call(tokens["access_token"]) == 401
    assert site.refresh(client, tokens["refresh_token"]).status_code == 400


def test_no_token_is_stored_or_logged(site: Site, home: Path, caplog: pytest.LogCaptureFixture):
    caplog.set_level("DEBUG")
    asked = site.request()
    code = answered(site.consent(asked))["code"]
    tokens = site.exchange(client_id=asked["client_id"], code=code).json()
    site.gate.audit.flush()
    ours = [each for each in caplog.records if not each.name.startswith("http")]  # without the client's log
    logged = "\n".join(f"{each.getMessage()} {each.__dict__}" for each in ours)
    stored = b"".join(path.read_bytes() for path in home.rglob("*") if path.is_file())
    for secret in (code, tokens["access_token"], tokens["refresh_token"], site.key.token):
        assert secret.rpartition("_")[2].encode() not in stored
        assert secret not in logged
    assert hashlib.sha256(tokens["access_token"].encode()).hexdigest().encode() in stored
    assert "oauth consent" in [entry.verb for entry in site.mnemic.keys.audit(Scope()).entries]


@pytest.mark.parametrize(
    "url", ["http://memory.example.org", "https://a.example/path", "ftp://a", "https://u@a.example"]
)
@pytest.mark.usefixtures("home")
def test_an_address_that_others_could_read_or_forge_is_refused_at_the_start(url: str):
    config = load_config("memory://", environment={"MNEMIC_EMBEDDER": "none", "MNEMIC_MCP_OAUTH_URL": url})
    with Mnemic.open(config) as mnemic:
        gate = Gate(mnemic)
        with pytest.raises(ConfigError, match=r"mcp\.oauth\.url"):
            door(mnemic, gate)
        gate.close()


class Issuer:
    """An authorization server's keys, at an address of this machine."""

    url = "https://login.example.org/"

    def __init__(self) -> None:
        self.key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        public = RSAAlgorithm.to_jwk(self.key.public_key(), as_dict=True)
        self.body = json.dumps({"keys": [{**public, "kid": "k1", "use": "sig", "alg": "RS256"}]}).encode()
        issuer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self.send_response(200)
                self.end_headers()
                self.wfile.write(issuer.body)

            def log_message(self, *_: object) -> None: ...  # pyright: ignore[reportIncompatibleMethodOverride]

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever)
        self._thread.start()
        self.jwks = f"http://127.0.0.1:{self._server.server_port}/keys"

    def token(self, site: Site, key: Any = None, algorithm: str = "RS256", **changes: Any) -> str:
        """A token, signed by the issuer's key unless another is given. None leaves a claim out."""
        claims = {"iss": self.url, "aud": site.url + PATH, "sub": "ana", "exp": int(time()) + 600, **changes}
        told = {name: value for name, value in claims.items() if value is not None}
        return jwt.encode(told, self.key if key is None else key, algorithm, {"kid": "k1"})

    def close(self) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


@pytest.fixture
def issuer() -> Generator[Issuer]:
    running = Issuer()
    yield running
    running.close()


def test_another_issuers_token_is_its_user_and_every_other_token_is_refused(home: Path, issuer: Issuer):
    site = Site(home / "memory.db", issuer=issuer.url, jwks_url=issuer.jwks)
    try:
        about = site.http.get("/.well-known/oauth-protected-resource/mcp").json()
        assert about["authorization_servers"] == [issuer.url]
        assert site.http.get(SERVER).status_code == 404
        ask = {"jsonrpc": "2.0", "id": 1, "method": "tools/call"}
        headers = {"Accept": "application/json, text/event-stream"}
        call = {**ask, "params": {"name": "remember", "arguments": {"text": "Ana keeps bees"}}}
        told = site.http.post(PATH, json=call, headers={**headers, "Authorization": f"Bearer {issuer.token(site)}"})
        assert told.status_code == 200
        assert [each.text for each in site.mnemic.list(ANA).memories] == ["Ana keeps bees"]
        other = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        refused = [
            issuer.token(site, key=other),
            issuer.token(site, key="x" * 64, algorithm="HS256"),
            issuer.token(site, key="", algorithm="none"),
            issuer.token(site, aud="https://other.example/mcp"),
            issuer.token(site, iss="https://login.example.org"),
            issuer.token(site, exp=int(time()) - 60),
            issuer.token(site, exp=None),
            issuer.token(site, sub=None),
            issuer.token(site, sub=" "),
            issuer.token(site, sub=["ana"]),
            issuer.token(site, nbf=int(time()) + 600),
        ]
        assert [site.call(token) for token in refused] == [401] * len(refused)
    finally:
        site.close()


@pytest.mark.parametrize("body", [b"<html>Sign in</html>", b"\xff"])
def test_an_issuer_whose_keys_are_a_web_page_is_unavailable(home: Path, issuer: Issuer, body: bytes):
    issuer.body = body
    site = Site(home / "memory.db", issuer=issuer.url, jwks_url=issuer.jwks)
    try:
        assert (site.call(issuer.token(site)), site.call("no token")) == (503, 401)
    finally:
        site.close()


@pytest.mark.usefixtures("home")
def test_an_issuer_needs_the_address_of_its_keys():
    variables = {"MNEMIC_EMBEDDER": "none", "MNEMIC_MCP_OAUTH_URL": "https://a.example"}
    config = load_config("memory://", environment={**variables, "MNEMIC_MCP_OAUTH_ISSUER": "https://login.example"})
    with Mnemic.open(config) as mnemic:
        gate = Gate(mnemic)
        with pytest.raises(ConfigError, match=r"mcp\.oauth\.jwks-url"):
            door(mnemic, gate)
        gate.close()
