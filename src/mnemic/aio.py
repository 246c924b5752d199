"""AsyncMnemic: the verbs of Mnemic for asyncio, on a bounded pool of threads of its own. No logic lives here.

A verb is one line: its arguments and its answer are those of the library's, at run time and for type checkers.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Generator, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager
from contextvars import copy_context
from functools import partial, wraps
from pathlib import Path
from types import TracebackType
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar, cast

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

DEFAULT_THREADS = 4
"""A verb waits for the store or an embedder most of the time; more threads only queue before the interpreter."""

_Arguments = ParamSpec("_Arguments")
_Answer = TypeVar("_Answer")
_Answer_co = TypeVar("_Answer_co", covariant=True)


class _Awaited(Protocol[_Arguments, _Answer_co]):
    """A method that takes what the library's takes, and is awaited."""

    def __get__(self, owner: Any, kind: type) -> Callable[_Arguments, Coroutine[Any, Any, _Answer_co]]: ...


def _awaiting(function: Callable[Concatenate[Any, _Arguments], _Answer]) -> _Awaited[_Arguments, _Answer]:
    """The verb of the library as one that is awaited: its types are taken over as they are."""

    @wraps(function)
    async def verb(self: Any, *arguments: Any, **named: Any) -> Any:
        return await self._run(getattr(self._verbs, function.__name__), *arguments, **named)

    return cast("_Awaited[_Arguments, _Answer]", verb)


def _streaming(
    function: Callable[Concatenate[Any, _Arguments], Generator[_Answer]],
) -> _Awaited[_Arguments, AsyncGenerator[_Answer]]:
    """The same for a verb that answers bit by bit: `async for event in await mnemic.chat_stream(…)`."""

    @wraps(function)
    async def verb(self: Any, *arguments: Any, **named: Any) -> Any:
        return self._each(await self._run(getattr(self._verbs, function.__name__), *arguments, **named))

    return cast("_Awaited[_Arguments, AsyncGenerator[_Answer]]", verb)


class _Part:
    """Verbs of the library, and how they are run."""

    def __init__(self, verbs: object, run: Callable[..., Awaitable[Any]]) -> None:
        self._verbs, self._run = verbs, run


class AsyncProfileVerbs(_Part):
    """As `ProfileVerbs`."""

    set = _awaiting(ProfileVerbs.set)
    get = _awaiting(ProfileVerbs.get)
    all = _awaiting(ProfileVerbs.all)
    format = _awaiting(ProfileVerbs.format)


class AsyncDocumentVerbs(_Part):
    """As `DocumentVerbs`."""

    list = _awaiting(DocumentVerbs.list)
    get = _awaiting(DocumentVerbs.get)
    text = _awaiting(DocumentVerbs.text)
    passages = _awaiting(DocumentVerbs.passages)
    delete = _awaiting(DocumentVerbs.delete)


class AsyncGraphVerbs(_Part):
    """As `GraphVerbs`."""

    entities = _awaiting(GraphVerbs.entities)
    neighbours = _awaiting(GraphVerbs.neighbours)
    path = _awaiting(GraphVerbs.path)
    extract = _awaiting(GraphVerbs.extract)


class AsyncToolVerbs(_Part):
    """As `ToolVerbs`."""

    list = _awaiting(ToolVerbs.list)
    call = _awaiting(ToolVerbs.call)
    add = _awaiting(ToolVerbs.add)


class AsyncJobVerbs(_Part):
    """As `JobVerbs`."""

    list = _awaiting(JobVerbs.list)
    retry = _awaiting(JobVerbs.retry)


class AsyncKeyVerbs(_Part):
    """As `KeyVerbs`."""

    create = _awaiting(KeyVerbs.create)
    list = _awaiting(KeyVerbs.list)
    revoke = _awaiting(KeyVerbs.revoke)
    rotate = _awaiting(KeyVerbs.rotate)
    audit = _awaiting(KeyVerbs.audit)


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

    capture = _awaiting(Mnemic.capture)
    capture_many = _awaiting(Mnemic.capture_many)
    complete = _awaiting(Mnemic.complete)
    remember = _awaiting(Mnemic.remember)
    remember_many = _awaiting(Mnemic.remember_many)
    recall = _awaiting(Mnemic.recall)
    context = _awaiting(Mnemic.context)
    why_not = _awaiting(Mnemic.why_not)
    get = _awaiting(Mnemic.get)
    list = _awaiting(Mnemic.list)
    count = _awaiting(Mnemic.count)
    update = _awaiting(Mnemic.update)
    pin = _awaiting(Mnemic.pin)
    merge = _awaiting(Mnemic.merge)
    undo = _awaiting(Mnemic.undo)
    feedback = _awaiting(Mnemic.feedback)
    delete = _awaiting(Mnemic.delete)
    clear = _awaiting(Mnemic.clear)
    history = _awaiting(Mnemic.history)
    review = _awaiting(Mnemic.review)
    trust = _awaiting(Mnemic.trust)
    reject = _awaiting(Mnemic.reject)
    window = _awaiting(Mnemic.window)
    messages = _awaiting(Mnemic.messages)
    summarise = _awaiting(Mnemic.summarise)
    end = _awaiting(Mnemic.end)
    reflect = _awaiting(Mnemic.reflect)
    extract = _awaiting(Mnemic.extract)
    curate = _awaiting(Mnemic.curate)
    consolidate = _awaiting(Mnemic.consolidate)
    decay = _awaiting(Mnemic.decay)
    evict = _awaiting(Mnemic.evict)
    ingest = _awaiting(Mnemic.ingest)
    research = _awaiting(Mnemic.research)
    chat = _awaiting(Mnemic.chat)
    ask = _awaiting(Mnemic.ask)
    import_ = _awaiting(Mnemic.import_)
    erase = _awaiting(Mnemic.erase)
    receipts = _awaiting(Mnemic.receipts)
    reembed = _awaiting(Mnemic.reembed)
    backup = _awaiting(Mnemic.backup)
    restore = _awaiting(Mnemic.restore)
    work = _awaiting(Mnemic.work)
    worker = _awaiting(Mnemic.worker)
    health = _awaiting(Mnemic.health)
    doctor = _awaiting(Mnemic.doctor)

    async def export(self, scope: Scope, *, levels: Iterable[Level | str] = OWN_LEVELS) -> list[str]:
        """As `Mnemic.export`, all lines at once."""
        return await self._run(lambda: [*self._verbs.export(scope, levels=levels)])

    chat_stream = _streaming(Mnemic.chat_stream)

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
