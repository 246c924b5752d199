"""Callers who want what is not theirs, or to break the server for others: tried on the application behind the gate."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from mnemic.console.app import assets
from mnemic.model.records import Right
from mnemic.model.scope import Scope
from mnemic.web.limits import Limits, OwnLevels
from tests.doors.review_scenarios import ORDER
from tests.doors.test_security import HERS, Doors

ACME = Scope(org="acme")
BORIS = Scope(org="acme", user="boris")


@pytest.fixture
def doors(tmp_path: Path) -> Iterator[Doors]:
    opened = Doors(tmp_path)
    yield opened
    opened.close()


@pytest.mark.requirement("P-17")
class TestBoundKeys:
    @pytest.mark.parametrize("verdict", ["trust", "reject"])
    def test_a_bound_key_judges_nothing_that_others_share(self, doors: Doors, verdict: str):
        waiting = doors.mnemic.remember(HERS, ORDER, level="org", trust="document")
        token = doors.key(BORIS).token
        answer = doors.ask("POST", f"/v1/memories/{waiting.id}/{verdict}", token, json={})
        assert answer.status_code == 403
        assert doors.mnemic.get(HERS, waiting.id) == waiting
        free = doors.key(ACME).token
        assert doors.ask("POST", f"/v1/memories/{waiting.id}/{verdict}", free, json={}).status_code == 200

    def test_a_key_of_one_user_changes_nothing_in_a_session_of_nobody(self, doors: Doors):
        room = Scope(org="acme", session="room")
        theirs = doors.mnemic.capture(room, user="said by somebody").messages[0]
        kept = doors.mnemic.remember(room, "The door code is new")
        token = doors.key(BORIS).token
        for method, path, content in (
            ("DELETE", f"/v1/memories/{theirs.id}", {}),
            ("DELETE", f"/v1/memories/{kept.id}", {}),
            ("PATCH", f"/v1/memories/{kept.id}", {"json": {"text": "The door code is old"}}),
            ("POST", "/v1/tools/forget/call", {"json": {"arguments": {"id": kept.id}}}),
        ):
            answer = doors.ask(method, path, token, params={"session": "room"}, **content)
            assert answer.status_code == 403, (method, path, answer.text)
        own = doors.ask(
            "POST", "/v1/memories", token, params={"session": "room"}, json={"text": "x", "level": "session"}
        )
        gone = doors.ask("DELETE", f"/v1/memories/{own.json()['id']}", token, params={"session": "room"})
        assert gone.status_code == 200
        assert doors.mnemic.get(room, kept.id).text == "The door code is new"

    def test_what_concerns_all_is_told_to_no_bound_key_and_no_other_org(self, doors: Doors):
        bound, own, other = doors.key(BORIS), doors.key(ACME), doors.key(Scope())
        assert doors.ask("GET", "/v1/receipts", bound.token).status_code == 403
        assert doors.ask("GET", "/v1/receipts", own.token).status_code == 200
        codes = [doors.ask("GET", "/metrics", key.token).status_code for key in (bound, own, other)]
        assert codes == [403, 403, 200]


@pytest.mark.requirement("P-17")
def test_a_request_that_shows_two_keys_in_two_headers_of_one_name_is_refused(doors: Doors):
    one, two = doors.key(ACME).token, doors.key(Scope(org="other")).token
    shown: Any = [("Authorization", f"Bearer {one}"), ("Authorization", f"Bearer {two}")]
    assert doors.client.get("/v1/memories", headers=shown).status_code == 401
    assert doors.client.get("/v1/memories", headers=[shown[0], shown[0]]).status_code == 200


@pytest.mark.requirement("P-17")
@pytest.mark.parametrize("path", ["/docs", "/docsx", "/docs/start.js", "/openapi.json", "/health/live"])
def test_what_is_open_to_all_does_nothing_but_answer(doors: Doors, path: str):
    doors.key(ACME, *Right)
    for method in ("POST", "DELETE", "PATCH", "PUT"):
        answer = doors.ask(method, path, json={}, headers={"Idempotency-Key": "k"})
        assert answer.status_code in {404, 405}, (method, answer.text)


@pytest.mark.requirement("P-17")
def test_without_keys_a_host_that_is_not_plainly_this_machine_is_refused(doors: Doors):
    for shown in (
        [("Host", "user@localhost")],
        [("Host", "localhost"), ("Host", "evil.example")],
        [("Host", "localhost/x")],
        [("Host", "localhost"), ("Sec-Fetch-Site", "cross-site")],
        [("Host", "localhost"), ("Sec-Fetch-Site", "same-site")],
    ):
        assert doors.client.get("/v1/memories", headers=shown).status_code == 403, shown
    for site in ("none", "same-origin"):
        assert doors.client.get("/v1/memories", headers={"Sec-Fetch-Site": site}).status_code == 200


@pytest.mark.requirement("P-17")
def test_what_is_remembered_of_a_token_is_short_whatever_was_sent(tmp_path: Path):
    opened = Doors(tmp_path, Limits(rate_per_s=100))
    opened.key(ACME)
    for number in range(5):
        assert opened.ask("GET", "/v1/memories", f"mn_{number}_" + "x" * 50_000).status_code == 401
    levels = cast("OwnLevels", vars(vars(opened.served.gate)["_rates"])["_levels"])
    names = cast("list[str]", [*vars(levels)["_levels"]])
    assert [len(name) for name in names] == [64] * 5
    opened.close()


@pytest.mark.requirement("P-17")
def test_the_description_runs_its_own_files_alone_and_answers_run_nothing(doors: Doors):
    page = doors.ask("GET", "/docs")
    rules = page.headers["content-security-policy"].split("; ")
    assert page.status_code == 200
    assert {"default-src 'none'", "script-src 'self'", "style-src 'self'", "connect-src 'self'"} <= set(rules)
    assert not re.findall("unsafe|http", ";".join(rules))
    assert not re.findall(
        r"<script>|<iframe|<style|(?:src|href)=\"(?!docs/[a-z.-]+\"|console/[a-z.]*\"|data:,\")", page.text
    )
    used = re.findall(r"(?:src|href)=\"(docs/[^\"]+)", page.text)
    shared = re.findall(r"(?:src|href)=\"console/([^\"]+)", page.text)
    assert {doors.ask("GET", f"/{path}").status_code for path in used} == {200}
    assert {"colours.css", "icon.svg"} == {*shared} <= {*assets()}
    assert doors.ask("GET", "/docs/../app.py").status_code == doors.ask("GET", "/docs/%2e%2e/app.py").status_code == 404
    assert "script-src" not in doors.ask("GET", "/v1/memories").headers["content-security-policy"]
    assert "frame-ancestors 'none'" in doors.ask("GET", "/v1/memories").headers["content-security-policy"]
    assert "/docs" not in doors.ask("GET", "/openapi.json").json()["paths"]


@pytest.mark.requirement("P-17")
def test_strangers_cost_no_look_at_the_store_once_it_holds_a_key(doors: Doors):
    token = doors.key(ACME).token
    assert doors.ask("GET", "/v1/memories").status_code == 401
    doors.mnemic.close()
    assert doors.ask("GET", "/v1/memories").status_code == 401
    assert doors.ask("GET", "/v1/memories", token).status_code >= 500
