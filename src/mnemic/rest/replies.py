"""`Idempotency-Key`: repeating a write with the same key returns the first response without running it again. A key
belongs to its org and caller. Every process knows it for a day, also after a restart. The write and the request's
record are one transaction (`engine.access`), and the response is stored before it is sent. If a process dies in
between, a repeat learns that the outcome is unknown, and nothing runs.
"""

import hashlib
import json
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

import anyio
from anyio.to_thread import run_sync
from starlette.datastructures import Headers
from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from mnemic.api.doors import Repeats
from mnemic.engine.access import Claim
from mnemic.errors import InvalidInputError, MnemicError
from mnemic.model.document import MEBIBYTE
from mnemic.model.records import KeptRequest, Outcome, Right
from mnemic.verbs import PREFIX
from mnemic.web.gate import caller_of, scope_of
from mnemic.web.limits import TOO_LARGE
from mnemic.web.problems import Problem, ProblemError

UNDER_WAY = Problem(
    409,
    "under_way",
    "The same request is being processed",
    "the request with this Idempotency-Key is still being processed",
    "try again with the same key in a moment",
    headers={"Retry-After": "1"},
)
LOOK = "check whether the request took effect; if it did not, send it with a new key"
DONE = "read the data that you need; do not send the request again"
UNFINISHED = Problem(
    409,
    "unfinished",
    "The request may have been partly processed",
    "the request with this Idempotency-Key failed or was interrupted after it had started to write",
    LOOK,
)
GONE: Mapping[Outcome, str] = {
    Outcome.TOO_LARGE: "its response was too large to store",
    Outcome.WITHHELD: "its response contained a secret and was not stored",
    Outcome.FORGOTTEN: "its response was removed because data that it may have contained was deleted",
}


def refusal(known: KeptRequest) -> Problem:
    """The problem for a repeated request without a stored response."""
    if known.outcome is Outcome.UNFINISHED:
        return UNFINISHED
    if known.outcome is Outcome.OPEN:
        begun = known.at.isoformat(timespec="seconds")
        return Problem(
            409,
            "outcome_unknown",
            "It is unknown whether the request was processed",
            f"a request with this Idempotency-Key, started at {begun}, has no response: another server is still "
            "processing it or has stopped",
            f"try again with the same key in a moment; if there is still no response, {LOOK}",
        )
    detail = f"the request with this Idempotency-Key was already processed; {GONE[known.outcome]}"
    return Problem(409, "answer_gone", "The request was already processed", detail, DONE)


HEADER = "Idempotency-Key"
REPLAYED = (b"idempotency-replayed", b"true")
MOST_BYTES = MEBIBYTE
"""The largest stored response, in bytes."""

MAX_KEY_CHARS = 255  # a UUID has 36; other services allow 255 too
METHODS = ("POST", "PATCH", "PUT", "DELETE")
WITH_THEIR_WORK = tuple(
    f"{PREFIX}/{name}"
    for name in ("memories", "messages", "turns", "profile", "recall", "context", "ask", "erase", "documents/")
)
"""Routes whose work is in the store alone and that return what they read in their own transaction. Their record is
written in that transaction. All others are recorded before they run, because they may have outside effects, such as
tools.
"""

SECRET = f"{PREFIX}/keys"
"""Creating a key. The response holds its secret, so it is never stored."""

THREADS = 4
"""Threads that look up requests and store responses, so that these never wait for other work."""

Place = tuple[str, str, str]
_Found = TypeVar("_Found")
_log = logging.getLogger("mnemic.web")


@dataclass(slots=True)
class _Attempt:
    """One attempt of a request, and its response so far."""

    scope: Scope
    claim: Claim
    messages: list[Message] = field(default_factory=list[Message])
    size: int = 0
    is_ended: bool = False
    is_kept: bool = False

    def hear(self, message: Message) -> None:
        """Collect a part of the response, if it may be stored."""
        self.size += len(message.get("body", b""))
        if not self.messages or self.size <= MOST_BYTES:
            self.messages.append(message)
        self.is_ended = message["type"] == "http.response.body" and not message.get("more_body", False)

    @property
    def is_idle(self) -> bool:
        """True if it is over and changed nothing. Until then, a thread may still be working."""
        return self.is_ended and not self.claim.is_begun

    @property
    def status(self) -> int:
        """The response's status, 0 before it starts."""
        return self.messages[0]["status"] if self.messages else 0

    @property
    def outcome(self) -> Outcome:
        """The outcome to store for repeats."""
        if not self.is_ended or self.status >= 500 or self.status == 429:  # noqa: PLR2004 -- HTTP's own
            return Outcome.UNFINISHED
        if self.scope["method"] == "POST" and str(self.scope["path"]).startswith(SECRET):
            return Outcome.WITHHELD
        return Outcome.TOO_LARGE if self.size > MOST_BYTES else Outcome.ANSWERED


