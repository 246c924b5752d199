"""Chats with memory, whole or as events; questions over memory and documents; and tools. A model takes seconds where
memory takes milliseconds, so this work has its own threads. Chats never hold up other routes.
"""

from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Mapping
from contextlib import aclosing, suppress
from typing import Any, TypeVar, cast

from anyio import CancelScope, CapacityLimiter
from anyio.to_thread import run_sync
from fastapi import Request
from starlette.responses import Response, StreamingResponse
from starlette.types import Send

from mnemic.api import Mnemic
from mnemic.engine.assistant import NO_MODEL
from mnemic.errors import ForbiddenError, InvalidInputError, MnemicError, NotFoundError
from mnemic.model.chat import ChatEvent
from mnemic.model.records import Right
from mnemic.rest.asking import Asked, answer, line
from mnemic.rest.events import NDJSON, SSE, failed
from mnemic.web.limits import BUSY
from mnemic.web.problems import Problem, ProblemError
from mnemic.wire.reading import event_to_wire

THREADS = 8  # a model server answers few requests at a time; more would only wait there
WAITING = 16  # twice as many as run; later callers get a "busy" error at once
FORGET = "forget"
"""The tool that deletes items, perhaps shared ones."""

UNBUFFERED = {"Cache-Control": "no-cache", "X-Accel-Buffering": "no"}
"""Keeps proxies from buffering events."""

Given = dict[str, Any]
_Result = TypeVar("_Result")


class Pool:
    """Threads for work with a model: `THREADS` running, `WAITING` queued."""

    def __init__(self) -> None:
        self._limiter = CapacityLimiter(THREADS)

    async def begin(self, work: Callable[[], _Result]) -> _Result:
        """Run new work. Raises `ProblemError` (503) if too many are queued."""
        if self._limiter.statistics().tasks_waiting >= WAITING:
            raise ProblemError(BUSY)
        return await self.go_on(work)

    async def go_on(self, work: Callable[[], _Result]) -> _Result:
        """Run a part of work that began earlier."""
        return await run_sync(work, limiter=self._limiter)


def handlers(mnemic: Mnemic) -> Mapping[str, Callable[[Asked, Request, Given], Awaitable[Response]]]:
    """The handlers of the assistant's verbs, by name."""
    pool = Pool()

    async def chat(asked: Asked, _request: Request, given: Given) -> Response:
        _check_turn(asked, mnemic, given)
        return await pool.begin(lambda: answer(mnemic.chat(asked.scope, **given)))

    async def chat_stream(asked: Asked, request: Request, given: Given) -> Response:
        _check_turn(asked, mnemic, given)
        is_sse = SSE in request.headers.get("accept", "")

        def begun() -> tuple[ChatEvent | None, Generator[ChatEvent]]:
            told = mnemic.chat_stream(asked.scope, **given)
            return next(told, None), told

        first, told = await pool.begin(begun)
        return _Events(_encode_events(pool, first, told, _to_sse if is_sse else _to_line), SSE if is_sse else NDJSON)

    async def ask(asked: Asked, _request: Request, given: Given) -> Response:
        _require_model(mnemic)
        return await pool.begin(lambda: answer(mnemic.ask(asked.scope, **given)))

    async def call(asked: Asked, request: Request, given: Given) -> Response:
        name: str = given["name"]
        if any(not each.is_read_only for each in mnemic.tools.toolbox if each.spec.name == name):
            request.state.is_audited = True
            asked.caller.require(Right.WRITE)
        return await pool.begin(lambda: answer(_called(asked, mnemic, name, given.get("arguments") or {})))

    return {"chat": chat, "chat_stream": chat_stream, "ask": ask, "tools.call": call}


def _called(asked: Asked, mnemic: Mnemic, name: str, arguments: Mapping[str, Any]) -> object:
    if name == FORGET:
        with suppress(NotFoundError, InvalidInputError):  # the tool itself reports it
            asked.require_own(mnemic, str(arguments.get("id", "")))
    return mnemic.tools.call(asked.scope, name, arguments)


def _check_turn(asked: Asked, mnemic: Mnemic, given: Given) -> None:
    """Withhold the deleting tool from bound keys: a prompt could talk the model into deleting shared items."""
    _require_model(mnemic)
    if asked.caller.is_bound:
        tools: bool | list[str] = given.get("tools", True)
        if not isinstance(tools, bool) and FORGET in tools:
            raise ForbiddenError(
                f"the tool {FORGET!r} may delete shared memories; use a key that is not restricted to a user or agent"
            )
        if tools is True:
            given["tools"] = [spec.name for spec in mnemic.tools.list() if spec.name != FORGET]


def _require_model(mnemic: Mnemic) -> None:
    if mnemic.model is None:
        raise ProblemError(
            Problem(503, "config", "No language model is configured", NO_MODEL, "set one and restart the server")
        )


class _Events(StreamingResponse):
    """A stream that ends its events when the client disconnects."""

    def __init__(self, lines: AsyncGenerator[bytes], media_type: str) -> None:
        super().__init__(lines, media_type=media_type, headers=UNBUFFERED)

    async def stream_response(self, send: Send) -> None:
        async with aclosing(cast("AsyncGenerator[bytes]", self.body_iterator)):
            await super().stream_response(send)


async def _encode_events(
    pool: Pool, first: ChatEvent | None, told: Generator[ChatEvent], form: Callable[[Mapping[str, Any]], bytes]
) -> AsyncGenerator[bytes]:
    """The encoded events, each made on a thread. If the client leaves early, the turn ends and is stored at the model's
    next piece or its timeout, because a waiting thread cannot be stopped.
    """

    def following() -> bytes | None:
        try:
            event = next(told, None)
        except MnemicError as error:
            return form(failed(error))
        return None if event is None else form(event_to_wire(event))

    try:
        if first is not None:
            yield form(event_to_wire(first))
        while (written := await pool.go_on(following)) is not None:
            yield written
    finally:
        with CancelScope(shield=True):
            await pool.go_on(told.close)


def _to_line(event: Mapping[str, Any]) -> bytes:
    return line(event) + b"\n"


def _to_sse(event: Mapping[str, Any]) -> bytes:
    return b"event: " + str(event["event"]).encode() + b"\ndata: " + line(event) + b"\n\n"
