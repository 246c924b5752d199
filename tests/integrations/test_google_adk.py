# pyright: basic, reportMissingImports=false
"""ADK's memory service, with the released package, its runner and a scripted model."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

import pytest

pytest.importorskip("google.adk", reason="ADK does not install here; `drills/frameworks.py` runs this")

from google.adk.agents import LlmAgent
from google.adk.agents.callback_context import CallbackContext
from google.adk.models import BaseLlm, LlmRequest, LlmResponse
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService
from google.adk.tools.load_memory_tool import LoadMemoryTool
from google.adk.tools.preload_memory_tool import PreloadMemoryTool
from google.genai import types

from mnemic import Mnemic, Role, Scope
from mnemic.integrations.google_adk import MnemicMemoryService

asked: list[list[types.Part]] = []


class Script(BaseLlm):
    """A model with scripted answers. Records its requests."""

    replies: list[Any]

    async def generate_content_async(
        self,
        llm_request: LlmRequest,
        stream: bool = False,  # noqa: FBT001, FBT002 -- the interface
    ) -> AsyncGenerator[LlmResponse, None]:
        del stream
        asked.append([part for content in llm_request.contents for part in content.parts or []])
        yield LlmResponse(content=types.Content(role="model", parts=self.replies.pop(0)))


async def keep(callback_context: CallbackContext) -> None:
    await callback_context.add_session_to_memory()


def run(mnemic: Mnemic, user: str, session: str, *texts: str, replies: list[Any] | None = None, **settings: Any) -> str:
    """The texts of the last request in a conversation with these texts."""
    script = Script(model="script", replies=replies or [[types.Part(text="Noted.")] for _ in texts])
    agent = LlmAgent(name="helper", model=script, after_agent_callback=keep, **settings)
    runner = Runner(
        app_name="boats",
        agent=agent,
        session_service=InMemorySessionService(),
        memory_service=MnemicMemoryService(mnemic, lambda app, user: Scope(user=user, agent=app)),
        auto_create_session=True,
    )

    async def talk() -> None:
        for text in texts:
            message = types.Content(role="user", parts=[types.Part(text=text)])
            async for _ in runner.run_async(user_id=user, session_id=session, new_message=message):
                pass

    asyncio.run(talk())
    return "\n".join(part.text or str(part.function_response) for part in asked[-1])


@pytest.mark.requirement("P-29")
def test_a_fact_of_one_session_is_in_the_prompt_of_the_next_of_this_user_alone(here: Mnemic):
    tools = [PreloadMemoryTool()]
    assert run(here, "ana", "monday", "My boat is blue", tools=tools) == "My boat is blue"
    told = run(here, "ana", "tuesday", "Which colour has my boat?", tools=tools)
    assert "BEGIN" in told
    assert "My boat is blue" in told
    assert run(here, "bob", "monday", "Which colour has my boat?", tools=tools) == "Which colour has my boat?"


def test_a_model_loads_memory_with_adks_tool(here: Mnemic):
    run(here, "ana", "monday", "My boat is blue")
    call = types.Part(
        function_call=types.FunctionCall(name="load_memory", args={"query": "Which colour has the boat?"})
    )
    replies = [[call], [types.Part(text="Blue.")]]
    assert "My boat is blue" in run(here, "ana", "tuesday", "Well?", tools=[LoadMemoryTool()], replies=replies)
    said = [(each.role, each.name, each.text) for each in here.window(Scope(user="ana", session="tuesday"))]
    assert said == [(Role.USER, "user", "Well?"), (Role.ASSISTANT, "helper", "Blue.")]


def test_each_message_is_captured_once_without_thoughts(here: Mnemic):
    replies = [[types.Part(text="Hm", thought=True), types.Part(text="Hello")], [types.Part(text="Hello")]]
    run(here, "ana", "monday", "Hi", "Hi", replies=replies)
    assert [each.text for each in here.window(Scope(user="ana", session="monday"))] == ["Hi", "Hello"] * 2


def test_an_agent_goes_on_without_its_memory(broken: Mnemic, caplog: pytest.LogCaptureFixture):
    assert run(broken, "ana", "monday", "Hi", tools=[PreloadMemoryTool()]) == "Hi"
    assert "continuing the chat without memory: nothing was recalled" in caplog.text
    assert "messages were not captured" in caplog.text
