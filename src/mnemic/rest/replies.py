"""`Idempotency-Key`: a write that is sent again with the same key is not done again; its answer is.

Answers are kept in this process for a day, the last 10,000 of at most 256 KB each, and no longer: on disk they would be
a second place for texts, which an erasure would have to find. After a restart what makes most verbs safe to repeat is
in the store: the same memory is not kept twice, nor a message with the same external id.
"""

from __future__ import annotations

import hashlib
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from mnemic.errors import ConflictError, InvalidInputError
from mnemic.web.limits import MEBIBYTE, TOO_LARGE
from mnemic.web.problems import ProblemError

HEADER = "Idempotency-Key"
REPLAYED = b"idempotency-replayed"
KEPT_S = 86_400.0
MOST_KEPT = 10_000
MOST_BYTES = MEBIBYTE // 4
MAX_KEY_CHARS = 255
METHODS = ("POST", "PATCH", "PUT", "DELETE")
FORGETTING = ("DELETE", "/v1/memories/clear", "/v1/erase")


@dataclass(slots=True)
class _Reply:
    """What was answered; `messages` is empty while the first request is still being answered."""

    fingerprint: str
    org: str
    at: float
    messages: list[Message] = field(default_factory=list[Message])


class Replies:
    """An ASGI application whose writes may be repeated. `body_bytes` is the largest body that is looked at."""

    def __init__(self, app: ASGIApp, body_bytes: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._app, self._body_bytes, self._clock = app, body_bytes, clock
        self._kept: OrderedDict[tuple[str, str], _Reply] = OrderedDict()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        key = Headers(scope=scope).get(HEADER) if scope["type"] == "http" and scope["method"] in METHODS else None
        if key is None:
            await self._app(scope, receive, send)
            self._forget_texts(scope)
            return
        if not 0 < len(key) <= MAX_KEY_CHARS:
            raise InvalidInputError(f"an Idempotency-Key has 1 to {MAX_KEY_CHARS} characters")
        body = await self._body(receive)
        if body is None:
            return
        caller = scope["mnemic.caller"]
        place, fingerprint = (f"{caller.org}\x1f{caller.actor}", key), _fingerprint(scope, body)
        known = self._known(place)
        if known is None:
            await self._first(scope, (body, receive), send, (place, _Reply(fingerprint, caller.org, self._clock())))
        elif known.fingerprint != fingerprint:
            raise InvalidInputError("this Idempotency-Key came with another request before; choose a new one")
        elif not known.messages:
            raise ConflictError("the request with this Idempotency-Key is still being answered")
        else:
            for message in known.messages:
                await send(message)

    async def _first(
        self, scope: Scope, said: tuple[bytes, Receive], send: Send, kept: tuple[tuple[str, str], _Reply]
    ) -> None:
        """Answer for the first time. What failed on the server's side, or is too large, is not kept."""
        place, reply = kept
        self._kept[place] = reply
        seen: list[Message] = []
        is_done = False

        async def watched(message: Message) -> None:
            seen.append(message)
            await send(message)

        try:
            await self._app(scope, _replay(*said), watched)
            is_done = _is_worth_keeping(seen)
        finally:
            if is_done and place in self._kept:
                reply.messages = [_marked(seen[0]), *seen[1:]]
            else:
                self._kept.pop(place, None)
        self._forget_texts(scope, but=place)

    def _known(self, place: tuple[str, str]) -> _Reply | None:
        now = self._clock()
        while self._kept and (len(self._kept) > MOST_KEPT or next(iter(self._kept.values())).at < now - KEPT_S):
            self._kept.popitem(last=False)
        return self._kept.get(place)

    def _forget_texts(self, scope: Mapping[str, Any], but: tuple[str, str] | None = None) -> None:
        """After something was deleted no kept answer of its org may tell it."""
        if scope.get("method") in FORGETTING or scope.get("path") in FORGETTING:
            org = scope["mnemic.caller"].org
            for place in [place for place, reply in self._kept.items() if reply.org == org and place != but]:
                if self._kept[place].messages:
                    del self._kept[place]

    async def _body(self, receive: Receive) -> bytes | None:
        """The whole body; None when the caller went away before it was."""
        body = bytearray()
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                return None
            body += message.get("body", b"")
            if len(body) > self._body_bytes:
                raise ProblemError(TOO_LARGE)
            if not message.get("more_body", False):
                return bytes(body)


def _fingerprint(scope: Scope, body: bytes) -> str:
    asked = "\x1f".join((scope["method"], scope["path"], scope["query_string"].decode("latin-1")))
    named = [value.decode("latin-1") for name, value in scope["headers"] if name.startswith(b"mnemic-")]
    return hashlib.sha256("\x1f".join((asked, *named)).encode() + b"\x00" + body).hexdigest()


def _replay(body: bytes, receive: Receive) -> Receive:
    """The body once more, and then what comes: that the caller has gone away."""
    messages: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def again() -> Message:
        return messages.pop() if messages else await receive()

    return again


def _is_worth_keeping(seen: list[Message]) -> bool:
    size = sum(len(message.get("body", b"")) for message in seen)
    is_answered = bool(seen) and not seen[-1].get("more_body", False) and seen[-1]["type"] == "http.response.body"
    return is_answered and seen[0]["status"] < 500 and seen[0]["status"] != 429 and size <= MOST_BYTES  # noqa: PLR2004 -- HTTP's own


def _marked(start: Message) -> Message:
    return {**start, "headers": [*start["headers"], (REPLAYED, b"true")]}
