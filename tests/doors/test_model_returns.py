"""A model at every door: what is stored while it fails, what it writes when it is back, and a day that it curates."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mnemic.errors import UnavailableError
from mnemic.testing.chat_server import ChatReply, ChatServer
from tests.doors.doors import AsyncDoor, CommandLineDoor, Door, LibraryDoor
from tests.doors.http_doors import RemoteDoor, RestDoor
from tests.doors.scenarios import ANA, BORIS

TALK = replace(ANA, session="boats")
SAID = ("I bought a red boat in Lisbon.", "My brother Paul repairs its engine.", "We sail to Faro in May.")
SUMMARY = "Ana bought a red boat in Lisbon, which Paul repairs."
REFLECTION = "Ana prefers boats to cars."
GEM = {
    "gem": "User decided to use pgvector because PostgreSQL is backed up already",
    "context": "PostgreSQL is backed up already",
    "snippet": "user: We back up PostgreSQL every night.",
    "categories": ["decision"],
    "importance": "high",
    "confidence": 0.9,
    "turn_range": "15-16",
    "source_turns": [15, 16],
}
FACTS = [
    {"type": "FACT", "content": "User is a pilot"},
    {"type": "LEARNING", "content": "Give altitudes in feet to pilots"},
]
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
        self.days: list[str] = []

    def speak(self, request: dict[str, Any]) -> str | ChatReply:
        if self.is_away:
            return ChatReply(status=503, body='{"error": {"message": "loading"}}')
        asked = request["messages"][-1]["content"]
        if "BEGIN DAY" in asked:
            self.days.append(asked)
            return json.dumps([GEM])
        if "BEGIN MESSAGE" in asked:
            return json.dumps(FACTS)
        if "response_format" not in request:
            return SUMMARY
        return json.dumps({"reflection": REFLECTION})


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> Iterator[Model]:
    """A model that every door uses, on a real connection; one failure is enough to go on without it."""
    model = Model()
    with ChatServer(model.speak) as server:
        monkeypatch.setenv("MNEMIC_LLM", "openai")
        monkeypatch.setenv("MNEMIC_LLM_OPTIONS", json.dumps({"base_url": server.url, "model": "m", "attempts": 1}))
        monkeypatch.setenv("MNEMIC_MEMORY_JOBS_LLM_TRIES", "1")
        monkeypatch.setenv("MNEMIC_MEMORY_EXTRACTION_PROMOTE_LEARNINGS", "true")
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


@pytest.mark.requirement("D-27", "D-46", "D-51", "P-01")
def test_a_verb_stores_nothing_while_the_model_is_away_and_works_when_it_is_back(door: Door, model: Model):
    for verb, arguments in (("summarise", {"is_flush": True}), ("extract", {})):
        with pytest.raises(UnavailableError):
            door.call(verb, TALK, arguments)
    assert kept(door, "summary") == []
    model.is_away = False
    door.call("summarise", TALK, {"is_flush": True})
    (summary,) = kept(door, "summary")
    assert (summary["text"], summary["importance"]) == (SUMMARY, 0.5)
    assert summary["bookkeeping"] == {"type": "summary", "session": "boats", "positions": [1, 6]}
    assert summary["last_accessed_at"] == summary["created_at"]
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


@pytest.mark.requirement("T-12", "T-18", "T-26", "P-01")
def test_a_day_is_one_story_and_a_decision_names_the_turns_that_it_draws_on(door: Door, model: Model):
    model.is_away = False
    day = replace(ANA, session="archive")
    said = [*(f"What about database number {number}?" for number in range(5, 15))]
    said += ["We back up PostgreSQL every night.", "So we decided to use pgvector."]
    for text in (*SAID[:1] * 4, *said):
        door.call("capture", day, {"user": text, "assistant": "Noted.", "observed_at": "2026-04-03T10:00:00Z"})
    (curated,) = [each for each in door.call("curate", ANA, {})["days"] if each["day"] == "2026-04-03"]
    assert (curated["turns"], len(model.days)) == (16, 1)
    assert re.findall(r"\[turn (\d+)\]", model.days[0]) == [str(number) for number in range(1, 17)]
    (gem,) = door.call("list", ANA, {"kinds": ["gem"], "filter": {"categories": "decision"}})["memories"]
    noted = gem["bookkeeping"]
    assert (noted["turn_range"], noted["source_turns"], noted["conversation_id"]) == ("15-16", [15, 16], "archive")


@pytest.mark.requirement("N-21", "P-01")
def test_facts_are_promoted_to_the_user_and_learnings_to_the_agent(door: Door, model: Model):
    model.is_away = False
    talk = replace(ANA, session="flight")
    door.call("capture", talk, {"user": "I am a pilot. Always give altitudes in feet when you answer pilots."})
    door.call("extract", talk, {})
    door.call("work", talk, {})
    levels = {memory["text"]: memory["level"] for memory in door.call("list", ANA, {"limit": 100})["memories"]}
    assert levels["User is a pilot"] == "user"
    assert levels["Give altitudes in feet to pilots"] == "agent"
    others = door.call("list", replace(BORIS, agent=ANA.agent), {})["memories"]
    assert [memory["text"] for memory in others] == ["Give altitudes in feet to pilots"]
