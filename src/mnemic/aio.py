"""AsyncMnemic: Mnemic's verbs for asyncio, run on its own bounded thread pool. No logic lives here."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager
from contextvars import copy_context
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, Self, cast

from mnemic.api import DEFAULT_ACTOR, Mnemic, MnemicVerbs
from mnemic.api.views import AsyncScopedMnemic, Awaited, Verb, ViewVerbs
from mnemic.config import Config
from mnemic.model.scope import DEFAULT_ORG, Scope

DEFAULT_THREADS = 4
"""A verb mostly waits for the store or an embedder. More threads would only queue for the interpreter."""


class _Threads:
    """A pool of threads that runs calls with the caller's context variables."""

    def __init__(self, threads: int) -> None:
        self.pool = ThreadPoolExecutor(threads, thread_name_prefix="mnemic")

    async def run(self, call: Callable[[], Any]) -> Any:
        """Await a call on a thread."""
        return await asyncio.get_running_loop().run_in_executor(self.pool, partial(copy_context().run, call))

    async def each(self, events: Generator[Any]) -> AsyncGenerator[Any]:
        """Yield the events, each computed on a thread. Leaving early ends the reply and stores the text so far."""
        guard = threading.Lock()

        def following() -> Any:
            with guard:
                return next(events, None)

        def end() -> None:
            with guard:  # wait for a piece in progress when the reader leaves
                events.close()

        try:
            while (event := await self.run(following)) is not None:
                yield event
        finally:
            await asyncio.shield(self.run(end))


class AsyncMnemic(ViewVerbs[Awaited], AbstractAsyncContextManager["AsyncMnemic"]):
    """A memory for asyncio, opened on a thread by the first `await`. Each verb runs on one of `threads` threads, never
    on the event loop. Callbacks such as `progress` are called on that thread.
    """

    is_awaited = True

    def __init__(
        self,
        store: str | Path | Config | MnemicVerbs | None = None,
        *,
        actor: str = DEFAULT_ACTOR,
        threads: int = DEFAULT_THREADS,
        has_worker: bool = True,
    ) -> None:
        self._threads, self._store = _Threads(threads), store
        self._open = partial(Mnemic, actor=actor, has_worker=has_worker)
        self._opening = threading.Lock()
        super().__init__(lambda: self._memory, runner=self._threads)

    @classmethod
    def open(
        cls,
        store: str | Path | Config | None = None,
        *,
        actor: str = DEFAULT_ACTOR,
        threads: int = DEFAULT_THREADS,
        has_worker: bool = True,
    ) -> AsyncMnemic:
        """Like `Mnemic.open`. Await it, or use it in an `async with` block."""
        return cls(store, actor=actor, threads=threads, has_worker=has_worker)

    reembed = Verb(Mnemic.reembed)
    backup = Verb(Mnemic.backup)
    restore = Verb(Mnemic.restore)
    work = Verb(Mnemic.work)
    worker = Verb(Mnemic.worker)
    doctor = Verb(Mnemic.doctor)
    users = Verb(Mnemic.users)
    agents = Verb(Mnemic.agents)

    def for_user(
        self, user: str | None = None, *, agent: str | None = None, session: str | None = None, org: str = DEFAULT_ORG
    ) -> AsyncScopedMnemic:
        """Like `Mnemic.for_user`."""
        return AsyncScopedMnemic(self._target, Scope(org=org, agent=agent, user=user, session=session), self._threads)

    @property
    def model(self) -> str | None:
        """Like `Mnemic.model`."""
        return self._memory.model

    async def close(self) -> None:
        """Like `Mnemic.close`, after waiting for running verbs."""
        await asyncio.to_thread(self._threads.pool.shutdown)
        if isinstance(self._store, MnemicVerbs):
            await asyncio.to_thread(self._memory.close)

    def __await__(self) -> Generator[Any, Any, Self]:
        return self.__aenter__().__await__()

    async def __aenter__(self) -> Self:
        await asyncio.to_thread(lambda: self._memory)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    @property
    def _memory(self) -> Mnemic:
        with self._opening:
            if not isinstance(self._store, MnemicVerbs):
                self._store = self._open(self._store)
            return cast("Mnemic", self._store)  # or a remote client, which has the same verbs
