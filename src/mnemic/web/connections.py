"""Connections of the server: limits on their number and duration, and how processes share them.

These limits apply before a key is checked, because the HTTP parser has no timeouts. Request headers have a size and a
time limit, bodies a minimum rate, and clients a time limit for reading the response. A new connection replaces the
longest idle one. If none is idle, it is refused.

Without API keys a connection must come from the server's own account or root's, who can read the store anyway. Linux
names the account of the other end of a loopback connection; elsewhere `serve` prints that it does not look.

Processes that listen on one socket wake together. So each accepts one connection at a time, and pauses first if another
process has fewer. docs/decisions/0025-several-processes.md says why uvicorn's own limits do not suffice.
"""

import asyncio
import errno
import logging
import os
import socket
import struct
import sys
from collections import Counter
from collections.abc import Callable
from enum import Enum
from functools import cache, cached_property, partial
from http import HTTPStatus
from ipaddress import IPv6Address, ip_address
from types import FrameType
from typing import Any, Protocol, cast

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from mnemic.web.limits import Board, Doing
from mnemic.web.problems import Problem, problem_response

IPV6_HOLDER_BITS = 64
"""Prefix length of the IPv6 network that counts as one client: a host usually owns all of it."""


class Entered(Enum):
    """The result of asking for a place."""

    YES = "yes"
    ADDRESS_FULL = "address_full"
    ALL_FULL = "all_full"


class Held(Protocol):
    """A connection that holds a place."""

    def make_room(self) -> None:
        """Close at once. Called only while idle."""
        ...


class Places:
    """Open connections of one server: at most `most`, and `most_of_address` per remote address; 0 is no limit. An IPv6
    /64 network counts as one address. Local addresses share only `most`, because a local proxy hides its clients. Not
    thread-safe.
    """

    def __init__(self, most: int = 0, most_of_address: int = 0) -> None:
        self._most, self._most_of_address = most, most_of_address
        self._holders: dict[Held, str] = {}
        self._of_address: Counter[str] = Counter()
        self._idle: dict[Held, None] = {}  # longest idle first

    def __len__(self) -> int:
        return len(self._holders)

    def enter(self, held: Held, address: str) -> Entered:
        """Add an idle connection, if necessary in place of another. It is added only if the result is YES."""
        holder = holder_of(address)
        is_address_full = bool(holder) and 0 < self._most_of_address <= self._of_address[holder]
        if is_address_full and not self._make_room(holder):
            return Entered.ADDRESS_FULL
        if 0 < self._most <= len(self._holders) and not self._make_room(None):
            return Entered.ALL_FULL
        self._holders[held] = holder
        self._of_address[holder] += 1
        self._idle[held] = None
        return Entered.YES

    def leave(self, held: Held) -> None:
        """Remove a connection. Does nothing if it has no place."""
        holder = self._holders.pop(held, None)
        if holder is None:
            return
        self._idle.pop(held, None)
        self._of_address[holder] -= 1
        if not self._of_address[holder]:
            del self._of_address[holder]

    def busy(self, held: Held) -> None:
        """Mark the connection as answering a request."""
        self._idle.pop(held, None)

    def idle(self, held: Held) -> None:
        """Mark the connection as idle."""
        if held in self._holders:
            self._idle.pop(held, None)
            self._idle[held] = None

    def _make_room(self, holder: str | None) -> bool:
        """Close the longest idle connection (of one holder, or of all). False if none is idle."""
        found = next((each for each in self._idle if holder is None or self._holders[each] == holder), None)
        if found is None:
            return False
        self.leave(found)
        found.make_room()
        return True


def holder_of(address: str) -> str:
    """The client that an address counts for: the address, its IPv6 network, or "" if it is local or invalid."""
    try:
        ip = ip_address(address.partition("%")[0])
    except ValueError:
        return ""
    if isinstance(ip, IPv6Address):
        if ip.ipv4_mapped is not None:
            ip = ip.ipv4_mapped
        elif not ip.is_loopback:
            return str(IPv6Address(int(ip) >> IPV6_HOLDER_BITS << IPV6_HOLDER_BITS))
    return "" if ip.is_loopback else str(ip)


