"""A server that takes its connections from a socket that other processes listen on too, and leaves them their share.

The system wakes every process for every connection, and whoever comes first has it: of many at once a single process
would have all. So a process takes one at a time, and while it has more than another that answers, it waits a moment
before each, in which the other may. A process that is busy, stuck or gone takes none, and keeps none from the rest.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import socket
from collections.abc import Callable
from types import FrameType

import uvicorn

from mnemic.web.board import Board, Doing
from mnemic.web.connections import Connection

LEAVES_S = 0.005
"""How long a connection is left to the others."""

RETIRES_WITHIN_S = 5.0
"""How long a connection may stay open while its process retires, so that what is asked on it next is answered still."""

RETIRE_LOOK_S = 0.05
NO_ROOM_S = 1.0
BEAT_S = 1.0
_NO_ROOM = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)
_log = logging.getLogger("mnemic.web")


Others = Callable[[int], float]


class SharingServer(uvicorn.Server):
    """The process `number` on the board, on a socket that is bound. `ready` is called when it answers; `worker_fails`
    is asked every second.
    """

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
        """End, as a signal makes it, but let connections end first: whoever keeps one is told with an answer, and
        finds no request of theirs unanswered.
        """
        self._retires = not self.should_exit
        self.should_exit = True

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """A signal ends it without that."""
        self._retires = False
        super().handle_exit(sig, frame)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen, when all else is ready."""
        assert sockets is not None  # noqa: S101 -- see the docstring of the class
        (listening,) = sockets
        await super().startup(sockets=[])
        listening.setblocking(False)
        listening.listen(self.config.backlog)
        connections = self.server_state.connections
        self._accepting = _Accepting(listening, self._made, lambda: len(connections), self._others)
        self._board.show(self._number, Doing.ANSWERING)
        self._beat()
        self._ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Take no more; what waits is for the others. Then end as any server does."""
        if self._accepting is not None:
            await self._accepting.stop()
        self._board.show(self._number, Doing.NOTHING)
        await self._retired()
        await super().shutdown(sockets)
        if self._beating is not None:
            self._beating.cancel()

    async def _retired(self) -> None:
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

    def _others(self, own: int) -> float:
        self._board.connections(self._number, own)
        return self._board.fewest_connections(self._number)

    def _beat(self) -> None:
        self._board.beat(self._number, worker_fails=self._worker_fails())
        self._board.connections(self._number, len(self.server_state.connections))
        self._beating = asyncio.get_running_loop().call_later(BEAT_S, self._beat)


class _Accepting:
    """Takes connections one by one; `others` says how many that of them has which has fewest, and is told our own."""

    def __init__(
        self, listening: socket.socket, make: Callable[[], asyncio.Protocol], count: Callable[[], int], others: Others
    ) -> None:
        self._listening, self._make, self._count, self._others = listening, make, count, others
        self._loop = asyncio.get_running_loop()
        self._waiting: asyncio.TimerHandle | None = None
        self._begun: set[asyncio.Task[None]] = set()
        self._loop.add_reader(listening, self._come)

    async def stop(self) -> None:
        """Take no more; afterwards what was taken is among the connections."""
        self._loop.remove_reader(self._listening)
        if self._waiting is not None:
            self._waiting.cancel()
        await asyncio.gather(*self._begun)

    def _come(self) -> None:
        """A connection waits: leave it to the others for a moment, or take it."""
        own = self._count() + len(self._begun)
        if own > self._others(own):
            self._pause(LEAVES_S)
        else:
            self._take()

    def _pause(self, for_s: float) -> None:
        self._loop.remove_reader(self._listening)
        self._waiting = self._loop.call_later(for_s, self._go_on)

    def _go_on(self) -> None:
        self._loop.add_reader(self._listening, self._come)
        self._take()

    def _take(self) -> None:
        try:
            taken, _ = self._listening.accept()
        except (BlockingIOError, InterruptedError, ConnectionAbortedError):
            return
        except OSError as error:
            if error.errno not in _NO_ROOM:
                raise
            _log.error("no connection can be taken for %g s: %s", NO_ROOM_S, error.strerror)
            self._pause(NO_ROOM_S)
            return
        taken.setblocking(False)
        beginning = self._loop.create_task(self._begin(taken))
        self._begun.add(beginning)
        beginning.add_done_callback(self._begun.discard)
        self._others(self._count() + len(self._begun))

    async def _begin(self, taken: socket.socket) -> None:
        try:
            await self._loop.connect_accepted_socket(self._make, taken)
        except OSError:  # it is gone already
            taken.close()
