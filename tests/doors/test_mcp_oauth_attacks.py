"""Attacks on OAuth for MCP by strangers, applications with a token and other sites, against a real server."""

from __future__ import annotations

import base64
import json
import re
import sqlite3
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest

from mnemic import Scope
from mnemic.mcp.app import PATH
from mnemic.mcp.oauth import AUTHORIZE, MOST_BODY_BYTES, MOST_NAME_CHARS, REGISTER, REVOKE, SERVER, TOKEN
from mnemic.model.records import Right, TokenKind
from tests.doors.oauth_site import ANA, CALLBACK, Site, answered

RESOURCE = "/.well-known/oauth-protected-resource/mcp"
AT_ONCE = 8


@pytest.fixture
def site(home: Path) -> Iterator[Site]:
    opened = Site(home / "memory.db")
    yield opened
    opened.close()


def forge(registration: object) -> str:
    """A client id that this server did not issue."""
    told = registration if isinstance(registration, bytes) else json.dumps(registration).encode()
    return base64.urlsafe_b64encode(told).decode().rstrip("=")


def ask_tool(site: Site, token: str, name: str, path: str = PATH, **arguments: Any) -> Any:
    """The response to a tool call."""
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name, "arguments": arguments}}
    headers = {"Authorization": f"Bearer {token}", "Accept": "application/json, text/event-stream"}
    return site.http.post(path, json=call, headers=headers)


def send_at_once(send: Callable[[], Any]) -> list[Any]:
    """The responses to the same request from several threads."""
    with ThreadPoolExecutor(AT_ONCE) as threads:
        return [each.result() for each in [threads.submit(send) for _ in range(AT_ONCE)]]


def test_a_code_sent_many_times_at_once_ends_its_connection(site: Site):
    asked = site.request()
    client, code = asked["client_id"], answered(site.consent(asked))["code"]
    told = send_at_once(lambda: site.exchange(client_id=client, code=code))
    won = [each.json() for each in told if each.status_code == 200]
    assert len(won) <= 1
    for tokens in won:
        assert site.call(tokens["access_token"]) == 401
        assert site.refresh(client, tokens["refresh_token"]).status_code == 400


def test_a_refresh_token_sent_many_times_at_once_ends_its_connection(site: Site):
    client, tokens = site.connect()
    told = send_at_once(lambda: site.refresh(client, tokens["refresh_token"]))
    won = [each.json() for each in told if each.status_code == 200]
    assert len(won) <= 1
    assert {each.json()["error"] for each in told if each.status_code != 200} == {"invalid_grant"}
    for renewed in (tokens, *won):
        assert site.call(renewed["access_token"]) == 401


def test_a_code_found_twice_before_its_exchange_ends_its_connection(site: Site):
    asked = site.request()
    code, tokens = answered(site.consent(asked))["code"], site.gate.tokens
    first, second = (tokens.find(TokenKind.CODE, asked["client_id"], code) for _ in range(2))
    assert first
    assert second
    pair = tokens.exchange(first)
    assert pair
    assert site.call(pair.access) == 200
    assert tokens.exchange(second) is None
    assert site.call(pair.access) == 401


def test_a_code_of_another_connection_ends_only_its_own(site: Site):
    client, mine = site.connect()
    asked = site.request()
    code = answered(site.consent(asked))["code"]
    site.exchange(client_id=client, code=code)
    assert site.exchange(client_id=client, code=code).status_code == 400
    assert site.call(mine["access_token"]) == 200


def test_a_client_that_renews_without_end_is_slowed_down(site: Site):
    client, tokens = site.connect()
    statuses = [0]
    while statuses[-1] != 429 and len(statuses) < 20:
        told = site.refresh(client, tokens["refresh_token"])
        statuses.append(told.status_code)
        tokens |= told.json()
    assert statuses[-1] == 429
    assert site.connect()[1]["access_token"], "other connections are not affected"


@pytest.mark.parametrize("verifier", ["", "x" * 43, None])
def test_a_stolen_code_is_worth_nothing_without_its_verifier(site: Site, verifier: str | None):
    asked = site.request()
    client, code = asked["client_id"], answered(site.consent(asked))["code"]
    form = {"grant_type": "authorization_code", "client_id": client, "code": code, "redirect_uri": CALLBACK}
    told = site.http.post(TOKEN, data=form if verifier is None else {**form, "code_verifier": verifier})
    assert told.status_code == 400
    assert told.json()["error"] in ("invalid_grant", "invalid_request")
    assert site.exchange(client_id=client, code=code).status_code == 200, "a thief does not use the code up"


