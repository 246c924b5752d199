# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false
# AutoGen requires an older protobuf than the pinned packages, so it is not installed where pyright runs.
"""AutoGen (autogen-core): a `Memory` that recalls before an agent's run and captures what is said."""

import asyncio
import hashlib
from collections import Counter
from collections.abc import Sequence
from typing import Any

from mnemic.errors import InvalidInputError
from mnemic.integrations import memory as shared
from mnemic.model.item import Role
from mnemic.model.scope import Level, Scope
from mnemic.text.blocks import without_own_blocks

try:
    from autogen_core import CancellationToken
    from autogen_core.memory import Memory, MemoryContent, MemoryMimeType, MemoryQueryResult, UpdateContextResult
    from autogen_core.model_context import ChatCompletionContext, ChatCompletionContextState
    from autogen_core.models import AssistantMessage, LLMMessage, SystemMessage, UserMessage
except ModuleNotFoundError as error:
    raise shared.explain_absence(error, "autogen", "autogen_core") from error


class MnemicMemory(Memory):
    """A memory for AutoGen's agents: `AssistantAgent(…, memory=[MnemicMemory(mnemic, scope)])`.

    Each run adds one system message with the memory for the user's last message, in place of the previous run's. Then
    the new messages are captured. An answer is captured by the next run, or by `close`. Messages whose source is not in
    `people` are the assistant's. If the memory fails or takes longer than `timeout_s`, that is logged and the run
    continues. Raises `InvalidInputError` for a scope without a session.
    """

    def __init__(
        self,
        mnemic: shared.AnyMnemic,
        scope: Scope,
        *,
        people: Sequence[str] = ("user",),
        budget_tokens: int = shared.BUDGET_TOKENS,
        timeout_s: float = shared.TIMEOUT_S,
    ) -> None:
        if scope.session is None:
            raise InvalidInputError("AutoGen's memory requires a session; pass Scope(user=…, session=…)")
        self._chat = shared.Conversation(mnemic, scope, budget_tokens, timeout_s)
        self._people = frozenset(people)
        self._context: ChatCompletionContext | None = None

    async def update_context(self, model_context: ChatCompletionContext) -> UpdateContextResult:
        """Replace the recalled memory in the context, and capture its new messages."""
        self._context = model_context
        messages = [each for each in await _read_messages(model_context) if not _is_own(each)]
        said = self._select_said(messages)
        question = next((str(each["content"]) for each in reversed(said) if each["role"] is Role.USER), "")
        result = await self._query(question, known=len(said))
        await self._chat.capture(said)
        await model_context.load_state(ChatCompletionContextState(messages=messages).model_dump())
        for each in result.results:
            await model_context.add_message(SystemMessage(content=str(each.content)))
        return UpdateContextResult(memories=result)

    async def query(
        self, query: str | MemoryContent, cancellation_token: CancellationToken | None = None, **kwargs: Any
    ) -> MemoryQueryResult:
        """The memory for a text as one result between markers, or no result."""
        del cancellation_token, kwargs
        return await self._query(_read_text(query))

    async def add(self, content: MemoryContent, cancellation_token: CancellationToken | None = None) -> None:
        """Remember a text. Raises `InvalidInputError` for other contents, and the memory's errors."""
        del cancellation_token
        await asyncio.to_thread(
            self._chat.mnemic.remember, self._chat.scope, _read_text(content), metadata=content.metadata
        )

    async def clear(self) -> None:
        """Erase the session permanently. The user's other memories are kept."""
        self._context = None
        await asyncio.to_thread(self._chat.mnemic.erase, self._chat.scope, level=Level.SESSION)

    async def close(self) -> None:
        """Capture the last answer. Mnemic stays open."""
        if self._context is not None:
            await self._chat.capture(self._select_said(await _read_messages(self._context)))

    async def _query(self, question: str, *, known: int = 0) -> MemoryQueryResult:
        told = await self._chat.recall(question, known=known)
        return MemoryQueryResult(results=[MemoryContent(content=told, mime_type=MemoryMimeType.TEXT)] if told else [])

    def _select_said(self, messages: Sequence[LLMMessage]) -> list[dict[str, object]]:
        """Messages to capture. Their ids come from the text, and the number of earlier equal messages."""
        said, seen = list[dict[str, object]](), Counter[str]()
        for each in messages:
            if not isinstance(each, UserMessage | AssistantMessage):
                continue
            parts = each.content if isinstance(each.content, list) else [each.content]
            is_user = isinstance(each, UserMessage) and each.source in self._people
            role = Role.USER if is_user else Role.ASSISTANT
            words = "\n".join(part for part in parts if isinstance(part, str))
            for message in shared.to_messages([(role, words)]):
                digest = hashlib.sha256(f"{role}\0{each.source}\0{words}".encode(errors="replace")).hexdigest()[:32]
                seen[digest] += 1
                said.append({**message, "name": each.source, "external_id": f"autogen-{seen[digest]}-{digest}"})
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
