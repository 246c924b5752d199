"""What every door must do alike, the assistant's part. The model is a server of this test: `speak` is what it says."""

from __future__ import annotations

import re
from typing import Any

from mnemic.errors import ConfigError, InvalidInputError
from mnemic.testing.chat_server import ChatReply
from tests.doors.scenarios import ANA_TODAY, BORIS_TODAY, Ref, Scenario, Step
from tests.doors.test_cli_chat import tool_call

CAT = Step("remember", {"text": "Ana's cat is called Miso"}, save="cat")


def speak(request: dict[str, Any]) -> str | ChatReply:
    """Answers from what stands in front of it, and calculates with the tool that it is given."""
    asked = request["messages"][-1]
    if asked["role"] == "tool":
        return f"It is {asked['content'].partition('= ')[2]}."
    if "times" in asked["content"] and request.get("tools"):
        return tool_call("calculator", '{"expression": "2847 * 391"}', is_streamed=bool(request.get("stream")))
    found = re.search(r"cat is called (\w+)", str(request["messages"]))
    return f"It is called {found[1]} [1]." if found else "I do not know."


CHATS = (
    Scenario(
        "a chat answers from memory, keeps both sides, and goes on in its session",
        (
            CAT,
            Step(
                "chat",
                {"message": "What is my cat called?", "tools": False, "system": "Be brief."},
                scope=ANA_TODAY,
                save="reply",
                expect={
                    "text": "It is called Miso [1].",
                    "session": "today",
                    "turn.messages.#": 2,
                    "turn.messages.1.text": "It is called Miso [1].",
                    "context.recall.hits.0.item.id": Ref("cat"),
                    "steps": [],
                    "finish": "stop",
                    "degraded": [],
                    "usage.calls": 1,
                },
            ),
            Step("get", {"id": Ref("reply", "turn.messages.0.id")}, expect={"text": "What is my cat called?"}),
            Step("chat", {"message": "And again?"}, scope=ANA_TODAY, expect={"turn.number": 2}),
            Step("chat", {"message": "What is my cat called?"}, scope=BORIS_TODAY, expect={"text": "I do not know."}),
        ),
    ),
    Scenario(
        "a chat calls tools within its limit and says which",
        (
            Step(
                "chat",
                {"message": "How much is 2847 times 391?", "tools": ["calculator"]},
                scope=ANA_TODAY,
                expect={
                    "text": "It is 1,113,177.",
                    "steps.#": 1,
                    "steps.0.outcome.call.name": "calculator",
                    "steps.0.outcome.is_error": False,
                    "turn.messages.1.bookkeeping": {"tools": ["calculator"]},
                },
            ),
            Step(
                "chat",
                {
                    "message": "How much is 2847 times 391?",
                    "max_tool_calls": 0,
                    "plan": ["calculate"],
                    "rules": ["be exact"],
                    "budget_tokens": 100,
                    "documents": 0,
                    "language": "en",
                    "captures": False,
                },
                scope=ANA_TODAY,
                expect={"steps": [], "turn": None, "text": "I do not know."},
            ),
            Step("chat", {"message": "hm?", "tools": ["no-such-tool"]}, scope=ANA_TODAY, fails=InvalidInputError),
        ),
    ),
    Scenario(
        "a question is answered from memory with citations, and nothing is kept",
        (
            CAT,
            Step(
                "ask",
                {"question": "What is my cat called?", "budget_tokens": 500},
                expect={
                    "text": "It is called Miso [1].",
                    "citations.#": 1,
                    "citations.0.number": 1,
                    "citations.0.item_id": Ref("cat"),
                    "degraded": [],
                },
            ),
            Step("recall", {"query": "cat", "kinds": ["message"]}, expect={"hits.#": 0}),
        ),
    ),
    Scenario(
        "a chat is told event by event",
        (
            CAT,
            Step(
                "chat_stream",
                {"message": "What is my cat called?"},
                scope=ANA_TODAY,
                expect={
                    "0.event": "recalled",
                    "0.context.recall.hits.0.item.id": Ref("cat"),
                    "1.event": "said",
                    "-1.event": "replied",
                    "-1.reply.text": "It is called Miso [1].",
                    "-1.reply.turn.messages.#": 2,
                },
            ),
            Step(
                "chat_stream",
                {"message": "How much is 2847 times 391?"},
                scope=ANA_TODAY,
                expect={"1.text": "I calculate it.", "2.event": "called", "2.step.outcome.call.name": "calculator"},
            ),
            Step("chat_stream", {"message": "hm?", "tools": ["none"]}, scope=ANA_TODAY, fails=InvalidInputError),
        ),
    ),
)
TOOLS = (
    Scenario(
        "without a model nobody answers, and it is an error everywhere",
        (
            Step("chat", {"message": "Hello"}, scope=ANA_TODAY, fails=ConfigError),
            Step("ask", {"question": "Who am I?"}, fails=ConfigError),
            Step("recall", {"query": "Hello", "kinds": ["message"]}, expect={"hits.#": 0}),
        ),
    ),
    Scenario(
        "tools are listed, and called within the scope",
        (
            Step("tools.list", save="specs", expect={"0.name": "clock", "0.parameters.type": "object"}),
            Step(
                "tools.call",
                {"name": "calculator", "arguments": {"expression": "17 * 23"}},
                expect={"is_error": False, "call.name": "calculator", "text": "17 * 23 = 391"},
            ),
            Step("tools.call", {"name": "remember", "arguments": {"text": "Ana sails"}}, expect={"is_error": False}),
            Step("list", expect={"memories.0.text": "Ana sails", "memories.0.trust": "assistant"}),
            Step("tools.call", {"name": "no-such-tool"}, expect={"is_error": True}),
            Step("tools.call", {"name": "forget", "arguments": {"id": "nothing"}}, expect={"is_error": True}),
        ),
    ),
)