def test_tokens_for_another_resource_are_refused_at_every_step(site: Site):
    other = "https://other.example/mcp"
    asked = site.request(resource=f"{site.url}{PATH}?tools=search")
    client, code = asked["client_id"], answered(site.consent(asked))["code"]
    assert answered(site.http.get(AUTHORIZE, params={**asked, "resource": other}))["error"] == "invalid_target"
    assert site.exchange(client_id=client, code=code, resource=other).json()["error"] == "invalid_target"
    tokens = site.exchange(client_id=client, code=code, resource=site.url + PATH).json()
    form = {"grant_type": "refresh_token", "client_id": client, "refresh_token": tokens["refresh_token"]}
    assert (
        site.http.post(TOKEN, data={**form, "resource": [site.url + PATH, other]}).json()["error"] == "invalid_target"
    )
    assert site.http.post(TOKEN, data={**form, "resource": site.url + PATH}).status_code == 200


def test_no_token_is_taken_in_the_place_of_another(site: Site):
    asked = site.request()
    client, code = asked["client_id"], answered(site.consent(asked))["code"]
    assert site.call(code) == 401
    tokens = site.exchange(client_id=client, code=code).json()
    access, refresh = tokens["access_token"], tokens["refresh_token"]
    for wrong in (refresh, refresh.replace("mnr_", "mna_"), access[:-1], access + "0", access.replace("mna_", "mn_")):
        assert site.call(wrong) == 401
    for wrong in (access, access.replace("mna_", "mnr_"), site.key.token):
        assert site.refresh(client, wrong).status_code == 400
    headers = {"Accept": "application/json, text/event-stream"}
    assert site.http.post(f"{PATH}?access_token={access}", json={}, headers=headers).status_code == 401


@pytest.mark.parametrize("days", [40, -40])
def test_a_clock_that_jumps_gives_no_code_a_second_use(site: Site, days: int):
    asked = site.request()
    client, code = asked["client_id"], answered(site.consent(asked))["code"]
    tokens = site.exchange(client_id=client, code=code).json()
    site.clock.go(timedelta(days=days))
    assert site.call(tokens["access_token"]) == (401 if days > 0 else 200)
    assert site.exchange(client_id=client, code=code).status_code == 400
    assert site.call(tokens["access_token"]) == 401


def test_a_token_has_its_keys_rights_and_no_others(site: Site):
    site.mnemic.remember(Scope(user="bob"), "Bob keeps a zebrafinch")
    site.mnemic.remember(Scope(org="other", user="ana"), "Ana of another org keeps a zebrafinch")
    site.key = site.mnemic.keys.create(ANA, rights=[Right.READ])
    _, tokens = site.connect()
    access = tokens["access_token"]
    written = ask_tool(site, access, "remember", text="Ana has a new secret")
    assert "requires a key with the 'write' right" in written.json()["error"]["message"]
    assert not site.mnemic.list(ANA).memories
    assert "zebrafinch" not in ask_tool(site, access, "recall", query="zebrafinch").text
    for named in ("user=bob", "org=other"):
        told = ask_tool(site, access, "recall", f"{PATH}?{named}", query="Who keeps it?")
        assert "keeps" not in told.text
        assert "restricted to another" in told.text


@pytest.mark.parametrize(
    "path", ["/v1/memories", "/v1/keys", "/v1/audit", "/metrics", "/mcp/../v1/memories", "/mcp//", "/oauth/../v1/keys"]
)
def test_an_access_token_opens_nothing_but_mcp(site: Site, path: str):
    _, tokens = site.connect()
    for headers in ({"Authorization": f"Bearer {tokens['access_token']}"}, {"X-API-Key": tokens["access_token"]}):
        assert site.http.get(path, headers=headers).status_code in (401, 404)


