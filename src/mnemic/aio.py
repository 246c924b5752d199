"""AsyncMnemic: the verbs of Mnemic for asyncio, on a bounded pool of threads of its own. No logic lives here.

The verbs are made from those of the library; their types stand in aio.pyi, which `python scripts/verb_stubs.py --write`
makes of the same signatures.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager
from contextvars import copy_context
from functools import partial, wraps
from pathlib import Path
from types import TracebackType
from typing import Any, ParamSpec, TypeVar

from mnemic.api import (
    DEFAULT_ACTOR,
    DocumentVerbs,
    GraphVerbs,
    JobVerbs,
    KeyVerbs,
    Mnemic,
    ProfileVerbs,
    ToolVerbs,
)
from mnemic.config import Config
from mnemic.engine.export import OWN_LEVELS
from mnemic.model.chat import ChatEvent
from mnemic.model.scope import Level, Scope
from mnemic.verbs import VERBS

DEFAULT_THREADS = 4
"""A verb waits for the store or an embedder most of the time; more threads only queue before the interpreter."""

_Arguments = ParamSpec("_Arguments")
_Answer = TypeVar("_Answer")
_Class = TypeVar("_Class", bound=type)


def _with_verbs_of(library: type, group: str = "") -> Callable[[_Class], _Class]:
    """Gives a class the verbs of a class of the library, to be awaited, but for those that it has itself."""

    def made(cls: _Class) -> _Class:
        names = [verb.name.removeprefix(group) for verb in VERBS if verb.name.startswith(group)]
        for name in names:
            if "." not in name and name not in vars(cls):
                setattr(cls, name, _awaiting(name, getattr(library, name)))
        return cls

    return made


def _awaiting(name: str, function: Callable[..., Any]) -> Callable[..., Awaitable[Any]]:
    @wraps(function)
    async def verb(self: Any, *arguments: Any, **named: Any) -> Any:
        return await self._run(getattr(self._verbs, name), *arguments, **named)

    return verb


class _Part:
    """Verbs of the library, and how they are run."""

    def __init__(self, verbs: object, run: Callable[..., Awaitable[Any]]) -> None:
        self._verbs, self._run = verbs, run


@_with_verbs_of(ProfileVerbs, "profile.")
class AsyncProfileVerbs(_Part):
    """As `ProfileVerbs`."""


@_with_verbs_of(DocumentVerbs, "documents.")
class AsyncDocumentVerbs(_Part):
    """As `DocumentVerbs`."""


@_with_verbs_of(GraphVerbs, "graph.")
class AsyncGraphVerbs(_Part):
    """As `GraphVerbs`."""


@_with_verbs_of(ToolVerbs, "tools.")
class AsyncToolVerbs(_Part):
    """As `ToolVerbs`."""


@_with_verbs_of(JobVerbs, "jobs.")
class AsyncJobVerbs(_Part):
    """As `JobVerbs`."""


@_with_verbs_of(KeyVerbs, "keys.")
class AsyncKeyVerbs(_Part):
    """As `KeyVerbs`."""


@_with_verbs_of(Mnemic)
class AsyncMnemic(AbstractAsyncContextManager["AsyncMnemic"]):
    """An open memory for asyncio: each verb runs on one of `threads` threads and never on the event loop. What a verb
    is told to call, such as `progress`, is called from there.
    """

    def __init__(self, mnemic: Mnemic, *, threads: int = DEFAULT_THREADS) -> None:
        self._verbs = mnemic
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="mnemic")

    @classmethod
    async def open(
        cls,
        store: str | Path | Config | None = None,
        *,
        actor: str = DEFAULT_ACTOR,
        threads: int = DEFAULT_THREADS,
    ) -> AsyncMnemic:
        """As `Mnemic.open`."""
        return cls(await asyncio.to_thread(Mnemic.open, store, actor=actor), threads=threads)

    async def export(self, scope: Scope, *, levels: Iterable[Level | str] = OWN_LEVELS) -> list[str]:
        """As `Mnemic.export`, all lines at once."""
        return await self._run(lambda: [*self._verbs.export(scope, levels=levels)])

    @wraps(Mnemic.chat_stream)
    async def chat_stream(self, *arguments: Any, **named: Any) -> AsyncGenerator[ChatEvent]:
        """As `Mnemic.chat_stream`: `async for event in await mnemic.chat_stream(…)`."""
        return self._each(await self._run(self._verbs.chat_stream, *arguments, **named))

    @property
    def profile(self) -> AsyncProfileVerbs:
        """As `Mnemic.profile`."""
        return AsyncProfileVerbs(self._verbs.profile, self._run)

    @property
    def documents(self) -> AsyncDocumentVerbs:
        """As `Mnemic.documents`."""
        return AsyncDocumentVerbs(self._verbs.documents, self._run)

    @property
    def graph(self) -> AsyncGraphVerbs:
        """As `Mnemic.graph`."""
        return AsyncGraphVerbs(self._verbs.graph, self._run)

    @property
    def tools(self) -> AsyncToolVerbs:
        """As `Mnemic.tools`."""
        return AsyncToolVerbs(self._verbs.tools, self._run)

    @property
    def jobs(self) -> AsyncJobVerbs:
        """As `Mnemic.jobs`."""
        return AsyncJobVerbs(self._verbs.jobs, self._run)

    @property
    def keys(self) -> AsyncKeyVerbs:
        """As `Mnemic.keys`."""
        return AsyncKeyVerbs(self._verbs.keys, self._run)

    @property
    def model(self) -> str | None:
        """As `Mnemic.model`."""
        return self._verbs.model

    async def close(self) -> None:
        """As `Mnemic.close`; waits for the verbs under way."""
        await asyncio.to_thread(self._pool.shutdown)
        await asyncio.to_thread(self._verbs.close)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def _run(
        self, verb: Callable[_Arguments, _Answer], *arguments: _Arguments.args, **named: _Arguments.kwargs
    ) -> _Answer:
        return await asyncio.get_running_loop().run_in_executor(
            self._pool, partial(copy_context().run, verb, *arguments, **named)
        )

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
