"""What several processes of one server tell each other: who answers, how many connections each has, and rates.

It is memory that they share, and nothing waits in it: a process that dies or stands still holds up no other. Numbers
are written one at a time, each by one process, but for the levels of rates: where two take from one bucket in the same
microsecond, one of the two is not counted.
"""

from __future__ import annotations

import hashlib
import math
import mmap
import os
import tempfile
import time
from enum import IntEnum
from typing import NamedTuple, Protocol

SLOT_NUMBERS = 8
SETS, WAYS, ENTRY_NUMBERS = 2048, 8, 3
NUMBER_BYTES = 8
TABLES = 2
TABLE_NUMBERS = SETS * WAYS * ENTRY_NUMBERS
NAME_BITS = 52
"""Of a hash, so that it is a whole number that a float holds."""


class Doing(IntEnum):
    """What the process of a slot does."""

    NOTHING = 0
    STARTING = 1
    ANSWERING = 2
    PAUSED = 3
    """It died, and is started again later."""


class Slot(NamedTuple):
    """A process as the others see it: `beat_s` ago its event loop turned; `worker_fails` the last time it looked."""

    doing: Doing
    connections: int
    beat_s: float
    deaths: int
    worker_fails: bool


class Levels(Protocol):
    """Where token buckets keep how full they are: the level, and the moment it was true."""

    def get(self, name: str) -> tuple[float, float] | None:
        """The level of a bucket; None for one that was never put, or not for long."""
        ...

    def put(self, name: str, level: float, at: float) -> None:
        """Keep the level of a bucket."""
        ...


class Board:
    """Shared numbers of `slots` processes. `fd` is what the processes inherit; whoever made it closes it last."""

    def __init__(self, slots: int, fd: int) -> None:
        self.fd = fd
        self._count = slots
        self._memory = mmap.mmap(fd, _size(slots))
        self._numbers = memoryview(self._memory).cast("d")

    @classmethod
    def make(cls, slots: int) -> Board:
        """A new one, on which nobody answers."""
        if hasattr(os, "memfd_create"):
            fd = os.memfd_create("mnemic-board")
        else:
            with tempfile.TemporaryFile() as file:
                fd = os.dup(file.fileno())
        os.truncate(fd, _size(slots))
        return cls(slots, fd)

    def close(self) -> None:
        """Let go of it."""
        self._numbers.release()
        self._memory.close()
        os.close(self.fd)

    def slots(self) -> list[Slot]:
        """All processes, in order."""
        return [self._slot(number) for number in range(self._count)]

    def show(self, number: int, doing: Doing) -> None:
        """Say what a process does; one that begins or died has no connections, and its worker has not failed."""
        place = number * SLOT_NUMBERS
        if doing is not Doing.ANSWERING:
            self._numbers[place + 1] = 0.0
            self._numbers[place + 4] = 0.0
        self._numbers[place + 2] = time.monotonic()
        self._numbers[place] = float(doing)

    def died(self, number: int) -> None:
        """Count a death of a process."""
        self._numbers[number * SLOT_NUMBERS + 3] += 1.0

    def beat(self, number: int, *, worker_fails: bool) -> None:
        """Say that the event loop of a process turns."""
        place = number * SLOT_NUMBERS
        self._numbers[place + 2] = time.monotonic()
        self._numbers[place + 4] = float(worker_fails)

    def connections(self, number: int, count: int) -> None:
        """Say how many connections a process has."""
        self._numbers[number * SLOT_NUMBERS + 1] = float(count)

    def fewest_connections(self, but: int) -> float:
        """Of the other processes that answer; infinity where none does."""
        places = range(0, self._count * SLOT_NUMBERS, SLOT_NUMBERS)
        numbers, own = self._numbers, but * SLOT_NUMBERS
        answering = float(Doing.ANSWERING)
        return min((numbers[at + 1] for at in places if at != own and numbers[at] == answering), default=math.inf)

    def levels(self, table: int) -> Levels:
        """One of the tables of levels, of which there are `TABLES`."""
        first = self._count * SLOT_NUMBERS + table * TABLE_NUMBERS
        return _SharedLevels(self._numbers[first : first + TABLE_NUMBERS])

    def _slot(self, number: int) -> Slot:
        place = number * SLOT_NUMBERS
        doing, connections, beat, deaths, fails = self._numbers[place : place + 5]
        return Slot(Doing(int(doing)), int(connections), max(time.monotonic() - beat, 0.0), int(deaths), bool(fails))


class _SharedLevels:
    """The `Levels` of a table: a name has eight places, and a new one takes that of the oldest level there."""

    def __init__(self, numbers: memoryview[float]) -> None:
        self._numbers = numbers

    def get(self, name: str) -> tuple[float, float] | None:
        found = self._place(name)
        return None if found is None else (self._numbers[found + 1], self._numbers[found + 2])

    def put(self, name: str, level: float, at: float) -> None:
        place = self._place(name)
        if place is None:
            first, mark = _first_and_mark(name)
            places = range(first, first + WAYS * ENTRY_NUMBERS, ENTRY_NUMBERS)
            place = min(places, key=lambda each: self._numbers[each + 2])
            self._numbers[place] = mark
        self._numbers[place + 1] = level
        self._numbers[place + 2] = at

    def _place(self, name: str) -> int | None:
        first, mark = _first_and_mark(name)
        places = range(first, first + WAYS * ENTRY_NUMBERS, ENTRY_NUMBERS)
        return next((each for each in places if self._numbers[each] == mark), None)


_: type[Levels] = _SharedLevels


def _first_and_mark(name: str) -> tuple[int, float]:
    """Where the places of a name begin, and the number that stands for it, never 0."""
    digest = int.from_bytes(hashlib.blake2b(name.encode("utf-8", "surrogatepass"), digest_size=16).digest())
    return digest % SETS * WAYS * ENTRY_NUMBERS, float((digest >> 64) % (1 << NAME_BITS) + 1)


def _size(slots: int) -> int:
    return (slots * SLOT_NUMBERS + TABLES * TABLE_NUMBERS) * NUMBER_BYTES
