"""AsyncMnemic: Mnemic's verbs for asyncio, run on its own bounded thread pool. No logic lives here.

Each verb is one line. Its arguments and result are the library's, at run time and for type checkers.
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
"""A verb mostly waits for the store or an embedder. More threads would only queue for the interpreter."""

_Arguments = ParamSpec("_Arguments")
_Answer = TypeVar("_Answer")
_Answer_co = TypeVar("_Answer_co", covariant=True)


class _Awaited(Protocol[_Arguments, _Answer_co]):
    """A method with the library's arguments that is awaited."""

    def __get__(self, owner: Any, kind: type) -> Callable[_Arguments, Coroutine[Any, Any, _Answer_co]]: ...


def _await_verb(function: Callable[Concatenate[Any, _Arguments], _Answer]) -> _Awaited[_Arguments, _Answer]:
    """Make the library's verb awaitable, with the same types."""

    @wraps(function)
    async def verb(self: Any, *arguments: Any, **named: Any) -> Any:
        return await self._run(getattr(self._verbs, function.__name__), *arguments, **named)

    return cast("_Awaited[_Arguments, _Answer]", verb)


def _stream_verb(
    function: Callable[Concatenate[Any, _Arguments], Generator[_Answer]],
) -> _Awaited[_Arguments, AsyncGenerator[_Answer]]:
    """The same for a generator: `async for event in await mnemic.chat_stream(…)`."""

    @wraps(function)
    async def verb(self: Any, *arguments: Any, **named: Any) -> Any:
        return self._each(await self._run(getattr(self._verbs, function.__name__), *arguments, **named))

    return cast("_Awaited[_Arguments, AsyncGenerator[_Answer]]", verb)


class _Part:
    """A group of the library's verbs."""

    def __init__(self, verbs: object, run: Callable[..., Awaitable[Any]]) -> None:
        self._verbs, self._run = verbs, run


class AsyncProfileVerbs(_Part):
    """Like `ProfileVerbs`."""

    set = _await_verb(ProfileVerbs.set)
    get = _await_verb(ProfileVerbs.get)
    all = _await_verb(ProfileVerbs.all)
    format = _await_verb(ProfileVerbs.format)


class AsyncDocumentVerbs(_Part):
    """Like `DocumentVerbs`."""

    list = _await_verb(DocumentVerbs.list)
    get = _await_verb(DocumentVerbs.get)
    text = _await_verb(DocumentVerbs.text)
    passages = _await_verb(DocumentVerbs.passages)
    delete = _await_verb(DocumentVerbs.delete)


class AsyncGraphVerbs(_Part):
    """Like `GraphVerbs`."""

    entities = _await_verb(GraphVerbs.entities)
    neighbours = _await_verb(GraphVerbs.neighbours)
    path = _await_verb(GraphVerbs.path)
    extract = _await_verb(GraphVerbs.extract)


class AsyncToolVerbs(_Part):
    """Like `ToolVerbs`."""

    list = _await_verb(ToolVerbs.list)
    call = _await_verb(ToolVerbs.call)
    add = _await_verb(ToolVerbs.add)


class AsyncJobVerbs(_Part):
    """Like `JobVerbs`."""

    list = _await_verb(JobVerbs.list)
    retry = _await_verb(JobVerbs.retry)


class AsyncKeyVerbs(_Part):
    """Like `KeyVerbs`."""

    create = _await_verb(KeyVerbs.create)
    list = _await_verb(KeyVerbs.list)
    revoke = _await_verb(KeyVerbs.revoke)
    rotate = _await_verb(KeyVerbs.rotate)
    audit = _await_verb(KeyVerbs.audit)