def test_a_token_lives_no_longer_than_its_key(site: Site):
    ends = site.clock.now() + timedelta(minutes=10)
    site.key = site.mnemic.keys.create(ANA, rights=[Right.READ], expires_at=ends)
    client, tokens = site.connect()
    assert tokens["expires_in"] == 600
    site.clock.go(timedelta(minutes=11))
    assert site.call(tokens["access_token"]) == 401
    assert site.refresh(client, tokens["refresh_token"]).status_code == 400


def test_a_code_is_worth_nothing_once_its_key_is_revoked(site: Site):
    asked = site.request()
    code = answered(site.consent(asked))["code"]
    site.mnemic.keys.revoke(Scope(), site.key.key.id)
    assert site.exchange(client_id=asked["client_id"], code=code).json()["error"] == "invalid_grant"


def test_a_rotated_keys_tokens_end_with_the_old_key(site: Site):
    _, tokens = site.connect()
    site.mnemic.keys.rotate(Scope(), site.key.key.id, overlap_s=60.0)
    assert site.call(tokens["access_token"]) == 200
    site.clock.go(timedelta(seconds=61))
    assert site.call(tokens["access_token"]) == 401


@pytest.mark.parametrize(
    "asked,is_taken",
    [
        ("http://127.0.0.1:51000/callback", True),
        ("http://127.0.0.1/callback", True),
        ("http://localhost:33418/callback", False),
        ("http://[::1]:33418/callback", False),
        ("https://127.0.0.1:33418/callback", False),
        ("http://127.0.0.1:51000/callback/", False),
        ("http://127.0.0.1:51000/callback?next=1", False),
        ("http://127.0.0.1:51000/CALLBACK", False),
        ("http://u@127.0.0.1:51000/callback", False),
        ("http://127.0.0.1:51000@evil.example/callback", False),
        ("http://127.0.0.1.evil.example:33418/callback", False),
        ("http://evil.example/http://127.0.0.1:33418/callback", False),
    ],
)
def test_a_program_on_the_users_machine_may_change_its_port_alone(site: Site, asked: str, is_taken: bool):  # noqa: FBT001 -- a parameter of the test
    fields = site.request(redirect_uri=asked)
    told = site.consent(fields)
    assert told.status_code == (303 if is_taken else 400)
    assert ("location" in told.headers) == is_taken
    if is_taken:
        place = str(told.headers["location"])
        assert place.startswith(asked)
        code = dict(parse_qsl(urlsplit(place).query))["code"]
        assert site.exchange(client_id=fields["client_id"], code=code).status_code == 400, "another port than before"
        assert site.exchange(client_id=fields["client_id"], code=code, redirect_uri=asked).status_code == 200


def test_a_public_address_keeps_its_port(site: Site):
    client = site.register("https://claude.ai/callback").json()["client_id"]
    asked = site.request(client_id=client, redirect_uri="https://claude.ai:8443/callback")
    assert site.http.get(AUTHORIZE, params=asked).status_code == 400


@pytest.mark.parametrize(
    "uri",
    [
        "data:text/html,x",
        "vbscript:x",
        "http://0/",
        "http://10.0.0.1/",
        "https://claude.ai./x",
        "https://claude.ai%2f@evil.example/",
        "https://claude.ai\t.evil.example/",
        "https://evil.example\\.claude.ai/",
        "https://xclaude.ai/",
        "http://localhost%00.evil.example/",
        "http://[::1]x/",
        "//claude.ai/x",
        "file://localhost/etc/passwd",
    ],
)
def test_an_address_that_a_browser_may_read_otherwise_is_refused(site: Site, uri: str):
    assert site.register(uri).status_code == 400
    told = site.http.get(AUTHORIZE, params=site.request(client_id=forge(["Claude", uri]), redirect_uri=uri))
    assert told.status_code == 400
    assert "location" not in told.headers


def test_no_header_changes_the_addresses_that_clients_are_told(site: Site):
    plain = [site.http.get(path).text for path in (RESOURCE, SERVER)]
    headers = {"Host": "evil.example", "X-Forwarded-Host": "evil.example", "X-Forwarded-Proto": "https"}
    headers |= {"Forwarded": "host=evil.example;proto=https", "X-Forwarded-Prefix": "/evil", "X-Original-URL": "/evil"}
    assert [site.http.get(path, headers=headers).text for path in (RESOURCE, SERVER)] == plain
    refused = site.http.post(PATH, json={}, headers=headers)
    assert "evil" not in refused.headers["www-authenticate"]
    asked = site.request()
    assert "evil" not in site.http.get(AUTHORIZE, params=asked, headers=headers).text
    told = site.http.post(AUTHORIZE, data={**asked, "key": site.key.token, "allow": "1"}, headers=headers)
    assert answered(told)["iss"] == site.url


