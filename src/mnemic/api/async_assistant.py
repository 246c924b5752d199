"""The verbs of the assistant for asyncio; a part of `AsyncMnemic`, on whose threads they run."""

from __future__ import annotations

import asyncio
import builtins
import threading
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Mapping
from typing import TYPE_CHECKING, Any, Unpack

from mnemic.api.arguments import ContextFields
from mnemic.api.assistant import ChatFields, ToolVerbs
from mnemic.api.research import ResearchFields
from mnemic.model.chat import Answer, ChatEvent, Reply, ToolOutcome, ToolSpec
from mnemic.model.document import ResearchReport
from mnemic.model.scope import Scope
from mnemic.ports.models import Tool

if TYPE_CHECKING:
    from mnemic.api.verbs import Mnemic


class AsyncAssistantVerbs:
    """As `AssistantVerbs`."""

    _mnemic: Mnemic
    _run: Callable[..., Awaitable[Any]]

    async def chat(self, scope: Scope, message: str, **fields: Unpack[ChatFields]) -> Reply:
        """As `Mnemic.chat`."""
        return await self._run(self._mnemic.chat, scope, message, **fields)

    async def chat_stream(self, scope: Scope, message: str, **fields: Unpack[ChatFields]) -> AsyncGenerator[ChatEvent]:
        """As `Mnemic.chat_stream`: `async for event in await mnemic.chat_stream(…)`."""
        events = await self._run(self._mnemic.chat_stream, scope, message, **fields)
        return self._each(events)

    async def ask(self, scope: Scope, question: str, **fields: Unpack[ContextFields]) -> Answer:
        """As `Mnemic.ask`."""
        return await self._run(self._mnemic.ask, scope, question, **fields)

    async def research(
        self, scope: Scope, document: str, question: str, **fields: Unpack[ResearchFields]
    ) -> ResearchReport:
        """As `Mnemic.research`; `progress` is called from another thread."""
        return await self._run(self._mnemic.research, scope, document, question, **fields)

    @property
    def model(self) -> str | None:
        """As `Mnemic.model`."""
        return self._mnemic.model

    @property
    def tools(self) -> AsyncToolVerbs:
        """As `Mnemic.tools`."""
        return AsyncToolVerbs(self._mnemic.tools, self._run)

    async def _each(self, events: Generator[ChatEvent]) -> AsyncGenerator[ChatEvent]:
        """The events, each made on a thread; leaving early ends the reply and keeps what was said."""
        guard = threading.Lock()

        def following() -> ChatEvent | None:
            with guard:
                return next(events, None)

        def end() -> None:
            with guard:  # a piece that is still being made when the reader leaves is waited for
                events.close()

        try:
            while (event := await self._run(following)) is not None:
                yield event
        finally:
            await asyncio.shield(self._run(end))


class AsyncToolVerbs:
    """As `ToolVerbs`."""

    def __init__(self, verbs: ToolVerbs, run: Callable[..., Awaitable[Any]]) -> None:
        self._verbs, self._run = verbs, run

    async def list(self) -> builtins.list[ToolSpec]:
        """As `ToolVerbs.list`."""
        return await self._run(self._verbs.list)

    async def add(self, *tools: Tool) -> None:
        """As `ToolVerbs.add`."""
        await self._run(self._verbs.add, *tools)

    async def call(self, scope: Scope, name: str, arguments: Mapping[str, object] | None = None) -> ToolOutcome:
        """As `ToolVerbs.call`."""
        return await self._run(self._verbs.call, scope, name, arguments)
