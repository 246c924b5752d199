# pyright: basic
"""The middleware and the retriever for LangChain, with the released packages and a scripted model."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.runtime import Runtime

from mnemic import Mnemic, Scope
from mnemic.integrations.langchain import MnemicMiddleware, MnemicRetriever
from mnemic.integrations.langgraph import MnemicStore, erase_thread
from mnemic.integrations.memory import AnyMnemic

ANA, BOB = Scope(user="ana"), Scope(user="bob")


class Script(GenericFakeChatModel):
    """A model with scripted answers. Records its requests."""

    asked: list[list[BaseMessage]] = []  # noqa: RUF012 -- pydantic copies the default

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> Any:
        self.asked.append(messages)
        return super()._generate(messages, *args, **kwargs)

    def bind_tools(self, tools: Any, **_: Any) -> Any:
        del tools
        return self

    @property
    def system(self) -> str:
        """The system message of the last request."""
        return "\n".join(str(message.text) for message in self.asked[-1] if message.type == "system")


def script(*replies: str | AIMessage) -> Script:
    return Script(messages=iter([AIMessage(reply) if isinstance(reply, str) else reply for reply in replies]))


def thread(name: str) -> Any:
    return {"configurable": {"thread_id": name}}


def say(agent: Any, text: str, name: str, *, is_async: bool = False, **more: Any) -> Any:
    said = {"messages": [("user", text)]}
    if is_async:
        return asyncio.run(agent.ainvoke(said, thread(name), **more))
    return agent.invoke(said, thread(name), **more)


@pytest.mark.requirement("P-29")
@pytest.mark.parametrize("way", ["invoke", "ainvoke"])
def test_an_agent_remembers_what_an_earlier_thread_said(mnemic: AnyMnemic, way: str):
    model = script("Noted.", "Blue.")
    saver = InMemorySaver()
    agent = create_agent(
        model, [], system_prompt="Be brief.", middleware=[MnemicMiddleware(mnemic, ANA)], checkpointer=saver
    )
    say(agent, "My boat is blue", "monday", is_async=way == "ainvoke")
    assert model.system == "Be brief."
    say(agent, "Which colour is my boat?", "tuesday", is_async=way == "ainvoke")
    assert model.system.startswith("Be brief.")
    assert "My boat is blue" in model.system
    assert [each.text for each in mnemic.window(Scope(user="ana", session="tuesday"))] == [
        "Which colour is my boat?",
        "Blue.",
    ]
    assert all("My boat is blue" not in str(kept.checkpoint) for kept in saver.list(thread("tuesday")))


def test_the_runtime_chooses_the_user_and_no_one_else_is_shown(mnemic: AnyMnemic):
    model = script("Noted.", "No idea.")
    middleware = MnemicMiddleware(mnemic, lambda runtime: Scope(user=runtime.context["user"]))
    agent = create_agent(model, [], middleware=[middleware], context_schema=dict)
    say(agent, "My boat is blue", "a", context={"user": "ana"})
    say(agent, "Which colour is my boat?", "b", context={"user": "bob"})
    assert "blue" not in model.system


def test_a_turn_with_tools_is_captured_once_and_every_request_has_the_memory(mnemic: AnyMnemic):
    def measure() -> str:
        """Measure the boat."""
        return "9 m"

    mnemic.remember(ANA, "User's boat is blue")
    call = AIMessage("", tool_calls=[{"name": "measure", "args": {}, "id": "1"}])
    model = script(call, "Blue, and 9 m.", "Bye.")
    agent = create_agent(model, [measure], middleware=[MnemicMiddleware(mnemic, ANA)], checkpointer=InMemorySaver())
    say(agent, "Which colour is my boat?", "monday")
    assert all("User's boat is blue" in str(asked[0].text) for asked in model.asked)
    say(agent, "Goodbye then", "monday")
    said = [each.text for each in mnemic.window(Scope(user="ana", session="monday"))]
    assert said == ["Which colour is my boat?", "Blue, and 9 m.", "Goodbye then", "Bye."]


@pytest.mark.parametrize("way", ["invoke", "ainvoke"])
def test_a_run_recalls_once_and_the_next_run_recalls_again(mnemic: AnyMnemic, way: str):
    boat = mnemic.remember(ANA, "User's boat is blue")

    def forget() -> str:
        """Forget the boat."""
        mnemic.delete(ANA, boat.id)
        return "done"

    call = AIMessage("", tool_calls=[{"name": "forget", "args": {}, "id": "1"}])
    model = script(call, "Blue.", "I do not know.")
    agent = create_agent(model, [forget], middleware=[MnemicMiddleware(mnemic, ANA, captures=False)])
    question = HumanMessage("Which colour is my boat?", id="a client's own")
    for _ in range(2):
        said: Any = {"messages": [question]}
        _ = asyncio.run(agent.ainvoke(said)) if way == "ainvoke" else agent.invoke(said)
    systems = [str(asked[0].text) for asked in model.asked]
    assert ["User's boat is blue" in system for system in systems] == [True, True, False]


@pytest.mark.parametrize("way", ["invoke", "ainvoke"])
def test_a_failing_memory_does_not_stop_the_run(broken: Mnemic, way: str):
    agent = create_agent(script("Hello."), [], middleware=[MnemicMiddleware(broken, ANA)])
    assert say(agent, "Hello there", "monday", is_async=way == "ainvoke")["messages"][-1].text == "Hello."


@pytest.mark.requirement("P-29")
def test_the_retriever_finds_the_users_items_with_their_origin(mnemic: AnyMnemic):
    mnemic.remember(ANA, "Ana's boat is blue", source="letters")
    mnemic.remember(BOB, "Bob's boat is red")
    (found,) = MnemicRetriever(mnemic=mnemic, scope=ANA).invoke("boat")
    assert (found.page_content, found.metadata["kind"], found.metadata["source"]) == (
        "Ana's boat is blue",
        "fact",
        "letters",
    )
    assert MnemicRetriever(mnemic=mnemic, scope=ANA, options={"kinds": ["event"]}).invoke("boat") == []
    assert MnemicRetriever(mnemic=mnemic, scope=ANA).invoke("quarterly taxes") == []
    assert asyncio.run(MnemicRetriever(mnemic=mnemic, scope=ANA).ainvoke("boat"))[0].id == found.id


@pytest.mark.requirement("P-29")
def test_langgraphs_checkpointer_stands_beside_the_store_and_a_thread_is_erased_from_both(
    mnemic: AnyMnemic, tmp_path: Path
):
    def keep(state: MessagesState, runtime: Runtime[Any]) -> MessagesState:
        assert runtime.store is not None
        runtime.store.put(("memories", "ana"), "boat", {"text": "The boat is blue"})
        mnemic.capture(Scope(user="ana", session="t1"), user=str(state["messages"][-1].content))
        return {"messages": [AIMessage("Noted.")]}

    with SqliteSaver.from_conn_string(str(tmp_path / "threads.db")) as saver:
        graph = StateGraph(MessagesState).add_node("keep", keep).add_edge(START, "keep").add_edge("keep", END)
        app = graph.compile(checkpointer=saver, store=MnemicStore(mnemic, ("memories", "{user}")))
        for text in ("My boat is blue", "It has a mast"):
            state = say(app, text, "t1")
        assert len(state["messages"]) == 4
        assert erase_thread(mnemic, Scope(user="bob", session="t1"), saver).counts.get("messages", 0) == 0
        assert saver.get(thread("t1")) is not None
        assert erase_thread(mnemic, Scope(user="ana", session="t1"), saver).counts["messages"] == 2
        assert saver.get(thread("t1")) is None
        assert not mnemic.window(Scope(user="ana", session="t1"), include_closed=True)
