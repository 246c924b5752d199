# pyright: basic, reportMissingImports=false
"""The store for Strands' `MemoryManager`, with the released package and a scripted model."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

import pytest

pytest.importorskip("strands", reason="Strands does not install here; `drills/frameworks.py` runs this")

from strands import Agent
from strands.memory import AddMessagesContext, MemoryManager
from strands.models import Model

from mnemic import Mnemic, Role, Scope
from mnemic.errors import InvalidInputError
from mnemic.integrations.strands import MnemicMemoryStore

MONDAY, TUESDAY = Scope(user="ana", session="monday"), Scope(user="ana", session="tuesday")


class Script(Model):
    """A model with scripted answers. Records its requests."""

    def __init__(self, *replies: Any) -> None:
        self.replies = list(replies)
        self.asked: list[str] = []

    def update_config(self, **model_config: Any) -> None:
        """Has none."""

    def get_config(self) -> Any:
        return {}

    def structured_output(self, *_: Any, **__: Any) -> AsyncGenerator[Any, None]:
        raise NotImplementedError

    async def stream(self, messages: Any, *_: Any, **__: Any) -> AsyncGenerator[Any, None]:
        self.asked.append("\n".join(str(part.get("text", part)) for part in messages[-1]["content"]))
        reply = self.replies.pop(0) if self.replies else "Noted."
        is_call = isinstance(reply, dict)
        yield {"messageStart": {"role": "assistant"}}
        yield {
            "contentBlockStart": {"start": {"toolUse": {"name": reply["name"], "toolUseId": "1"}} if is_call else {}}
        }
        yield {"contentBlockDelta": {"delta": {"toolUse": {"input": reply["input"]}} if is_call else {"text": reply}}}
        yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": "tool_use" if is_call else "end_turn"}}


def run(mnemic: Mnemic, scope: Scope, *texts: str, replies: tuple[Any, ...] = (), **settings: Any) -> list[str]:
    """The last message of each request in a conversation with these texts."""
    script = Script(*replies)
    manager = MemoryManager(stores=[MnemicMemoryStore(mnemic, scope)], **settings)
    agent = Agent(model=script, memory_manager=manager, callback_handler=None)
    for text in texts:
        agent(text)
    assert "BEGIN" not in str([part for each in agent.messages if each["role"] == "user" for part in each["content"]])
    return script.asked


@pytest.mark.requirement("P-29")
def test_a_fact_of_one_session_is_in_the_prompt_of_the_next_of_this_user_alone(here: Mnemic):
    assert run(here, MONDAY, "My boat is blue", "Which colour has my boat?")[1] == "Which colour has my boat?"
    told = run(here, TUESDAY, "Which colour has my boat?")[0]
    assert "---BEGIN" in told
    assert "My boat is blue" in told
    assert run(here, Scope(user="bob", session="monday"), "Which colour has my boat?") == ["Which colour has my boat?"]


def test_each_message_is_captured_once(here: Mnemic):
    run(here, MONDAY, "Hi", "Hi")
    said = [(each.role, each.text) for each in here.window(MONDAY)]
    assert said == [(Role.USER, "Hi"), (Role.ASSISTANT, "Noted.")] * 2
    batch = [{"role": "user", "content": [{"text": "My boat is blue"}]}]
    store = MnemicMemoryStore(here, TUESDAY)
    for _ in range(2):
        asyncio.run(store.add_messages(batch, AddMessagesContext(sequence_numbers=[7])))
    assert len(here.window(TUESDAY)) == 1


def test_a_model_adds_to_memory_with_strands_tool(here: Mnemic):
    call = {"name": "add_memory", "input": '{"entries": ["The boat is blue"]}'}
    run(here, MONDAY, "Keep it", replies=(call, "Kept."), add_tool_config=True)
    memory = here.list(MONDAY).memories[0]
    assert (memory.text, memory.trust.value) == ("The boat is blue", "assistant")
    assert [each.text for each in here.window(MONDAY)] == ["Keep it", "Kept."]
    with pytest.raises(InvalidInputError, match="requires a session"):
        MnemicMemoryStore(here, Scope(user="ana"))


def test_an_agent_goes_on_without_its_memory(broken: Mnemic, caplog: pytest.LogCaptureFixture):
    assert run(broken, MONDAY, "Hi", "Bye") == ["Hi", "Bye"]
    assert "continuing the chat without memory: nothing was recalled" in caplog.text
    assert "memory extraction failed" in caplog.text
