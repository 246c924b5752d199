"""The routes of OpenAI and Anthropic in front of another server, as one door of `mnemic serve`. Recalls before a chat
and captures after it. Answers are passed on byte by byte, tools included. A Mnemic key in place of the client's key
decides whose memory is used and is not passed on. Any other key goes to the upstream.
"""

import asyncio
import hashlib
import json
import time
from collections import OrderedDict
from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import fields, replace
from typing import Any
from urllib.parse import quote

import httpx2
from starlette.background import BackgroundTask
from starlette.exceptions import HTTPException
from starlette.requests import HTTPConnection, Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route, request_response

from mnemic.api import Mnemic
from mnemic.errors import BackendError, ForbiddenError, InvalidInputError, MnemicError, UnavailableError
from mnemic.model.records import Right
from mnemic.model.settings import ProxySettings
from mnemic.proxy import chats
from mnemic.proxy.memory import Around, ChatMemory
from mnemic.proxy.upstream import (
    VIA,
    anthropic_failure,
    is_own_key,
    open_upstream,
    openai_failure,
    returned_headers,
    sent_headers,
    unusable,
)
from mnemic.web.doors import Door
from mnemic.web.gate import HEADER_PREFIX, KEY_HEADER, Caller, Gate, NamedScope, is_own, named_scope
from mnemic.web.limits import Bound
from mnemic.web.problems import Problem, ProblemError, problem_of

REMEMBERED_S = 600.0
"""How long an admitted caller is admitted again without the store, so that a store failure does not end a chat."""

MAX_REMEMBERED = 10_000  # callers: bounds memory; the oldest are checked in the store again


class Entry:
    """Admits callers as the gate does. A key that is not Mnemic's goes to the upstream."""

    def __init__(self, mnemic: Mnemic, gate: Gate, clock: Callable[[], float] = time.monotonic) -> None:
        self._mnemic, self._gate, self._clock = mnemic, gate, clock
        self._known: OrderedDict[str, tuple[Caller, float]] = OrderedDict()

    async def admit(self, request: Request) -> Caller:
        """The caller of a request. Raises what the gate raises, and `ForbiddenError` for a key that cannot read."""
        headers = [
            (name, value)
            for name, value in request.scope["headers"]
            if name not in (b"authorization", KEY_HEADER.encode()) or is_own_key(value.decode("latin-1"))
        ]
        connection = HTTPConnection({**request.scope, "headers": headers})
        name = _name(connection)
        try:
            caller = await self._gate.admit(connection)
        except BackendError:
            known = self._find_caller(name)
            if known is None or (known.key is None and not is_own(connection)):
                raise
            caller = known
        else:
            self._known[name] = caller, self._clock()
            self._known.move_to_end(name)
            while len(self._known) > MAX_REMEMBERED:
                self._known.popitem(last=False)
        caller.require(Right.READ)
        return caller

    def _find_caller(self, name: str) -> Caller | None:
        """The caller of a recent admission, unless the key has ended since."""
        caller, at = self._known.get(name, (None, 0.0))
        if caller is None or self._clock() - at > REMEMBERED_S:
            return None
        ends = None if caller.key is None else caller.key.expires_at
        return None if ends is not None and ends <= self._mnemic.now else caller


def _name(connection: HTTPConnection) -> str:
    """A hash of what the gate decides by: keys, host and origin."""
    shown = [connection.headers.get(name, "") for name in ("authorization", KEY_HEADER, "host", "origin")]
    return hashlib.sha256("\0".join(shown).encode()).hexdigest()


V1, ANTHROPIC = "/v1", "/anthropic"
CHATS = {
    "/v1/chat/completions": chats.COMPLETIONS,
    "/v1/responses": chats.RESPONSES,
    "/anthropic/v1/messages": chats.MESSAGES,
}
"""Routes with memory, and how each words a chat."""

PASSED = {
    "/v1/embeddings": "POST",
    "/v1/completions": "POST",
    "/v1/models": "GET",
    "/v1/models/{id:path}": "GET",
    "/v1/responses/{rest:path}": "GET POST DELETE",
    "/anthropic/v1/messages/count_tokens": "POST",
    "/anthropic/v1/models": "GET",
    "/anthropic/v1/models/{id:path}": "GET",
}
"""Routes that are passed through, and their methods."""

