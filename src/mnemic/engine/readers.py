"""The readers of files that this Mnemic may use at once, each lent to one reading at a time."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager

from mnemic.errors import ConfigError, UnavailableError
from mnemic.ports.reader import ClosableReader

MOST_READERS = 4
KEPT_IDLE = 1
"""Readers that stay when nothing is read, so that the next file need not wait for a process to start."""


def default_number() -> int:
    """As many as there are processors, `MOST_READERS` at most: reading keeps a processor busy."""
    return max(1, min(MOST_READERS, os.cpu_count() or 1))


class ReaderPool:
    """Opens readers when they are needed, `number` at most, and lends them."""

    def __init__(self, open_reader: Callable[[], ClosableReader] | None = None, *, number: int | None = None) -> None:
        """`open_reader` None: there are none, and lending raises."""
        self.number = number or default_number()
        self._open = open_reader
        self._idle: list[ClosableReader] = []
        self._lent: set[ClosableReader] = set()
        self._free = threading.BoundedSemaphore(self.number)
        self._guard = threading.Lock()
        self._is_closed = False

    @contextmanager
    def lent(self) -> Generator[ClosableReader]:
        """A reader for one file; waits until one is free. Raises `ConfigError` when there are none."""
        if self._open is None:
            raise ConfigError("this Mnemic was put together without readers of files")
        with self._free:
            with self._guard:
                if self._is_closed:
                    raise UnavailableError("this Mnemic is closed")
                reader = self._idle.pop() if self._idle else self._open()
                self._lent.add(reader)
            try:
                yield reader
            finally:
                with self._guard:
                    self._lent.discard(reader)
                    self._idle.append(reader)

    def rest(self) -> None:
        """Close readers that nobody uses, but for `KEPT_IDLE`."""
        with self._guard:
            spare, self._idle = self._idle[KEPT_IDLE:], self._idle[:KEPT_IDLE]
        for reader in spare:
            reader.close()

    def close(self) -> None:
        """Close all of them, those in use too; lending raises from then on."""
        with self._guard:
            self._is_closed = True
            readers = [*self._idle, *self._lent]
            self._idle = []
        for reader in readers:
            reader.close()
