"""Several processes behind one port: starts them, restarts crashed ones, and ends all of them together;
on SIGHUP it restarts them one by one.

It answers nothing itself and holds no store, so that little can go wrong with it. It forks the processes, so that they
share the memory of what it has loaded. Each holds one end of a pipe from it, and ends when it is gone.
"""

import fcntl
import gc
import json
import logging
import os
import selectors
import signal
import socket
import sys
import time
from collections import deque
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path

from mnemic.cli import child
from mnemic.cli.answering import GRACE_S, Plan, Tells, load_shared
from mnemic.cli.signals import ENDING, HANDLED, handle_signals
from mnemic.errors import MnemicError
from mnemic.web.connections import RETIRES_WITHIN_S
from mnemic.web.limits import Board, Doing

FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.5, 60.0
"""Wait before restarting a process; doubled for each crash in `WINDOW_S`."""

WINDOW_S = 600.0  # deaths longer ago are forgotten
MOST_DEATHS = 8
"""Crashes of one process in `WINDOW_S` after which it waits until the first is older."""

LOOK_S = 1.0  # between two looks at the processes: bounds how late a dead one is noticed
SOON_S = 0.05  # between two looks while a process begins or ends
STILL_S, MOST_STILL_LOOKS = 5.0, 120
"""A process whose event loop has not turned for `STILL_S` hangs; it is killed after this many checks."""

FORKS = sys.platform == "linux"
"""macOS does not allow a fork after its frameworks are loaded. There, each process loads everything itself."""

KILLED = 1  # the exit code after a process had to be killed
_log = logging.getLogger("mnemic.web")


@dataclass(slots=True)
class _Slot:
    """The slot of one process: the process, or the time of its restart; its crashes; how often it hung;
    whether it answers; by which settings it was started, and until when it may retire.
    """

    number: int
    process: BaseProcess | None = None
    reports: Connection | None = None
    begins_at: float = 0.0
    deaths: deque[float] = field(default_factory=deque[float])
    still: int = 0
    answers: bool = False
    settings: int = 0
    retires_until: float | None = None