NOT_TAKEN = (
    *(f"/v1/{name}" for name in ("audio", "images", "moderations", "files/", "batches", "assistants", "threads")),
    "/anthropic",
)
"""Routes of the same interface that have no memory. A client that uses one is told so, not asked for a key."""

NO_UPSTREAM = "no server is configured behind the proxy: set proxy.upstream, for example to http://localhost:11434/v1"
OWN_QUERY = frozenset(each.name for each in fields(NamedScope))
"""Query parameters that are not passed on."""

MAX_OPEN = 500
"""Concurrent requests of one kind; more get status 503. A stream is open while its model writes."""

REFUSALS = (400, 413, 422)
"""Statuses for prompts that memory may have made too long. They are retried without memory."""

GONE = 499
"""Counted if the client disconnects before the upstream answers."""

SWITCHES = {"on": True, "true": True, "yes": True, "1": True, "off": False, "false": False, "no": False, "0": False}
"""Values of the headers `Mnemic-Capture` and `Mnemic-Recall`."""

TOO_LARGE = Problem(413, "too_large", "The request is too large", "its body exceeds this server's limit")


def door(mnemic: Mnemic, gate: Gate) -> Door:
    """The proxy door of `mnemic serve`."""
    proxy = Proxy(mnemic, gate)
    places = [*((path, proxy.chat, "POST") for path in CHATS)]
    places += [(path, proxy.pass_on, methods) for path, methods in PASSED.items()]
    routes = [
        Route(path, Bound(request_response(_told_in_form(handler)), MAX_OPEN), methods=methods.split())
        for path, handler, methods in places
    ]
    routes += [Route(f"{path}{{rest:path}}", _refuse_route, methods=["GET", "POST", "DELETE"]) for path in NOT_TAKEN]

    @asynccontextmanager
    async def lifespan() -> AsyncGenerator[None]:
        try:
            yield
        finally:
            await proxy.close()

    open_paths = (*CHATS, "/v1/embeddings", "/v1/completions", "/v1/models", *NOT_TAKEN)
    file_paths = tuple(CHATS)  # a chat may hold photos
    return Door(tells=("OpenAI", V1), routes=routes, open_paths=open_paths, file_paths=file_paths, lifespan=lifespan)


