"""Rate and concurrency limits, per caller and in total, shared by the processes of a server. The numbers are in shared
memory without locks, so a process that dies blocks no other. Each number has one writer, except rate levels: of two
requests in the same microsecond, one may not be counted.
"""

from __future__ import annotations

import hashlib
import math
import mmap
import os
import tempfile
import time
from collections import Counter, OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum
from multiprocessing.reduction import DupFd
from typing import Any, NamedTuple, Protocol

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from mnemic.model.document import MEBIBYTE
from mnemic.web.problems import Problem, ProblemError

SLOT_NUMBERS = 8  # per process: five are used; 64 bytes are a cache line of its own
SETS, WAYS, ENTRY_NUMBERS = 2048, 8, 3  # 16,384 callers, 8 per set; an entry is a mark, level and time
NUMBER_BYTES = 8  # of a 64-bit float
TABLES = 2  # one for rates, one for refused keys
TABLE_NUMBERS = SETS * WAYS * ENTRY_NUMBERS
NAME_BITS = 52
"""Bits of a hash: few enough for an exact whole number in a float."""


class Doing(IntEnum):
    """What a slot's process does."""

    NOTHING = 0
    STARTING = 1
    ANSWERING = 2
    PAUSED = 3
    """The process died and will be restarted later."""


class Slot(NamedTuple):
    """A process as others see it. `beat_s`: seconds since its event loop ran; `worker_fails`: its last report."""

    doing: Doing
    connections: int
    beat_s: float
    deaths: int
    worker_fails: bool


class Levels(Protocol):
    """Storage for the levels of token buckets: (level, time)."""

    def get(self, name: str) -> tuple[float, float] | None:
        """The level of a bucket. None if it was never stored, or dropped since."""
        ...

    def put(self, name: str, level: float, at: float) -> None:
        """Store the level of a bucket."""
        ...


class Board:
    """Shared numbers of `slots` processes. Processes inherit `fd`; its creator closes it last."""

    def __init__(self, slots: int, fd: int) -> None:
        self.fd = fd
        self._count = slots
        self._memory = mmap.mmap(fd, _size(slots))
        self._numbers = memoryview(self._memory).cast("d")

    @classmethod
    def make(cls, slots: int) -> Board:
        """Create a board with unused slots."""
        if hasattr(os, "memfd_create"):
            fd = os.memfd_create("mnemic-board")
        else:
            with tempfile.TemporaryFile() as file:
                fd = os.dup(file.fileno())
        os.truncate(fd, _size(slots))
        return cls(slots, fd)

    def __reduce__(self) -> tuple[object, ...]:
        return _open_board, (self._count, DupFd(self.fd))  # for a spawned process

    def close(self) -> None:
        """Release the memory."""
        self._numbers.release()
        self._memory.close()
        os.close(self.fd)

    def slots(self) -> list[Slot]:
        """All processes, in order."""
        return [self._read_slot(number) for number in range(self._count)]

    def show(self, number: int, doing: Doing) -> None:
        """Record what a process does. A starting or dead one has no connections and no failing worker."""
        place = number * SLOT_NUMBERS
        if doing is not Doing.ANSWERING:
            self._numbers[place + 1] = 0.0
            self._numbers[place + 4] = 0.0
        self._numbers[place + 2] = time.monotonic()
        self._numbers[place] = float(doing)

    def died(self, number: int) -> None:
        """Count a death of a process."""
        self._numbers[number * SLOT_NUMBERS + 3] += 1.0

    def beat(self, number: int, *, worker_fails: bool) -> None:
        """Record that a process's event loop runs."""
        place = number * SLOT_NUMBERS
        self._numbers[place + 2] = time.monotonic()
        self._numbers[place + 4] = float(worker_fails)

    def connections(self, number: int, count: int) -> None:
        """Record how many connections a process has."""
        self._numbers[number * SLOT_NUMBERS + 1] = float(count)

    def fewest_connections(self, but: int) -> float:
        """The fewest connections of any other accepting process; infinity if there is none."""
        places = range(0, self._count * SLOT_NUMBERS, SLOT_NUMBERS)
        numbers, own = self._numbers, but * SLOT_NUMBERS
        answering = float(Doing.ANSWERING)
        return min((numbers[at + 1] for at in places if at != own and numbers[at] == answering), default=math.inf)

    def levels(self, table: int) -> Levels:
        """One of the `TABLES` tables of levels."""
        first = self._count * SLOT_NUMBERS + table * TABLE_NUMBERS
        return _SharedLevels(self._numbers[first : first + TABLE_NUMBERS])

    def _read_slot(self, number: int) -> Slot:
        place = number * SLOT_NUMBERS
        doing, connections, beat, deaths, fails = self._numbers[place : place + 5]
        return Slot(Doing(int(doing)), int(connections), max(time.monotonic() - beat, 0.0), int(deaths), bool(fails))


