"""A write that is sent again with its key is done once, whichever server answers, and whatever became of the first."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from mnemic import Scope
from mnemic.adapters.stores.memory import MemoryStore
from mnemic.engine.access import KEPT
from mnemic.errors import UnavailableError
from mnemic.model.records import Right
from mnemic.model.scope import Level
from mnemic.ports.store import UnitOfWork
from mnemic.remote import connect
from mnemic.rest.replies import MOST_BYTES
from mnemic.testing.chat_server import ChatServer
from tests.doors.http_doors import Listening
from tests.doors.repeating import ANA, Dropping, Servers, Told, keyed, kind

MEMORIES, MESSAGES = "/v1/memories", "/v1/messages"
TEA: dict[str, Any] = {"json": {"text": "Ana drinks smoked tea"}}


@pytest.fixture
def servers(tmp_path: Path) -> Iterator[Servers]:
    opened = Servers(str(tmp_path / "memory.db"))
    yield opened
    opened.close()


def capture(client: Any, text: str, key: str, **more: str) -> Any:
    return client.post(MESSAGES, json={"user": text}, **keyed(key, session="s", **more))


class TestOnce:
    def test_a_write_that_is_sent_again_is_done_once(self, servers: Servers):
        served, client = servers.start()
        first, again = capture(client, "hello", "k1"), capture(client, "hello", "k1")
        assert (first.status_code, first.content) == (again.status_code, again.content)
        assert first.headers["content-type"] == again.headers["content-type"]
        assert ("idempotency-replayed" in first.headers, again.headers["idempotency-replayed"]) == (False, "true")
        assert capture(client, "hello", "k2").json()["id"] != first.json()["id"]
        assert len(served.mnemic.window(Scope(user="ana", session="s"))) == 2

    def test_a_key_stands_for_one_request(self, servers: Servers):
        _, client = servers.start()
        capture(client, "hello", "k1")
        assert capture(client, "goodbye", "k1").status_code == 422
        assert capture(client, "hello", "k1", user="boris").status_code == 422
        assert capture(client, "hello", "").status_code == 422
        assert capture(client, "hello", "k" * 256).status_code == 422

    def test_a_server_that_was_started_again_knows_the_answer(self, servers: Servers):
        served, client = servers.start()
        first = client.post(MEMORIES, **TEA, **keyed("k"))
        servers.stop(served)
        served, client = servers.start()
        again = client.post(MEMORIES, **TEA, **keyed("k"))
        assert (again.json(), again.headers["idempotency-replayed"]) == (first.json(), "true")
        assert client.post(MEMORIES, json={"text": "other"}, **keyed("k")).status_code == 422

    def test_another_server_on_the_store_knows_the_answer(self, servers: Servers):
        (_, one), (_, other) = servers.start(), servers.start()
        first, again = one.post(MEMORIES, **TEA, **keyed("k")), other.post(MEMORIES, **TEA, **keyed("k"))
        assert (again.json(), again.headers["idempotency-replayed"]) == (first.json(), "true")

    def test_a_key_belongs_to_one_org_and_to_one_caller(self, servers: Servers):
        served, client = servers.start()
        callers = [served.mnemic.keys.create(Scope(org=org)).token for org in ("acme", "acme", "other")]
        ids = {client.post(MESSAGES, json={"user": "hello"}, **keyed("k", token)).json()["id"] for token in callers}
        assert len(ids) == 3
        again = [client.post(MESSAGES, json={"user": "hello"}, **keyed("k", token)).json()["id"] for token in callers]
        assert set(again) == ids

    def test_only_a_request_with_a_key_is_kept(self, servers: Servers, tmp_path: Path):
        served, client = servers.start()
        client.post(MEMORIES, **TEA, params={"user": "ana"})
        client.post("/v1/recall", json={"query": "tea"}, **keyed("k1"))
        client.post(MEMORIES, json={"text": ""}, **keyed("k2"))
        client.delete(f"{MEMORIES}/unknown", **keyed("k3"))
        client.post("/v1/nowhere", **keyed("k4"))
        assert rows(tmp_path) == []
        client.post(MEMORIES, **TEA, **keyed("k2"))
        assert len(rows(tmp_path)) == 1
        assert len(served.mnemic.list(ANA).memories) == 1


class TestAtTheSameTime:
    def test_one_server_says_that_it_is_still_being_answered(self, servers: Servers, monkeypatch: pytest.MonkeyPatch):
        served, client = servers.start()
        inside, leave = hold(served.mnemic, monkeypatch)
        with ThreadPoolExecutor(1) as pool:
            first = pool.submit(lambda: client.post(MEMORIES, **TEA, **keyed("k")))
            inside.wait()
            meanwhile = client.post(MEMORIES, **TEA, **keyed("k"))
            other = client.post(MEMORIES, json={"text": "other"}, **keyed("k"))
            leave.set()
            assert first.result().status_code == 201
        assert (kind(meanwhile), meanwhile.headers["retry-after"]) == ((409, "under_way"), "1")
        assert other.status_code == 422
        assert client.post(MEMORIES, **TEA, **keyed("k")).json() == first.result().json()

    def test_of_two_servers_the_second_to_write_does_nothing(self, servers: Servers, monkeypatch: pytest.MonkeyPatch):
        (slow, one), (_, other) = servers.start(), servers.start()
        inside, leave = hold(slow.mnemic, monkeypatch)
        with ThreadPoolExecutor(1) as pool:
            first = pool.submit(capture, one, "hello", "k")
            inside.wait()
            done = capture(other, "hello", "k")
            leave.set()
            refused = first.result()
        assert (done.status_code, kind(refused)) == (201, (409, "outcome_unknown"))
        assert capture(one, "hello", "k").json() == done.json()
        assert len(slow.mnemic.window(Scope(user="ana", session="s"))) == 1

    def test_the_client_asks_again_where_the_line_breaks_and_waits_for_what_is_under_way(
        self, servers: Servers, monkeypatch: pytest.MonkeyPatch
    ):
        served, _ = servers.start()
        listening = Listening(served.app)
        inside, leave = hold(served.mnemic, monkeypatch)
        dropping = Dropping(listening.url, inside)
        with connect(dropping.url) as remote, ThreadPoolExecutor(1) as pool:
            asked = pool.submit(remote.remember, ANA, "Ana drinks tea")
            is_told = dropping.told.wait(30)  # the second time it is still under way
            leave.set()
            assert is_told
            assert asked.result().text == "Ana drinks tea"
        dropping.close()
        listening.close()
        assert len(served.mnemic.list(ANA).memories) == 1


class TestWithoutAnAnswer:
    def test_work_whose_answer_was_never_written_down_is_not_done_again(
        self, servers: Servers, monkeypatch: pytest.MonkeyPatch
    ):
        served, client = servers.start()

        def lost(*_: object, **__: object) -> None:
            raise UnavailableError("the disk is gone")

        with monkeypatch.context() as patch:
            patch.setattr("mnemic.api.doors.Repeats.keep", lost)
            assert client.post(MEMORIES, **TEA, **keyed("k")).status_code == 201
        servers.stop(served)
        served, client = servers.start()
        told = client.post(MEMORIES, **TEA, **keyed("k"))
        assert kind(told) == (409, "outcome_unknown")
        assert "check whether the request took effect" in told.json()["hint"]
        assert len(served.mnemic.list(ANA).memories) == 1
        assert client.post(MEMORIES, json={"text": "other"}, **keyed("k")).status_code == 422

    def test_what_failed_before_it_wrote_may_be_sent_again(self):
        for path in ("/v1/memories", "/v1/import"):
            for status in (503, 429, 404):
                told = Told(status=status, path=path)
                assert [told.ask()[0], told.ask()[0]] == [status, status]
                told.status, told.work = 200, told.writing
                assert [told.ask(), told.ask()] == [(200, b"done")] * 2
                assert told.times == 3

    def test_what_failed_after_it_wrote_is_not_done_again(self):
        for path in ("/v1/memories", "/v1/import"):
            told = Told(status=503, path=path)
            told.work = told.writing
            assert [told.ask()[0], told.ask()] == [503, (409, b"unfinished")]
            assert told.times == 1

    def test_a_commit_that_failed_leaves_the_key_free(self, monkeypatch: pytest.MonkeyPatch):
        told = Told(status=503)
        write = MemoryStore.write

        @contextmanager
        def full(store: MemoryStore, *, is_erasing: bool = False) -> Generator[UnitOfWork]:
            with write(store, is_erasing=is_erasing) as work:
                yield work
                raise UnavailableError("no room left on the disk")

        def failing() -> None:
            with monkeypatch.context() as patch, suppress(UnavailableError):
                patch.setattr(MemoryStore, "write", full)
                told.writing()

        told.work = failing
        assert told.ask()[0] == 503
        told.status, told.work = 200, told.writing
        assert [told.ask(), told.ask()] == [(200, b"done")] * 2
        assert told.times == 2

    def test_what_was_refused_after_it_wrote_is_answered_so_again(self):
        told = Told(status=409)
        told.work = told.writing
        assert [told.ask(), told.ask()] == [(409, b"done")] * 2
        assert told.times == 1

    def test_a_large_answer_is_not_kept_and_nothing_is_done_twice(self):
        told = Told(pieces=[b"x" * MOST_BYTES, b"y"])
        told.work = told.writing
        assert len(told.ask()[1]) == MOST_BYTES + 1
        assert told.ask() == (409, b"answer_gone")
        told.pieces = [b"x" * MOST_BYTES]
        assert told.ask("k2") == told.ask("k2") == (200, b"x" * MOST_BYTES)
        assert told.times == 2

    def test_a_key_is_forgotten_after_a_day_and_what_is_kept_of_it_is_swept(self):
        told = Told()
        told.work = told.writing
        told.ask()
        told.clock.go(KEPT)
        told.ask()
        assert told.times == 1
        told.clock.go(timedelta(seconds=1))
        told.ask("k2")
        told.ask()
        assert told.times == 3
        told.clock.go(2 * KEPT)
        told.ask("k3")
        with told.store.write() as work:
            assert work.requests.forget(told.clock.now() + KEPT) == 1

    def test_the_schedules_of_the_worker_sweep_too(self):
        told = Told()
        told.work = told.writing
        told.ask()
        told.mnemic.work()
        told.clock.go(timedelta(days=8))
        told.mnemic.work()
        with told.store.write() as work:
            assert work.requests.forget(told.clock.now() + KEPT) == 0


class TestForgetting:
    def test_what_was_deleted_is_in_no_kept_answer_and_is_not_made_again(self, servers: Servers, tmp_path: Path):
        served, client = servers.start()
        tea = client.post(MEMORIES, **TEA, **keyed("k")).json()
        capture(client, "boris says hello", "k2", user="boris")
        removed = client.delete(f"{MEMORIES}/{tea['id']}", **keyed("d"))
        assert kind(client.post(MEMORIES, **TEA, **keyed("k"))) == (409, "answer_gone")
        assert served.mnemic.list(ANA).memories == ()
        assert client.delete(f"{MEMORIES}/{tea['id']}", **keyed("d")).json() == removed.json()
        assert capture(client, "boris says hello", "k2", user="boris").headers["idempotency-replayed"] == "true"
        assert not any("smoked" in row for row in rows(tmp_path))

    @pytest.mark.parametrize(
        "method, path, body",
        [
            ("POST", "/v1/memories/clear", {}),
            ("POST", "/v1/erase", {"level": "user"}),
            ("PATCH", "/v1/profile", {"facts": {"tea": None}}),
        ],
    )
    def test_whatever_deletes_removes_answers_and_keeps_its_own(
        self, servers: Servers, tmp_path: Path, method: str, path: str, body: dict[str, Any]
    ):
        _, client = servers.start()
        client.post(MEMORIES, **TEA, **keyed("k"))
        client.patch("/v1/profile", json={"facts": {"tea": "smoked"}}, **keyed("p"))
        assert any("smoked" in row for row in rows(tmp_path))
        first, again = (client.request(method, path, json=body, **keyed("c")) for _ in range(2))
        assert first.is_success, first.text
        assert (again.json(), again.headers["idempotency-replayed"]) == (first.json(), "true")
        assert not any("smoked" in row for row in rows(tmp_path))

    def test_of_an_erased_user_no_answer_and_no_name_is_left_in_the_files(self, servers: Servers, tmp_path: Path):
        served, client = servers.start()
        name, word = "zebedee-tenant", "xylophone"
        asked = keyed("k", user=name, session=f"{name}-1")
        client.post(MESSAGES, json={"user": f"I play the {word}"}, **asked)
        client.post(MEMORIES, json={"text": f"plays the {word}"}, **keyed("k2", user=name))
        client.post(
            "/v1/tools/remember/call", json={"arguments": {"text": f"likes the {word}"}}, **keyed("k3", user=name)
        )
        assert found(tmp_path, word)
        served.mnemic.erase(Scope(user=name), level=Level.USER)
        assert len(rows(tmp_path)) == 3
        servers.stop(served)
        assert [found(tmp_path, each) for each in (word, name)] == [[], []]
        served, client = servers.start()
        assert kind(client.post(MESSAGES, json={"user": f"I play the {word}"}, **asked)) == (409, "answer_gone")

    def test_an_erased_org_leaves_answers_of_other_orgs_alone(self, servers: Servers, tmp_path: Path):
        served, client = servers.start()
        tokens = {org: served.mnemic.keys.create(Scope(org=org)).token for org in ("acme", "other")}
        for org, token in tokens.items():
            client.post(MEMORIES, json={"text": f"said in {org}"}, **keyed("k", token))
        served.mnemic.erase(Scope(org="acme"), level=Level.ORG)
        assert [("said in acme" in row, "said in other" in row) for row in rows(tmp_path)] == [
            (False, False),
            (False, True),
        ]

    def test_an_answer_that_is_made_while_its_user_is_erased_is_not_kept(self):
        told = Told(path="/v1/chat", pieces=[b"Ana drinks tea"])

        def erased() -> None:
            told.writing()
            with ThreadPoolExecutor(1) as pool:  # somebody else, beside this request
                pool.submit(told.mnemic.erase, ANA, level=Level.USER).result()

        told.work = erased
        assert told.ask() == (200, b"Ana drinks tea")
        assert told.ask() == (409, b"answer_gone")


class TestSecrets:
    def test_a_key_that_was_made_is_told_once_and_made_once(self, servers: Servers, tmp_path: Path):
        served, client = servers.start()
        admin = served.mnemic.keys.create(Scope(), rights=list(Right)).token
        made = client.post("/v1/keys", json={"name": "app"}, **keyed("k", admin))
        assert made.status_code == 201
        assert kind(client.post("/v1/keys", json={"name": "app"}, **keyed("k", admin))) == (409, "answer_gone")
        assert len(served.mnemic.keys.list(Scope())) == 2
        servers.stop(served)
        assert found(tmp_path, made.json()["token"].rpartition("_")[2]) == []

    def test_what_a_model_says_of_a_secret_is_not_kept(self):
        secret = "ghp_" + "a1B2" * 9
        told = Told(path="/v1/chat", pieces=[f'{{"text": "the token is {secret}"}}'.encode()])
        told.work = told.writing
        assert secret.encode() in told.ask()[1]
        assert told.ask() == (409, b"answer_gone")

    def test_who_may_only_read_leaves_no_trace(self, servers: Servers, tmp_path: Path):
        served, client = servers.start()
        reader = served.mnemic.keys.create(ANA, rights=[Right.READ]).token
        assert client.post("/v1/chat", json={"message": "hello"}, **keyed("k", reader)).status_code == 403
        assert rows(tmp_path) == []


def test_a_chat_is_noted_before_the_model_is_asked_and_answered_once(tmp_path: Path):
    seen: list[int] = []
    with ChatServer(lambda _: (seen.append(len(rows(tmp_path))), "As you said.")[1]) as model:
        servers = Servers(str(tmp_path / "memory.db"))
        options = {"base_url": model.url, "model": "m", "attempts": 1}
        servers.config = replace(servers.config, llm="openai", llm_options=options)
        _, client = servers.start()
        for path in ("/v1/chat", "/v1/chat/stream"):
            first = client.post(path, json={"message": "hello", "captures": False}, **keyed(path))
            again = client.post(path, json={"message": "hello", "captures": False}, **keyed(path))
            assert first.status_code == 200, first.text
            assert "idempotency-replayed" not in again.headers  # nothing was changed, so that asking again is harmless
            first = client.post(path, json={"message": "hello"}, **keyed(path + "2"))
            again = client.post(path, json={"message": "hello"}, **keyed(path + "2"))
            assert (again.content, again.headers["idempotency-replayed"]) == (first.content, "true")
        servers.close()
    assert seen == [1, 1, 1, 2, 2, 2]


def hold(mnemic: Any, monkeypatch: pytest.MonkeyPatch) -> tuple[threading.Event, threading.Event]:
    """Keep what writes waiting before it does: an event when something waits, and one that lets it go on."""
    inside, leave = threading.Event(), threading.Event()
    for name in ("remember", "capture"):
        verb = getattr(mnemic, name)

        def held(*given: Any, verb: Any = verb, **named: Any) -> Any:
            inside.set()
            leave.wait()
            return verb(*given, **named)

        monkeypatch.setattr(mnemic, name, held)
    return inside, leave


def rows(folder: Path) -> list[str]:
    """What the store in a folder keeps of requests, as text."""
    with closing(sqlite3.connect(folder / "memory.db")) as connection:
        return [repr(row) for row in connection.execute("SELECT * FROM requests ORDER BY at")]


def found(folder: Path, text: str) -> list[str]:
    """The files in a folder that hold a text."""
    return [str(path) for path in folder.rglob("*") if path.is_file() and text.encode() in path.read_bytes()]
