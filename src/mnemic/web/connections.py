"""Bounds on what a connection may take before, while and after it asks, since nobody has shown a key by then.

The parser of requests waits for ever and takes headers of any length. Here a head comes within a time and a size, a
body at some pace, and an answer is taken in time; a connection that does not keep to it ends, and what it held with it.
How many may be open is bounded too (`web/places.py`).
"""

from __future__ import annotations

import asyncio
import socket
import struct
import sys
from collections.abc import Callable
from enum import Enum
from typing import Any, cast

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from mnemic.web.places import Entered, Places

HEAD_BYTES = 64 * 1024
"""Of the request line and the headers together, without the piece of at most 256 KB that they begin in."""

HEAD_WITHIN_S = 20.0
"""From the moment that a connection is open, or that something of the next request has come."""

LOOK_S = 20.0
BODY_BYTES = 16 * 1024
"""What must come of a body, unless it ends, from one look to the next: less than 1 KB a second is no upload."""

TAKEN_WITHIN_S = 60.0
"""How long a caller may leave an answer lying while there is more of it."""

KEEP_ALIVE_S = 65
"""How long a connection may stay without a next request: longer than the minute for which proxies keep theirs."""

LAST_WORD_S = 1.0
"""How long a connection that has asked nothing may still ask when the server ends: its request may be on the way."""

NOT_LINGERING = struct.pack("hh" if sys.platform == "win32" else "ii", 1, 0)
TOO_LARGE = b"HTTP/1.1 431 Request Header Fields Too Large\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
REFUSALS = {
    Entered.ADDRESS_FULL: b"HTTP/1.1 429 Too Many Requests\r\n",
    Entered.ALL_FULL: b"HTTP/1.1 503 Service Unavailable\r\n",
}
REFUSED = b"retry-after: 1\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"


class _Part(Enum):
    """What a connection waits for."""

    NOTHING = "nothing"
    HEAD = "head"
    BODY = "body"


class Connection(HttpToolsProtocol):
    """One connection of the server. `places`, where given, bound how many there are."""

    _part = _Part.NOTHING
    _head_bytes = 0
    _body_bytes = 0
    _begins = False
    _is_last = False

    def __init__(self, *given: Any, places: Places | None = None, **named: Any) -> None:
        super().__init__(*given, **named)
        self._places = Places() if places is None else places

    def connection_made(self, transport: asyncio.Transport) -> None:
        """Wait for a request, but not for ever; none of a connection that has no place."""
        super().connection_made(transport)
        self._head, self._body, self._answer = (_Timer(self.loop, self._cut) for _ in range(3))
        entered = self._places.enter(self, self.client[0] if self.client else "")
        if entered is Entered.YES:
            self._head.start(HEAD_WITHIN_S)
            return
        transport.write(REFUSALS[entered] + REFUSED)
        transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        """Nothing is waited for any longer."""
        self._places.leave(self)
        for timer in (self._head, self._body, self._answer):
            timer.stop()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Some more bytes of requests."""
        if self.transport.is_closing():
            return
        self._begins = False
        super().data_received(data)
        if self.transport.is_closing():
            return
        if self._part is _Part.HEAD:
            self._head_bytes += 0 if self._begins else len(data)
            if self._head_bytes > HEAD_BYTES:
                self.transport.write(TOO_LARGE)
                self.transport.close()
                return
        cycle = cast("RequestResponseCycle | None", self.cycle)
        is_idle = self._part is _Part.NOTHING and (cycle is None or cycle.response_complete)
        if self._part is _Part.HEAD or is_idle:
            self._head.keep(HEAD_WITHIN_S)
        else:
            self._head.stop()
        if self._part is _Part.BODY:
            self._body.keep(LOOK_S, self._look)
        else:
            self._body.stop()

    def on_message_begin(self) -> None:
        """A request begins."""
        super().on_message_begin()
        self._part, self._begins, self._head_bytes = _Part.HEAD, True, 0

    def on_headers_complete(self) -> None:
        """Its head has come; its body may follow."""
        super().on_headers_complete()
        self._part, self._body_bytes = _Part.BODY, 0
        self._places.busy(self)
        if self._is_last:
            self.cycle.keep_alive = False

    def on_response_complete(self) -> None:
        """It is answered; the next may have come already."""
        has_next = bool(self.pipeline)
        super().on_response_complete()
        if not has_next:
            self._places.idle(self)

    def shutdown(self) -> None:
        """The server ends: what is being answered is finished, and a first request that is on the way is answered."""
        if cast("RequestResponseCycle | None", self.cycle) is None and not self.transport.is_closing():
            self._is_last = True
            self._head.start(LAST_WORD_S)
        else:
            super().shutdown()

    def retire(self) -> None:
        """The server ends soon and another goes on: the next answer says that it is the last of this connection."""
        self._is_last = True
        cycle = cast("RequestResponseCycle | None", self.cycle)
        if cycle is not None and not cycle.response_started:
            cycle.keep_alive = False

    def make_room(self) -> None:
        """Let a newcomer have the place. What the system still holds of the last answer goes its way."""
        if self.transport.get_write_buffer_size():
            self._cut()
        else:
            self.transport.close()

    def on_header(self, name: bytes, value: bytes) -> None:
        """A header; what comes behind the body is none, or it could name a user after the gate has looked."""
        if self._part is not _Part.BODY:
            super().on_header(name, value)

    def on_body(self, body: bytes) -> None:
        """A piece of its body."""
        self._body_bytes += len(body)
        super().on_body(body)

    def on_message_complete(self) -> None:
        """It is whole."""
        super().on_message_complete()
        self._part = _Part.NOTHING

    def pause_writing(self) -> None:
        """The caller takes nothing of the answer for now."""
        super().pause_writing()
        self._answer.start(TAKEN_WITHIN_S)

    def resume_writing(self) -> None:
        """The caller takes it."""
        super().resume_writing()
        self._answer.stop()

    def _look(self) -> None:
        """End a body that does not come, or that nobody waits for; one that the server is not ready to take waits."""
        is_held = self.flow.read_paused or self.cycle.waiting_for_100_continue
        if self.cycle.response_complete or (self._body_bytes < BODY_BYTES and not is_held):
            self._cut()
            return
        self._body_bytes = 0
        self._body.start(LOOK_S, self._look)

    def _cut(self) -> None:
        """End the connection at once, and let go of what the system holds of an answer that nobody took."""
        connected = self.transport.get_extra_info("socket")
        if connected is not None:
            connected.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, NOT_LINGERING)
        self.transport.abort()


class _Timer:
    """Does something unless it is stopped in time: by default `last`."""

    def __init__(self, loop: asyncio.AbstractEventLoop, last: Callable[[], None]) -> None:
        self._loop, self._last = loop, last
        self._handle: asyncio.TimerHandle | None = None

    def start(self, within_s: float, then: Callable[[], None] | None = None) -> None:
        """Begin to count, anew where it was counting."""
        self.stop()
        self._handle = self._loop.call_later(within_s, then or self._last)

    def keep(self, within_s: float, then: Callable[[], None] | None = None) -> None:
        """Begin to count, or go on."""
        if self._handle is None:
            self.start(within_s, then)

    def stop(self) -> None:
        """Count no longer."""
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None
