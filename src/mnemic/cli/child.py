"""One of several processes of `mnemic serve`, started only by `cli/supervisor.py`."""

from __future__ import annotations

import json
import logging
import os
import shutil
import signal
import socket
import sys
import threading
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import NamedTuple

from mnemic.cli.answering import GRACE_S, Part, Plan, Tells, answer, open_memory
from mnemic.cli.failures import UNEXPECTED, exit_code, report, show_traceback
from mnemic.cli.signals import HANDLED
from mnemic.errors import MnemicError, attempt, error_kind
from mnemic.web.limits import Board
from mnemic.web.monitoring import log_to_stderr

LAST_S = 10.0
"""Extra time to end after the grace period if the supervisor is gone."""

_log = logging.getLogger("mnemic.web")


class Ties(NamedTuple):
    """What a process shares with the supervisor. It sends JSON to `reports` when it answers, and stops when `lifeline`
    is closed. A forked process closes its copy of `alive`, the supervisor's side of it; a spawned one has none.
    """

    listening: socket.socket
    board: Board
    folder: str
    reports: Connection
    lifeline: Connection
    alive: Connection | None = None


def run(number: int, plan: Plan, ties: Ties) -> None:
    """Answer until told to end, and exit with the code of `mnemic serve`."""
    code = attempt(lambda: _answer(number, plan, ties), _log.error, "in a process of the server")
    sys.exit(code if isinstance(code, int) else UNEXPECTED)


def _answer(number: int, plan: Plan, ties: Ties) -> int:
    _leave_supervisor(ties)
    log_to_stderr(plan.log_level, process=number)
    orphaned = _watch(ties.lifeline, GRACE_S + LAST_S)

    def tell(tells: Tells) -> None:
        ties.reports.send_bytes(json.dumps(tells).encode())

    try:
        with ties.listening, open_memory(plan) as mnemic:
            answer(mnemic, plan, ties.listening, tell, Part(number, ties.board, ties.folder))
    except MnemicError as error:
        show_traceback()
        report(error_kind(type(error)), str(error), is_json=False)
        return exit_code(error)
    finally:
        if orphaned.is_set():
            shutil.rmtree(ties.folder, ignore_errors=True)
    return 0


def _leave_supervisor(ties: Ties) -> None:
    """Become a process of its own: a terminal's signals and input are the supervisor's."""
    os.setpgid(0, 0)
    signal.set_wakeup_fd(-1)
    for each in HANDLED:
        signal.signal(each, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, HANDLED)  # they were blocked until here
    if ties.alive is not None:
        ties.alive.close()
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.environ.pop("NOTIFY_SOCKET", None)  # the supervisor speaks for all


def _watch(lifeline: Connection, within_s: float) -> threading.Event:
    """End as at a signal when the supervisor is gone, after `within_s` in any case; the event says that it is."""
    gone = threading.Event()

    def watch() -> None:
        with suppress(EOFError, OSError):
            lifeline.recv_bytes()
        gone.set()
        os.kill(os.getpid(), signal.SIGTERM)
        threading.Event().wait(within_s)
        os._exit(1)

    threading.Thread(target=watch, name="mnemic-lifeline", daemon=True).start()
    return gone