class Replies:
    """An ASGI application whose writes are safe to repeat. Bodies above `body_bytes` get status 413."""

    def __init__(self, app: ASGIApp, repeats: Repeats, body_bytes: int) -> None:
        self._app, self._repeats, self._body_bytes = app, repeats, body_bytes
        self._under_way: dict[Place, str] = {}
        self._threads: anyio.CapacityLimiter | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        key = Headers(scope=scope).get(HEADER) if scope["type"] == "http" and scope["method"] in METHODS else None
        if key is None or not _may_change(scope):
            await self._app(scope, receive, send)
            return
        if not 0 < len(key) <= MAX_KEY_CHARS:
            raise InvalidInputError(f"an Idempotency-Key must have 1 to {MAX_KEY_CHARS} characters")
        body = await self._read_body(receive)
        if body is None:
            return
        asked = HTTPConnection(scope)
        request = self._repeats.request(scope_of(asked), caller_of(asked).actor, key, _fingerprint(scope, body))
        place = (request.org, request.caller, request.key)
        if place in self._under_way:
            _check_same(request, self._under_way[place])
            raise ProblemError(UNDER_WAY)
        self._under_way[place] = request.fingerprint
        try:
            await self._answer_request(scope, _again(body, receive), send, request)
        finally:
            del self._under_way[place]

    async def _answer_request(self, scope: Scope, receive: Receive, send: Send, request: KeptRequest) -> None:
        """Send the stored response, else run the request."""
        known = await self._run(lambda: self._repeats.find(request))
        if known is not None:
            _check_same(request, known.fingerprint)
            if known.outcome is not Outcome.ANSWERED:
                raise ProblemError(refusal(known))
            for message in _decode_answer(known.answer):
                await send(message)
            return
        claim = Claim(request, reaches_out=not str(scope["path"]).startswith(WITH_THEIR_WORK))
        if claim.reaches_out and not await self._run(lambda: self._repeats.begin(claim)):
            raise ProblemError(refusal(request))
        await self._run_request(_Attempt(scope, claim), receive, send)

    async def _run_request(self, trying: _Attempt, receive: Receive, send: Send) -> None:
        """Run the request, and store the response before its last part is sent."""
        held: list[Message] = []

        async def watched(message: Message) -> None:
            trying.hear(message)
            if message["type"] == "http.response.start":
                held.append(message)  # the outcome may still change
                return
            if trying.claim.is_lost:
                return
            if trying.is_ended:
                await self._keep_outcome(trying)
            while held:
                await send(held.pop())
            await send(message)

        try:
            with self._repeats.within(trying.claim):
                await self._app(trying.scope, receive, watched)
        finally:
            with anyio.CancelScope(shield=True):
                await self._keep_outcome(trying)
        if trying.claim.is_lost:
            raise ProblemError(refusal(trying.claim.request))

    async def _keep_outcome(self, trying: _Attempt) -> None:
        """Store the outcome once. The response is sent even if that fails."""
        claim = trying.claim
        if trying.is_kept or claim.is_lost or not (claim.is_put or claim.is_begun):
            return
        trying.is_kept = True
        try:
            if trying.is_idle:
                await self._run(lambda: self._repeats.release(claim))
                return
            outcome = trying.outcome
            answer = _encode_answer(trying.messages) if outcome is Outcome.ANSWERED else b""
            await self._run(lambda: self._repeats.keep(claim, outcome, answer))
        except MnemicError as error:
            _log.warning("could not save the response for an Idempotency-Key: %s", type(error).__name__)

    async def _run(self, ask: Callable[[], _Found]) -> _Found:
        self._threads = self._threads or anyio.CapacityLimiter(THREADS)
        return await run_sync(ask, limiter=self._threads)

    async def _read_body(self, receive: Receive) -> bytes | None:
        """The whole body. None if the client disconnected before it was complete."""
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


def _may_change(scope: Scope) -> bool:
    """False if the caller's key can only read, and on public paths."""
    if "mnemic.caller" not in scope:
        return False
    own = caller_of(HTTPConnection(scope)).key
    return own is None or own.rights != frozenset({Right.READ})


def _check_same(request: KeptRequest, fingerprint: str) -> None:
    """Raise `InvalidInputError` if the key came with a different request before."""
    if fingerprint not in ("", request.fingerprint):
        raise InvalidInputError("this Idempotency-Key was already used for a different request; choose a new one")


def _fingerprint(scope: Scope, body: bytes) -> str:
    asked = "\x1f".join((scope["method"], scope["path"], scope["query_string"].decode("latin-1")))
    named = [value.decode("latin-1") for name, value in scope["headers"] if name.startswith(b"mnemic-")]
    return hashlib.sha256("\x1f".join((asked, *named)).encode() + b"\x00" + body).hexdigest()


def _again(body: bytes, receive: Receive) -> Receive:
    """Replay the body, then pass on further messages, such as a disconnect."""
    messages: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def again() -> Message:
        return messages.pop() if messages else await receive()

    return again


def _encode_answer(messages: list[Message]) -> bytes:
    """A response as stored: a JSON line with status and headers, then the body."""
    start, *rest = messages
    headers = [[name.decode("latin-1"), value.decode("latin-1")] for name, value in start["headers"]]
    told = json.dumps({"status": start["status"], "headers": headers})
    return told.encode() + b"\n" + b"".join(message.get("body", b"") for message in rest)


def _decode_answer(kept: bytes) -> list[Message]:
    """The messages of a stored response, marked as replayed."""
    told, _, body = kept.partition(b"\n")
    about = json.loads(told)
    headers = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in about["headers"]]
    start = {"type": "http.response.start", "status": about["status"], "headers": [*headers, REPLAYED]}
    return [start, {"type": "http.response.body", "body": body}]
