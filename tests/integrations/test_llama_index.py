"""The memory and the memory block for LlamaIndex, with the released core and its mock model."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any, cast

import pytest
from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.base.llms.types import ChatMessage, ImageBlock, MessageRole, TextBlock, ToolCallBlock
from llama_index.core.chat_engine import SimpleChatEngine
from llama_index.core.llms import MockLLM
from llama_index.core.llms.mock import MockFunctionCallingLLM
from llama_index.core.memory import Memory
from sqlalchemy.ext.asyncio import create_async_engine

from mnemic import Mnemic, Scope
from mnemic.config import Config
from mnemic.errors import InvalidInputError
from mnemic.integrations.llama_index import MnemicMemory, MnemicMemoryBlock
from mnemic.integrations.memory import AnyMnemic

ANA, BOB = Scope(user="ana", session="s1"), Scope(user="bob", session="s1")
MESSAGES = [
    ChatMessage(role=MessageRole.SYSTEM, content="Be brief."),
    ChatMessage(role=MessageRole.USER, content="What is the weather?", additional_kwargs={"n": 1}),
    ChatMessage(
        role=MessageRole.ASSISTANT,
        blocks=[
            TextBlock(text="I look."),
            ToolCallBlock(tool_call_id="c1", tool_name="w", tool_kwargs={"city": "Oslo"}),
        ],
    ),
    ChatMessage(role=MessageRole.TOOL, content="snow", additional_kwargs={"tool_call_id": "c1"}),
    ChatMessage(role=MessageRole.USER, blocks=[ImageBlock(image=b"\x89PNG", image_mimetype="image/png")]),
    ChatMessage(role=MessageRole.ASSISTANT, blocks=[TextBlock(text="one"), TextBlock(text="two")]),
]


@pytest.mark.requirement("P-29")
def test_messages_of_every_kind_come_back_as_they_were(mnemic: AnyMnemic):
    memory = MnemicMemory.from_defaults(mnemic=mnemic, scope=ANA)
    memory.put_messages(MESSAGES[:2])
    for message in MESSAGES[2:]:
        memory.put(message)
    assert memory.get_all() == MESSAGES
    memory.set(MESSAGES[:3])
    assert memory.get_all() == MESSAGES[:3]
    memory.set([*MESSAGES[:3], MESSAGES[5]])
    assert memory.get_all() == [*MESSAGES[:3], MESSAGES[5]]
    memory.reset()
    assert memory.get_all() == []


@pytest.mark.requirement("P-29")
def test_two_users_with_one_session_id_have_two_chats(mnemic: AnyMnemic):
    ana, bob = (MnemicMemory.from_defaults(mnemic=mnemic, scope=scope) for scope in (ANA, BOB))
    ana.put(ChatMessage(role=MessageRole.USER, content="My boat is blue"))
    assert bob.get_all() == []
    assert bob.get("Which colour has my boat?") == []
    bob.reset()
    assert len(ana.get_all()) == 1


@pytest.mark.requirement("P-29")
def test_a_chat_engine_recalls_what_was_said_in_another_session(store: Config):
    with Mnemic.open(store) as mnemic:
        memory = MnemicMemory.from_defaults(mnemic=mnemic, scope=ANA)
        _engine(memory).chat("My boat is blue")
    with Mnemic.open(store) as mnemic:
        memory = MnemicMemory.from_defaults(mnemic=mnemic, scope=Scope(user="ana", session="s2"))
        engine = _engine(memory)
        echoed = str(asyncio.run(engine.achat("Which colour has my boat?")))
        assert "user: My boat is blue" in echoed
        assert [each.role for each in memory.get_all()] == [MessageRole.USER, MessageRole.ASSISTANT]
        assert memory.get()[0].role is MessageRole.SYSTEM


@pytest.mark.requirement("P-29")
@pytest.mark.filterwarnings(
    "ignore::pydantic.warnings.PydanticDeprecationWarning"
)  # of LlamaIndex's own code, with a newer pydantic
def test_an_agent_of_a_workflow_keeps_its_chat(mnemic: AnyMnemic):
    async def talk() -> str:
        memory = MnemicMemory.from_defaults(mnemic=mnemic, scope=ANA)
        agent: Any = FunctionAgent(tools=[], llm=MockFunctionCallingLLM())
        await agent.run(user_msg="My boat is blue", memory=memory)
        other = MnemicMemory.from_defaults(mnemic=mnemic, scope=Scope(user="ana", session="s2"))
        return str(await agent.run(user_msg="Which colour has my boat?", memory=other))

    asyncio.run(talk())
    assert len(MnemicMemory.from_defaults(mnemic=mnemic, scope=ANA).get_all()) == 2


def test_only_the_last_messages_are_given_from_one_of_the_user_on(here: Mnemic):
    memory = MnemicMemory.from_defaults(mnemic=here, scope=ANA, history_messages=4)
    for n in range(3):
        memory.put(ChatMessage(role=MessageRole.USER, content=f"question {n}"))
        memory.put(ChatMessage(role=MessageRole.ASSISTANT, content=f"called {n}"))
        memory.put(ChatMessage(role=MessageRole.TOOL, content=f"result {n}"))
    shown = [each.content for each in memory.get("zzz") if each.role is not MessageRole.SYSTEM]
    assert shown == ["question 2", "called 2", "result 2"]
    with pytest.raises(InvalidInputError, match="session"):
        MnemicMemory.from_defaults(mnemic=here, scope=Scope(user="ana"))
    with pytest.raises(InvalidInputError, match="pass mnemic"):
        MnemicMemory.from_defaults()


@pytest.mark.requirement("P-29")
def test_a_block_recalls_and_takes_in_what_leaves_the_short_term_memory(mnemic: AnyMnemic, tmp_path: Path):
    async def talk() -> tuple[str, str]:
        engine = create_async_engine(f"sqlite+aiosqlite:///{tmp_path / 'chat.db'}")
        made: Any = cast(Any, Memory).from_defaults
        mine, theirs = (
            made(
                session_id=scope.user,
                token_limit=120,
                token_flush_size=20,
                memory_blocks=[MnemicMemoryBlock(mnemic=mnemic, scope=scope)],
                tokenizer_fn=str.split,
                async_engine=engine,
            )
            for scope in (ANA, BOB)
        )
        for n in range(12):
            await mine.aput(ChatMessage(role=MessageRole.USER, content=f"My boat number {n} is blue and quite long"))
            await mine.aput(ChatMessage(role=MessageRole.ASSISTANT, content="Noted."))
        for each in (mine, theirs):
            await each.aput(ChatMessage(role=MessageRole.USER, content="Which colour has my boat number 1?"))
        shown = str(await mine.aget()), str(await theirs.aget())
        await engine.dispose()
        return shown

    mine, theirs = asyncio.run(talk())
    assert "My boat number 1 is blue and quite long" in mine
    assert "blue" not in theirs
    texts = [each.text for each in mnemic.window(ANA, limit=100)]
    assert texts[:2] == ["My boat number 0 is blue and quite long", "Noted."]


def _engine(memory: MnemicMemory) -> Any:
    return SimpleChatEngine.from_defaults(llm=MockLLM(), memory=memory)
