"""LlamaIndex: a block for its `Memory`, and a memory that keeps the whole chat in Mnemic."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, cast

from mnemic.errors import InvalidInputError
from mnemic.integrations import memory as shared
from mnemic.integrations.transcript import Said, Transcript
from mnemic.model.item import Message, Role
from mnemic.model.scope import Scope

try:
    from llama_index.core.base.llms.types import ChatMessage, MessageRole, TextBlock
    from llama_index.core.bridge.pydantic import ConfigDict, Field, PrivateAttr
    from llama_index.core.memory import BaseMemory, BaseMemoryBlock
except ModuleNotFoundError as error:
    raise shared.explain_absence(error, "llama-index", "llama_index") from error

SOURCE = "llama-index"
HISTORY_MESSAGES = 40  # twenty exchanges; older ones come back by recall
_ROLES = {
    MessageRole.USER: Role.USER,
    MessageRole.ASSISTANT: Role.ASSISTANT,
    MessageRole.CHATBOT: Role.ASSISTANT,
    MessageRole.MODEL: Role.ASSISTANT,
    MessageRole.SYSTEM: Role.SYSTEM,
    MessageRole.DEVELOPER: Role.SYSTEM,
}


class MnemicMemoryBlock(BaseMemoryBlock[str]):
    """A block of LlamaIndex's `Memory` with what Mnemic recalls for the user's last message. Messages of user and
    assistant that leave the short-term memory are captured in the scope's session. If Mnemic fails or takes longer than
    `timeout_s`, that is logged and the block is empty.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    name: str = Field(default="mnemic")
    mnemic: Any = Field(exclude=True, description="An open Mnemic, or what `mnemic.connect` gives.")
    scope: Any = Field(exclude=True, description="Whose memory to use: a mnemic.Scope.")
    budget_tokens: int = Field(default=shared.BUDGET_TOKENS)
    timeout_s: float = Field(default=shared.TIMEOUT_S)

    async def _aget(self, messages: list[ChatMessage] | None = None, **block_kwargs: Any) -> str:
        del block_kwargs
        question = next((_words(each) for each in reversed(messages or []) if each.role is MessageRole.USER), "")
        return await self._conversation.recall(question)

    async def _aput(self, messages: list[ChatMessage]) -> None:
        pairs = [(_ROLES[each.role], _words(each)) for each in messages if each.role in _ROLES]
        said = shared.to_messages([(role, text) for role, text in pairs if role is not Role.SYSTEM])
        await self._conversation.capture(said)

    @property
    def _conversation(self) -> shared.Conversation:
        return shared.Conversation(self.mnemic, self.scope, self.budget_tokens, self.timeout_s)


class MnemicMemory(BaseMemory):
    """A `BaseMemory` that keeps the chat in Mnemic, and returns recalled memory before the last messages.

    Created by `MnemicMemory.from_defaults(mnemic=…, scope=Scope(user=…, session=…))`. The scope must name the session.
    `get` returns up to `history_messages` messages, starting with a user's, and for an input a system message with its
    memory first. Messages come back unchanged, tool calls included, except for redacted secrets. `reset` erases the
    session permanently. Reading and writing the chat raises errors of `mnemic.errors`. If only the recall fails, that
    is logged.
    """

    budget_tokens: int = Field(default=shared.BUDGET_TOKENS)
    history_messages: int = Field(default=HISTORY_MESSAGES, ge=1)
    timeout_s: float = Field(default=shared.TIMEOUT_S)
    _mnemic: Any = PrivateAttr()
    _scope: Any = PrivateAttr()
    _transcript: Any = PrivateAttr()

    @classmethod
    def class_name(cls) -> str:
        """Its name in LlamaIndex."""
        return "MnemicMemory"

    @classmethod
    def from_defaults(
        cls, *, mnemic: shared.AnyMnemic | None = None, scope: Scope | None = None, **kwargs: Any
    ) -> MnemicMemory:
        """A memory of the scope's session. Raises `InvalidInputError` if either is missing."""
        if mnemic is None or scope is None:
            raise InvalidInputError("pass mnemic=… and a scope=… that has a session")
        transcript = Transcript(mnemic, scope, SOURCE)
        memory = cls(**kwargs)
        memory._mnemic, memory._scope, memory._transcript = mnemic, scope, transcript
        return memory

    def get(self, input: str | None = None, **kwargs: Any) -> list[ChatMessage]:
        """The last messages, after the memory for `input`, or for the user's last message without one."""
        del kwargs
        messages = self._messages(self.history_messages)
        question = input or next((_words(each) for each in reversed(messages) if each.role is MessageRole.USER), "")
        block = shared.recall_block(self._mnemic, self._scope, question, self.budget_tokens, known=len(messages))
        return [*_make_messages(block), *messages]

    async def aget(self, input: str | None = None, **kwargs: Any) -> list[ChatMessage]:
        """Like `get`, for asyncio. Returns only the messages if recall fails."""
        del kwargs
        messages = await asyncio.to_thread(self._messages, self.history_messages)
        question = input or next((_words(each) for each in reversed(messages) if each.role is MessageRole.USER), "")
        conversation = shared.Conversation(self._mnemic, self._scope, self.budget_tokens, self.timeout_s)
        return [*_make_messages(await conversation.recall(question, known=len(messages))), *messages]

    def get_all(self) -> list[ChatMessage]:
        """All messages of the session, oldest first. A server returns the last 1,000."""
        return self._messages(None)

    def put(self, message: ChatMessage) -> None:
        """Store a message."""
        self.put_messages([message])

    def put_messages(self, messages: list[ChatMessage]) -> None:
        """Store messages in one durable transaction."""
        self._load_transcript.add([_read_message(message) for message in messages])

    def set(self, messages: list[ChatMessage]) -> None:
        """Replace the session's messages. Erases the old ones, except those already in place at its end."""
        held = self.get_all()
        if messages[: len(held)] == held:
            self.put_messages(messages[len(held) :])
            return
        said = [_read_message(message) for message in messages]
        self._load_transcript.clear()
        self._load_transcript.add(said)

    def reset(self) -> None:
        """Erase the session."""
        self._load_transcript.clear()

    @property
    def _load_transcript(self) -> Transcript:
        return cast("Transcript", self._transcript)

    def _messages(self, limit: int | None) -> list[ChatMessage]:
        found = [_message(self._load_transcript, message) for message in self._load_transcript.messages(limit)]
        messages = [message for message in found if message is not None]
        users = [place for place, each in enumerate(messages) if each.role is MessageRole.USER]
        return messages if limit is None or not users or len(found) < limit else messages[users[0] :]


def _make_messages(text: str) -> list[ChatMessage]:
    return [ChatMessage(role=MessageRole.SYSTEM, content=text)] if text else []


def _message(transcript: Transcript, message: Message) -> ChatMessage | None:
    item = transcript.item(message)
    if item is not None:
        return ChatMessage.model_validate(item)
    is_ours = "transcript" in message.metadata
    return None if is_ours else ChatMessage(role=MessageRole(message.role.value), content=message.text)


def _read_message(message: ChatMessage) -> Said:
    item = cast("Mapping[str, Any]", message.model_dump(mode="json"))
    places = [place for place, part in enumerate(message.blocks) if isinstance(part, TextBlock)]
    path = ("blocks", places[0], "text") if len(places) == 1 else None
    return Said(item, _ROLES.get(message.role, Role.TOOL), _words(message), path)


def _words(message: ChatMessage) -> str:
    parts: Sequence[object] = message.blocks
    return "\n".join(part.text for part in parts if isinstance(part, TextBlock))
