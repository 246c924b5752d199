"""AsyncMnemic: the verbs of Mnemic for asyncio, on a bounded pool of threads of its own. No logic lives here."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager
from datetime import datetime
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import ParamSpec, TypeVar, Unpack

from mnemic.api import ListFields, MemoryFields, MessageLike, Mnemic, RecallFields
from mnemic.config import Config
from mnemic.model.draft import MemoryDraft
from mnemic.model.history import HistoryEntry, Receipt
from mnemic.model.item import Item, Memory, Turn
from mnemic.model.query import Page
from mnemic.model.recall import Recall
from mnemic.model.scope import Scope

DEFAULT_THREADS = 4
_Arguments = ParamSpec("_Arguments")
_Answer = TypeVar("_Answer")


class AsyncMnemic(AbstractAsyncContextManager["AsyncMnemic"]):
    """An open memory for asyncio: each verb runs on one of `threads` threads and never on the event loop."""

    def __init__(self, mnemic: Mnemic, *, threads: int = DEFAULT_THREADS) -> None:
        self._mnemic = mnemic
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="mnemic")

    @classmethod
    async def open(cls, store: str | Path | Config | None = None, *, threads: int = DEFAULT_THREADS) -> AsyncMnemic:
        """As `Mnemic.open`."""
        return cls(await asyncio.to_thread(Mnemic.open, store), threads=threads)

    async def capture(
        self,
        scope: Scope,
        messages: Iterable[MessageLike] | None = None,
        *,
        user: str | None = None,
        assistant: str | None = None,
        observed_at: datetime | str | None = None,
    ) -> Turn:
        """As `Mnemic.capture`."""
        said = partial(self._mnemic.capture, user=user, assistant=assistant, observed_at=observed_at)
        return await self._run(said, scope, messages)

    async def capture_many(
        self,
        scope: Scope,
        exchanges: Iterable[Iterable[MessageLike]],
        *,
        observed_at: datetime | str | None = None,
    ) -> list[Turn]:
        """As `Mnemic.capture_many`."""
        return await self._run(self._mnemic.capture_many, scope, exchanges, observed_at=observed_at)

    async def complete(
        self,
        scope: Scope,
        turn_id: str,
        *,
        assistant: str | Sequence[str],
        name: str | None = None,
        observed_at: datetime | str | None = None,
    ) -> Turn:
        """As `Mnemic.complete`."""
        said = partial(self._mnemic.complete, assistant=assistant, name=name, observed_at=observed_at)
        return await self._run(said, scope, turn_id)

    async def remember(self, scope: Scope, text: str, **fields: Unpack[MemoryFields]) -> Memory:
        """As `Mnemic.remember`."""
        return await self._run(self._mnemic.remember, scope, text, **fields)

    async def remember_many(
        self, scope: Scope, memories: Iterable[str | MemoryDraft | Mapping[str, object]]
    ) -> list[Memory]:
        """As `Mnemic.remember_many`."""
        return await self._run(self._mnemic.remember_many, scope, memories)

    async def recall(self, scope: Scope, query: str, **fields: Unpack[RecallFields]) -> Recall:
        """As `Mnemic.recall`."""
        return await self._run(self._mnemic.recall, scope, query, **fields)

    async def get(self, scope: Scope, id: str) -> Item:
        """As `Mnemic.get`."""
        return await self._run(self._mnemic.get, scope, id)

    async def list(self, scope: Scope, **fields: Unpack[ListFields]) -> Page:
        """As `Mnemic.list`."""
        return await self._run(self._mnemic.list, scope, **fields)

    async def delete(self, scope: Scope, id: str, *, reason: str = "") -> Receipt:
        """As `Mnemic.delete`."""
        return await self._run(self._mnemic.delete, scope, id, reason=reason)

    async def history(self, scope: Scope, id: str) -> Sequence[HistoryEntry]:
        """As `Mnemic.history`."""
        return await self._run(self._mnemic.history, scope, id)

    async def close(self) -> None:
        """As `Mnemic.close`; waits for the verbs under way."""
        await asyncio.to_thread(self._pool.shutdown)
        await asyncio.to_thread(self._mnemic.close)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def _run(
        self, verb: Callable[_Arguments, _Answer], *arguments: _Arguments.args, **named: _Arguments.kwargs
    ) -> _Answer:
        return await asyncio.get_running_loop().run_in_executor(self._pool, partial(verb, *arguments, **named))
