# pyright: basic, reportMissingImports=false
"""AutoGen's memory, with the released packages and AutoGen's replay model."""

from __future__ import annotations

import asyncio

import pytest

pytest.importorskip("autogen_agentchat", reason="AutoGen does not install here; `drills/frameworks.py` runs this")

from autogen_agentchat.agents import AssistantAgent
from autogen_core.memory import MemoryContent, MemoryMimeType
from autogen_core.model_context import BufferedChatCompletionContext
from autogen_core.models import SystemMessage
from autogen_ext.models.replay import ReplayChatCompletionClient

from mnemic import Mnemic, Role, Scope
from mnemic.errors import InvalidInputError
from mnemic.integrations.autogen import MnemicMemory

MONDAY, TUESDAY = Scope(user="ana", session="monday"), Scope(user="ana", session="tuesday")


def run(mnemic: Mnemic, scope: Scope, *tasks: str, **settings: object) -> list[list[str]]:
    """The recalled system messages of each request in a conversation with these tasks."""
    model = ReplayChatCompletionClient(["Noted."] * len(tasks))
    memory = MnemicMemory(mnemic, scope)
    agent = AssistantAgent("helper", model, memory=[memory], system_message="Be kind.", **settings)

    async def talk() -> None:
        for task in tasks:
            await agent.run(task=task)
        await memory.close()

    asyncio.run(talk())
    asked = [call["messages"][1:] for call in model.create_calls]
    return [[each.content for each in messages if isinstance(each, SystemMessage)] for messages in asked]


@pytest.mark.requirement("P-29")
def test_a_fact_of_one_session_is_in_the_prompt_of_the_next_of_this_user_alone(here: Mnemic):
    assert run(here, MONDAY, "My boat is blue", "Which colour has my boat?") == [[], []]
    told, _ = run(here, TUESDAY, "Which colour has my boat?", "Thanks")
    assert len(told) == 1
    assert "BEGIN" in told[0]
    assert "My boat is blue" in told[0]
    assert run(here, Scope(user="bob", session="monday"), "Which colour has my boat?") == [[]]


def test_each_message_is_captured_once_with_its_speaker(here: Mnemic):
    run(here, MONDAY, "Hi", "Hi", "My boat is blue", model_context=BufferedChatCompletionContext(2))
    said = [(each.role, each.name, each.text) for each in here.window(MONDAY)]
    users, answer = [(Role.USER, "user", text) for text in ("Hi", "Hi", "My boat is blue")], "Noted."
    assert said == [message for each in users for message in (each, (Role.ASSISTANT, "helper", answer))]


def test_each_run_replaces_the_memory_of_the_run_before(here: Mnemic):
    here.capture(MONDAY, user="My boat is blue")
    here.capture(MONDAY, user="My house is red")
    first, second = run(here, TUESDAY, "Which colour has my boat?", "Which colour has my house?")
    assert ["boat is blue" in first[0], len(first), "house is red" in second[0], len(second)] == [True, 1, True, 1]


def test_a_message_of_another_agent_is_not_the_users(here: Mnemic):
    from autogen_agentchat.messages import TextMessage

    memory = MnemicMemory(here, MONDAY)
    agent = AssistantAgent("helper", ReplayChatCompletionClient(["Noted."]), memory=[memory])
    asyncio.run(agent.run(task=[TextMessage(content="Her boat is blue", source="researcher")]))
    assert [(each.role, each.name) for each in here.window(MONDAY)] == [(Role.ASSISTANT, "researcher")]


def test_texts_are_added_and_queried_and_the_session_cleared(here: Mnemic):
    memory = MnemicMemory(here, MONDAY)
    note = MemoryContent(content="User's boat is blue", mime_type=MemoryMimeType.TEXT, metadata={"from": "form"})
    asyncio.run(memory.add(note))
    assert here.list(MONDAY).memories[0].metadata == {"from": "form"}
    found = asyncio.run(memory.query("Which colour has the boat?")).results
    assert "User's boat is blue" in str(found[0].content)
    assert asyncio.run(memory.query(MemoryContent(content="", mime_type=MemoryMimeType.TEXT))).results == []
    with pytest.raises(InvalidInputError, match="remembers text only"):
        asyncio.run(memory.add(MemoryContent(content=b"\0", mime_type=MemoryMimeType.BINARY)))
    run(here, MONDAY, "Hi")
    asyncio.run(memory.clear())
    assert here.window(MONDAY) == []
    with pytest.raises(InvalidInputError, match="requires a session"):
        MnemicMemory(here, Scope(user="ana"))


def test_an_agent_goes_on_without_its_memory(broken: Mnemic, caplog: pytest.LogCaptureFixture):
    assert run(broken, MONDAY, "My boat is blue", "And now?") == [[], []]
    assert "continuing the chat without memory: nothing was recalled" in caplog.text
    assert "messages were not captured" in caplog.text
