"""The command line of fading and eviction, and of the guard against feedback."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from mnemic import Mnemic, Scope
from mnemic.text.blocks import facts_block
from tests.doors.doors import run

ANA = ["--user", "ana"]


@pytest.fixture(autouse=True)
def store(home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The store of these tests, set in the environment."""
    path = home / "memory.db"
    monkeypatch.setenv("MNEMIC_STORE", str(path))
    return path


def told(*words: str, stdin: bytes = b"") -> tuple[str, str]:
    """The output that a person reads, from both streams."""
    code, out, err = run([*words], [], stdin)
    assert code == 0, err
    return out, err


def answer(*words: str) -> Any:
    return json.loads(told(*words, "--json")[0])


@pytest.fixture
def faded(store: Path) -> str:
    """The id of a memory that was made 200 days ago."""
    with Mnemic.open(store) as mnemic:
        memory = mnemic.remember(Scope(user="ana"), "Ana likes tea", importance=0.5)
    with sqlite3.connect(store) as connection:
        connection.execute("UPDATE memories SET created_at = created_at - ?", (200 * 86_400 * 10**6,))
    return memory.id


@pytest.mark.requirement("R-21")
def test_decay_shows_what_importance_was_and_is(faded: str):
    out, err = told("decay", "--dry-run", *ANA)
    assert out == f"0.50\t0.05\t{faded}\n"
    assert "1 of 1 memory would be faded further" in err
    assert told("decay", *ANA)[0] == out
    assert told("decay", *ANA) == ("", "0 of 1 memory faded further\n")
    (line,) = told("memory", "list", *ANA)[0].splitlines()
    assert line.startswith("0.05\tAna likes tea\t")
    assert line.endswith("\tstored with 0.50")
    assert answer("memory", "list", *ANA)["memories"][0]["faded"] == 0.05


@pytest.mark.requirement("R-20")
def test_evict_shows_what_goes_and_why(faded: str):
    out, err = told("evict", "--dry-run", *ANA)
    assert out.startswith("archived\tits importance has faded to 0.05")
    assert faded in out
    assert "1 would be archived, 0 would be deleted" in err
    assert told("evict", "--level", "agent", *ANA)[0] == ""
    assert told("evict", *ANA)[0] == out
    assert answer("memory", "list", *ANA)["memories"] == []
    assert answer("memory", "undo", faded, *ANA)["state"] == "active"


@pytest.mark.requirement("P-11")
def test_capture_says_that_it_left_out_what_mnemic_itself_had_put_into_the_prompt():
    block = facts_block(["Ana likes tea"])
    messages = [{"role": "system", "content": block}, {"role": "user", "content": "Hello"}]
    _, err = told("capture", "-", *ANA, stdin=json.dumps(messages).encode())
    assert "removed Mnemic's own text from 1 message" in err
    out, _ = told("import", "-", *ANA, stdin="\n".join(map(json.dumps, messages)).encode())
    assert "skipped: 1 blocks that Mnemic itself had put into a prompt" in out


@pytest.mark.requirement("P-05")
def test_a_listing_names_the_state_of_a_memory_and_what_superseded_it(store: Path):
    with Mnemic.open(str(store)) as mnemic:
        mnemic.remember(Scope(user="ana"), "User lives in Lisbon")
        porto = mnemic.remember(Scope(user="ana"), "User lives in Porto")
    listed, _ = told("memory", "list", *ANA, "--state", "superseded")
    assert "User lives in Lisbon" in listed
    assert f"superseded · see {porto.id}" in listed
    assert "superseded" not in told("memory", "list", *ANA)[0]
