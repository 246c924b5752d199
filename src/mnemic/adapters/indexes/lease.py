"""The right to write a derived file: held by one process at a time, and given up when that process ends or dies."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

_POLL_S = 0.5

if sys.platform == "win32":
    import msvcrt

    def _take(descriptor: int) -> None:
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
else:
    import fcntl

    def _take(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


@contextmanager
def lease(path: Path, stop: threading.Event) -> Generator[bool]:
    """Wait for the lease of the lock file at `path`; yields False when `stop` was set before it was free."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT)
    try:
        yield _waited(descriptor, stop)
    finally:
        os.close(descriptor)  # gives the lease up


@contextmanager
def lease_at_once(path: Path) -> Generator[bool]:
    """The lease of a lock file without waiting: yields False when another process, or thread, has it."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        try:
            _take(descriptor)
        except OSError:
            yield False
        else:
            yield True
    finally:
        os.close(descriptor)


def _waited(descriptor: int, stop: threading.Event) -> bool:
    while not stop.is_set():
        try:
            _take(descriptor)
        except OSError:  # another process holds it
            stop.wait(_POLL_S)
        else:
            return True
    return False