def test_the_page_asks_again_each_time_and_never_takes_a_key_from_an_address(site: Site):
    asked = site.request()
    for _ in range(2):
        page = site.http.get(AUTHORIZE, params={**asked, "key": site.key.token, "allow": "1"})
        assert page.status_code == 200
        assert site.key.token not in page.text
        assert "set-cookie" not in page.headers
        site.consent(asked)


def test_every_answer_of_the_page_refuses_frames_scripts_and_caches(site: Site):
    asked = site.request()
    for answer in (
        site.http.get(AUTHORIZE, params=asked),
        site.consent(asked, "mn_wrong_key"),
        site.http.get(AUTHORIZE, params={**asked, "client_id": "x"}),
        site.consent(asked, Origin="https://evil.example"),
    ):
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "frame-ancestors 'none'" in policy
        assert "script" not in policy
        assert answer.headers["x-frame-options"] == "DENY"
        assert answer.headers["cache-control"] == "no-store"
        assert answer.headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize("field", ["state", "scope", "resource", "code_challenge", "x-<b>"])
def test_no_field_writes_markup_into_the_page(site: Site, field: str):
    asked = {**site.request(), field: "\"'><script>alert(1)</script>\r\nSet-Cookie: a=b"}
    for answer in (site.http.get(AUTHORIZE, params=asked), site.consent(asked, "mn_wrong_key")):
        assert "<script" not in answer.text or answer.headers["content-type"].startswith("application/")
        assert "set-cookie" not in answer.headers


@pytest.mark.parametrize(
    "name", ["Claude \u202eknalb", "x" * 900, "a\nb\u2028c\x00d", '</bdi><script>x</script>"', "\u200b\u2066\ud800"]
)
def test_an_applications_name_stays_one_short_line_of_the_page(site: Site, name: str):
    page = site.http.get(AUTHORIZE, params=site.request(client_id=forge([name, CALLBACK])))
    assert page.status_code == 200
    shown = re.findall(r"“<bdi>(.*?)</bdi>”", page.text)
    assert len(shown) == 1
    assert len(shown[0].replace("&quot;", '"').replace("&lt;", "<").replace("&gt;", ">")) <= MOST_NAME_CHARS
    assert shown[0].isprintable()
    assert "<script" not in page.text


@pytest.mark.parametrize(
    "registration",
    [
        b"[" * 1100,
        b'{"a":1}',
        b"\xff\xfe",
        b"5",
        b"[]",
        b'["x"]',
        ["x", 5],
        ["x", None],
        [["x"] * 3],
        ["x", CALLBACK + "/" + "x" * 2000],
    ],
)
def test_a_forged_client_is_unknown(site: Site, registration: object):
    client = forge(registration)
    assert site.http.get(AUTHORIZE, params=site.request(client_id=client)).status_code == 400
    assert site.exchange(client_id=client, code="mnc_x_y").json()["error"] == "invalid_client"
    assert site.http.post(REVOKE, data={"client_id": client, "token": "mna_x_y"}).status_code == 200


def test_the_address_of_a_client_is_not_fetched(site: Site):
    asked = site.request(client_id=f"{site.url}{SERVER}", redirect_uri=CALLBACK)
    assert site.http.get(AUTHORIZE, params=asked).status_code == 400
    assert "client_id_metadata_document_supported" not in site.http.get(SERVER).json()


@pytest.mark.parametrize("path", [AUTHORIZE, TOKEN, REGISTER, REVOKE])
def test_a_large_request_is_refused_before_it_is_read(site: Site, path: str):
    faulty = b'{"redirect_uris":[' + b",".join([b"1"] * MOST_BODY_BYTES) + b"]}"
    told = site.http.post(path, content=faulty, headers={"Content-Type": "application/json"})
    assert told.status_code == 413
    form = {"client_id": "x", "state": "x" * MOST_BODY_BYTES}
    assert site.http.post(path, data=form).status_code == 413