class Supervisor:
    """Runs the processes of a plan on a socket that is bound. `folder` is an empty one, where they count together;
    `tell` is called when the first of them answers. `reread` returns the new plan on SIGHUP.
    """

    def __init__(
        self,
        plan: Plan,
        listening: socket.socket,
        folder: str,
        tell: Callable[[Tells], None],
        reread: Callable[[], Plan] | None = None,
    ) -> None:
        self._listening, self._folder, self._tell = listening, Path(folder), tell
        self._held = os.open(folder, os.O_RDONLY)
        fcntl.flock(self._held, fcntl.LOCK_SH)  # whatever cleans temporary folders leaves one that is locked alone
        self._plan = self._plan_before = plan
        self._context = get_context("fork") if FORKS else get_context("spawn")
        self._lifeline, self._alive = self._context.Pipe(duplex=False)
        self._loaded = load_shared(plan.config) if FORKS else ()
        self._reread = reread or (lambda: plan)
        self._settings = 0
        self._renews = False
        self._hang_ups = 0
        self._board = Board.make(plan.processes)
        self._slots = [_Slot(number) for number in range(plan.processes)]
        self._selector = selectors.DefaultSelector()
        self._signals = 0
        self._has_answered = False
        self._failure: int | None = None

    def run(self) -> int:
        """Run until a signal ends all processes or none can be kept alive. Returns the exit code: 0, that of the first
        process if none ever answered, or 1 if one had to be killed or none was left.
        """
        with self._catch_signals():
            try:
                while not self._signals and self._failure is None:
                    self._start_due()
                    self._wait(self._idle_s())
                    self._check_processes()
                    self._renew()
            finally:
                was_killed = self._end()
                self._selector.close()
                self._board.close()
                self._lifeline.close()
                self._alive.close()
                os.close(self._held)
        return self._failure or (KILLED if was_killed else 0)

    @contextmanager
    def _catch_signals(self) -> Generator[None]:
        """Signals are counted, and end every wait. Where SIGHUP is that of a terminal, or ignored, it stays so."""
        near, far = socket.socketpair()
        near.setblocking(False)
        far.setblocking(False)
        self._selector.register(near, selectors.EVENT_READ)

        def count(_number: int, _frame: object) -> None:
            self._signals += 1

        def hang_up(_number: int, _frame: object) -> None:
            self._hang_ups += 1

        is_own = not os.isatty(0) and signal.getsignal(signal.SIGHUP) is signal.SIG_DFL
        with handle_signals(ENDING, count), handle_signals([signal.SIGHUP] if is_own else [], hang_up):
            waker = signal.set_wakeup_fd(far.fileno(), warn_on_full_buffer=False)
            try:
                with near, far:
                    yield
            finally:
                signal.set_wakeup_fd(waker)

    def _wait(self, for_s: float) -> None:
        """Until something is reported, a signal comes, or the time is over."""
        for key, _ in self._selector.select(max(for_s, 0.0)):
            if isinstance(key.fileobj, socket.socket):
                key.fileobj.recv(4096)
            else:
                self._read_report(key.data)

    def _idle_s(self) -> float:
        begins = [slot.begins_at - time.monotonic() for slot in self._slots if slot.process is None]
        return min([LOOK_S, *begins])

    def _start_due(self) -> None:
        now = time.monotonic()
        for slot in self._slots:
            if slot.process is None and slot.begins_at <= now:
                self._start(slot)

    def _start(self, slot: _Slot) -> None:
        reports, telling = self._context.Pipe(duplex=False)
        ties = child.Ties(self._listening, self._board, str(self._folder), telling, self._lifeline)
        self._board.show(slot.number, Doing.STARTING)
        slot.still, slot.answers, slot.settings, slot.retires_until = 0, False, self._settings, None
        if FORKS:
            ties = ties._replace(alive=self._alive)
            gc.collect()
            gc.freeze()  # a collection in a process would copy the pages of everything loaded
        slot.process = self._context.Process(target=child.run, args=(slot.number, self._plan, ties))
        signal.pthread_sigmask(signal.SIG_BLOCK, HANDLED)  # until the process has its own handlers
        slot.process.start()
        signal.pthread_sigmask(signal.SIG_UNBLOCK, HANDLED)
        telling.close()
        slot.reports = reports
        self._selector.register(reports, selectors.EVENT_READ, slot)

    def _read_report(self, slot: _Slot) -> None:
        """A process answers; or it ends, which is looked at soon."""
        told = b""
        with suppress(EOFError, OSError):
            told = slot.reports.recv_bytes() if slot.reports else told
        if not told:
            self._close_reports(slot)
            if slot.process is not None:
                slot.process.join(SOON_S)
            return
        slot.answers = slot.retires_until is None
        if slot.deaths:
            _log.warning("process %d is responding again", slot.number)
        if not self._has_answered:
            self._has_answered = True
            self._tell([(name, path) for name, path in json.loads(told)])

    def _check_processes(self) -> None:
        """See who died, and who stands still."""
        states = self._board.slots()
        for slot in self._slots:
            if slot.process is None:
                continue
            code = slot.process.exitcode
            if code is not None:
                self._note_death(slot, code)
                continue
            seen = states[slot.number]
            is_still = seen.doing is Doing.ANSWERING and seen.beat_s > STILL_S
            slot.still = slot.still + 1 if is_still else 0
            is_late = slot.retires_until is not None and slot.retires_until < time.monotonic()
            if slot.still > MOST_STILL_LOOKS or is_late:
                why = "did not stop" if is_late else "was stuck"
                _log.error("process %d %s and was killed", slot.number, why)
                slot.process.kill()

    def _renew(self) -> None:
        """Restart processes one by one: each waits until all others answer."""
        if self._hang_ups and self._has_answered:
            self._hang_ups = 0
            self._begin_renewal()
        if not self._renews or not all(slot.answers for slot in self._slots):
            return
        old = next((slot for slot in self._slots if slot.settings != self._settings), None)
        if old is None:
            self._renews = False
            _log.warning("all processes have been restarted")
        elif old.process is not None and old.process.pid is not None:
            old.answers = False
            old.retires_until = time.monotonic() + RETIRES_WITHIN_S + GRACE_S + child.LAST_S
            os.kill(old.process.pid, signal.SIGHUP)

    def _begin_renewal(self) -> None:
        """Read the settings again; waiting processes start now."""
        try:
            plan = self._reread()
        except MnemicError as error:
            _log.error("SIGHUP: the processes were not restarted: %s", error)
            return
        self._plan_before, self._plan = self._plan, plan
        self._settings += 1
        self._renews = True
        for slot in self._slots:
            slot.deaths.clear()
            slot.begins_at = 0.0
        _log.warning("SIGHUP: restarting the processes one by one")

    def _give_up(self, slot: _Slot, code: int) -> None:
        """The first process that was to begin by new settings cannot: all go on by those before."""
        self._renews, self._plan = False, self._plan_before
        for each in self._slots:
            each.settings = self._settings
        slot.begins_at = 0.0
        _log.error("process %d failed to restart (%s); the old ones keep running", slot.number, _describe_exit(code))

    def _note_death(self, slot: _Slot, code: int) -> None:
        process, slot.process = slot.process, None
        self._close_reports(slot)
        if process is None or self._signals:
            return
        for gauge in self._folder.glob(f"gauge_live*_{process.pid}.db"):  # it answers nothing any longer
            gauge.unlink()
        if not self._has_answered:
            self._failure = code if code > 0 else KILLED
            _log.error("process %d exited before it responded: %s", slot.number, _describe_exit(code))
            return
        if slot.retires_until is not None:
            slot.retires_until, slot.begins_at = None, 0.0
            return
        are_tried = any(each.answers and each.settings == self._settings for each in self._slots)  # the newest ones
        if self._renews and slot.settings == self._settings and not slot.answers and not are_tried:
            self._give_up(slot, code)
            return
        slot.answers = False
        now = time.monotonic()
        slot.deaths.append(now)
        while slot.deaths[0] < now - WINDOW_S:
            slot.deaths.popleft()
        pause_s = min(FIRST_PAUSE_S * 2 ** (len(slot.deaths) - 1), LONGEST_PAUSE_S)
        if len(slot.deaths) >= MOST_DEATHS:
            pause_s = slot.deaths[0] + WINDOW_S - now
        slot.begins_at = now + pause_s
        self._board.died(slot.number)
        self._board.show(slot.number, Doing.PAUSED)
        if all(each.process is None and len(each.deaths) >= MOST_DEATHS for each in self._slots):
            over = f"every process died {MOST_DEATHS} times within {WINDOW_S:.0f} s; the server is stopping"
            self._failure = KILLED
        else:
            over = f"restarting in {pause_s:.1f} s"
        _log.error("process %d ended: %s; %s", slot.number, _describe_exit(code), over)

    def _close_reports(self, slot: _Slot) -> None:
        """Hear a process no longer."""
        if slot.reports:
            self._selector.unregister(slot.reports)
            slot.reports.close()
            slot.reports = None

    def _end(self) -> bool:
        """Tell every process to end, and kill those that have not when their time is over, or at a second signal. True
        when one was killed.
        """
        self._listening.close()
        left = [slot.process for slot in self._slots if slot.process is not None]
        for process in left:
            process.terminate()
        begun, until = self._signals, time.monotonic() + GRACE_S + child.LAST_S
        while left and time.monotonic() < until and self._signals == begun:
            self._wait(SOON_S)
            left = [process for process in left if process.exitcode is None]
        for process in left:
            _log.error("process %d did not stop in time and was killed", process.pid)
            process.kill()
        for slot in self._slots:
            self._close_reports(slot)
            if slot.process is not None:
                slot.process.join()
        return bool(left)


def _describe_exit(code: int) -> str:
    """How a process ended, for the log."""
    if code >= 0:
        return f"exit code {code}"
    with suppress(ValueError):
        return f"signal {-code} ({signal.Signals(-code).name})"
    return f"signal {-code}"
