"""The tour shows what it says, and fails when it cannot."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import httpx2
import pytest

from mnemic.api import Mnemic
from mnemic.cli import tour
from tests.doors.doors import run


@pytest.mark.requirement("J-02")
def test_a_memory_is_found_by_meaning_though_no_word_is_shared_and_the_session_was_about_the_weather():
    code, out, err = run(["tour", "--json"], [])
    assert code == 0, err
    told = json.loads(out)
    assert told["failures"] == []
    question, first, shared = told["steps"][1]["lines"][0], told["steps"][1]["lines"][1], tour.list_shared_words()
    assert question == "How is my coding project coming along?"
    assert re.fullmatch(r" *\d+%  User is building Jarvis AI Platform in Java", first)
    assert shared == []


def test_a_person_sees_eight_steps_with_their_real_output_and_what_to_try_next():
    code, out, _ = run(["tour"], [])
    assert code == 0
    assert re.findall(r"^(\d)\. ", out, re.MULTILINE) == list("12345678")
    assert "Words shared by question and answer: none" in out
    assert "today       User lives in Porto\n   2026-01-01  User lives in Lisbon" in out
    assert re.search(r"\| - \[\d\] User lives in Porto", out)
    assert "Either side gives three months' notice." in out
    assert "It is quarantined" in out
    assert "undone   User lives in Porto" in out
    assert re.search(r"erased   \d+ memories, 2 messages, 1 document, \d+ vectors", out)
    assert "mnemic remember" in out


@pytest.mark.parametrize(
    "name, value, failure",
    [
        ("QUESTION", "Which nuts is sam allergic to?", "is not the first memory found"),
        ("QUESTION", "Is the Java platform done?", "share a word"),
        ("ORDER", "The museum opens at nine", "is not quarantined"),
        ("ROBIN", tour.SAM, "another user saw"),
        ("HOME", "User likes soup", "the context lacks the answer"),
    ],
)
def test_the_tour_fails_when_a_promise_does_not_hold(
    monkeypatch: pytest.MonkeyPatch, name: str, value: object, failure: str
):
    monkeypatch.setattr(tour, name, value)
    code, _, err = run(["tour"], [])
    assert code == 1
    assert failure in err


@pytest.mark.requirement("P-52")
def test_the_demo_store_answers_the_commands_that_are_printed_and_is_used_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    code, out, err = run(["demo", "--no-serve"], [])
    assert code == 0, err
    lines = [shlex.split(line) for line in out.splitlines() if line.startswith("  ")]
    name, _, store = lines[0][1].partition("=")
    assert lines[0][0] == "export"
    assert store == str(tmp_path / "mnemic" / "demo" / "memory.db")
    monkeypatch.setenv(name, store)
    told: dict[str, str] = {}
    for words in lines[1:-1]:
        code, answer, err = run(words[1:], [])
        assert code == 0, err
        told[" ".join(words[1:])] = answer
    now, before, context, document, health = told.values()
    assert "Porto" in now
    assert "Lisbon" not in now
    assert "Lisbon" in before
    assert "Porto" not in before
    assert "allergic to hazelnuts" in context
    assert "restic" in document
    assert health
    for user, asked in (("ana", "cook for Bruno"), ("ben", "restore the server"), ("chloe", "florist")):
        assert asked in run(["contexts", "--user", user], [])[1]
        assert run(["graph", "entities", "--user", user], [])[1]
    (changed,) = (line for line in run(["memory", "list", "--user", "ana"], [])[1].splitlines() if "hazelnuts" in line)
    assert run(["memory", "delete", "--user", "ana", re.findall(r"[0-9a-f-]{36}", changed)[0]], [])[0] == 0
    assert run(["demo", "--no-serve"], [])[0] == 0
    assert "hazelnuts" not in run(["memory", "list", "--user", "ana"], [])[1]
    assert run(["demo", "--no-serve", "--new"], [])[0] == 0
    assert "hazelnuts" in run(["memory", "list", "--user", "ana"], [])[1]


def test_a_demo_that_is_interrupted_leaves_no_half_of_a_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))

    def fail_halfway(mnemic: Mnemic) -> None:
        mnemic.remember(tour.SAM, "half")
        raise KeyboardInterrupt

    monkeypatch.setattr(tour, "seed_demo", fail_halfway)
    assert run(["demo", "--no-serve"], [])[0] != 0
    assert list((tmp_path / "mnemic").iterdir()) == []


def test_the_demo_opens_the_console_on_its_store(tmp_path: Path):
    environment = {**os.environ, "XDG_DATA_HOME": str(tmp_path), "BROWSER": "true"}
    command = [sys.executable, "-m", "mnemic", "demo", "--serve"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment) as demo:
        assert demo.stderr is not None
        try:
            told = next(line for line in demo.stderr if " on http" in line)
            url = told.split(" on ")[1].split(";")[0].strip()
            with httpx2.Client(transport=httpx2.HTTPTransport(retries=20)) as client:
                assert client.get(f"{url}/health/live", timeout=60).status_code == 200
        finally:
            demo.send_signal(signal.SIGTERM)