CONNECTION = "mnemic.connection"
"""The key of the connection in a request's state."""

_ROOT = 0
_SOCK_DIAG, _BY_FAMILY, _IS_REQUEST, _ANY_STATE = 4, 20, 1, 0xFFFFFFFF
_ASKED = struct.Struct("=IHHII BBxxI 4s16s16sI8s")  # nlmsghdr and inet_diag_req_v2 of Linux's <linux/inet_diag.h>
_ANSWERED = struct.Struct("=4xH10x xBxx 48x 12xII")  # nlmsghdr and inet_diag_msg
_ANY_COOKIE = b"\xff" * 8
_OPEN = {1, 4, 5, 8}  # TCP_ESTABLISHED, TCP_FIN_WAIT1, TCP_FIN_WAIT2, TCP_CLOSE_WAIT
_LISTENS = 10
_Address = tuple[str, int]


@cache
def tells_accounts() -> bool:
    """True if this system shows which account opened a loopback connection."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        state, account, _ = _ask_kernel(listening.getsockname(), ("0.0.0.0", 0))  # noqa: S104 -- the other end of none
    return state == _LISTENS and account == os.geteuid()


def account_of(connected: socket.socket) -> int | None:
    """The account at the other end of a loopback connection; None if its socket is closed or on another machine.

    The kernel shows closed sockets as root's, and a port may have another owner by then.
    """
    try:
        state, account, inode = _ask_kernel(connected.getpeername()[:2], connected.getsockname()[:2])
        connected.getpeername()  # fails if the connection was reset; else its port had no other owner
    except OSError:
        return None
    return account if state in _OPEN and inode else None


def _ask_kernel(end: _Address, other: _Address) -> tuple[int, int, int]:
    """State, account and inode of the socket with these ends, by Linux's sock_diag; zeros if there is none."""
    if sys.platform != "linux":
        return 0, 0, 0
    addresses = [ip_address(host) for host, _ in (end, other)]
    family = socket.AF_INET if addresses[0].version == 4 else socket.AF_INET6  # noqa: PLR2004
    ports = struct.pack("!HH", end[1], other[1])
    packed = [address.packed for address in addresses]
    head = _ASKED.size, _BY_FAMILY, _IS_REQUEST, 0, 0
    asked = _ASKED.pack(*head, family, socket.IPPROTO_TCP, _ANY_STATE, ports, *packed, 0, _ANY_COOKIE)
    try:
        with socket.socket(socket.AF_NETLINK, socket.SOCK_DGRAM, _SOCK_DIAG) as kernel:
            kernel.send(asked)
            answer = kernel.recv(4096)
    except OSError:  # forbidden, or a kernel without it
        return 0, 0, 0
    kind, *found = _ANSWERED.unpack_from(answer.ljust(_ANSWERED.size, b"\0"))
    return tuple(found) if kind == _BY_FAMILY else (0, 0, 0)


HEAD_BYTES = 64 * 1024
"""Limit of request line plus headers, in addition to the first read of up to 256 KB."""

HEAD_WITHIN_S = 20.0
"""Time limit for request headers, from the connection's opening or the request's first byte."""

LOOK_S = 20.0  # between two checks of a body; shorter cuts slow but honest uploads
BODY_BYTES = 16 * 1024
"""Minimum of body bytes per `LOOK_S`, unless the body ends: below 1 KB a second it is no upload."""

TAKEN_WITHIN_S = 60.0
"""How long a client may stop reading an unfinished response."""

KEEP_ALIVE_S = 65
"""Idle limit in seconds. Longer than the 60 s of most proxies, so that they close first."""

LAST_WORD_S = 1.0
"""How long new connections may still send a request at shutdown: one may be on its way."""

NOT_LINGERING = struct.pack("hh" if sys.platform == "win32" else "ii", 1, 0)  # SO_LINGER of 0 s: closing resets at once
URL_BYTES = 65_535  # the parser counts in 16 bits
TOO_LARGE = Problem(431, "too_large", "The headers are too large", f"At most {HEAD_BYTES} bytes are read.")
TOO_LONG = Problem(414, "too_large", "The URL is too long", f"At most {URL_BYTES} bytes are read.", "send a body")
UNREADABLE = Problem(400, "unreadable", "The request cannot be read", "It is not valid HTTP/1.1.")
_FULL = partial(Problem, detail="Nothing was read.", hint="try again in a moment", headers={"Retry-After": "1"})
REFUSALS = {
    Entered.ADDRESS_FULL: _FULL(429, "busy", "Your address has too many connections"),
    Entered.ALL_FULL: _FULL(503, "busy", "The server has too many connections"),
}


