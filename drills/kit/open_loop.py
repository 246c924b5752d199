"""Sends requests over loopback when they are due, whether or not earlier ones are answered.

Response times are counted from the time when a request was due, so a server that falls behind cannot hide it. The
client only reads HTTP/1.1 responses with a length, because a full client would use as much processor time as the
server.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

TIMEOUT_S, IDLE_S = 20.0, 2.0
GONE = 0
"""The status of a request that was not answered: the connection broke, or it took too long."""


@dataclass(frozen=True, slots=True)
class Request:
    """One request: `kind` for the report, `verify` returns what is wrong with an answer of status 200 or 201."""

    kind: str
    data: bytes
    verify: Callable[[bytes], str]


@dataclass(slots=True)
class Answers:
    """What came back: times in milliseconds by kind (of good answers), how often each status, and what was wrong."""

    times_ms: dict[str, list[float]] = field(default_factory=dict[str, list[float]])
    statuses: Counter[int] = field(default_factory=Counter[int])
    wrong: list[str] = field(default_factory=list[str])
    seconds: float = 0.0

    @property
    def all_ms(self) -> list[float]:
        """The times of all kinds."""
        return [ms for each in self.times_ms.values() for ms in each]

    @property
    def good(self) -> int:
        """How many were answered well."""
        return self.statuses[200] + self.statuses[201]

    def note(self, request: Request, status: int, body: bytes, ms: float) -> None:
        """Take in one answer."""
        self.statuses[status] += 1
        if status in (200, 201):
            self.times_ms.setdefault(request.kind, []).append(ms)
            if problem := request.verify(body):
                self.wrong.append(f"{request.kind}: {problem}")


def posted(path: str, token: str, body: object) -> bytes:
    """A POST with a JSON body, or a GET where there is none, as it goes over the wire."""
    content = b"" if body is None else json.dumps(body).encode()
    head = (
        f"{'GET' if body is None else 'POST'} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {token}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(content)}\r\n\r\n"
    )
    return head.encode() + content


class Client:
    """Connections to one port that are kept and used again."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._idle: list[tuple[float, asyncio.StreamReader, asyncio.StreamWriter]] = []

    async def ask(self, data: bytes) -> tuple[int, bytes]:
        """Status and body; `GONE` where there is no whole answer in time."""
        try:
            reader, writer = self._fresh() or await asyncio.open_connection("127.0.0.1", self._port)
        except OSError as error:
            return GONE, type(error).__name__.encode()
        try:
            async with asyncio.timeout(TIMEOUT_S):
                writer.write(data)
                head = await reader.readuntil(b"\r\n\r\n")
                lines = head.lower().split(b"\r\n")
                length = next(int(line[15:]) for line in lines if line.startswith(b"content-length:"))
                body = await reader.readexactly(length)
        except (TimeoutError, OSError, asyncio.IncompleteReadError) as error:
            writer.close()
            return GONE, type(error).__name__.encode()
        self._idle.append((time.monotonic(), reader, writer))
        return int(head[9:12]), body

    def _fresh(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter] | None:
        """A connection that was used a moment ago; servers end those that are idle for long."""
        while self._idle:
            since, reader, writer = self._idle.pop()
            if time.monotonic() - since < IDLE_S:
                return reader, writer
            writer.close()
        return None

    async def close(self) -> None:
        """End the connections."""
        for _, _, writer in self._idle:
            writer.close()
        self._idle.clear()


async def in_turn(client: Client, requests: Iterator[Request], count: int) -> Answers:
    """`count` requests, each when the one before is answered."""
    answers = Answers()
    begun = time.perf_counter()
    for _ in range(count):
        request = next(requests)
        start = time.perf_counter()
        status, body = await client.ask(request.data)
        answers.note(request, status, body, (time.perf_counter() - start) * 1e3)
    answers.seconds = time.perf_counter() - begun
    return answers


async def at_rate(client: Client, requests: Iterator[Request], per_s: float, seconds: float) -> Answers:
    """Requests at an even rate for so long, each sent when it is due; ends when all are answered."""
    answers = Answers()
    begun = time.perf_counter()

    async def one(request: Request, due: float) -> None:
        status, body = await client.ask(request.data)
        answers.note(request, status, body, (time.perf_counter() - due) * 1e3)

    async with asyncio.TaskGroup() as group:
        for number in range(int(per_s * seconds)):
            due = begun + number / per_s
            await asyncio.sleep(max(0.0, due - time.perf_counter()))
            group.create_task(one(next(requests), due))
    answers.seconds = time.perf_counter() - begun
    return answers