def _open_board(slots: int, duplicate: Any) -> Board:
    return Board(slots, duplicate.detach())


class _SharedLevels:
    """The `Levels` of a table. Each name has a set of eight entries; a new name replaces the set's oldest."""

    def __init__(self, numbers: memoryview[float]) -> None:
        self._numbers = numbers

    def get(self, name: str) -> tuple[float, float] | None:
        found = self._place(name)
        return None if found is None else (self._numbers[found + 1], self._numbers[found + 2])

    def put(self, name: str, level: float, at: float) -> None:
        place = self._place(name)
        if place is None:
            first, mark = _locate_name(name)
            places = range(first, first + WAYS * ENTRY_NUMBERS, ENTRY_NUMBERS)
            place = min(places, key=lambda each: self._numbers[each + 2])
            self._numbers[place] = mark
        self._numbers[place + 1] = level
        self._numbers[place + 2] = at

    def _place(self, name: str) -> int | None:
        first, mark = _locate_name(name)
        places = range(first, first + WAYS * ENTRY_NUMBERS, ENTRY_NUMBERS)
        return next((each for each in places if self._numbers[each] == mark), None)


_: type[Levels] = _SharedLevels


def _locate_name(name: str) -> tuple[int, float]:
    """The first place of a name's set, and its mark, which is never 0."""
    digest = int.from_bytes(hashlib.blake2b(name.encode("utf-8", "surrogatepass"), digest_size=16).digest())
    return digest % SETS * WAYS * ENTRY_NUMBERS, float((digest >> 64) % (1 << NAME_BITS) + 1)


def _size(slots: int) -> int:
    return (slots * SLOT_NUMBERS + TABLES * TABLE_NUMBERS) * NUMBER_BYTES


_MOST_BUCKETS = 10_000  # callers: bounds memory; a dropped one starts with a full bucket again


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """`rate_per_s`: requests per key, with `burst` at once (0: no limit; requests without a key have none).
    `attempts_per_s`, `attempts`: the same for rejected keys, per address. `in_flight`: running or queued requests per
    door. `threads`: for quick work, 0: by machine and store. `body_bytes`: size limit of a request, `file_bytes` of an
    upload.
    """

    rate_per_s: float = 100.0
    burst: int = 200
    attempts_per_s: float = 1.0
    attempts: int = 20
    threads: int = 0
    in_flight: int = 64
    body_bytes: int = 8 * MEBIBYTE
    file_bytes: int = 100 * MEBIBYTE


class OwnLevels:
    """Levels in this process, of the last 10,000 buckets used."""

    def __init__(self) -> None:
        self._levels: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def get(self, name: str) -> tuple[float, float] | None:
        """The level of a bucket. None if it was never stored, or dropped since."""
        return self._levels.get(name)

    def put(self, name: str, level: float, at: float) -> None:
        """Store the level of a bucket."""
        self._levels[name] = level, at
        self._levels.move_to_end(name)
        while len(self._levels) > _MOST_BUCKETS:
            self._levels.popitem(last=False)


