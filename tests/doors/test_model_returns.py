"""A model that fails and returns, at every door: what is stored meanwhile, and what it writes when it is back."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mnemic.errors import UnavailableError
from mnemic.testing.chat_server import ChatReply, ChatServer
from tests.doors.doors import AsyncDoor, CommandLineDoor, Door, LibraryDoor
from tests.doors.http_doors import RemoteDoor, RestDoor
from tests.doors.scenarios import ANA

TALK = replace(ANA, session="boats")
SAID = ("I bought a red boat in Lisbon.", "My brother Paul repairs its engine.", "We sail to Faro in May.")
SUMMARY = "Ana bought a red boat in Lisbon, which Paul repairs."
REFLECTION = "Ana prefers boats to cars."
DOORS: dict[str, Callable[[str], Door]] = {
    "library": LibraryDoor,
    "async": AsyncDoor,
    "command-line": CommandLineDoor,
    "rest": RestDoor,
    "remote": RemoteDoor,
}


class Model:
    """Answers 503 while it is away, else what the prompt asks for."""

    def __init__(self) -> None:
        self.is_away = True

    def speak(self, request: dict[str, Any]) -> str | ChatReply:
        if self.is_away:
            return ChatReply(status=503, body='{"error": {"message": "loading"}}')
        if "response_format" not in request:
            return SUMMARY
        return json.dumps({"reflection": REFLECTION, "facts": []})


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> Iterator[Model]:
    """A model that every door uses, on a real connection; one failure is enough to go on without it."""
    model = Model()
    with ChatServer(model.speak) as server:
        monkeypatch.setenv("MNEMIC_LLM", "openai")
        monkeypatch.setenv("MNEMIC_LLM_OPTIONS", json.dumps({"base_url": server.url, "model": "m", "attempts": 1}))
        monkeypatch.setenv("MNEMIC_MEMORY_JOBS_LLM_TRIES", "1")
        monkeypatch.setenv("MNEMIC_MEMORY_REFLECTION_EPISODE_THRESHOLD", "1")
        yield model


@pytest.fixture(params=DOORS)
def door(request: pytest.FixtureRequest, tmp_path: Path, model: Model) -> Iterator[Door]:
    """Each door on an empty store, with the model, which is away."""
    assert model.is_away
    door = DOORS[request.param](str(tmp_path / "memory.db"))
    for text in SAID:
        door.call("capture", TALK, {"user": text, "assistant": "Noted."})
    yield door
    door.close()


def kept(door: Door, kind: str) -> list[Any]:
    """The active memories of a kind."""
    return door.call("list", ANA, {"kinds": [kind]})["memories"]


@pytest.mark.requirement("D-46", "D-51", "P-01")
def test_a_verb_stores_nothing_while_the_model_is_away_and_works_when_it_is_back(door: Door, model: Model):
    for verb, arguments in (("summarise", {"is_flush": True}), ("extract", {})):
        with pytest.raises(UnavailableError):
            door.call(verb, TALK, arguments)
    assert kept(door, "summary") == []
    model.is_away = False
    door.call("summarise", TALK, {"is_flush": True})
    assert [memory["text"] for memory in kept(door, "summary")] == [SUMMARY]
    model.is_away = True
    with pytest.raises(UnavailableError):
        door.call("reflect", ANA, {})
    assert kept(door, "reflection") == []
    model.is_away = False
    door.call("reflect", ANA, {})
    assert [memory["text"] for memory in kept(door, "reflection")] == [REFLECTION]


@pytest.mark.requirement("D-26", "R-45", "P-01")
def test_what_a_worker_stored_while_the_model_was_away_is_rewritten_when_it_is_back(door: Door, model: Model):
    door.call("end", TALK, {})
    door.call("work", TALK, {})
    (raw,) = kept(door, "summary")
    assert (raw["importance"], raw["text"].splitlines()[0]) == (0.3, f"user: {SAID[0]}")
    model.is_away = False
    report = door.call("summarise", TALK, {})
    assert [entry["memory_id"] for entry in report["entries"]] == [raw["id"]]
    (anew,) = kept(door, "summary")
    assert (anew["id"], anew["text"], anew["importance"]) == (raw["id"], SUMMARY, 0.5)
    last = door.call("history", ANA, {"id": raw["id"]})[-1]
    assert (last["before"]["text"], last["reason"]) == (raw["text"], "rewritten because the model is available again")
    assert door.call("summarise", TALK, {})["entries"] == []