class Proxy:
    """The handlers. They ask the gate themselves, because a key that is not Mnemic's is for the upstream."""

    def __init__(self, mnemic: Mnemic, gate: Gate) -> None:
        self._settings = mnemic.settings.proxy
        self._limit = gate.limits.file_bytes
        self._entry = Entry(mnemic, gate)
        self._memory = ChatMemory(mnemic, self._settings)
        self._client = open_upstream(self._settings)
        self._keeping: set[asyncio.Task[None]] = set()

    async def close(self) -> None:
        """Finish pending captures and close the connections."""
        await asyncio.gather(*self._keeping)
        await self._client.aclose()
        await asyncio.to_thread(self._memory.close)

    async def chat(self, request: Request) -> Response:
        """Answer a chat, with recall before and capture after it."""
        caller = await self._entry.admit(request)
        content = await self._content(request)
        chat = chats.Chat.of(_parse_body(content), CHATS[request.url.path])
        if chat is None:
            return await self._pass_through(request, content)
        around = self._around(request, caller, chat)
        await self._memory.recall(around)
        self._memory.hear(around)
        if not around.block:
            return await self._pass_through(request, content, around)
        longer = json.dumps(chat.dialect.add(chat.body, around.block), ensure_ascii=False).encode("utf-8", "replace")
        answer = await self._pass_through(request, longer, around)
        if answer.status_code not in REFUSALS:
            return answer
        await _close_answer(answer)
        self._memory.refused(around)
        return await self._pass_through(request, content, around)

    async def pass_on(self, request: Request) -> Response:
        """Pass a request through that memory has no part in."""
        caller = await self._entry.admit(request)
        if request.method in ("POST", "DELETE") and request.scope["path"].startswith("/v1/responses/"):
            caller.require(Right.WRITE)  # it changes what the upstream stored
        return await self._pass_through(request, await self._content(request))

    async def _content(self, request: Request) -> bytes:
        content = bytearray()
        async for chunk in request.stream():
            content += chunk
            if len(content) > self._limit:
                raise ProblemError(TOO_LARGE)
        return bytes(content)

    def _around(self, request: Request, caller: Caller, chat: chats.Chat) -> Around:
        """The scope of a chat and how it uses memory. Raises `ForbiddenError` for what the key does not allow, and
        `InvalidInputError` for a switch that is neither on nor off.
        """
        named = named_scope(request)
        captures, recalls = _is_on(request, "capture"), _is_on(request, "recall")
        try:
            scope = caller.scope(self._resolve_scope(named, caller, chat))
        except ForbiddenError:
            raise
        except InvalidInputError:
            return Around(chat, None, "invalid_user")
        if scope.user is None and scope.session is None and scope.agent is None:
            return Around(chat, None, "no_user")
        captures = captures and (caller.key is None or Right.WRITE in caller.key.rights)
        return Around(
            chat, self._memory.in_session(scope, chat), captures=captures, recalls=recalls, actor=caller.actor
        )

    def _resolve_scope(self, named: NamedScope, caller: Caller, chat: chats.Chat) -> NamedScope:
        """The scope from headers and query, else the body's user, else, if no key is needed, the configured user."""
        if named.user is not None:
            return named
        own = self._settings.user if caller.key is None else None
        return replace(named, user=chat.user or own)

    async def _pass_through(self, request: Request, content: bytes, around: Around | None = None) -> Response:
        """Stream the upstream's response, with headers about memory added."""
        answer = await self._ask_upstream(request, content)
        if isinstance(answer, Response):
            return answer
        told = returned_headers(answer.headers.raw)
        if around is not None:
            told["mnemic-memory"] = around.header
            if around.scope is not None and around.scope.session is not None:
                told["mnemic-session"] = around.scope.session.encode().decode("latin-1")  # encoded as in requests
        body = self._body(answer, around)
        return StreamingResponse(body, answer.status_code, told, background=BackgroundTask(answer.aclose))

    async def _ask_upstream(self, request: Request, content: bytes) -> httpx2.Response | Response:
        """The upstream's response with its body unread, or an error response."""
        upstream, key = _choose_upstream(request, self._settings)
        if upstream is None:
            return _make_failure(request, 503, NO_UPSTREAM, "no_upstream")
        if VIA in request.headers.get("via", ""):
            return _make_failure(request, 508, "proxy.upstream leads back to this proxy", "upstream_loop")
        query = [(name, value) for name, value in request.query_params.multi_items() if name not in OWN_QUERY]
        url = httpx2.URL(upstream.rstrip("/") + _upstream_path(request), params=query)
        headers = sent_headers(request.headers.raw, key)
        try:
            sent = self._client.build_request(request.method, url, headers=headers, content=content)
            answer = await _unless_gone(request, self._client.send(sent, stream=True))
        except httpx2.TimeoutException as error:
            return _make_failure(
                request,
                504,
                f"the server behind the proxy did not respond ({type(error).__name__})",
                "upstream_timeout",
            )
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            return _make_failure(
                request, 502, f"the server behind the proxy cannot be reached ({type(error).__name__})", "upstream_away"
            )
        if answer is not None and (reason := unusable(answer.status_code)):
            await answer.aclose()
            return _make_failure(request, 502, reason, "upstream_unusable")
        return Response(status_code=GONE) if answer is None else answer

    async def _body(self, answer: httpx2.Response, around: Around | None) -> AsyncGenerator[bytes]:
        """Pass the bytes on while reading them. At the end, or a break on either side, capture the answer."""
        kind = answer.headers.get("content-type", "")
        listener = chats.Listener(
            around.chat.dialect if around else chats.COMPLETIONS, is_events="event-stream" in kind
        )
        is_ended = False
        try:
            async for chunk in answer.aiter_raw():
                if around is not None:
                    listener.hear(chunk)
                yield chunk
            is_ended = True
        except httpx2.HTTPError as error:
            raise UnavailableError(f"the server behind the proxy stopped early ({type(error).__name__})") from error
        finally:
            listener.end()
            if around is not None and answer.is_success:
                self._memory.note_thread(around, listener.id)
                keeping = asyncio.create_task(
                    self._memory.keep(around, listener.text, is_whole=is_ended and listener.is_whole)
                )
                self._keeping.add(keeping)
                keeping.add_done_callback(self._keeping.discard)
            await asyncio.shield(answer.aclose())