class AsyncMnemic(AbstractAsyncContextManager["AsyncMnemic"]):
    """An open memory for asyncio. Each verb runs on one of `threads` threads, never on the event loop. Callbacks such
    as `progress` are called on that thread.
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
        """Like `Mnemic.open`."""
        return cls(await asyncio.to_thread(Mnemic.open, store, actor=actor), threads=threads)

    capture = _await_verb(Mnemic.capture)
    capture_many = _await_verb(Mnemic.capture_many)
    complete = _await_verb(Mnemic.complete)
    remember = _await_verb(Mnemic.remember)
    remember_many = _await_verb(Mnemic.remember_many)
    recall = _await_verb(Mnemic.recall)
    context = _await_verb(Mnemic.context)
    why_not = _await_verb(Mnemic.why_not)
    get = _await_verb(Mnemic.get)
    list = _await_verb(Mnemic.list)
    count = _await_verb(Mnemic.count)
    update = _await_verb(Mnemic.update)
    pin = _await_verb(Mnemic.pin)
    merge = _await_verb(Mnemic.merge)
    undo = _await_verb(Mnemic.undo)
    feedback = _await_verb(Mnemic.feedback)
    delete = _await_verb(Mnemic.delete)
    clear = _await_verb(Mnemic.clear)
    history = _await_verb(Mnemic.history)
    review = _await_verb(Mnemic.review)
    trust = _await_verb(Mnemic.trust)
    reject = _await_verb(Mnemic.reject)
    window = _await_verb(Mnemic.window)
    messages = _await_verb(Mnemic.messages)
    summarise = _await_verb(Mnemic.summarise)
    end = _await_verb(Mnemic.end)
    reflect = _await_verb(Mnemic.reflect)
    extract = _await_verb(Mnemic.extract)
    curate = _await_verb(Mnemic.curate)
    consolidate = _await_verb(Mnemic.consolidate)
    decay = _await_verb(Mnemic.decay)
    evict = _await_verb(Mnemic.evict)
    ingest = _await_verb(Mnemic.ingest)
    research = _await_verb(Mnemic.research)
    chat = _await_verb(Mnemic.chat)
    ask = _await_verb(Mnemic.ask)
    import_ = _await_verb(Mnemic.import_)
    erase = _await_verb(Mnemic.erase)
    receipts = _await_verb(Mnemic.receipts)
    reembed = _await_verb(Mnemic.reembed)
    backup = _await_verb(Mnemic.backup)
    restore = _await_verb(Mnemic.restore)
    work = _await_verb(Mnemic.work)
    worker = _await_verb(Mnemic.worker)
    health = _await_verb(Mnemic.health)
    doctor = _await_verb(Mnemic.doctor)

    async def export(self, scope: Scope, *, levels: Iterable[Level | str] = OWN_LEVELS) -> list[str]:
        """Like `Mnemic.export`, but returns all lines at once."""
        return await self._run(lambda: [*self._verbs.export(scope, levels=levels)])

    chat_stream = _stream_verb(Mnemic.chat_stream)

    @property
    def profile(self) -> AsyncProfileVerbs:
        """Like `Mnemic.profile`."""
        return AsyncProfileVerbs(self._verbs.profile, self._run)

    @property
    def documents(self) -> AsyncDocumentVerbs:
        """Like `Mnemic.documents`."""
        return AsyncDocumentVerbs(self._verbs.documents, self._run)

    @property
    def graph(self) -> AsyncGraphVerbs:
        """Like `Mnemic.graph`."""
        return AsyncGraphVerbs(self._verbs.graph, self._run)

    @property
    def tools(self) -> AsyncToolVerbs:
        """Like `Mnemic.tools`."""
        return AsyncToolVerbs(self._verbs.tools, self._run)

    @property
    def jobs(self) -> AsyncJobVerbs:
        """Like `Mnemic.jobs`."""
        return AsyncJobVerbs(self._verbs.jobs, self._run)

    @property
    def keys(self) -> AsyncKeyVerbs:
        """Like `Mnemic.keys`."""
        return AsyncKeyVerbs(self._verbs.keys, self._run)

    @property
    def model(self) -> str | None:
        """Like `Mnemic.model`."""
        return self._verbs.model

    async def close(self) -> None:
        """Like `Mnemic.close`, after waiting for running verbs."""
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
        """Yield the events, each computed on a thread. Leaving early ends the reply and stores the text so far."""
        guard = threading.Lock()

        def following() -> ChatEvent | None:
            with guard:
                return next(events, None)

        def end() -> None:
            with guard:  # wait for a piece in progress when the reader leaves
                events.close()

        try:
            while (event := await self._run(following)) is not None:
                yield event
        finally:
            await asyncio.shield(self._run(end))
