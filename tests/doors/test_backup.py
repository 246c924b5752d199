"""`backup` and `restore` through the doors that have them: what is told, what is refused, and Ctrl-C."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from starlette.testclient import TestClient

from mnemic import AsyncMnemic, Mnemic, Scope, check_backup
from mnemic.cli import failures, output
from mnemic.cli.output import Told
from mnemic.config import Config
from mnemic.errors import ConflictError, ForbiddenError, InvalidInputError, UnsupportedError
from mnemic.model.records import Right
from mnemic.remote import connect, connect_async
from tests.doors.doors import run
from tests.doors.http_doors import LOCAL, Listening, Served

ANA = Scope(user="ana")


@pytest.fixture(autouse=True)
def store(home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The store of these tests, set in the environment."""
    path = home / "memory.db"
    monkeypatch.setenv("MNEMIC_STORE", str(path))
    monkeypatch.setenv("MNEMIC_EMBEDDER", "none")
    return path


@pytest.fixture
def filled(store: Path) -> Path:
    with Mnemic.open(Config(store=str(store), embedder="none")) as memory:
        memory.remember(ANA, "Drinks tea")
        memory.capture(ANA, user="Good morning")
    return store


@pytest.fixture
def served(filled: Path) -> Iterator[tuple[Served, str]]:
    """A server before the store, and its address."""
    served = Served(Config(store=str(filled), embedder="none"))
    listening = Listening(served.app)
    yield served, listening.url
    listening.close()
    served.close()


def told(*words: str) -> Any:
    code, out, err = run([*words, "--json"], [])
    assert code == 0, err
    return json.loads(out)


@pytest.mark.requirement("P-30")
class TestTheCommandLine:
    def test_backs_up_checks_and_restores(self, filled: Path, home: Path):
        file, other = str(home / "b.zip"), str(home / "other.db")
        report = told("backup", file)
        assert report["manifest"]["counts"]["memories"] == 1
        assert told("backup", "--verify", file)["manifest"] == report["manifest"]
        assert told("restore", file, "--store", other, "--dry-run")["counts"]["messages"] == 1
        assert told("restore", file, "--store", other)["counts"]["messages"] == 1
        assert [each["text"] for each in told("memory", "list", "--user", "ana", "--store", other)["memories"]] == [
            "Drinks tea"
        ]
        assert filled.exists()

    @pytest.mark.usefixtures("filled")
    def test_says_in_words_what_it_did(self, home: Path):
        file = str(home / "b.zip")
        code, out, _ = run(["backup", file], [])
        assert (code, "written and verified" in out, "1 memory, 1 message" in out) == (0, True, True)
        code, out, _ = run(["backup", file, "--verify"], [])
        assert (code, "complete and readable" in out) == (0, True)
        run(["erase", "--user", "ana", "--yes"], [])
        run(["remember", "--user", "boris", "Drinks beer"], [])
        code, out, _ = run(["restore", file, "--replace"], [])
        assert code == 0
        assert "the store has nothing" in out
        assert "instead of 1 memory" in out
        assert "repeated 1 erasure made since" in out

    @pytest.mark.usefixtures("filled")
    def test_keeps_receipts_apart(self, home: Path):
        file, receipts = str(home / "b.zip"), str(home / "r.zip")
        told("backup", file)
        run(["erase", "--user", "ana", "--yes"], [])
        assert told("backup", "--receipts-only", receipts)["manifest"]["receipts"] == 1
        assert told("backup", "--receipts-only", receipts, "--force")["manifest"]["contents"] == "receipts"
        other = str(home / "other.db")
        report = told("restore", file, "--receipts", receipts, "--store", other)
        assert (report["replayed"], report["counts"]["memories"]) == (1, 0)

    @pytest.mark.usefixtures("filled")
    def test_refuses_with_the_codes_of_its_errors(self, home: Path):
        file = str(home / "b.zip")
        told("backup", file)
        for words, error, text in (
            (["backup", file], ConflictError, "already exists"),
            (["restore", file], ConflictError, "the store already contains 1 messages, 1 memories"),
            (["restore", str(home / "none.zip"), "--replace"], InvalidInputError, "does not exist"),
            (["backup", "--verify", str(home / "memory.db")], InvalidInputError, "not a backup"),
            (["backup", "--verify", file, "--force"], InvalidInputError, "--verify writes nothing"),
        ):
            code, _, err = run(words, [])
            assert text in err
            assert code == failures.EXIT_CODES[error]

    @pytest.mark.parametrize(
        "words, step, said",
        [
            (["backup", "c.zip"], "copying", "nothing was changed"),
            (["backup", "c.zip"], "packing", "nothing was changed"),
            (["backup", "c.zip"], "checking", "the file is either complete or missing"),
            (["restore", "b.zip", "--replace"], "checking", "nothing was changed"),
            (["restore", "b.zip", "--replace"], "restoring", "all its old rows or all rows from the backup"),
        ],
    )
    def test_ctrl_c_leaves_what_was_and_nothing_beside_it(
        self, filled: Path, home: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], step: str, said: str
    ):
        told("backup", str(home / "b.zip"))
        with Mnemic.open(Config(store=str(filled), embedder="none")) as memory:
            memory.remember(ANA, "Drinks coffee")
        before = sorted(each.name for each in home.iterdir())

        @contextmanager
        def interrupted_bars() -> Generator[Told]:
            def tell(what: str, _done: int, _total: int) -> None:
                if what == step:
                    raise KeyboardInterrupt

            yield tell

        monkeypatch.setattr(output, "progress_bars", interrupted_bars)
        monkeypatch.chdir(home)
        code, out, err = run(words, [])
        assert (code, out, err) == (failures.INTERRUPTED, "", f"interrupted; {err.split('; ')[1]}")
        assert said in err
        assert sorted(each.name for each in home.iterdir()) == before
        assert len(told("memory", "list", "--user", "ana")["memories"]) == 2


