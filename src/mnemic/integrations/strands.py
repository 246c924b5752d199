# pyright: basic, reportMissingImports=false
# Strands requires an older MCP SDK than the pinned one, so it is not installed where pyright runs
"""Strands Agents: a store for its `MemoryManager`."""

import asyncio
from typing import Any

from mnemic.integrations import memory as shared
from mnemic.model.item import Role
from mnemic.model.scope import Scope

try:
    from strands.memory import AddMessagesContext, ExtractionConfig, InvocationTrigger, MemoryEntry
    from strands.memory.types import MemoryStore, Metadata
    from strands.types.content import Message
except ModuleNotFoundError as error:
    raise shared.explain_absence(error, "strands", "strands") from error


class MnemicMemoryStore(MemoryStore):
    """A store for Strands: `Agent(…, memory_manager=MemoryManager(stores=[MnemicMemoryStore(mnemic, scope)]))`.

    Strands adds memories to the user's message in the request, but not to the message history. After each invocation,
    it captures the texts of the user and the assistant. `limits` are `budget_tokens` and `timeout_s`. If a recall fails
    or times out, this is logged and the invocation continues. Strands logs a failed capture and tries again. Use one
    store per conversation. Raises `InvalidInputError` for a scope without a session.
    """

    description: str | None = "What the user said in this and earlier conversations."
    max_search_results: int | None = 1
    writable = True

    def __init__(self, mnemic: shared.AnyMnemic, scope: Scope, *, name: str = "mnemic", **limits: Any) -> None:
        self._chat = shared.Conversation(mnemic, shared.require_session(scope), **limits)
        self.name, self.extraction, self._captured = name, ExtractionConfig(trigger=InvocationTrigger()), 0

    async def search(self, query: str, *args: Any) -> list[MemoryEntry]:
        """The memories for a query as one entry between markers, or no entry. Leaves out this conversation."""
        del args
        told = await self._chat.recall(query, known=self._captured)
        return [MemoryEntry(content=told)] if told else []

    async def add(self, content: str, metadata: Metadata | None = None) -> None:
        """Remember a text from the model, with the trust `assistant`."""
        remember = self._chat.mnemic.remember
        await asyncio.to_thread(remember, self._chat.scope, content, metadata=metadata, trust="assistant")

    async def add_messages(self, messages: list[Message], context: AddMessagesContext | None = None) -> None:
        """Capture the messages' texts. Repeating a batch with sequence numbers changes nothing."""
        numbers = (context.sequence_numbers if context else None) or [None] * len(messages)
        said = list[dict[str, object]]()
        for each, number in zip(messages, numbers, strict=True):
            words = "\n".join(part["text"] for part in each["content"] if "text" in part)
            id_parts = () if number is None else ("strands", number, each["role"])
            said += shared.draft_message(Role(each["role"]), words, *id_parts)
        if said:
            await asyncio.to_thread(self._chat.mnemic.capture, self._chat.scope, said)
            self._captured += len(said)
