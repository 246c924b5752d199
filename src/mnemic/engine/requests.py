"""Requests that may be sent again: each is done once, and whoever asks again is given the answer of the first time.

The work and the note that it was begun are one transaction: every unit of work that writes within `claimed` puts the
request beside what it writes, so that a process that dies leaves both or neither. Work that reaches outside the store,
or answers with what it read before it wrote, is put there before it begins (`begin`). The answer follows when it is
made. Where it never did, what came of the work is not known, and it is not done again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import timedelta

from mnemic.engine.parts import Parts
from mnemic.engine.secrets import redact
from mnemic.errors import ConflictError
from mnemic.model.request import KeptRequest, Outcome
from mnemic.model.scope import Level, Partition
from mnemic.ports.store import UnitOfWork

KEPT = timedelta(days=1)
"""How long after it was begun a request is known."""

SWEPT = timedelta(minutes=10)
"""How often those that are older are removed, where requests are answered; the worker's schedules do it too."""

_SEPARATOR = "\x1f"  # it cannot be part of an id


@dataclass(slots=True)
class Claim:
    """One try of a request, as long as it is worked on.

    `reaches_out`: what it does is not in the store alone. `is_put`: the request is in the store. `is_begun`: something
    of its work may be done. `is_lost`: another process has the same request, so that nothing of this try may count.
    """

    request: KeptRequest
    reaches_out: bool = False
    is_put: bool = False
    is_begun: bool = False
    is_lost: bool = False

    def put(self, work: UnitOfWork) -> None:
        """Put the request beside what this unit of work writes. Raises `ConflictError` where another has it."""
        asked = self.request
        if self.is_put or work.requests.add(asked, asked.at - KEPT):
            return
        known = work.requests.get(asked.org, asked.caller, asked.key)
        if known is None or known.token != asked.token:  # else a thread of this try was quicker
            self.is_lost = True
            raise ConflictError("a request with the same key is being answered by another server")


_claim: ContextVar[Claim | None] = ContextVar("mnemic_claim", default=None)


def current() -> Claim | None:
    """The request that is worked on here."""
    return _claim.get()


def reach_out() -> None:
    """Note that what is done now is more than reading, whatever becomes of the store."""
    claim = _claim.get()
    if claim is not None:
        claim.is_begun = True


@contextmanager
def claimed(claim: Claim | None) -> Generator[None]:
    """What is written within the block, and in threads with its context, is the work of this request; None: of none."""
    before = _claim.set(claim)
    try:
        yield
    finally:
        _claim.reset(before)


def find(parts: Parts, request: KeptRequest) -> KeptRequest | None:
    """What is known of a request with the same org, caller and key, unless it was begun too long ago."""
    with parts.store.read() as work:
        known = work.requests.get(request.org, request.caller, request.key)
    return None if known is None or known.at < request.at - KEPT else known


def begin(parts: Parts, claim: Claim) -> bool:
    """Put a request into the store before its work; False where another process was quicker."""
    with claimed(None), parts.store.write() as work:
        claim.is_put = work.requests.add(claim.request, claim.request.at - KEPT)
    return claim.is_put


def keep(parts: Parts, claim: Claim, outcome: Outcome, answer: bytes, *, is_sweeping: bool = False) -> None:
    """Write what became of a request, if any of its work is there. An answer of work that reaches out, which nobody has
    looked through before, is not kept when it holds a secret.
    """
    if claim.reaches_out and outcome is Outcome.ANSWERED and redact(parts, answer.decode(errors="replace")).findings:
        outcome = Outcome.WITHHELD
    with claimed(None), parts.store.write() as work:
        work.requests.answer(claim.request, outcome, answer if outcome is Outcome.ANSWERED else b"")
        if is_sweeping:
            work.requests.forget(parts.clock.now() - KEPT)


def release(parts: Parts, claim: Claim) -> None:
    """Let go of a request of which nothing was done: it may be sent again."""
    with claimed(None), parts.store.write() as work:
        work.requests.remove(claim.request)


def forget_answers(work: UnitOfWork, partitions: Iterable[Partition]) -> None:
    """Empty every kept answer that could tell something of these partitions. To be called in the unit of work that
    deletes there, after it did: then no answer that told it comes behind.

    What deletes keeps its own answer, which tells no text, unless it reaches out: a model may have quoted it.
    """
    claim = _claim.get()
    but = "" if claim is None or claim.reaches_out else claim.request.token
    for org, level, named in sorted({_named(partition) for partition in partitions}):
        work.requests.scrub(org, level, named, but)


def digest(*texts: str) -> str:
    """The SHA-256 of some texts in hexadecimal digits; none but the last may hold control characters."""
    return hashlib.sha256(_SEPARATOR.join(texts).encode("utf-8", "surrogatepass")).hexdigest()


def owner(org: str, level: Level, part: str | None) -> str | None:
    """A part of a scope as a kept request has it."""
    return None if part is None else digest(org, level.value, part)


def _named(partition: Partition) -> tuple[str, Level, str]:
    """The part of a scope by which it may see a partition. Of a user's session it is the user."""
    level, name = partition.level, partition.owner
    user, separator, _ = name.partition(_SEPARATOR)
    if level is Level.SESSION and separator:
        level, name = Level.USER, user
    return partition.org, level, "" if level is Level.ORG else digest(partition.org, level.value, name)