@pytest.mark.requirement("P-30")
class TestAServer:
    def test_sends_a_backup_to_an_operator_while_it_serves(self, served: tuple[Served, str], home: Path):
        server, url = served
        operator = server.mnemic.keys.create(Scope(), rights=[Right.ADMIN]).token
        with connect(url, operator) as remote:
            report = remote.backup(home / "b.zip")
            assert report.manifest.counts["memories"] == 1
            assert check_backup(home / "b.zip").manifest == report.manifest
            with pytest.raises(ConflictError, match="already exists"):
                remote.backup(home / "b.zip")
            assert remote.backup(home / "b.zip", is_replacing=True, contents="receipts").manifest.receipts == 0
            with pytest.raises(UnsupportedError, match="on its own machine"):
                remote.restore(home / "b.zip")

    def test_writes_down_that_it_sent_one(self, filled: Path):
        server = Served(Config(store=str(filled), embedder="none"))
        headers = {"Authorization": f"Bearer {server.token('default')}"}
        answer = TestClient(server.app, base_url=LOCAL).post("/v1/backup", headers=headers)
        assert answer.headers["content-type"] == "application/zip"
        server.gate.close()  # writes what it noted
        assert "backup" in [entry.verb for entry in server.mnemic.keys.audit(Scope()).entries]
        server.close()

    def test_sends_none_to_anybody_else(self, served: tuple[Served, str], home: Path):
        server, url = served
        org = Scope(org="acme")
        for scope, rights in ((Scope(), (Right.READ, Right.WRITE)), (org, tuple(Right))):
            token = server.mnemic.keys.create(scope, rights=rights).token
            with connect(url, token) as remote, pytest.raises(ForbiddenError):
                remote.backup(home / "b.zip")
        assert not (home / "b.zip").exists()
        assert not [each for each in home.iterdir() if each.name.endswith(".unfinished")]

    def test_writes_to_no_place_that_a_caller_names(self, served: tuple[Served, str], home: Path):
        server, url = served
        token = server.mnemic.keys.create(Scope(), rights=[Right.ADMIN]).token
        headers = {"Authorization": f"Bearer {token}"}
        answer = httpx2.post(f"{url}/v1/backup", params={"path": str(home / "evil.zip")}, headers=headers)
        assert answer.status_code == 422
        answer = httpx2.post(f"{url}/v1/backup", headers=headers)
        assert answer.headers["content-type"] == "application/zip"
        assert answer.headers["content-disposition"].startswith('attachment; filename="mnemic-whole-')
        assert int(answer.headers["content-length"]) == len(answer.content)
        assert not (home / "evil.zip").exists()

    def test_is_asked_from_asyncio_too(self, served: tuple[Served, str], home: Path):
        server, url = served
        token = server.mnemic.keys.create(Scope(), rights=[Right.ADMIN]).token

        async def ask() -> int:
            async with connect_async(url, token) as remote:
                return (await remote.backup(home / "b.zip")).manifest.counts["memories"]

        assert asyncio.run(ask()) == 1


@pytest.mark.requirement("P-30")
def test_asyncio_backs_up_and_restores(filled: Path, home: Path):
    async def go() -> list[str]:
        async with await AsyncMnemic.open(Config(store=str(filled), embedder="none")) as memory:
            await memory.backup(home / "b.zip")
            await memory.remember(ANA, "Drinks coffee")
            await memory.restore(home / "b.zip", is_replacing=True)
            return [each.text for each in (await memory.list(ANA)).memories]

    assert asyncio.run(go()) == ["Drinks tea"]


@pytest.mark.requirement("P-30", "P-21")
def test_a_server_that_is_open_goes_on_with_what_was_restored_beside_it(served: tuple[Served, str], home: Path):
    server, _ = served
    told("backup", str(home / "b.zip"))
    server.mnemic.remember(ANA, "Drinks coffee")
    assert len(server.mnemic.recall(ANA, "drinks").hits) == 2
    told("restore", str(home / "b.zip"), "--replace")
    assert [hit.text for hit in server.mnemic.recall(ANA, "drinks")] == ["Drinks tea"]
    server.mnemic.remember(ANA, "Drinks water")
    assert {hit.text for hit in server.mnemic.recall(ANA, "drinks")} == {"Drinks tea", "Drinks water"}
