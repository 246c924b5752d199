# pyright: basic, reportMissingImports=false
# Strands requires an older MCP SDK than the pinned one, so it is not installed where pyright runs.
"""Strands Agents: a store for its `MemoryManager`."""

import asyncio
import hashlib

from mnemic.errors import InvalidInputError
from mnemic.integrations import memory as shared
from mnemic.model.item import Role
from mnemic.model.scope import Scope

try:
    from strands.memory import AddMessagesContext, ExtractionConfig, InvocationTrigger, MemoryEntry, SearchOptions
    from strands.memory.types import MemoryStore, Metadata
    from strands.types.content import Message
except ModuleNotFoundError as error:
    raise shared.explain_absence(error, "strands", "strands") from error


class MnemicMemoryStore(MemoryStore):
    """A store for Strands: `Agent(…, memory_manager=MemoryManager(stores=[MnemicMemoryStore(mnemic, scope)]))`.

    Strands adds the memory for a user's message to its request, but not to the message history. It captures the texts
    of user and assistant after each invocation. If a recall fails or takes longer than `timeout_s`, that is logged and
    the invocation continues. Strands logs a failed capture and tries again. Use one store per conversation. Raises
    `InvalidInputError` for a scope without a session.
    """

    description: str | None = "What the user said in this and earlier conversations."
    max_search_results: int | None = 1
    writable = True

    def __init__(
        self,
        mnemic: shared.AnyMnemic,
        scope: Scope,
        *,
        name: str = "mnemic",
        budget_tokens: int = shared.BUDGET_TOKENS,
        timeout_s: float = shared.TIMEOUT_S,
    ) -> None:
        if scope.session is None:
            raise InvalidInputError("Strands' memory requires a session; pass Scope(user=…, session=…)")
        self.name = name
        self.extraction = ExtractionConfig(trigger=InvocationTrigger())
        self._chat = shared.Conversation(mnemic, scope, budget_tokens, timeout_s)
        self._captured = 0

    async def search(self, query: str, options: SearchOptions | None = None) -> list[MemoryEntry]:
        """The memory for a query as one entry between markers, or no entry. Leaves out this conversation's messages."""
        del options
        told = await self._chat.recall(query, known=self._captured)
        return [MemoryEntry(content=told)] if told else []

    async def add(self, content: str, metadata: Metadata | None = None) -> None:
        """Remember a text of the model, with the trust `assistant`."""
        await asyncio.to_thread(
            self._chat.mnemic.remember, self._chat.scope, content, metadata=metadata, trust="assistant"
        )

    async def add_messages(self, messages: list[Message], context: AddMessagesContext | None = None) -> None:
        """Capture the messages' texts. Repeating a batch changes nothing."""
        numbers = (context.sequence_numbers if context else None) or [None] * len(messages)
        said = list[dict[str, object]]()
        for each, number in zip(messages, numbers, strict=True):
            words = "\n".join(part["text"] for part in each["content"] if "text" in part)
            digest = hashlib.sha256(words.encode(errors="replace")).hexdigest()[:32]
            known = {} if number is None else {"external_id": f"strands-{number}-{each['role']}-{digest}"}
            said += [{**message, **known} for message in shared.to_messages([(Role(each["role"]), words)])]
        if said:
            await asyncio.to_thread(self._chat.mnemic.capture, self._chat.scope, said)
            self._captured += len(said)
