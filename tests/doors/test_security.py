"""Who may do what over HTTP: keys, rights, bounds and limits, tried on every route of the description."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from mnemic.model.records import IssuedKey, Right
from mnemic.model.scope import Scope
from mnemic.web.limits import Limits
from tests.doors.http_doors import LOCAL, Served

MARK = "zebrafinch"
HERS = Scope(org="acme", user="ana", agent="quill", session="s1")
NAMES = {"user": "ana", "agent": "quill", "session": "s1"}
READING = {"recall", "context", "why_not", "ask", "tools_call", "research"}
WITH_A_MODEL = {"chat", "chat_stream", "ask"}  # 503 here, where none is configured
WHOLE_STORE = {"work", "reembed", "backup", "doctor", "users", "agents"}


class Doors:
    """A server with a store that holds a little of everything of one org."""

    def __init__(self, folder: Path, limits: Limits | None = None, store: str = "") -> None:
        self.served = Served(store or str(folder / "memory.db"), limits=limits)
        self.client = TestClient(self.served.app, base_url=LOCAL, raise_server_exceptions=False)
        self.client.__enter__()
        self.mnemic = self.served.mnemic

    def fill(self) -> list[str]:
        """The ids of what was stored."""
        mnemic = self.mnemic
        memory = mnemic.remember(HERS, f"Ana keeps a {MARK}")
        shared = mnemic.remember(HERS, f"All keep a {MARK}", level="org")
        turn = mnemic.capture(HERS, user=f"my {MARK} sings", assistant="how nice")
        mnemic.profile.set(HERS, {"bird": MARK})
        mnemic.ingest(HERS, f"# Birds\n\nThe {MARK} eats seeds.".encode(), name=f"{MARK}.md")
        (document,) = mnemic.documents.list(HERS).documents
        jobs = mnemic.jobs.list(HERS)
        return [memory.id, shared.id, turn.messages[0].id, turn.id, document.id, *(job.id for job in jobs)]

    def key(self, scope: Scope, *rights: Right, **wanted: Any) -> IssuedKey:
        """A new key."""
        return self.mnemic.keys.create(scope, rights=rights or [Right.READ, Right.WRITE], **wanted)

    def ask(self, method: str, path: str, token: str | None = None, **content: Any) -> Any:
        """The response to a request that shows a token."""
        headers = content.pop("headers", {}) | ({"Authorization": f"Bearer {token}"} if token else {})
        return self.client.request(method, path, headers=headers, **content)

    def close(self) -> None:
        self.client.__exit__(None, None, None)
        self.served.close()


@pytest.fixture
def doors(tmp_path: Path) -> Iterator[Doors]:
    opened = Doors(tmp_path)
    yield opened
    opened.close()


def operations(doors: Doors) -> list[tuple[str, str, dict[str, Any]]]:
    """Method, path and description of every operation."""
    paths = doors.client.get("/openapi.json").json()["paths"]
    found = [(method.upper(), path, about) for path, methods in paths.items() for method, about in methods.items()]
    assert len(found) > 40
    return found


def content_for(about: dict[str, Any], ids: list[str]) -> dict[str, Any]:
    """A body that the operation takes."""
    bodies: dict[str, Any] = {
        "remember": {"text": "x"},
        "remember_many": {"memories": ["x"]},
        "recall": {"query": MARK},
        "context": {"query": MARK},
        "why_not": {"query": MARK},
        "update": {"text": "changed"},
        "merge": {"ids": ids[:2]},
        "feedback": {"verdict": "outdated"},
        "capture": {"user": "x"},
        "capture_many": {"exchanges": [[{"role": "user", "content": "x"}]]},
        "complete": {"assistant": "x"},
        "profile_set": {"facts": {"bird": "none"}},
        "jobs_retry": {"ids": ids},
        "trust": {},
        "run_file_command": {"command": "create", "path": "/memories/x.md", "file_text": "x"},
        "chat": {"message": "x"},
        "chat_stream": {"message": "x"},
        "ask": {"question": "x"},
        "research": {"document": (ids[4:5] or ["x"])[0], "question": "x"},
    }
    if "requestBody" not in about:
        return {}
    kinds = about["requestBody"]["content"]
    if "multipart/form-data" in kinds:
        return {"files": {"file": ("x.md", b"# x\n\ny")}}
    if "text/plain" in kinds:
        line = json.dumps({"role": "user", "content": "x", "session": "s1"})
        return {"content": f"{line}\n".encode(), "headers": {"Content-Type": "text/plain"}}
    return {"json": bodies.get(about["operationId"], {})}


def everything(doors: Doors) -> list[str]:
    """All that the org owns, but when it was looked at."""
    lines = [json.loads(line) for line in doors.mnemic.export(HERS, levels=["session", "user", "agent", "org"])]
    return [json.dumps({k: v for k, v in line.items() if k not in {"at", "exported_at"}}) for line in lines[1:]]


@pytest.mark.requirement("P-17", "T-35")
def test_a_key_of_one_org_reaches_nothing_of_another_by_any_route(doors: Doors):
    ids = doors.fill()
    before = everything(doors)
    stranger = doors.key(Scope(org="other"), *Right).token
    hers = doors.key(Scope(org="acme"), *Right)
    for method, path, about in operations(doors):
        for item in [*ids, hers.key.id] if "{id}" in path else [""]:
            for named in (NAMES, {}):
                content = content_for(about, ids)
                answer = doors.ask(method, path.replace("{id}", item), stranger, params=named, **content)
                is_away = answer.status_code == 503 and about["operationId"] in WITH_A_MODEL
                assert answer.status_code < 500 or is_away, (method, path, answer.text)
                asked = (json.dumps(content.get("json", {}).get("query", "")), f'"query":"{MARK}"')
                told = answer.text.replace(asked[0], "").replace(asked[1], "")  # without the stranger's own words
                assert MARK not in told, path
                assert not any(other in answer.text.replace(item or "-", "") for other in ids), path
    assert everything(doors) == before
    assert doors.ask("GET", "/v1/keys", hers.token).json()[-1]["revoked_at"] is None


@pytest.mark.requirement("P-17")
def test_naming_another_org_is_refused_on_every_route(doors: Doors):
    token = doors.key(Scope(org="other"), *Right).token
    for method, path, about in operations(doors):
        content = content_for(about, ["x"])
        for how in ({"params": {"org": "acme"}}, {"headers": {"Mnemic-Org": "acme"}}):
            given = {**content, **how, "headers": {**content.get("headers", {}), **how.get("headers", {})}}
            answer = doors.ask(method, path.replace("{id}", "x"), token, **given)
            assert answer.status_code == 403, (method, path, answer.text)


@pytest.mark.requirement("P-17")
def test_a_key_does_only_what_its_rights_say(doors: Doors):
    ids = doors.fill()
    tokens = {right: doors.key(Scope(org="default"), right).token for right in Right}
    for method, path, about in operations(doors):
        operation = about["operationId"]
        needed = {Right.READ if method == "GET" or operation in READING else Right.WRITE}
        if operation.startswith("keys_") or operation in WHOLE_STORE:
            needed = {Right.ADMIN}
        if operation in {"health", "run_file_command"}:  # they look, and keep the score or a file
            needed = {Right.READ, Right.WRITE}
        for right, token in tokens.items():
            content = content_for(about, ids)
            answer = doors.ask(method, path.replace("{id}", "x"), token, params={"user": "u"}, **content)
            assert (answer.status_code == 403) == (needed != {right}), (method, path, right, answer.text)


@pytest.mark.requirement("P-17")
def test_a_bound_key_speaks_for_its_user_and_agent_alone(doors: Doors):
    doors.fill()
    token = doors.key(Scope(org="acme", user="ana", agent="quill")).token
    for method, path, about in operations(doors):
        for part in ("user", "agent"):
            content = content_for(about, ["x"])
            answer = doors.ask(method, path.replace("{id}", "x"), token, params={part: "boris"}, **content)
            assert answer.status_code == 403, (method, path, answer.text)
    answer = doors.ask("GET", "/v1/memories", token, params={"levels": "user"})
    assert answer.json()["memories"][0]["owner"] == "ana"


@pytest.mark.requirement("P-17")
def test_a_bound_key_changes_nothing_that_others_share(doors: Doors):
    shared = doors.fill()[1]
    token = doors.key(Scope(org="acme", user="ana")).token
    assert doors.ask("GET", f"/v1/memories/{shared}", token).status_code == 200
    for method, path, content in (
        ("DELETE", f"/v1/memories/{shared}", {}),
        ("PATCH", f"/v1/memories/{shared}", {"text": "x"}),
        ("POST", f"/v1/memories/{shared}/pin", {}),
        ("POST", f"/v1/memories/{shared}/feedback", {"verdict": "outdated"}),
        ("POST", f"/v1/memories/{shared}/undo", {}),
        ("POST", "/v1/memories/merge", {"ids": [shared]}),
        ("POST", "/v1/memories", {"text": "x", "level": "org"}),
        ("POST", "/v1/memories/batch", {"memories": [{"text": "x", "level": "agent"}]}),
        ("POST", "/v1/memories/clear", {"levels": ["org"]}),
        ("POST", "/v1/erase", {"level": "org"}),
        ("POST", "/v1/evict", {"levels": ["org"]}),
    ):
        answer = doors.ask(method, path, token, **({"json": content} if method != "DELETE" else {}))
        assert answer.status_code == 403, (method, path, answer.text)
    assert doors.ask("POST", "/v1/erase", token, json={"level": "user"}).status_code == 200


@pytest.mark.requirement("P-17")
def test_a_key_that_is_wrong_ended_or_missing_is_refused_in_the_same_words(doors: Doors):
    good = doors.key(HERS)
    revoked = doors.key(HERS)
    doors.mnemic.keys.revoke(HERS, revoked.key.id)
    end = datetime.now(UTC) + timedelta(seconds=0.3)
    ended = doors.key(HERS, expires_at=end)
    key_id, secret = good.key.id, good.token.rpartition("_")[2]
    wrong = [
        revoked.token,
        f"mn_{key_id}_{secret[:-1]}{'0' if secret[-1] != '0' else '1'}",
        f"mn_{key_id}_",
        f"mn_{revoked.key.id}_{secret}",
        f"mx_{key_id}_{secret}",
        f"mn__{secret}",
        secret,
        f"mn_{'9' * 18}_{secret}",
        "mn_" + "x" * 9000,
    ]
    while datetime.now(UTC) < end:
        assert doors.ask("GET", "/v1/memories", good.token).status_code == 200
    told = {doors.ask("GET", "/v1/memories", token).text for token in [*wrong, ended.token]}
    assert len(told) == 1
    assert json.loads(told.pop())["status"] == 401
    assert doors.ask("GET", "/v1/memories").status_code == 401
    assert doors.ask("GET", "/v1/memories", headers={"X-API-Key": good.token}).status_code == 200
    assert doors.ask("GET", "/v1/memories", good.token, headers={"X-API-Key": wrong[1]}).status_code == 401


@pytest.mark.requirement("P-17")
def test_a_rotated_key_is_accepted_beside_the_new_one_for_the_overlap_alone(doors: Doors):
    old = doors.key(HERS)
    new = doors.mnemic.keys.rotate(HERS, old.key.id, overlap_s=30)
    both = [doors.ask("GET", "/v1/memories", token).status_code for token in (old.token, new.token)]
    assert both == [200, 200]
    newest = doors.mnemic.keys.rotate(HERS, new.key.id, overlap_s=0)
    assert doors.ask("GET", "/v1/memories", new.token).status_code == 401
    assert doors.ask("GET", "/v1/memories", newest.token).status_code == 200
    assert newest.key.rights == old.key.rights
    assert (newest.key.user, newest.key.agent) == ("ana", "quill")


@pytest.mark.requirement("P-17")
def test_the_store_holds_no_secret(doors: Doors, tmp_path: Path):
    issued = doors.key(HERS)
    secret = issued.token.rpartition("_")[2].encode()
    doors.mnemic.close()
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert any(issued.key.id.encode() in path.read_bytes() for path in files)
    assert not any(secret in path.read_bytes() for path in files)
    assert issued.token not in repr(issued)


@pytest.mark.requirement("P-17")
def test_without_keys_only_this_machine_is_answered_and_no_page_of_another_site(doors: Doors):
    assert doors.ask("GET", "/v1/memories").status_code == 200
    for headers in (
        {"Host": "evil.example"},
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Host": "127.0.0.1.evil.example"},
        {"Host": ""},
    ):
        assert doors.ask("GET", "/v1/memories", headers=headers).status_code == 403, headers
    assert doors.ask("GET", "/v1/memories", headers={"Host": "localhost:1", "Origin": "http://localhost:1"}).is_success
    assert doors.ask("GET", "/v1/memories", params={"org": "acme"}).status_code == 403


@pytest.mark.requirement("P-17")
def test_no_other_site_may_read_answers(doors: Doors):
    answer = doors.ask("OPTIONS", "/v1/memories", headers={"Access-Control-Request-Method": "POST"})
    assert answer.status_code == 405
    assert not any(name.startswith("access-control") for name in answer.headers)
    assert doors.ask("GET", "/v1/memories").headers["x-content-type-options"] == "nosniff"


@pytest.mark.requirement("P-17")
def test_what_is_too_large_is_refused_before_it_is_read(tmp_path: Path):
    doors = Doors(tmp_path, Limits(body_bytes=1000, file_bytes=2000))
    cases: tuple[tuple[str, dict[str, Any]], ...] = (
        ("/v1/memories", {"json": {"text": "x" * 1000}}),
        ("/v1/import", {"content": b"x" * 2001, "headers": {"Content-Type": "text/plain"}}),
        ("/v1/documents", {"files": {"file": ("x.md", b"x" * 2001)}}),
        ("/v1/memories", {"content": iter([b"[" * 600] * 2), "headers": {"Content-Type": "application/json"}}),
        ("/v1/memories", {"json": {"text": "x" * 1000}, "headers": {"Idempotency-Key": "k"}}),
    )
    for path, content in cases:
        answer = doors.ask("POST", path, params={"user": "ana"}, **content)
        assert (answer.status_code, answer.json()["type"]) == (413, "urn:mnemic:problem:too_large"), path
    doors.close()


@pytest.mark.parametrize(
    "body",
    [
        b"{",
        b"",
        b"null",
        b"[]",
        b'{"text": NaN}',
        b'{"text": "x", "importance": NaN}',
        b'{"text": "x", "importance": 1e999}',
        b'{"text": "\\ud800"}',
        b'{"text": "x", "metadata": {"a": NaN}}',
        b'{"text": "x", "text2": "y"}',
        b'{"text": ' + b"[" * 5000 + b"]" * 5000 + b"}",
        b'{"text": "x", "metadata": ' + b'{"a":' * 900 + b"1" + b"}" * 900 + b"}",
        b'{"text": ' + b"9" * 5000 + b"}",
        b"\xff\xfe\x00",
    ],
)
def test_a_body_that_cannot_be_read_is_told_so(doors: Doors, body: bytes):
    headers = {"Content-Type": "application/json"}
    answer = doors.ask("POST", "/v1/memories", params={"user": "ana"}, content=body, headers=headers)
    assert answer.status_code in {400, 422}, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    assert doors.mnemic.list(Scope(user="ana")).memories == ()


@pytest.mark.requirement("P-17")
@pytest.mark.parametrize("name", ["../../etc/passwd.md", "/etc/passwd.md", "..\\..\\boot.md", "a/../../b.md", "~/x.md"])
def test_the_name_of_a_document_is_a_label_and_no_path(doors: Doors, name: str, tmp_path: Path):
    before = {path for path in tmp_path.rglob("*") if "memory.db" not in str(path)}
    params = {"user": "ana", "name": name, "source": name}
    answer = doors.ask("POST", "/v1/documents", params=params, files={"file": ("x.md", b"# Seeds\n\nRye.")})
    assert answer.json()["files"][0]["source"] == name
    documents = doors.ask("GET", "/v1/documents", params={"user": "ana"}).json()["documents"]
    assert [document["source"] for document in documents] == [name]
    assert {path for path in tmp_path.rglob("*") if "memory.db" not in str(path)} == before


@pytest.mark.requirement("P-17")
def test_one_key_may_ask_so_often_and_no_more(tmp_path: Path):
    doors = Doors(tmp_path, Limits(rate_per_s=0.001, burst=3))
    keys = [doors.key(HERS).token for _ in range(2)]
    codes = [doors.ask("GET", "/v1/memories", keys[0]).status_code for _ in range(4)]
    assert codes == [200, 200, 200, 429]
    answer = doors.ask("GET", "/v1/memories", keys[0])
    assert int(answer.headers["retry-after"]) > 1
    assert doors.ask("GET", "/v1/memories", keys[1]).status_code == 200
    doors.close()


@pytest.mark.requirement("P-17")
def test_guessing_keys_is_slowed_down_and_does_not_lock_out_others(tmp_path: Path):
    doors = Doors(tmp_path, Limits(attempts_per_s=0.001, attempts=3))
    doors.key(HERS)
    codes = [doors.ask("GET", "/v1/memories", "mn_a_b").status_code for _ in range(5)]
    assert codes == [401, 401, 401, 429, 429]
    doors.close()


@pytest.mark.requirement("T-37")
def test_alone_on_a_machine_there_is_no_key_and_no_limit(tmp_path: Path):
    doors = Doors(tmp_path, Limits(rate_per_s=0.001, burst=1))
    assert {doors.ask("GET", "/v1/memories", params={"user": "ana"}).status_code for _ in range(20)} == {200}
    doors.close()


@pytest.mark.requirement("P-18")
def test_every_write_and_every_refusal_is_in_the_audit_log_without_texts(doors: Doors):
    writer, reader = doors.key(Scope(org="acme")), doors.key(Scope(org="acme"), Right.READ)
    for key in (writer, reader):
        doors.ask("POST", "/v1/memories", key.token, params={"user": "ana"}, json={"text": MARK})
    doors.ask("GET", "/v1/memories", reader.token, params={"user": "ana"})
    doors.served.gate.audit.flush()
    page = doors.mnemic.keys.audit(Scope(org="acme"))
    told = [(entry.actor, entry.verb, entry.outcome) for entry in page.entries]
    assert told[:2] == [(f"key:{reader.key.id}", "remember", "403"), (f"key:{writer.key.id}", "remember", "ok")]
    assert [verb for _, verb, _ in told[2:]] == ["keys.create", "keys.create"]
    assert MARK not in repr(page.entries)
    assert doors.mnemic.keys.audit(Scope(org="other")).entries == ()