class _Part(Enum):
    """What a connection waits for."""

    NOTHING = "nothing"
    HEAD = "head"
    BODY = "body"


class Connection(HttpToolsProtocol):
    """One connection of the server. `places`, if given, limits the number of connections."""

    _part = _Part.NOTHING
    _head_bytes = 0
    _body_bytes = 0
    _begins = False
    _is_last = False
    url = b""  # of the current request, as far as received

    def __init__(self, *given: Any, places: Places | None = None, **named: Any) -> None:
        super().__init__(*given, **named)
        self._places = Places() if places is None else places

    @cached_property
    def is_own(self) -> bool:
        """True if the server's own account or root opened it, or if the system does not show it."""
        return not tells_accounts() or account_of(self.transport.get_extra_info("socket")) in (_ROOT, os.geteuid())

    def connection_made(self, transport: asyncio.Transport) -> None:
        """Wait for a request for a limited time, or refuse the connection if there is no place."""
        super().connection_made(transport)
        self._head, self._body, self._answer = (_Timer(self.loop, self._abort) for _ in range(3))
        entered = self._places.enter(self, self.client[0] if self.client else "")
        if entered is Entered.YES:
            self._head.start(HEAD_WITHIN_S)
            return
        self._refuse(REFUSALS[entered])

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop all timers and give the place back."""
        self._places.leave(self)
        for timer in (self._head, self._body, self._answer):
            timer.stop()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Parse received bytes, enforce the size limit of headers, and start or stop the timers."""
        if self.transport.is_closing():
            return
        self._begins = False
        super().data_received(data)
        if self.transport.is_closing():
            return
        if self._part is _Part.HEAD:
            self._head_bytes += 0 if self._begins else len(data)
            if self._head_bytes > HEAD_BYTES:
                self._refuse(TOO_LARGE)
                return
        cycle = cast("RequestResponseCycle | None", self.cycle)
        is_idle = self._part is _Part.NOTHING and (cycle is None or cycle.response_complete)
        if self._part is _Part.HEAD or is_idle:
            self._head.keep(HEAD_WITHIN_S)
        else:
            self._head.stop()
        if self._part is _Part.BODY:
            self._body.keep(LOOK_S, self._check_body)
        else:
            self._body.stop()

    def on_message_begin(self) -> None:
        """A request starts."""
        super().on_message_begin()
        cast("dict[str, Any]", self.scope)["state"][CONNECTION] = self
        self._part, self._begins, self._head_bytes = _Part.HEAD, True, 0

    def on_headers_complete(self) -> None:
        """Its headers are complete. A body may follow."""
        super().on_headers_complete()
        self._part, self._body_bytes = _Part.BODY, 0
        self._places.busy(self)
        if self._is_last:
            self.cycle.keep_alive = False

    def on_response_complete(self) -> None:
        """Its response is complete. The next request may already be buffered."""
        has_next = bool(self.pipeline)
        super().on_response_complete()
        if not has_next:
            self._places.idle(self)

    def shutdown(self) -> None:
        """Shut down: finish running responses, and answer a first request that is on its way."""
        if cast("RequestResponseCycle | None", self.cycle) is None and not self.transport.is_closing():
            self._is_last = True
            self._head.start(LAST_WORD_S)
        else:
            super().shutdown()

    def retire(self) -> None:
        """Prepare to close while another process continues: the next response says `Connection: close`."""
        self._is_last = True
        cycle = cast("RequestResponseCycle | None", self.cycle)
        if cycle is not None and not cycle.response_started:
            cycle.keep_alive = False

    def make_room(self) -> None:
        """Close for a newcomer. Bytes of the last response in the system's buffer are still sent."""
        if self.transport.get_write_buffer_size():
            self._abort()
        else:
            self.transport.close()

    def on_header(self, name: bytes, value: bytes) -> None:
        """Store a header. Trailers are dropped, as they could name a user after the gate has checked. Trailing blanks
        are removed (RFC 9112); the parser leaves them.
        """
        if self._part is not _Part.BODY:
            super().on_header(name, value.strip(b" \t"))

    def on_body(self, body: bytes) -> None:
        """A part of the body."""
        self._body_bytes += len(body)
        super().on_body(body)

    def on_message_complete(self) -> None:
        """The request is complete."""
        super().on_message_complete()
        self._part = _Part.NOTHING

    def pause_writing(self) -> None:
        """The client does not read the response at the moment."""
        super().pause_writing()
        self._answer.start(TAKEN_WITHIN_S)

    def resume_writing(self) -> None:
        """The client reads again."""
        super().resume_writing()
        self._answer.stop()

    def send_400_response(self, msg: str) -> None:
        """Answer a request that the parser refuses, like every other error."""
        del msg
        self._refuse(TOO_LONG if len(self.url) > URL_BYTES else UNREADABLE)

    def _refuse(self, problem: Problem) -> None:
        """Answer without a request, and close."""
        answer = problem_response(problem)
        head = [f"HTTP/1.1 {problem.status} {HTTPStatus(problem.status).phrase}".encode(), b"connection: close"]
        head += [name + b": " + value for name, value in answer.raw_headers]
        self.transport.write(b"\r\n".join([*head, b"", bytes(answer.body)]))
        self.transport.close()

    def _check_body(self) -> None:
        """Close if the body is too slow or the response already complete. Never if the server itself does not read."""
        is_held = self.flow.read_paused or self.cycle.waiting_for_100_continue
        if self.cycle.response_complete or (self._body_bytes < BODY_BYTES and not is_held):
            self._abort()
            return
        self._body_bytes = 0
        self._body.start(LOOK_S, self._check_body)

    def _abort(self) -> None:
        """Close at once and discard an unread response."""
        connected = self.transport.get_extra_info("socket")
        if connected is not None:
            connected.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, NOT_LINGERING)
        self.transport.abort()