_: type[Levels] = OwnLevels


class Buckets:
    """Token buckets by name. Each holds `size` and refills by `per_s` a second. `levels`: their storage, which
    processes may share; None: in this process.
    """

    def __init__(
        self, per_s: float, size: int, clock: Callable[[], float] = time.monotonic, levels: Levels | None = None
    ) -> None:
        self._per_s, self._size, self._clock = per_s, size, clock
        self._levels = levels or OwnLevels()

    def check(self, name: str, take: float = 1.0) -> None:
        """Take `take` from a bucket; 0 only checks. Raises `ProblemError` (429) if it holds less than one."""
        if not self._per_s:
            return
        now = self._clock()
        level, at = self._levels.get(name) or (float(self._size), now)
        level = min(self._size, level + (now - at) * self._per_s)
        is_enough = level >= 1.0
        self._levels.put(name, level - take if is_enough else level, now)
        if not is_enough:
            raise ProblemError(_too_many((1.0 - level) / self._per_s))


class Bound:
    """An ASGI application limited to `limit` concurrent requests. More get status 503 before any work. One key may use
    three quarters of them and gets status 429 above, so that slow clients cannot block everyone.
    """

    def __init__(self, app: ASGIApp, limit: int) -> None:
        self._app, self._limit, self._share = app, limit, max(limit * 3 // 4, 1)
        self._of_keys: Counter[str] = Counter()
        self.in_flight = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        if self.in_flight >= self._limit:
            raise ProblemError(BUSY)
        caller = scope.get("mnemic.caller")
        name = "" if caller is None or caller.key is None else caller.key.id
        if name and self._of_keys[name] >= self._share:
            raise ProblemError(_too_many(1.0))
        self.in_flight += 1
        self._of_keys[name] += 1
        try:
            await self._app(scope, receive, send)
        finally:
            self.in_flight -= 1
            self._of_keys[name] -= 1
            if not self._of_keys[name]:
                del self._of_keys[name]


class BodyLimit:
    """An ASGI application with a body limit of `limit_of(path)` bytes. Larger requests get status 413 as soon as their
    declared length or the received bytes exceed it.
    """

    def __init__(self, app: ASGIApp, limit_of: Callable[[str], int]) -> None:
        self._app, self._limit_of = app, limit_of

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        limit = self._limit_of(scope["path"])
        told = Headers(scope=scope).get("content-length", "0")
        if not told.isdecimal() or int(told) > limit:
            raise ProblemError(TOO_LARGE)
        body = _Counted(receive, send, limit)
        try:
            await self._app(scope, body.receive, body.send)
        except ProblemError:
            if not body.is_over:
                raise
        if body.is_over:
            raise ProblemError(TOO_LARGE)


class _Counted:
    """Counts received bytes. `BodyLimit` answers if there are too many."""

    def __init__(self, receive: Receive, send: Send, limit: int) -> None:
        self._receive, self._send, self._left = receive, send, limit
        self.is_over = False

    async def receive(self) -> Message:
        message = await self._receive()
        self._left -= len(message.get("body", b""))
        if self._left < 0:
            self.is_over = True
            raise ProblemError(TOO_LARGE)
        return message

    async def send(self, message: Message) -> None:
        if not self.is_over:
            await self._send(message)


TOO_LARGE = Problem(
    413, "too_large", "The request is too large", "its body exceeds this server's limit", "send a smaller request"
)
BUSY = Problem(
    503,
    "busy",
    "The server is busy",
    "it is already processing the maximum number of requests",
    "try again in a moment",
    headers={"Retry-After": "1"},
)


def _too_many(wait_s: float) -> Problem:
    hint = "send fewer, or ask the server's operator for a higher limit"
    wait = str(max(1, math.ceil(wait_s)))
    return Problem(429, "too_many", "Too many requests", f"try again in {wait} s", hint, headers={"Retry-After": wait})
