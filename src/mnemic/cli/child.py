"""One of several processes of `mnemic serve`, started only by `cli/supervisor.py`.

The supervisor sends the settings through standard input and keeps it open. When it closes, this process ends. Three
files are inherited: the socket, the board, and a pipe, to which this process writes one line of JSON when it answers.
"""

from __future__ import annotations

import json
import os
import pickle
import shutil
import signal
import socket
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING

from mnemic.cli.failures import exit_code, last_resort, report, show_traceback
from mnemic.errors import MnemicError, error_kind

if TYPE_CHECKING:
    from mnemic.cli.answering import Plan, Tells

LENGTH_BYTES = 8  # of a 64-bit length
LAST_S = 10.0
"""Extra time to end after the grace period if the supervisor is gone."""


def main() -> int:
    """Answer until told to end; the exit code is that of `mnemic serve`."""
    number, listening, board, telling = map(int, sys.argv[1:])
    sys.excepthook = last_resort
    for inherited in (listening, board, telling):
        os.set_inheritable(inherited, False)  # what this process starts, such as a reader of files, gets none of them
    lifeline = _take_lifeline()
    length = int.from_bytes(_read(lifeline, LENGTH_BYTES))
    plan: Plan = pickle.loads(_read(lifeline, length))  # noqa: S301 -- from the process that started this one
    from mnemic.cli.answering import GRACE_S, Part, answer, open_memory
    from mnemic.web.limits import Board
    from mnemic.web.monitoring import FOLDER_VARIABLE, log_to_stderr

    log_to_stderr(plan.log_level, process=number)
    orphaned = _watch_lifeline(lifeline, GRACE_S + LAST_S)
    part = Part(number, Board(plan.processes, board), os.environ[FOLDER_VARIABLE])

    def tell(tells: Tells) -> None:
        os.write(telling, json.dumps(tells).encode() + b"\n")

    try:
        with socket.socket(fileno=listening) as shared, open_memory(plan) as mnemic:
            answer(mnemic, plan, shared, tell, part)
    except MnemicError as error:
        show_traceback()
        report(error_kind(type(error)), str(error), is_json=False)
        return exit_code(error)
    finally:
        if orphaned.is_set():
            shutil.rmtree(part.folder, ignore_errors=True)
    return 0


def _take_lifeline() -> int:
    """The pipe from the supervisor, put where nothing reads it as standard input."""
    lifeline = os.dup(sys.stdin.fileno())
    with Path(os.devnull).open("rb") as nothing:
        os.dup2(nothing.fileno(), sys.stdin.fileno())
    return lifeline


def _read(lifeline: int, length: int) -> bytes:
    told = bytearray()
    while len(told) < length:
        piece = os.read(lifeline, length - len(told))
        if not piece:
            raise SystemExit(1)  # the supervisor is gone before this process began
        told += piece
    return bytes(told)


def _watch_lifeline(lifeline: int, within_s: float) -> threading.Event:
    """End as at a signal when the supervisor is gone, after `within_s` in any case; the event says that it is."""
    gone = threading.Event()

    def watch() -> None:
        while os.read(lifeline, 1):
            pass
        gone.set()
        os.kill(os.getpid(), signal.SIGTERM)
        threading.Event().wait(within_s)
        os._exit(1)

    threading.Thread(target=watch, name="mnemic-lifeline", daemon=True).start()
    return gone


if __name__ == "__main__":
    sys.exit(main())
