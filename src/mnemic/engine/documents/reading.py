"""Reads files on a few threads, so far ahead of who stores them as their bytes fit; results come in their order."""

from __future__ import annotations

import hashlib
import threading
from collections import deque
from collections.abc import Generator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

from mnemic.engine.documents.plan import Task
from mnemic.engine.parts import Parts
from mnemic.errors import MnemicError
from mnemic.model.document_text import ReadDocument, ReadLimits
from mnemic.ports.reader import ClosableReader

AHEAD_FILES = 32
AHEAD_BYTES = 16 << 20
"""Of files that are read and wait to be stored; one file may be larger."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What reading a file came to: the document, or None and why in `failure`. `sha256` is "" without bytes."""

    task: Task
    sha256: str
    read: ReadDocument | None
    failure: str = ""


def read_ahead(parts: Parts, tasks: Sequence[Task]) -> Generator[Reading]:
    """Each file, read. When the iterator is closed early, what is being read is ended."""
    run = _Run(parts)
    executor = ThreadPoolExecutor(parts.readers.number, thread_name_prefix="mnemic-read")
    waiting = deque[tuple[Task, Future[Reading]]]()
    ahead = 0
    try:
        for task in tasks:
            while waiting and (len(waiting) >= AHEAD_FILES or ahead + task.size > AHEAD_BYTES):
                first, future = waiting[0]
                yield future.result()
                ahead -= first.size
                waiting.popleft()
            waiting.append((task, executor.submit(run.read, task)))
            ahead += task.size
        while waiting:
            yield waiting[0][1].result()
            waiting.popleft()
    finally:
        if waiting:
            run.stop()
        executor.shutdown(cancel_futures=True)
        parts.readers.rest()


class _Run:
    """The readings of one ingest."""

    def __init__(self, parts: Parts) -> None:
        settings = parts.settings
        self._parts = parts
        self._limits = ReadLimits(max_bytes=int(settings.max_file_bytes), timeout_s=settings.read_timeout_s)
        self._using: set[ClosableReader] = set()
        self._guard = threading.Lock()
        self._is_stopped = False

    def read(self, task: Task) -> Reading:
        sha256 = ""
        try:
            data = task.load()
            sha256 = hashlib.sha256(data).hexdigest()
            with self._parts.readers.lent() as reader:
                return Reading(task, sha256, self._read(reader, data, task.name))
        except MnemicError as error:
            return Reading(task, sha256, None, str(error))

    def stop(self) -> None:
        """End what is being read."""
        with self._guard:
            self._is_stopped = True
            using = list(self._using)
        for reader in using:
            reader.close()

    def _read(self, reader: ClosableReader, data: bytes, name: str) -> ReadDocument | None:
        with self._guard:
            if self._is_stopped:
                return None
            self._using.add(reader)
        try:
            return reader.read(data, name, self._limits)
        finally:
            with self._guard:
                self._using.discard(reader)
