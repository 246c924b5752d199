"""Starts writers together on request, and kills them with SIGKILL after some of their lines and a short pause.

The writers are forked from a separate process, because starting Python for each of them would take longer than a round.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from typing import IO

LONGEST_PAUSE_S = 0.01
_STARTED, _ALL_DEAD = "started", "all dead"

Nursery = subprocess.Popen[str]


@contextmanager
def nursery(command: Sequence[str]) -> Generator[Nursery]:
    """A process that calls `be_a_nursery`."""
    with subprocess.Popen([sys.executable, *command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as here:
        yield here


def kill_round(here: Nursery, number: int, chance: random.Random, most_lines: int) -> list[str]:
    """Starts the writers, waits for at most `most_lines` lines and a moment, kills them, and returns what they said."""
    assert here.stdin is not None  # noqa: S101 -- both are pipes; this tells the type checker
    assert here.stdout is not None  # noqa: S101 -- as above
    here.stdin.write(f"{number}\n")
    here.stdin.flush()
    lines = list(_until(here.stdout, _STARTED))
    pids = [int(pid) for pid in here.stdout.readline().split()]
    lines += [here.stdout.readline() for _ in range(chance.randint(0, most_lines))]
    time.sleep(chance.random() * LONGEST_PAUSE_S)  # the moment of the kill is what this varies
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
    return [line.strip() for line in (*lines, *_until(here.stdout, _ALL_DEAD))]


def say(line: str) -> None:
    """Tell a line in one piece, whatever others write to the same pipe (at most 4096 bytes)."""
    os.write(sys.stdout.fileno(), f"{line}\n".encode())


def be_a_nursery(writers: int, write: Callable[[str], None]) -> None:
    """Start `writers` writers for every number on standard input, tell their process ids, and tell when all are dead.

    `write` gets a name that no other writer has, and goes on for ever; it speaks by `say`.
    """
    for number in sys.stdin:
        pids: list[int] = []
        for writer in range(writers):
            pid = os.fork()
            if pid == 0:
                write(f"r{number.strip()}w{writer}")
            pids.append(pid)
        say(f"{_STARTED}\n{' '.join(map(str, pids))}")
        statuses = [os.waitpid(pid, 0)[1] for pid in pids]
        if any(os.WTERMSIG(status) != signal.SIGKILL for status in statuses):
            sys.exit("a writer ended by itself")
        say(_ALL_DEAD)


def _until(lines: IO[str], last: str) -> Iterator[str]:
    """Lines before the line `last`, which is taken too."""
    for line in lines:
        if line == f"{last}\n":
            return
        yield line
    raise RuntimeError("the nursery of writers ended by itself")