class _Timer:
    """Calls `last`, or another callback, unless stopped in time."""

    def __init__(self, loop: asyncio.AbstractEventLoop, last: Callable[[], None]) -> None:
        self._loop, self._last = loop, last
        self._handle: asyncio.TimerHandle | None = None

    def start(self, within_s: float, then: Callable[[], None] | None = None) -> None:
        self.stop()
        self._handle = self._loop.call_later(within_s, then or self._last)

    def keep(self, within_s: float, then: Callable[[], None] | None = None) -> None:
        """Start the timer, or leave it running."""
        if self._handle is None:
            self.start(within_s, then)

    def stop(self) -> None:
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None


LEAVES_S = 0.005
"""Pause before a process accepts while another has fewer connections."""

RETIRES_WITHIN_S = 5.0
"""How long connections of a retiring process stay open, so that a request already on its way is answered."""

RETIRE_LOOK_S = 0.05  # between two checks: bounds how late a retiring process ends
NO_ROOM_S = 1.0  # a pause; requests that run may close files meanwhile
BEAT_S = 1.0  # a heartbeat: the supervisor kills a process that misses it for long
_NO_ROOM = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)
_log = logging.getLogger("mnemic.web")


Others = Callable[[int], float]


class SharingServer(uvicorn.Server):
    """Process `number` on a bound socket. Calls `ready` when it accepts requests, `worker_fails` every second."""

    def __init__(
        self,
        config: uvicorn.Config,
        board: Board,
        number: int,
        *,
        ready: Callable[[], None],
        worker_fails: Callable[[], bool],
    ) -> None:
        super().__init__(config)
        self._board, self._number = board, number
        self._ready, self._worker_fails = ready, worker_fails
        self._accepting: _Accepting | None = None
        self._beating: asyncio.TimerHandle | None = None
        self._retires = False

    def retire(self) -> None:
        """Shut down as a signal does, but let connections end first: clients with a kept connection learn of it in a
        response, so none of their requests goes unanswered.
        """
        self._retires = not self.should_exit
        self.should_exit = True

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Shut down on a signal, without `retire`."""
        self._retires = False
        super().handle_exit(sig, frame)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen, once everything else is ready."""
        assert sockets is not None  # noqa: S101 -- see the docstring of the class
        (listening,) = sockets
        await super().startup(sockets=[])
        listening.setblocking(False)
        listening.listen(self.config.backlog)
        connections = self.server_state.connections
        self._accepting = _Accepting(listening, self._made, lambda: len(connections), self._exchange_counts)
        self._board.show(self._number, Doing.ANSWERING)
        self._beat()
        self._ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop accepting, leave waiting connections to other processes, then shut down."""
        if self._accepting is not None:
            await self._accepting.stop()
        self._board.show(self._number, Doing.NOTHING)
        await self._wait_for_connections()
        await super().shutdown(sockets)
        if self._beating is not None:
            self._beating.cancel()

    async def _wait_for_connections(self) -> None:
        connections = self.server_state.connections
        if self._retires:
            for connection in connections:
                if isinstance(connection, Connection):
                    connection.retire()
        loop = asyncio.get_running_loop()
        until = loop.time() + RETIRES_WITHIN_S
        while self._retires and connections and loop.time() < until:  # noqa: ASYNC110 -- a signal cannot set an event
            await asyncio.sleep(RETIRE_LOOK_S)

    def _made(self) -> asyncio.Protocol:
        make = self.config.http_protocol_class
        return make(config=self.config, server_state=self.server_state, app_state=self.lifespan.state)  # type: ignore[call-arg] -- what uvicorn calls it with

    def _exchange_counts(self, own: int) -> float:
        self._board.connections(self._number, own)
        return self._board.fewest_connections(self._number)

    def _beat(self) -> None:
        self._board.beat(self._number, worker_fails=self._worker_fails())
        self._board.connections(self._number, len(self.server_state.connections))
        self._beating = asyncio.get_running_loop().call_later(BEAT_S, self._beat)


class _Accepting:
    """Accepts connections one at a time. `others` gets our number and returns the lowest of another process."""

    def __init__(
        self, listening: socket.socket, make: Callable[[], asyncio.Protocol], count: Callable[[], int], others: Others
    ) -> None:
        self._listening, self._make, self._count, self._exchange_counts = listening, make, count, others
        self._loop = asyncio.get_running_loop()
        self._waiting: asyncio.TimerHandle | None = None
        self._begun: set[asyncio.Task[None]] = set()
        self._loop.add_reader(listening, self._accept_in_turn)

    async def stop(self) -> None:
        """Stop accepting. Afterwards every accepted connection is registered."""
        self._loop.remove_reader(self._listening)
        if self._waiting is not None:
            self._waiting.cancel()
        await asyncio.gather(*self._begun)

    def _accept_in_turn(self) -> None:
        """A connection waits: leave it to another process for a moment, or accept it."""
        own = self._count() + len(self._begun)
        if own > self._exchange_counts(own):
            self._pause(LEAVES_S)
        else:
            self._accept()

    def _pause(self, for_s: float) -> None:
        self._loop.remove_reader(self._listening)
        self._waiting = self._loop.call_later(for_s, self._resume)

    def _resume(self) -> None:
        self._loop.add_reader(self._listening, self._accept_in_turn)
        self._accept()

    def _accept(self) -> None:
        try:
            taken, _ = self._listening.accept()
        except (BlockingIOError, InterruptedError, ConnectionAbortedError):
            return
        except OSError as error:
            if error.errno not in _NO_ROOM:
                raise
            _log.error("cannot accept connections, retrying in %g s: %s", NO_ROOM_S, error.strerror)
            self._pause(NO_ROOM_S)
            return
        taken.setblocking(False)
        beginning = self._loop.create_task(self._start_connection(taken))
        self._begun.add(beginning)
        beginning.add_done_callback(self._begun.discard)
        self._exchange_counts(self._count() + len(self._begun))

    async def _start_connection(self, taken: socket.socket) -> None:
        try:
            await self._loop.connect_accepted_socket(self._make, taken)
        except OSError:  # the client closed it already
            taken.close()
