"""Sessions and tools for the OpenAI Agents SDK, with the released package and its scripted model."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from agents import Agent, RunContextWrapper, Runner, Session, set_tracing_disabled
from agents.testing import ScriptedModel, assistant_message, function_call
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mnemic import Mnemic, Scope
from mnemic.config import Config
from mnemic.errors import InvalidInputError
from mnemic.integrations.memory import AnyMnemic
from mnemic.integrations.openai_agents import MnemicSession, memory_tools
from mnemic.text.blocks import facts_block

ANA, BOB = Scope(user="ana"), Scope(user="bob")
ITEMS: list[Any] = [
    {"role": "user", "content": "What is the weather in Oslo?"},
    {"type": "reasoning", "id": "r1", "summary": [], "encrypted_content": "gAAAA" + "x" * 70_000},
    {"type": "function_call", "call_id": "c1", "name": "weather", "arguments": '{"city": "Oslo"}', "id": "f1"},
    {"type": "function_call_output", "call_id": "c1", "output": "snow"},
    {"type": "function_call_output", "call_id": "c2", "output": facts_block(["User likes snow"])},
    {"type": "function_call_output", "call_id": "c3", "output": ""},
    {"type": "function_call_output", "call_id": "c4", "output": [{"type": "input_text", "text": "rain"}]},
    {"role": "user", "content": [{"type": "input_text", "text": "one"}, {"type": "input_text", "text": "two"}]},
    {"role": "user", "content": [{"type": "input_image", "image_url": "data:image/png;base64," + "A" * 90_000}]},
    {"type": "message", "role": "assistant", "id": "m", "content": [{"type": "output_text", "text": "It snows.\n "}]},
    {"type": "compaction", "deep": {"a": [[[[[1.5, None, True]]]]]}},
]


@pytest.fixture(autouse=True)
def untraced() -> Iterator[None]:
    set_tracing_disabled(True)
    yield
    set_tracing_disabled(False)


@pytest.mark.requirement("P-29")
def test_items_of_every_kind_come_back_as_they_were(mnemic: AnyMnemic):
    async def kept() -> None:
        session = MnemicSession("s1", mnemic, ANA)
        await session.add_items(ITEMS[:4])
        await session.add_items(ITEMS[4:])
        assert await session.get_items() == ITEMS
        assert await session.get_items(3) == ITEMS[-3:]
        assert await session.get_items(0) == []
        assert await session.pop_item() == ITEMS[-1]
        await session.add_items([])
        assert await session.get_items() == ITEMS[:-1]
        await session.clear_session()
        assert (await session.get_items(), await session.pop_item()) == ([], None)
        await session.add_items(ITEMS[:1])
        assert await session.get_items() == ITEMS[:1]

    asyncio.run(kept())


@given(text=st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=40))
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_any_words_come_back(here: Mnemic, text: str):
    item: Any = {"role": "user", "content": text}
    session = MnemicSession("s1", here, ANA)
    asyncio.run(session.add_items([item]))
    assert asyncio.run(session.get_items(1)) == [item]


def test_what_no_store_can_keep_becomes_the_replacement_character(here: Mnemic):
    session = MnemicSession("s1", here, ANA)
    asyncio.run(session.add_items([{"role": "user", "content": "a\0b\ud800c"}]))
    assert asyncio.run(session.get_items()) == [{"role": "user", "content": "a\ufffdb\ufffdc"}]
    with pytest.raises(InvalidInputError, match="must be JSON"):
        asyncio.run(session.add_items([{"role": "user", "content": object()}]))  # type: ignore[list-item] -- is refused


@pytest.mark.requirement("P-29")
def test_two_users_with_one_session_id_have_two_sessions(mnemic: AnyMnemic):
    async def talk() -> None:
        ana, bob = (MnemicSession("s1", mnemic, scope) for scope in (ANA, BOB))
        await ana.add_items([{"role": "user", "content": "Ana's secret"}])
        assert await bob.get_items() == []
        assert await bob.pop_item() is None
        await bob.clear_session()
        assert len(await ana.get_items()) == 1

    asyncio.run(talk())


@pytest.mark.parametrize("session_id", ["", " s1", "s\n1", "x" * 256, "s\x1f1", "\ud800"])
def test_a_session_id_that_can_be_none_is_refused(here: Mnemic, session_id: str):
    with pytest.raises(InvalidInputError):
        MnemicSession(session_id, here, ANA)


@pytest.mark.requirement("P-29")
def test_a_session_goes_on_after_the_process(store: Config):
    with Mnemic.open(store) as mnemic:
        model = ScriptedModel([[assistant_message("Noted.")]])
        session = MnemicSession("s1", mnemic, ANA)
        asyncio.run(Runner.run(Agent(name="a", model=model), "My boat is blue", session=session))
    with Mnemic.open(store) as mnemic:
        model = ScriptedModel([[assistant_message("Blue.")]])
        session = MnemicSession("s1", mnemic, ANA)
        asyncio.run(Runner.run(Agent(name="a", model=model), "Which colour is it?", session=session))
        assert model.last_call is not None
        told = str(model.last_call.input)
        assert "My boat is blue" in told
        assert "Noted." in told
        assert mnemic.recall(ANA, "boat blue").hits[0].text == "My boat is blue"


def test_a_session_that_another_door_began_goes_on(here: Mnemic):
    here.capture(Scope(user="ana", session="s1"), user="Hello", assistant="Good day")
    session = MnemicSession("s1", here, ANA)
    assert isinstance(session, Session)
    said = [{"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Good day"}]
    assert asyncio.run(session.get_items()) == said


@pytest.mark.requirement("P-29")
def test_an_agent_remembers_recalls_and_forgets_for_its_user_alone(mnemic: AnyMnemic):
    def scope_of(context: RunContextWrapper[Any]) -> Scope:
        return Scope(user=context.context["user"])

    def run(user: str, *calls: Any) -> list[str]:
        steps = [[function_call(name, arguments, call_id=f"c{n}")] for n, (name, arguments) in enumerate(calls)]
        model = ScriptedModel([*steps, [assistant_message("done")]])
        agent = Agent[Any](name="a", model=model, tools=[*memory_tools(mnemic, scope_of)])
        result = asyncio.run(Runner.run(agent, "go on", context={"user": user}))
        items: list[Any] = [*result.to_input_list()]
        return [str(item["output"]) for item in items if item.get("type") == "function_call_output"]

    kept = run("ana", ("remember", {"text": "User's boat is blue", "kind": "fact"}))[0]
    mine = run("ana", ("recall", {"query": "boat"}))[0]
    assert "User's boat is blue" in mine
    assert "---BEGIN USER FACTS---" in mine
    theirs = run("bob", ("recall", {"query": "boat"}), ("forget", {"id": kept.split()[-1]}))
    assert theirs[0] == "nothing is remembered about that"
    assert "not done" in theirs[1]
    assert "blue" in run("ana", ("forget", {"id": kept.split()[-1]}))[0]
    assert run("ana", ("recall", {"query": "boat"}))[0] == "nothing is remembered about that"


def test_no_tool_takes_a_scope_and_forgetting_can_be_left_out(here: Mnemic):
    tools = memory_tools(here, ANA)
    named = {tool.name: set(tool.params_json_schema["properties"]) for tool in tools}
    assert named == {"remember": {"text", "kind"}, "recall": {"query", "limit"}, "forget": {"id"}}
    assert all(tool.description and "Args" not in tool.description for tool in tools)
    assert [tool.name for tool in memory_tools(here, ANA, may_forget=False)] == ["remember", "recall"]
