"""`mnemic chat` and `mnemic ask`, in a real terminal and in pipes, against a real server."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from mnemic import Mnemic, Scope
from mnemic.testing.chat_server import EVENTS, ChatReply, ChatServer, Ending, event, whole
from tests.doors.doors import run
from tests.doors.terminal import Terminal

ANA = Scope(user="ana")


def speak(request: dict[str, Any]) -> str | ChatReply:
    """Answers by what is asked: from memory, by a tool, endlessly, or not at all."""
    asked = next(m["content"] for m in reversed(request["messages"]) if m["role"] == "user")
    if request["messages"][-1]["role"] == "tool":
        return f"It is {request['messages'][-1]['content'].partition('= ')[2]}."
    if "times" in asked and request.get("tools"):
        return tool_call("calculator", '{"expression": "2847 * 391"}', is_streamed=bool(request.get("stream")))
    if "forever" in asked:
        return ChatReply(body=event("Once upon a time"), type=EVENTS, ending=Ending.HANG)
    if "broken" in asked:
        return ChatReply(status=401)
    for word, answer in (("silent", ""), ("escape", "\x1b[2Jgone\x07")):
        if word in asked:
            return answer
    found = re.search(r"cat is called (\w+)", str(request["messages"]))
    return f"Your cat is called {found[1]}." if found and "What" in asked else "Noted, Ana."


def tool_call(name: str, arguments: str, *, is_streamed: bool) -> ChatReply:
    call = {"index": 0, "id": "c1", "type": "function", "function": {"name": name, "arguments": arguments}}
    if not is_streamed:
        return whole(None, finish="tool_calls", tools=[call])
    events: list[dict[str, Any]] = [
        {"choices": [{"index": 0, "delta": {"content": "I calculate it.", "tool_calls": [call]}}]},
        {"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]},
    ]
    body = "".join(f"data: {json.dumps(each)}\n\n" for each in events) + "data: [DONE]\n\n"
    return ChatReply(body=body, type=EVENTS)


@pytest.fixture
def server() -> Generator[ChatServer]:
    with ChatServer(speak) as running:
        yield running


@pytest.fixture
def environment(server: ChatServer, home: Path) -> dict[str, str]:
    options = {"base_url": server.url, "model": "m", "attempts": 1}
    return {
        "MNEMIC_STORE": str(home / "memory.db"),
        "MNEMIC_LLM": "openai",
        "MNEMIC_LLM_OPTIONS": json.dumps(options),
        "MNEMIC_EMBEDDER": "none",
    }


@pytest.mark.requirement("P-23")
def test_a_chat_streams_remembers_and_tells_what_it_recalled_and_why(environment: dict[str, str]):
    with Terminal(["chat", "--user", "ana", "--no-worker"], environment) as terminal:
        terminal.until("m answers ana.")
        terminal.say("My cat is called Miso")
        terminal.until("Noted, Ana.")
        terminal.say("/quit")
        assert terminal.end() == 0
    with Terminal(["chat", "--user", "ana", "--no-worker"], environment) as terminal:
        terminal.say("What is my cat called?")
        shown = terminal.until("Your cat is called Miso.")
        assert "recalled" in shown
        assert "My cat is called Miso" in shown
        terminal.say("/why")
        told = terminal.until("time:")
        assert re.search(r"= keyword \d+\.\d+", told) or "keyword" in told
        terminal.say("/recall cat")
        assert "My cat is called Miso" in terminal.until("you> ")
        terminal.press("/profile home=Lyon\n")
        terminal.until("Lyon")
        terminal.say("/help")
        terminal.until("/forget ID")
        terminal.say("/nonsense")
        terminal.until("unknown command /nonsense")
        terminal.until("you> ")
        terminal.press("\x04")
        assert terminal.end() == 0


def test_who_talks_with_the_packaged_model_is_told_how_small_it_is(environment: dict[str, str], server: ChatServer):
    packaged = {"base_url": server.url, "model": "gemma-3-270m", "attempts": 1}
    with Terminal(["chat", "--user", "ana"], environment | {"MNEMIC_LLM_OPTIONS": json.dumps(packaged)}) as terminal:
        told = terminal.until("you> ")
        assert "gemma-3-270m answers ana." in told
        assert "its answers are often wrong" in told
    with Terminal(["chat", "--user", "ana"], environment) as terminal:
        assert "often wrong" not in terminal.until("you> ")


@pytest.mark.requirement("P-23")
def test_memories_are_listed_and_forgotten_by_their_number(environment: dict[str, str], home: Path):
    with Mnemic.open(home / "memory.db") as mnemic:
        mnemic.remember(ANA, "Ana is allergic to hazelnuts")
    with Terminal(["chat", "--user", "ana", "--no-worker"], environment) as terminal:
        terminal.say("/memory")
        assert "Ana is allergic to hazelnuts" in terminal.until("you> ")
        terminal.press("/forget 1\n")
        terminal.until("deleted: Ana is allergic to hazelnuts")
        terminal.say("/memory")
        terminal.until("no memories yet")
        terminal.say("/forget 1")
        terminal.until("number 1 is not in the last list")


@pytest.mark.requirement("P-23")
def test_a_tool_call_is_shown_with_its_reason_and_the_answer_follows(environment: dict[str, str]):
    with Terminal(["chat", "--user", "ana", "--no-worker"], environment) as terminal:
        terminal.say("What is 2847 times 391?")
        shown = terminal.until("It is 1,113,177.")
        assert "I calculate it." in shown
        assert "→ calculator" in shown
        terminal.say("/why")
        terminal.until("calculator: I calculate it.")


def test_ctrl_c_stops_the_answer_and_keeps_what_was_said(environment: dict[str, str], home: Path):
    with Terminal(["chat", "--user", "ana", "--session", "s1", "--no-worker"], environment) as terminal:
        terminal.say("Talk forever")
        terminal.until("Once upon a time")
        terminal.press("\x03")
        terminal.until("stopped; the text received so far is stored")
        terminal.say("/session")
        terminal.until("user ana, session s1")
        terminal.until("you> ")
        terminal.press("\x03")
        terminal.press("\n")  # a signal that comes before the prompt is read is only seen with the next line
        terminal.until("nothing was sent")
        terminal.say("/quit")
        assert terminal.end() == 0
    with Mnemic.open(home / "memory.db") as mnemic:
        window = mnemic.window(Scope(user="ana", session="s1"))
        assert [(m.role.value, m.text) for m in window] == [("user", "Talk forever"), ("assistant", "Once upon a time")]


def test_a_model_that_fails_is_told_and_the_chat_goes_on(environment: dict[str, str]):
    with Terminal(["chat", "--user", "ana", "--no-worker"], environment) as terminal:
        terminal.say("be broken")
        terminal.until("mnemic: ")
        terminal.say("Hello")
        terminal.until("Noted, Ana.")


def test_a_model_that_says_nothing_is_told(environment: dict[str, str]):
    with Terminal(["chat", "--user", "ana", "--no-worker"], environment) as terminal:
        terminal.say("be silent")
        terminal.until("the model returned an empty response")


def test_an_answer_cannot_steer_the_terminal(environment: dict[str, str]):
    with Terminal(["chat", "--user", "ana", "--no-worker"], environment) as terminal:
        terminal.say("escape")
        assert "\\u001b[2Jgone\\u0007" in terminal.until("gone\\u0007")


@pytest.mark.requirement("P-23")
def test_without_a_model_it_says_how_to_set_one_and_looks_things_up(home: Path):
    environment = {"MNEMIC_STORE": str(home / "memory.db"), "MNEMIC_EMBEDDER": "none"}
    with Mnemic.open(home / "memory.db") as mnemic:
        mnemic.remember(ANA, "Ana is allergic to hazelnuts")
    with Terminal(["chat", "--user", "ana"], environment) as terminal:
        assert "MNEMIC_LLM=ollama:qwen3:4b" in terminal.until("you> ")
        terminal.press("hazelnuts?\n")
        terminal.until("Ana is allergic to hazelnuts")


def test_lines_of_a_pipe_are_answered_one_by_one_in_json(environment: dict[str, str]):
    program = str(Path(sys.executable).with_name("mnemic"))
    done = subprocess.run(
        [program, "chat", "--user", "ana", "--json", "--no-worker"],
        input="My cat is called Miso\n\nWhat is my cat called?\n",
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=True,
    )
    first, second = [json.loads(line) for line in done.stdout.splitlines()]
    assert (first["text"], second["text"]) == ("Noted, Ana.", "Your cat is called Miso.")
    assert first["session"] == second["session"]


class TestAsk:
    """`mnemic ask`."""

    def test_an_answer_is_cited_and_nothing_is_captured(
        self, environment: dict[str, str], home: Path, monkeypatch: pytest.MonkeyPatch, server: ChatServer
    ):
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        with Mnemic.open(home / "memory.db") as mnemic:
            memory = mnemic.remember(ANA, "Ana prefers oat milk")
        server.scripted.append(whole("Oat milk [1]."))
        code, out, err = run(["--user", "ana"], ["ask", "which milk?"])
        assert (code, out) == (0, "Oat milk [1].\n")
        assert memory.id in err
        server.scripted.append(whole("Oat milk [1]."))
        code, out, _ = run(["--user", "ana", "--json"], ["ask", "which milk?"])
        assert [each["item_id"] for each in json.loads(out)["citations"]] == [memory.id]
        with Mnemic.open(home / "memory.db") as mnemic:
            assert not [hit for hit in mnemic.recall(ANA, "which milk?") if hit.id != memory.id]

    def test_without_a_model_the_best_passages_are_shown(self, home: Path):
        with Mnemic.open(home / "memory.db") as mnemic:
            mnemic.remember(ANA, "Ana prefers oat milk")
        code, out, err = run(["--user", "ana", "--store", str(home / "memory.db")], ["ask", "which milk?"])
        assert code == 0
        assert "Ana prefers oat milk" in out
        assert "no language model is configured" in err
