"""Keeps chats open: a model on loopback that writes slowly, and clients that read its streams through the proxy."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager

from drills.kit.crowd import Person
from drills.kit.open_loop import posted

PAUSE_S = 0.25
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"
DONE = b"data: [DONE]\n\n"
OPEN_WITHIN_S, END_WITHIN_S = 30.0, 30.0
Listening = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class SlowModel:
    """An OpenAI-compatible server that says a word every quarter of a second until it is told to come to an end."""

    def __init__(self) -> None:
        self.port = 0
        self.open = 0
        self._is_over = asyncio.Event()

    @asynccontextmanager
    async def serving(self) -> AsyncGenerator[None]:
        """Listen while the block runs."""
        server = await asyncio.start_server(self._talk, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        try:
            yield
        finally:
            self.finish()
            server.close()

    def finish(self) -> None:
        """End every stream as a model does."""
        self._is_over.set()

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).lower()
        length = next(int(line[15:]) for line in head.split(b"\r\n") if line.startswith(b"content-length:"))
        await reader.readexactly(length)
        choice = {"index": 0, "delta": {"content": "word "}, "finish_reason": None}
        word = f"data: {json.dumps({'object': 'chat.completion.chunk', 'choices': [choice]})}\n\n".encode()
        self.open += 1
        try:
            writer.write(HEAD)
            while not self._is_over.is_set():
                writer.write(word)
                await writer.drain()
                await asyncio.sleep(PAUSE_S)
            writer.write(DONE)
            await writer.drain()
        finally:
            self.open -= 1
            writer.close()


async def opened(port: int, people: Sequence[Person], number: int) -> list[Listening]:
    """So many chats through the proxy, each of which has begun to answer."""
    return list(await asyncio.gather(*(_opened(port, people[place % len(people)], place) for place in range(number))))


async def ended(streams: Sequence[Listening]) -> int:
    """How many of the streams came whole to their end."""
    async with asyncio.timeout(END_WITHIN_S):
        rests = await asyncio.gather(*(_rest(reader) for reader, _ in streams))
    for _, writer in streams:
        writer.close()
    return sum(DONE in rest for rest in rests)


async def _opened(port: int, person: Person, place: int) -> Listening:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    body = {
        "model": "slow",
        "stream": True,
        "messages": [{"role": "user", "content": f"{person.mark} tell me a long story, number {place}"}],
    }
    writer.write(posted("/v1/chat/completions", person.tokens[0], body))
    async with asyncio.timeout(OPEN_WITHIN_S):
        head = await reader.readuntil(b"\r\n\r\n")
        if not head.startswith(b"HTTP/1.1 200"):
            raise RuntimeError(f"the proxy answered {head[:60]!r}")
        await reader.readuntil(b"data: ")
    return reader, writer


async def _rest(reader: asyncio.StreamReader) -> bytes:
    """What comes until the stream of chunks ends."""
    kept = b""
    while not kept.endswith(b"0\r\n\r\n") and (more := await reader.read(65_536)):
        kept = kept[-200:] + more
    return kept