async def _unless_gone(request: Request, asking: Coroutine[None, None, httpx2.Response]) -> httpx2.Response | None:
    """The upstream's response. None if the client disconnects first, which cancels the request."""
    asked, gone = asyncio.ensure_future(asking), asyncio.ensure_future(_await_disconnect(request))
    try:
        await asyncio.wait((asked, gone), return_when=asyncio.FIRST_COMPLETED)
        return asked.result() if asked.done() else None
    finally:
        asked.cancel()
        gone.cancel()
        await asyncio.gather(asked, gone, return_exceptions=True)


async def _await_disconnect(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


async def _refuse_route(request: Request) -> Response:
    own = [path for path in (*CHATS, *PASSED) if path.startswith(ANTHROPIC) == _is_anthropic(request)]
    return _make_failure(
        request, 404, f"the proxy does not take {request.url.path}; use {', '.join(own)}", "unknown_url"
    )


def _is_anthropic(request: Request) -> bool:
    return request.url.path.startswith(ANTHROPIC)


def _upstream_path(request: Request) -> str:
    """The quoted path below the upstream's base URL. Refuses `.` and `..`, which lead to routes of other kinds."""
    path: str = request.scope["path"]
    if not {".", ".."}.isdisjoint(path.replace("\\", "/").split("/")):
        raise InvalidInputError("the path must not contain '.' or '..' segments")
    return quote(path.removeprefix(ANTHROPIC).removeprefix(V1), safe="/:@+,=")


def _choose_upstream(request: Request, settings: ProxySettings) -> tuple[str | None, tuple[str, str]]:
    """The base URL for a request, and the header and value of the key for clients that send none."""
    if not _is_anthropic(request):
        return settings.upstream, ("authorization", f"Bearer {settings.api_key}" if settings.api_key else "")
    if settings.anthropic_upstream is None:
        return settings.upstream, (KEY_HEADER, settings.api_key or "")
    return settings.anthropic_upstream, (KEY_HEADER, settings.anthropic_api_key or "")


Handler = Callable[[Request], Coroutine[None, None, Response]]


def _told_in_form(handler: Handler) -> Handler:
    """The handler, with its errors in the form that its clients read."""

    async def told(request: Request) -> Response:
        try:
            return await handler(request)
        except (MnemicError, ProblemError, HTTPException) as error:
            problem = problem_of(error)
            message = ". ".join(filter(None, [problem.detail or problem.title, problem.hint]))
            answer = _make_failure(request, problem.status, message, problem.kind)
            answer.headers.update(problem.headers)
            return answer

    return told


async def _close_answer(answer: Response) -> None:
    if answer.background is not None:
        await answer.background()


def _parse_body(content: bytes) -> Any:
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        return None


def _is_on(request: Request, name: str) -> bool:
    """The value of `Mnemic-Capture` or `Mnemic-Recall`. An unknown word is an error, never a guess."""
    given = {SWITCHES.get(each.strip().lower()) for each in request.headers.getlist(f"{HEADER_PREFIX}{name}")}
    if None in given or len(given) > 1:
        raise InvalidInputError(f"the header Mnemic-{name.capitalize()} must be on or off")
    return given != {False}


def _make_failure(request: Request, status: int, message: str, kind: str) -> Response:
    told = anthropic_failure if _is_anthropic(request) else openai_failure
    return JSONResponse(told(status, message, kind), status)
