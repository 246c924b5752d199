"""Research through the doors, with a model behind them: progress, what a person reads, and the tool of a chat."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from mnemic import Mnemic, Scope
from mnemic.adapters.llms.registry import ScriptedLlm
from mnemic.api import ToolVerbs
from mnemic.build import build
from mnemic.config import Config
from mnemic.model.chat import Prompt
from mnemic.model.records import Right
from mnemic.testing.chat_server import ChatServer
from tests.doors.doors import run
from tests.doors.http_doors import LOCAL, Served

pytestmark = pytest.mark.requirement("P-25", "N-29")
ANA = Scope(user="ana")
FACT = "The harbour was closed in May 1912."
MINUTES = f"# Minutes\n\n{'The board met. ' * 30}\n\n# Later\n\n{FACT} {'Nothing else. ' * 30}\n".encode()
QUESTION = "When was the harbour closed?"


def answered(system: str, told: str) -> str:
    """Quotes the fact where it stands, and answers from the first note."""
    if "You read one part" not in system:
        return "In May 1912 [1]."
    return json.dumps({"notes": [{"quote": FACT, "says": "Closed in May 1912."}] if FACT in told else []})


def scripted(prompt: Prompt) -> str:
    return answered(prompt.messages[0].content, prompt.messages[-1].content)


def speak(request: dict[str, Any]) -> str:
    return answered(request["messages"][0]["content"], request["messages"][-1]["content"])


@pytest.fixture
def store(home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A store with the document, and a server of the model, named by the environment."""
    path = str(home / "memory.db")
    with ChatServer(speak) as server:
        options = {"base_url": server.url, "model": "m", "attempts": 1}
        named = {"STORE": path, "LLM": "openai", "LLM_OPTIONS": json.dumps(options), "EMBEDDER": "none"}
        for name, value in named.items():
            monkeypatch.setenv(f"MNEMIC_{name}", value)
        with Mnemic.open() as mnemic:
            mnemic.ingest(ANA, MINUTES, name="minutes.md")
        yield path


@pytest.mark.usefixtures("store")
def test_a_person_reads_the_plan_the_answer_its_quotes_and_what_it_cost():
    asked = ["minutes.md", QUESTION]
    code, out, err = run(["--user", "ana"], ["research", *asked, "--dry-run"])
    assert code == 0, err
    assert re.search(r"1 piece, 0 of them already read; 1 would be read.*\nat most 2 calls and", out)
    code, out, err = run(["--user", "ana"], ["research", *asked, "--max-calls", "5"])
    assert (code, out) == (0, "In May 1912 [1].\n"), err
    place = MINUTES.decode().index(FACT)
    assert f'[1] characters {place} to {place + len(FACT)}: "{FACT}"' in err
    assert re.search(r"2 calls, .* 0 pieces already read", err)
    code, out, err = run(["--user", "ana"], ["research", *asked])
    assert re.search(r"0 calls, .* 1 piece already read", err)


def test_progress_is_told_line_by_line_and_a_key_that_only_reads_may_ask(store: str):
    served = Served(store)
    key = served.mnemic.keys.create(ANA, rights=[Right.READ]).token
    headers = {"Authorization": f"Bearer {key}", "Accept": "application/x-ndjson"}
    body = {"document": "minutes.md", "question": QUESTION}
    with TestClient(served.app, base_url=LOCAL) as client:
        told = client.post("/v1/research", json=body, headers=headers, params={"user": "ana"})
        events = [json.loads(line) for line in told.text.splitlines()]
        missing = client.post("/v1/research", json={**body, "document": "x"}, headers=headers, params={"user": "ana"})
        wrong = client.post("/v1/research", json={**body, "max_call": 3}, headers=headers, params={"user": "ana"})
    served.close()
    assert [event["what"] for event in events[:-1]] == ["reading", "reading", "answering", "answering"]
    assert events[-1]["report"]["text"] == "In May 1912 [1]."
    assert json.loads(missing.text)["problem"]["status"] == 404
    assert wrong.status_code == 422


def test_the_tool_gives_answer_and_quotes_as_data_between_markers(tmp_path: Path):
    parts = replace(build(Config(store=str(tmp_path / "m.db"), embedder="none")), llm=ScriptedLlm(scripted))
    with Mnemic(parts) as mnemic:
        tools: ToolVerbs = mnemic.tools
        mnemic.ingest(ANA, MINUTES, name="minutes.md")
        spec = next(each for each in tools.list() if each.name == "analyze_large_document")
        assert set(spec.parameters["required"]) == {"document", "question"}  # pyright: ignore[reportArgumentType] -- a list
        asked = {"document": "minutes.md", "question": QUESTION}
        outcome = tools.call(ANA, "analyze_large_document", asked)
        assert not outcome.is_error
        assert outcome.text.count("--- BEGIN DOCUMENTS ---") == 1
        assert '"In May 1912 [1]."' in outcome.text
        assert f'Source: Minutes [1]\n"{FACT}"' in outcome.text
        for wrong in ({"max_calls": 1}, {"max_calls": 201}, {"question": " "}, {"document": "nothing"}):
            assert tools.call(ANA, "analyze_large_document", {**asked, **wrong}).is_error
        stranger = tools.call(Scope(user="boris"), "analyze_large_document", asked)
        assert "there is no document" in stranger.text