def test_a_faulty_registration_gets_an_answer_of_bounded_size(site: Site):
    faulty = b'{"redirect_uris":[' + b",".join([b"1"] * (MOST_BODY_BYTES // 2 - 20)) + b"]}"
    told = site.http.post(REGISTER, content=faulty, headers={"Content-Type": "application/json"})
    assert told.json()["error"] == "invalid_client_metadata"
    assert len(told.content) < 2**20


def test_registrations_store_nothing_and_repeat_their_id(site: Site, home: Path):
    first = site.register().json()
    assert site.register().json()["client_id"] == first["client_id"]
    with sqlite3.connect(home / "memory.db") as store:
        assert store.execute("SELECT count(*) FROM oauth_tokens").fetchone() == (0,)


def test_a_strangers_token_does_not_wait_for_the_stores_writer(site: Site, home: Path):
    client, tokens = site.connect()
    with sqlite3.connect(home / "memory.db", isolation_level=None) as other:
        other.execute("BEGIN IMMEDIATE")
        for form in (
            {"client_id": client, "token": "mna_x_y"},
            {"client_id": "x", "token": tokens["access_token"]},
            {"token": tokens["access_token"]},
        ):
            assert site.http.post(REVOKE, data=form).status_code == 200
        assert site.exchange(client_id=client, code="mnc_x_y").status_code == 400
        assert site.refresh(client, "mnr_x_y").status_code == 400
        other.execute("ROLLBACK")
    assert site.call(tokens["access_token"]) == 200


def test_a_code_stores_nothing_that_the_application_alone_needs(site: Site, home: Path):
    site.consent(site.request(state="only-for-the-application"))
    with sqlite3.connect(home / "memory.db") as store:
        (details,) = store.execute("SELECT details FROM oauth_tokens").fetchone()
    assert "only-for" not in details
    assert CALLBACK in details


def test_pages_of_other_sites_may_read_nothing(site: Site):
    headers = {"Origin": "https://evil.example", "Access-Control-Request-Method": "POST"}
    for path in (PATH, TOKEN, REGISTER, AUTHORIZE, SERVER, RESOURCE):
        for answer in (site.http.options(path, headers=headers), site.http.get(path, headers=headers)):
            assert not [name for name in answer.headers if name.startswith("access-control")]


def test_a_server_with_oauth_needs_a_key_even_without_any(home: Path):
    site = Site(home / "memory.db", has_key=False)
    try:
        for path in (PATH, "/v1/memories?user=ana"):
            assert site.http.post(path, json={}).status_code == 401
        assert site.consent(site.request(), "").status_code == 401
    finally:
        site.close()


def test_servers_on_one_store_share_codes_and_tokens(site: Site, home: Path):
    other = Site(home / "memory.db")
    try:
        asked = site.request()
        client, code = asked["client_id"], answered(site.consent(asked))["code"]
        tokens = other.exchange(client_id=client, code=code).json()
        assert site.call(tokens["access_token"]) == 200
        renewed = site.refresh(client, tokens["refresh_token"]).json()
        assert other.refresh(client, tokens["refresh_token"]).status_code == 400
        assert site.call(renewed["access_token"]) == 401
    finally:
        other.close()


@pytest.mark.parametrize(
    "path,form,error",
    [
        (TOKEN, {"grant_type": "password", "username": "ana", "password": "x"}, "unsupported_grant_type"),
        (TOKEN, {"grant_type": "client_credentials"}, "unsupported_grant_type"),
        (TOKEN, {"grant_type": "refresh_token", "refresh_token": "mnr_x_y"}, "invalid_grant"),
        (TOKEN, {"grant_type": "refresh_token", "refresh_token": "mnr_x_y", "resource": ""}, "invalid_grant"),
        (TOKEN, {"grant_type": "refresh_token"}, "invalid_request"),
        (TOKEN, {"grant_type": "authorization_code", "code": "mnc_x_y", "code_verifier": "x" * 43}, "invalid_grant"),
        (TOKEN, {}, "invalid_request"),
        (REVOKE, {}, "invalid_request"),
    ],
)
def test_refusals_have_the_codes_of_the_standards(site: Site, path: str, form: dict[str, str], error: str):
    told = site.http.post(path, data={"client_id": site.register().json()["client_id"], **form})
    assert told.status_code == 400
    assert told.json()["error"] == error
