# pyright: basic, reportMissingImports=false
# AutoGen requires an older protobuf than the pinned packages, so it is not installed where pyright runs
"""AutoGen (autogen-core): a `Memory` that recalls before each agent run and captures messages."""

import asyncio
from collections.abc import Sequence
from typing import Any

from mnemic.errors import InvalidInputError
from mnemic.integrations import memory as shared
from mnemic.model.item import Role
from mnemic.model.scope import Level, Scope
from mnemic.text.blocks import without_own_blocks

try:
    from autogen_core.memory import Memory, MemoryContent, MemoryMimeType, MemoryQueryResult, UpdateContextResult
    from autogen_core.model_context import ChatCompletionContext, ChatCompletionContextState
    from autogen_core.models import AssistantMessage, LLMMessage, SystemMessage, UserMessage
except ModuleNotFoundError as error:
    raise shared.explain_absence(error, "autogen", "autogen_core") from error


class MnemicMemory(Memory):
    """A memory for AutoGen's agents: `AssistantAgent(…, memory=[MnemicMemory(mnemic, scope)])`.

    Each run adds one system message with memories for the user's last message, replacing the previous run's. It also
    captures the new messages. The next run, or `close`, captures the answer. Messages whose source is not in `people`
    count as the assistant's. `limits` are `budget_tokens` and `timeout_s`. If the memory fails or times out, this is
    logged and the run continues. Raises `InvalidInputError` for a scope without a session.
    """

    def __init__(
        self, mnemic: shared.AnyMnemic, scope: Scope, *, people: Sequence[str] = ("user",), **limits: Any
    ) -> None:
        self._chat = shared.Conversation(mnemic, shared.require_session(scope), **limits)
        self._people = people
        self._context: ChatCompletionContext | None = None

    async def update_context(self, model_context: ChatCompletionContext) -> UpdateContextResult:
        """Replace the recalled memories in the context, and capture its new messages."""
        self._context = model_context
        messages = [each for each in await _read_messages(model_context) if not _is_own(each)]
        said = self._select_said(messages)
        question = next((str(each["content"]) for each in reversed(said) if each["role"] is Role.USER), "")
        result = await self.query(question, known=len(said))
        await self._chat.capture(said)
        messages += [SystemMessage(content=str(each.content)) for each in result.results]
        await model_context.load_state(ChatCompletionContextState(messages=messages).model_dump())
        return UpdateContextResult(memories=result)

    async def query(self, query: str | MemoryContent, *args: Any, known: int = 0, **kwargs: Any) -> MemoryQueryResult:
        """The memories for a text as one result between markers, or no result."""
        del args, kwargs
        told = await self._chat.recall(_read_text(query), known=known)
        return MemoryQueryResult(results=[MemoryContent(content=told, mime_type=MemoryMimeType.TEXT)] if told else [])

    async def add(self, content: MemoryContent, *args: Any) -> None:
        """Remember a text. Raises `InvalidInputError` for other content types, and the memory's errors."""
        del args
        text, remember = _read_text(content), self._chat.mnemic.remember
        await asyncio.to_thread(remember, self._chat.scope, text, metadata=content.metadata)

    async def clear(self) -> None:
        """Erase the session permanently. The user's other memories are kept."""
        self._context = None
        await asyncio.to_thread(self._chat.mnemic.erase, self._chat.scope, level=Level.SESSION)

    async def close(self) -> None:
        """Capture the last answer. Mnemic stays open."""
        if self._context is not None:
            await self._chat.capture(self._select_said(await _read_messages(self._context)))

    def _select_said(self, messages: Sequence[LLMMessage]) -> list[dict[str, object]]:
        said = list[dict[str, object]]()
        for each in messages:
            if isinstance(each, UserMessage | AssistantMessage):
                parts = each.content if isinstance(each.content, list) else [each.content]
                role = Role.USER if isinstance(each, UserMessage) and each.source in self._people else Role.ASSISTANT
                words = "\n".join(part for part in parts if isinstance(part, str))
                said += shared.draft_message(role, words, "autogen", len(said), each.source, name=each.source)
        return said


async def _read_messages(model_context: ChatCompletionContext) -> list[LLMMessage]:
    """All messages of a context. `get_messages` may leave out older ones."""
    return ChatCompletionContextState.model_validate(await model_context.save_state()).messages


def _is_own(message: LLMMessage) -> bool:
    return isinstance(message, SystemMessage) and not without_own_blocks(message.content, is_system=True).strip()


def _read_text(content: str | MemoryContent) -> str:
    text = content if isinstance(content, str) else content.content
    if not isinstance(text, str):
        raise InvalidInputError("Mnemic remembers text only; pass MemoryContent(content='…', mime_type='text/plain')")
    return text
